"""From the command line to a run: the profile, the target with its door, and the folder of the report.

`pytest_configure` in the conftest.py of the root calls `read_command_line`, then `open_asked_run`.

| word | meaning |
|---|---|
| target | the service that is asked, or the sandbox of the suite |
| door | the only way by which requests leave for the target |
| run (`Run`) | what happened so far, as data: results, notes, exchanges. The report is made from it |
| pen (`Pen`) | hides tokens, codes and other known values in everything that pytest prints |
| reporter (`Reporter`) | writes the files of the report, and prints the summary |

Self-tests: promises/test_command_line.py, promises/test_preflight.py.
"""

from __future__ import annotations

import getpass
import os
import secrets
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from environments.credentials import open_target, protect_secrets, remove_secret_variables
from environments.door.journal import Outcome, canonical
from environments.door.opening import journal_of, open_client, open_door
from environments.profiles.loading import load
from environments.profiles.model import Profile, ProfileError
from environments.secret_values import listed_secrets
from reports.observed.earlier_runs import UnreadableError, read_record, read_run
from reports.outputs.github import append_to_summary, usage_error_summary
from reports.outputs.writing import PAGE, UnsafeFolderError, make_folder, run_folder
from reports.recorded.reading import files_of
from reports.recorded.recorded_run import recorded_profile
from reports.result.provenance import ci_job
from reports.result.run import Note, NoteKind, Recording, Run
from reports.sentences.wording import one_line
from reports.showing.show import Display
from spec.message import Text, say
from tests.harness.options import (
    OPTIONS_THAT_COLLECT_NO_TESTS,
    asks_about_requirements,
    number_of_examples,
    options_given,
    refuse_options,
)
from tests.harness.pen import Pen
from tests.harness.reporter import Reporter
from tests.harness.selection import (
    collect_conformance_tests_by_default,
    runs_only_selftests,
    selection_in_words,
    take_selection_from_pytest,
)
from tests.harness.session import SESSION, Interruption, Session, session_of

# -- the command line ------------------------------------------------------------------------------------------------


def is_about_a_service(config: pytest.Config) -> bool:
    """True if the user wants to test a service, or to print facts about requirements (--explain, --list).

    False for the help of pytest, and for the self-tests of the suite: these need no profile and no connection.
    """
    if options_given(config, OPTIONS_THAT_COLLECT_NO_TESTS):
        return False
    return asks_about_requirements(config) or not runs_only_selftests(config)


@contextmanager
def one_line_for_wrong_use(config: pytest.Config) -> Iterator[None]:
    """A context that turns an error in the command line or the profile into a pytest.UsageError of one line.

    In a job of GitHub the line is also appended to the summary of the job, because there is no report.
    """
    try:
        yield
    except (ProfileError, UnreadableError) as error:
        wrong_use = pytest.UsageError(one_line(str(error)))
    except pytest.UsageError as error:
        wrong_use = error
    else:
        return
    summary_path = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary_path:
        with suppress(OSError):  # the terminal shows the line in any case
            append_to_summary(summary_path, usage_error_summary(config.getoption("environment"), str(wrong_use)))
    raise wrong_use from None


def read_command_line(config: pytest.Config) -> tuple[Profile, frozenset[str]]:
    """Check the command line. Returns the profile, changed by options, and the transaction codes to send again.

    The option --resend-code names a file with such a code: an earlier run sent it, and it may be sent once more. The
    set has this code, or is empty without the option.

    From here on known secrets are protected, and -k selects requirements. Raises UsageError, ProfileError or
    UnreadableError.
    """
    protect_secrets()
    refuse_options(config)
    collect_conformance_tests_by_default(config)
    take_selection_from_pytest(config)
    other_run = config.getoption("compare_with")
    if other_run is not None:
        config.option.compare_with = read_run(Path(other_run))  # from here on the run itself instead of its path
    profile = _profile_with_options(config)
    path_of_code = config.getoption("resend_code")
    if not path_of_code:
        return profile, frozenset()
    code = code_to_resend(profile, code_in_file(path_of_code))
    return profile, frozenset({code})


def _profile_with_options(config: pytest.Config) -> Profile:
    """The profile that --environment names, in which --base-url, --parallel and --report-language replace values."""
    base_url = config.getoption("base_url", None) or None  # None also if the user did not install pytest-base-url
    profile = load(config.getoption("environment"), base_url=base_url)
    parallel = config.getoption("parallel") or profile.limits.parallel
    language = config.getoption("report_language") or profile.language
    return replace(profile, limits=replace(profile.limits, parallel=parallel), language=language)


def code_in_file(file: str) -> str:
    """The transaction code in a file; for `-` the code that the user types, which the terminal does not show.

    Raises ProfileError if it cannot be read. The message does not repeat the text, because a code is secret.
    """
    try:
        text = getpass.getpass("transaction code: ") if file == "-" else Path(file).read_text("utf-8")
        return text.strip()
    except (OSError, ValueError, EOFError):
        raise ProfileError("--resend-code: expected a file that holds one code, or - to be asked for it") from None


def code_to_resend(profile: Profile, code: str) -> str:
    """The transaction code that --resend-code supplies (`code`), exactly as the profile has it.

    The user asks to send this code again although an earlier run sent it. Raises ProfileError if that is not allowed:
    if the code was executed or may have moved money, if the profile does not list it, or if the target (the service
    that is asked) is a sandbox.
    """
    # `canonical` ignores letter case and width, as some services do: both forms are the same code.
    supplied_codes = {canonical(supplied): supplied for supplied in profile.transactions.codes}
    supplied = supplied_codes.get(canonical(code))
    if profile.is_sandbox or supplied is None:
        raise ProfileError(
            "--resend-code: the code is not in transactions.codes, or the target is a sandbox, which has no journal"
        )
    entry = journal_of(profile).entry(supplied)
    if entry is None:  # no run sent it before
        return supplied
    if entry.outcome is Outcome.SUCCESS:
        raise ProfileError(
            f"--resend-code: the journal says that this code was executed at {entry.at}: prepare a new one"
        )
    # A settled entry had an unknown outcome until a person looked the transfer up.
    may_have_moved_money = entry.is_unknown or entry.outcome is Outcome.SETTLED
    if may_have_moved_money:
        raise ProfileError(
            f"--resend-code: this code was sent at {entry.at}, and its outcome is or was unknown: it may have moved "
            "money, so it is not sent again: prepare a new one"
        )
    return supplied


def start_journal(profile: Profile) -> Text:
    """Start a new journal (--new-journal). Returns a line about it for the report.

    The journal is the file with the transaction codes that runs sent, so that no code is executed twice. A new one is
    only needed if the present one cannot be read. Raises ProfileError if it can be read, or if the target is a sandbox,
    which has no journal.
    """
    if profile.is_sandbox:
        raise ProfileError("--new-journal: a sandbox has no journal; leave it out")
    journal = journal_of(profile)
    journal.start()
    return say("a new journal was started: {path}; an old one is kept beside it", path=str(journal.path))


# -- the parts of a run ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RunParts:
    """The parts of a run. With --recorded there is no session and no interruption, because nothing is sent."""

    run: Run
    reporter: Reporter
    pen: Pen
    session: Session | None = None
    interruption: Interruption | None = None
    files: Sequence[str] = ()
    """Files of recorded traffic, which the run judges."""

    @property
    def was_interrupted(self) -> bool:
        """True if a signal, such as Ctrl-C or the end of a CI job, asked the run to end."""
        return self.interruption is not None and self.interruption.was_asked


def open_asked_run(config: pytest.Config, profile: Profile, codes_to_resend: Container[str]) -> RunParts:
    """Make the parts of the run that the command line asks for: one that sends requests, or one of recorded traffic.

    `codes_to_resend` has the transaction code that may be sent again. From here on, every file that this process writes
    can be read only by its owner, because the files may have confidential data.
    """
    _refuse_linked_cache(config)
    mask_before = os.umask(0o077)  # also for the files that pytest and Hypothesis write
    config.add_cleanup(lambda: os.umask(mask_before))  # type: ignore[arg-type]  # pytest ignores what it returns
    if config.getoption("recorded"):
        return _open_recorded(config, profile)
    notes = []
    if config.getoption("new_journal"):
        notes.append(Note(NoteKind.WRONG_SET_UP, start_journal(profile)))
    opened = _open_run(config, profile, codes_to_resend)
    opened.run.notes += notes
    return opened


def _refuse_linked_cache(config: pytest.Config) -> None:
    """Refuse a cache folder of pytest with a symbolic link in it. Raises UsageError.

    Through such a link the suite would write to a place that somebody else may have chosen.
    """
    if not config.pluginmanager.has_plugin("cacheprovider"):
        return
    folder = config.rootpath / os.path.expanduser(os.path.expandvars(config.getini("cache_dir")))
    for path in (folder, *folder.rglob("*")):
        if path.is_symlink():
            raise pytest.UsageError(f"cache_dir: {path} is a symbolic link; delete it, or set -p no:cacheprovider")


def _open_run(config: pytest.Config, profile: Profile, codes_to_resend: Container[str]) -> RunParts:
    """Make the parts of a run that sends requests: the service or the sandbox, the door, the report, and so on.

    The door is the only way by which requests leave. `codes_to_resend` has the transaction code that may be sent again.
    pytest closes each part when it ends (`add_cleanup`), in the opposite order.
    """
    target = open_target(profile)
    config.add_cleanup(target.stop)
    run = _run_that_sends(config, profile, target.base_url)
    door = open_door(profile, target, codes_to_resend=codes_to_resend)
    config.add_cleanup(door.close)
    interruption = Interruption(door.run_end.stop)  # Ctrl-C stops the sending, and the report is still written
    config.add_cleanup(interruption.restore)
    session = session_of(run, door, open_client(door, profile))
    config.stash[SESSION] = session
    reporter, pen = _open_report(config, run, session.display)
    remove_secret_variables(profile)  # no program that the run starts gets the secrets
    return RunParts(run, reporter, pen, session, interruption)


def _run_that_sends(config: pytest.Config, profile: Profile, base_url: str) -> Run:
    """The record of a run that sends requests. It has no results yet, but its settings: seed, selection, and so on.

    Raises UnreadableError if the file with the behaviour that the user accepted (`<name>.observed.yaml`) cannot be
    read.
    """
    seed = config.getoption("seed")
    if seed is None:
        seed = secrets.randbelow(10**9)  # nine digits at most, so that a person can type it
    selected = selection_in_words(config)
    run = Run(profile, base_url, selected, narrowed=selected is not None)
    run.seed = seed
    run.examples = number_of_examples(config, profile)
    run.record = read_record(profile.record)
    return run


def _open_recorded(config: pytest.Config, profile: Profile) -> RunParts:
    """Make the parts of a run that judges recorded traffic (--recorded). Nothing is sent, and no secret is read."""
    files = files_of(config.getoption("recorded"))
    profile = recorded_profile(profile)
    selected = selection_in_words(config)
    run = Run(profile, profile.base_url, selected, Recording(), narrowed=selected is not None)
    reporter, pen = _open_report(config, run, Display(listed_secrets(profile)))
    return RunParts(run, reporter, pen, files=files)


def _open_report(config: pytest.Config, run: Run, display: Display) -> tuple[Reporter, Pen]:
    """The reporter, which writes the report of a run, and the pen, which hides tokens and codes in printed texts.

    The pen is active from here on until pytest ends. With -v it lets pytest print its own lines as well.
    """
    pen = Pen(display, quiet=config.getoption("verbose", 0) <= 0)
    config.add_cleanup(pen.restore)
    run.ci_job = ci_job(os.environ, display.without_known_values)
    return Reporter(config, run, _report_folder(config, run), display.safe_line), pen


def _report_folder(config: pytest.Config, run: Run) -> Path | None:
    """Make the folder of the report, and have pytest-html write report.html there. None if no files are written.

    It is the folder that the user named with --report-dir, else a new one. Raises UsageError if the folder cannot be
    made, or if other users could write to it.
    """
    if config.getoption("no_report"):
        return None
    folder = run_folder(run.profile.name, run.started)
    folder_of_user = config.getoption("report_dir")
    if folder_of_user:
        folder = Path(folder_of_user).absolute()
    try:
        make_folder(folder)
    except UnsafeFolderError as error:
        raise pytest.UsageError(f"--report-dir: {error}") from None
    except OSError as error:
        raise pytest.UsageError(f"--report-dir: {folder} cannot be written: {error.strerror}") from None
    if hasattr(config.option, "htmlpath"):  # pytest-html is installed
        config.option.htmlpath = str(folder / PAGE)
        config.option.self_contained_html = True
    return folder
