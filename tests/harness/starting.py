"""From the command line to a run: the profile that it names, the target, its door, and the folder of the report."""

from __future__ import annotations

import getpass
import os
import secrets
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from environments.credentials import forget_variables, open_target, protect_secrets
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
from tests.harness.options import HELPING, examples_of, explains, options_given, refuse_options
from tests.harness.pen import Pen
from tests.harness.reporter import Reporter
from tests.harness.selection import only_selftests, selection, take_default_path, take_ids
from tests.harness.session import SESSION, Interruption, Session, session_of

# -- the command line ------------------------------------------------------------------------------------------------


def is_about_a_service(config: pytest.Config) -> bool:
    """True if the command line asks for a run, or for something about the requirements: not for help or self-tests."""
    if options_given(config, HELPING):
        return False
    return explains(config) or not only_selftests(config)


@contextmanager
def one_line_for_wrong_use(config: pytest.Config) -> Iterator[None]:
    """UsageError, in one line, for what is wrong in the command line or in the profile. The summary of a job of GitHub
    has that line, too."""
    try:
        yield
        return
    except (ProfileError, UnreadableError) as error:
        wrong_use = pytest.UsageError(one_line(str(error)))
    except pytest.UsageError as error:
        wrong_use = error
    if path := os.environ.get("GITHUB_STEP_SUMMARY"):
        with suppress(OSError):  # the terminal says it in any case
            append_to_summary(path, usage_error_summary(config.getoption("environment"), str(wrong_use)))
    raise wrong_use from None


def read_command_line(config: pytest.Config) -> tuple[Profile, frozenset[str]]:
    """The profile of the run, with what options change of it, and the code to send again, if one is named. Raises
    UsageError, ProfileError or UnreadableError."""
    protect_secrets()
    refuse_options(config)
    take_default_path(config)
    take_ids(config)
    other_run = config.getoption("compare_with")
    if other_run is not None:
        config.option.compare_with = read_run(Path(other_run))
    profile = _profile(config)
    file = config.getoption("resend_code")
    if not file:
        return profile, frozenset()
    return profile, frozenset({code_to_resend(profile, code_from(file))})


def _profile(config: pytest.Config) -> Profile:
    """The profile that the command line names, with the limits and the language that it gives."""
    profile = load(config.getoption("environment"), base_url=config.getoption("base_url", None) or None)
    limits = replace(profile.limits, parallel=config.getoption("parallel") or profile.limits.parallel)
    return replace(profile, limits=limits, language=config.getoption("report_language") or profile.language)


def code_from(where: str) -> str:
    """The code in a file, or, for `-`, the one that is typed. Raises ProfileError, which repeats nothing."""
    try:
        return (getpass.getpass("transaction code: ") if where == "-" else Path(where).read_text("utf-8")).strip()
    except (OSError, ValueError, EOFError):
        raise ProfileError("--resend-code: expected a file that holds one code, or - to be asked for it") from None


def code_to_resend(profile: Profile, code: str) -> str:
    """The code as the profile writes it. Raises ProfileError where it may not be sent again."""
    supplied_codes = {canonical(supplied): supplied for supplied in profile.transactions.codes}
    supplied = supplied_codes.get(canonical(code))
    if profile.is_sandbox or supplied is None:
        raise ProfileError("--resend-code: no such code in transactions.codes, or a sandbox, which has no journal")
    entry = journal_of(profile).entry(supplied)
    if entry and entry.outcome is Outcome.SUCCESS:
        raise ProfileError(f"--resend-code: this code was executed at {entry.at}, the journal says: prepare a new one")
    if entry and (entry.is_unknown or entry.outcome is Outcome.SETTLED):
        raise ProfileError(
            f"--resend-code: this code was sent at {entry.at}, and its outcome is or was unknown: it may have moved "
            "money, so it is not sent again: prepare a new one"
        )
    return supplied


def start_journal(profile: Profile) -> Text:
    """Start a journal for the codes of a profile. Gives a line about it. Raises ProfileError where there is nothing to
    start."""
    if profile.is_sandbox:
        raise ProfileError("--new-journal: a sandbox has no journal; leave it out")
    journal = journal_of(profile)
    journal.start()
    return say("a new journal was started: {path}; an old one is kept beside it", path=str(journal.path))


# -- what a run works with -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Opened:
    """What a run works with. One without a session and its interruption sends nothing, and judges the files."""

    run: Run
    reporter: Reporter
    pen: Pen
    session: Session | None = None
    interruption: Interruption | None = None
    files: Sequence[str] = ()

    @property
    def was_interrupted(self) -> bool:
        """True if a signal asked the run to end."""
        return self.interruption is not None and self.interruption.was_asked


def open_asked_run(config: pytest.Config, profile: Profile, resend: Container[str]) -> Opened:
    """Open the run that the command line asks for. What it writes is its owner's alone."""
    _refuse_linked_cache(config)
    before = os.umask(0o077)  # what pytest and Hypothesis write is the owner's alone, too
    config.add_cleanup(lambda: os.umask(before))  # type: ignore[arg-type]  # what it returns is dropped
    if config.getoption("recorded"):
        return _open_recorded(config, profile)
    started = [Note(NoteKind.SET_UP, start_journal(profile))] if config.getoption("new_journal") else []
    opened = _open_run(config, profile, resend)
    opened.run.notes += started
    return opened


def _refuse_linked_cache(config: pytest.Config) -> None:
    """UsageError where pytest would write its cache through a symbolic link."""
    if config.pluginmanager.has_plugin("cacheprovider"):
        folder = config.rootpath / os.path.expanduser(os.path.expandvars(config.getini("cache_dir")))
        for link in filter(Path.is_symlink, (folder, *folder.rglob("*"))):
            raise pytest.UsageError(f"cache_dir: {link} is a symbolic link; delete it, or set -p no:cacheprovider")


def _open_run(config: pytest.Config, profile: Profile, resend: Container[str]) -> Opened:
    """Open the target and the folder of the report."""
    target = open_target(profile)
    config.add_cleanup(target.stop)
    given, chosen = config.getoption("seed"), selection(config)
    run = Run(
        profile,
        target.base_url,
        chosen,
        narrowed=chosen is not None,
        seed=secrets.randbelow(10**9) if given is None else given,
        examples=examples_of(config, profile),
    )
    run.record = read_record(profile.record)
    door = open_door(profile, target, resend=resend)
    config.add_cleanup(door.close)
    interruption = Interruption(door.ending.stop)
    config.add_cleanup(interruption.restore)
    session = config.stash[SESSION] = session_of(run, door, open_client(door, profile))
    reporter, pen = _open_report(config, run, session.display)
    forget_variables(profile)
    return Opened(run, reporter, pen, session, interruption)


def _open_recorded(config: pytest.Config, profile: Profile) -> Opened:
    """Open what judges recorded traffic: no target, and no secret is fetched."""
    files, profile, chosen = files_of(config.getoption("recorded")), recorded_profile(profile), selection(config)
    run = Run(profile, profile.base_url, chosen, Recording(), narrowed=chosen is not None)
    reporter, pen = _open_report(config, run, Display(listed_secrets(profile)))
    return Opened(run, reporter, pen, files=files)


def _open_report(config: pytest.Config, run: Run, display: Display) -> tuple[Reporter, Pen]:
    pen = Pen(display, quiet=config.getoption("verbose", 0) <= 0)
    config.add_cleanup(pen.put_down)
    run.ci_job = ci_job(os.environ, display.foreign)
    return Reporter(config, run, _report_folder(config, run), display.line), pen


def _report_folder(config: pytest.Config, run: Run) -> Path | None:
    """The folder of the report, which pytest-html writes to, too; None where no files are written."""
    if config.getoption("no_report"):
        return None
    named = config.getoption("report_dir")
    folder = Path(named).absolute() if named else run_folder(run.profile.name, run.started)
    try:
        make_folder(folder)
    except UnsafeFolderError as error:
        raise pytest.UsageError(f"--report-dir: {error}") from None
    except OSError as error:
        raise pytest.UsageError(f"--report-dir: {folder} cannot be written: {error.strerror}") from None
    if hasattr(config.option, "htmlpath"):
        config.option.htmlpath = str(folder / PAGE)
        config.option.self_contained_html = True
    return folder
