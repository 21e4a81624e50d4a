"""The front door: options, fixtures and wiring only."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from environments.door.client import Client
from environments.door.door import GONE, Door, UnreachableError
from environments.door.opening import BUDGET, Share, codes_sent_before, learn_token, open_client, open_door, redactor_of
from environments.door.preflight import Preflight, probe
from environments.profiles.profile import Profile, ProfileError, load
from environments.profiles.target import Target, open_target, target_of_worker
from reports.first import ordered, unknown_to_all
from reports.run import Run
from reports.writing import RUNS, prepare, run_folder
from spec.requirements import ledger
from tests.harness.interruption import Interruption, join_parallel_run, stop_parallel_run
from tests.harness.judging import turn_of
from tests.harness.options import only_explains, only_shows, refuse_options, whole_number
from tests.harness.pen import Pen
from tests.harness.planner import Planner
from tests.harness.recorder import NotExercised
from tests.harness.reporter import Reporter
from tests.harness.selection import ROOT, only_selftests, selection
from tests.harness.watcher import Watcher
from tests.traffic.generation.settings import DEFAULT_DRAWN, DEFAULT_EXAMPLES, GenerationSettings
from tests.traffic.planning import planned

pytest_plugins = ["tests.traffic.fixtures"]
EVERY_CODE = "*"

TARGET = pytest.StashKey[Target]()
DOOR = pytest.StashKey[Door]()
WATCHER = pytest.StashKey[Watcher]()
REPORTER = pytest.StashKey[Reporter]()
SHARE = pytest.StashKey[Share]()
SEED = pytest.StashKey[int]()
INTERRUPTION = pytest.StashKey[Interruption]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("conformance")
    group.addoption("--environment", default="sandbox", metavar="NAME", help="environments/NAME.yaml, or a path")
    group.addoption("--report-dir", metavar="DIR", help="where report.html, conformance.json and junit.xml go")
    group.addoption("--seed", type=_seed, metavar="N", help="repeat the generated traffic of the run that reported N")
    group.addoption("--examples", type=_count, metavar="N", help="generated requests for each operation and phase")
    group.addoption("--no-report", action="store_true", help="judge and print, write no files")
    group.addoption("--plan", action="store_true", help="print what the run would send, and send nothing")
    group.addoption(
        "--resend-code",
        action="append",
        nargs="?",
        const=EVERY_CODE,
        metavar="CODE",
        help="send this code although the journal says that an earlier run sent it; without CODE: every code",
    )


def _count(text: str) -> int:
    return whole_number(text, "--examples", least=1)


def _seed(text: str) -> int:
    return whole_number(text, "--seed", least=0)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "requirement(id): the ledger row that a conformance test answers for")
    config.addinivalue_line("markers", "needs(permission): a permission beyond that of the row's operation")
    config.addinivalue_line("markers", "property: generated traffic")
    config.addinivalue_line("markers", "judged_last: judges what the whole run showed")
    config.addinivalue_line("markers", "xdist_group(name): tests that one worker of a parallel run takes")
    if only_selftests(config) or only_explains(config):
        return
    refuse_options(config)
    try:
        _configure(config, _profile(config))
    except ProfileError as error:
        raise pytest.UsageError(str(error)) from None


def _configure(config: pytest.Config, profile: Profile) -> None:
    if config.getoption("plan"):
        _configure_plan(config, profile)
        return
    if only_shows(config):
        config.pluginmanager.register(Watcher(profile, redactor_of(profile)), "conformance-watcher")
        return
    before = os.umask(0o077)  # what pytest and Hypothesis write is the owner's alone, too
    config.add_cleanup(partial(_set_umask, before))
    _configure_interruption(config)
    worker = getattr(config, "workerinput", None)
    if worker is None:
        _configure_controller(config, profile)
    else:
        _configure_worker(config, profile, worker)
    target = config.stash[TARGET]
    shows = not config.getoption("no_report")
    watcher = config.stash[WATCHER] = Watcher(profile, redactor_of(profile, target), shows=shows)
    pen = Pen(watcher.redactor)
    config.add_cleanup(pen.put_down)
    config.pluginmanager.register(pen, "conformance-pen")
    watcher.door = config.stash[DOOR] = _door(config, profile, target)
    config.pluginmanager.register(watcher, "conformance-watcher")


def _set_umask(mask: int) -> None:
    os.umask(mask)


def _configure_plan(config: pytest.Config, profile: Profile) -> None:
    """Nothing is sent, so there is no target, no token and no report, and no worker."""
    config.option.dist = "no"
    redactor = redactor_of(profile)
    settings = _generation_settings(config, profile, seed=0, replay=False)
    resend = _codes_to_resend(config, profile)
    sent_before = partial(codes_sent_before, profile, kept=RUNS / profile.name, resend=resend)
    plan = partial(planned, profile=profile, settings=settings, sent_before=sent_before)
    config.pluginmanager.register(Watcher(profile, redactor), "conformance-watcher")
    config.pluginmanager.register(Planner(profile, redactor, plan), "conformance-planner")


def _profile(config: pytest.Config) -> Profile:
    base_url = config.getoption("base_url", None) or None
    profile = load(config.getoption("environment"), folder=ROOT / "environments", base_url=base_url)
    for entry in profile.known_failures:
        if entry.id not in ledger():
            near = get_close_matches(entry.id, ledger(), 1)
            hint = f'; did you mean "{near[0]}"?' if near else "; spec/requirements.yaml lists them"
            raise pytest.UsageError(f"{profile.path}: known_failures: {entry.id}: no such requirement{hint}")
    return profile


def _configure_controller(config: pytest.Config, profile: Profile) -> None:
    target = config.stash[TARGET] = open_target(profile)
    config.add_cleanup(target.stop)
    chosen = selection(config)
    given = config.getoption("seed")
    seed = config.stash[SEED] = secrets.randbelow(10**9) if given is None else given
    examples = _wanted(config, profile) or DEFAULT_EXAMPLES
    run = Run(profile, target.base_url, selection=chosen.text, narrowed=chosen.narrowed, seed=seed, examples=examples)
    folder = _report_folder(config, run)
    if folder is not None and hasattr(config.option, "htmlpath"):
        config.option.htmlpath = str(folder / "report.html")
        config.option.self_contained_html = True
    _configure_folder(config)
    reporter = config.stash[REPORTER] = Reporter(run, folder)
    config.pluginmanager.register(reporter, "conformance-reporter")


def _configure_interruption(config: pytest.Config) -> None:
    def stop_workers() -> None:
        controller = config.pluginmanager.get_plugin("dsession")
        if controller is not None:
            stop_parallel_run(controller, config.stash[SHARE].folder)

    interruption = config.stash[INTERRUPTION] = Interruption(stop_workers)
    config.add_cleanup(interruption.restore)
    config.pluginmanager.register(interruption, "conformance-interruption")


def _configure_folder(config: pytest.Config) -> None:
    """A folder of the run, in which its workers count together and pytest keeps their files; it goes with the run."""
    share = config.stash[SHARE] = Share(secrets.token_hex(8), Path(tempfile.mkdtemp(prefix="pix-conformance-")))
    config.add_cleanup(lambda: shutil.rmtree(share.folder, ignore_errors=True))
    if getattr(config.option, "dist", "no") == "no":
        return
    config.option.basetemp = config.option.basetemp or str(share.folder / "pytest")
    if config.option.maxworkerrestart is None:
        config.option.maxworkerrestart = "0"  # nobody knows what a worker that ended sent last
    if config.option.dist == "load":
        config.option.dist = "loadgroup"


def _report_folder(config: pytest.Config, run: Run) -> Path | None:
    if config.getoption("no_report"):
        return None
    named = config.getoption("report_dir")
    folder = Path(named).absolute() if named else run_folder(run.profile.name, run.started)
    try:
        prepare(folder)
    except OSError as error:
        raise pytest.UsageError(f"--report-dir: {folder} cannot be written: {error.strerror}") from None
    return folder


def _configure_worker(config: pytest.Config, profile: Profile, worker: dict[str, Any]) -> None:
    """In a process of a parallel run: what the controller opened and decided."""
    number = int(worker["workerid"].removeprefix("gw"))
    share = config.stash[SHARE] = Share(
        worker["run"], Path(worker["shared"]), number, token_accepted=worker["accepted"]
    )
    join_parallel_run(share.folder, config.stash[INTERRUPTION])
    config.option.loadgroup = worker["loadgroup"]
    config.stash[SEED] = worker["seed"]
    config.stash[TARGET] = target_of_worker(profile, worker["base_url"], worker["token"])


def _door(config: pytest.Config, profile: Profile, target: Target) -> Door:
    def refresh() -> bool:
        fetched = target.refresh()
        learn_token(config.stash[WATCHER].redactor, target.token())
        return fetched

    kept, resend = RUNS / profile.name, _codes_to_resend(config, profile)
    return open_door(profile, target, config.stash[SHARE], kept=kept, resend=resend, refresh=refresh)


def _codes_to_resend(config: pytest.Config, profile: Profile) -> frozenset[str]:
    """The codes of --resend-code. UsageError for one that the profile does not supply; it is not repeated."""
    named, supplied = frozenset(config.getoption("resend_code") or ()), frozenset(profile.transactions.codes)
    if named - supplied - {EVERY_CODE}:
        raise pytest.UsageError(f"--resend-code: no such code in transactions.codes of {profile.path}")
    return supplied if EVERY_CODE in named else named


@pytest.hookimpl(optionalhook=True)
def pytest_metadata(metadata: dict[str, Any]) -> None:
    """With -v, pytest-metadata prints variables of CI, of which some name people and projects."""
    metadata.clear()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=turn_of)


# -- the target is spoken to ------------------------------------------------------------------------------------


def pytest_collection_finish(session: pytest.Session) -> None:
    """Probe the target once, before the first test."""
    config = session.config
    if REPORTER in config.stash and session.items:
        _probe(config)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """What a worker of a parallel run needs to know."""
    config = node.config
    if REPORTER not in config.stash:
        return
    budget, share = config.stash[DOOR].budget, config.stash[SHARE]
    if not budget.is_shared:
        budget.share(share.folder / BUDGET)
        _probe(config)
    target = config.stash[TARGET]
    node.workerinput |= {
        "base_url": target.base_url,
        "token": target.token(),
        "accepted": config.stash[DOOR].token_monitor.accepted,
        "run": share.run,
        "seed": config.stash[SEED],
        "loadgroup": config.option.dist == "loadgroup",
        "shared": str(share.folder),
    }


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """What a worker knew goes into the run."""
    reporter = node.config.stash.get(REPORTER, None)
    if reporter is not None:
        reporter.run.add(getattr(node, "workeroutput", {}).pop("traffic", {}))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Hand over what this process sent, before the reports are written."""
    config = session.config
    if DOOR not in config.stash:
        return
    traffic = config.stash[WATCHER].traffic()
    if hasattr(config, "workeroutput"):
        config.workeroutput["traffic"] = traffic
    else:
        run = config.stash[REPORTER].run
        run.add(traffic)
        unanswered = config.stash[DOOR].guard.unanswered()
        run.first = ordered([*run.first, *unknown_to_all(unanswered, run.first)])
        config.stash[REPORTER].finish(session, exitstatus)


def _probe(config: pytest.Config) -> None:
    door, run, redactor = config.stash[DOOR], config.stash[REPORTER].run, config.stash[WATCHER].redactor
    try:
        with config.stash[INTERRUPTION].may_stop():
            found = probe(door, client_of(config), run.profile)
    except UnreachableError as error:
        found = Preflight(str(error))
    run.first += [redactor.text(note) for note in found.notes]
    if found.unreachable:
        run.unreachable = redactor.text(found.unreachable)
        why = f"{run.base_url} cannot be spoken to: {found.unreachable}; this is no verdict on the service"
        pytest.exit(redactor.text(why), returncode=7)


def client_of(config: pytest.Config) -> Client:
    """The client of the run's target."""
    return open_client(config.stash[DOOR], config.stash[WATCHER].profile, config.stash[TARGET])


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup() -> Iterator[Any]:
    """A target that is gone leaves the rows untested; it is no error of the suite."""
    try:
        result = yield
    except UnreachableError as error:
        raise NotExercised(GONE.format(error)) from None
    return result


@pytest.fixture(scope="session")
def profile(pytestconfig: pytest.Config) -> Profile:
    """The profile of the run."""
    return pytestconfig.stash[WATCHER].profile


@pytest.fixture(scope="session")
def client(pytestconfig: pytest.Config) -> Client:
    """Speaks the documented operations of the target."""
    return client_of(pytestconfig)


@pytest.fixture(scope="session")
def watcher(pytestconfig: pytest.Config) -> Watcher:
    """Takes what must be said first, and what a run leaves behind."""
    return pytestconfig.stash[WATCHER]


@pytest.fixture(scope="session")
def door(pytestconfig: pytest.Config) -> Door:
    """The way out, with every exchange of this process."""
    return pytestconfig.stash[DOOR]


@pytest.fixture(scope="session")
def generation_settings(pytestconfig: pytest.Config, profile: Profile) -> GenerationSettings:
    """How much traffic is generated, from which seed, and where failing examples are kept."""
    replay = pytestconfig.getoption("seed") is None
    return _generation_settings(pytestconfig, profile, seed=pytestconfig.stash[SEED], replay=replay)


def _wanted(config: pytest.Config, profile: Profile) -> int | None:
    """The examples that the user or the profile asks for."""
    named: int | None = config.getoption("examples")
    return named or profile.limits.examples


def _generation_settings(config: pytest.Config, profile: Profile, *, seed: int, replay: bool) -> GenerationSettings:
    wanted = _wanted(config, profile)
    return GenerationSettings(
        seed=seed,
        examples=wanted or DEFAULT_EXAMPLES,
        drawn=wanted or DEFAULT_DRAWN,
        cache=RUNS / ".hypothesis",
        database=None if config.getoption("no_report") else RUNS / profile.name / ".hypothesis",
        replay=replay,
    )


@pytest.fixture(scope="session")
def token(pytestconfig: pytest.Config) -> str:
    """The access token, to make wrong ones from."""
    return pytestconfig.stash[TARGET].token()
