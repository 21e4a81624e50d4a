"""The front door: options, fixtures and wiring only."""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from environments.budget import Budget
from environments.client import Client
from environments.credentials import resolve_headers, resolve_passphrase
from environments.door import Door, UnreachableError
from environments.journal import Journal
from environments.probe import Preflight, probe
from environments.profile import Profile, ProfileError, is_loopback, load
from environments.target import Target, open_target, target_of_worker
from environments.wire import WireSettings
from reports.first import ordered, unknown_to_all
from reports.interruption import Interruption, stop_parallel_run
from reports.pen import Pen
from reports.plan import Plan, Planner
from reports.plugin import Reporter, Watcher
from reports.recording import NotExercised
from reports.run import Run
from reports.writing import RUNS, prepare, run_folder
from spec.interface import personal_fields
from spec.ledger import ledger
from spec.redaction import Redactor
from tests.conformance.generation.settings import DEFAULT_DRAWN, DEFAULT_EXAMPLES, GenerationSettings
from tests.conformance.planning import generated, targeted

ROOT = Path(__file__).parent
ENVIRONMENTS = ROOT / "environments"
CONFORMANCE = ROOT / "tests" / "conformance"
SELFTEST = ROOT / "tests" / "selftest"
PERSONAL = {
    "document",
    "name",
    "key",
    "pixKey",
    "account",
    "digit",
    "branch",
    "message",
    "from",
    "to",
    "DocumentNumber",
}

EVERY_CODE = "*"
BUDGET = "budget.json"
"""What the workers of a parallel run count in together."""

TARGET = pytest.StashKey[Target]()
DOOR = pytest.StashKey[Door]()
WATCHER = pytest.StashKey[Watcher]()
REPORTER = pytest.StashKey[Reporter]()
RUN_ID = pytest.StashKey[str]()
SHARED = pytest.StashKey[Path]()
SEED = pytest.StashKey[int]()
INTERRUPTION = pytest.StashKey[Interruption]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("conformance")
    group.addoption("--environment", default="sandbox", metavar="NAME", help="environments/NAME.yaml, or a path")
    group.addoption("--report-dir", metavar="DIR", help="where report.html, conformance.json and junit.xml go")
    group.addoption("--seed", type=int, metavar="N", help="repeat the generated traffic of the run that reported N")
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
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1")
    return int(text)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "requirement(id): the ledger row that a conformance test answers for")
    config.addinivalue_line("markers", "needs(permission): a permission beyond that of the row's operation")
    config.addinivalue_line("markers", "property: generated traffic")
    config.addinivalue_line("markers", "xdist_group(name): tests that one worker of a parallel run takes")
    if config.getoption("verify_base_url", False):
        raise pytest.UsageError("--verify-base-url goes around the door; leave it out, the target is probed anyway")
    if only_selftests(config):
        return
    try:
        _configure(config, _profile(config))
    except ProfileError as error:
        raise pytest.UsageError(str(error)) from None


def _configure(config: pytest.Config, profile: Profile) -> None:
    if config.getoption("plan"):
        _configure_plan(config, profile)
        return
    _configure_interruption(config)
    worker = getattr(config, "workerinput", None)
    if worker is None:
        _configure_controller(config, profile)
    else:
        config.option.loadgroup = worker["loadgroup"]
        config.stash[SEED] = worker["seed"]
        Path(worker["shared"], f"{os.getpid()}.pid").touch()
        config.stash[TARGET] = target_of_worker(profile, worker["base_url"], worker["token"])
    target = config.stash[TARGET]
    watcher = config.stash[WATCHER] = Watcher(profile, _redactor(profile, target))
    pen = Pen(watcher.redactor)
    config.add_cleanup(pen.put_down)
    config.pluginmanager.register(pen, "conformance-pen")
    watcher.door = config.stash[DOOR] = _door(config, profile, target)
    config.pluginmanager.register(watcher, "conformance-watcher")


def _configure_plan(config: pytest.Config, profile: Profile) -> None:
    """Nothing is sent, so there is no target, no token and no report, and no worker."""
    config.option.dist = "no"
    redactor = Redactor(secrets={}, values=_values(profile), fields=PERSONAL | personal_fields())
    settings = _generation_settings(config, profile, seed=0, replay=False)

    def planned(generates: bool) -> Plan:
        return replace(targeted(profile), generated=generated(profile, settings) if generates else {})

    config.pluginmanager.register(Watcher(profile, redactor), "conformance-watcher")
    config.pluginmanager.register(Planner(profile, redactor, planned), "conformance-planner")


def _examples(config: pytest.Config, profile: Profile) -> int:
    named: int | None = config.getoption("examples")
    return named or profile.limits.examples or DEFAULT_EXAMPLES


def only_selftests(config: pytest.Config) -> bool:
    """Whether every path on the command line lies under tests/selftest: no verdict on a service."""
    paths = [Path(config.invocation_params.dir, arg.split("::")[0]).resolve() for arg in config.args]
    return bool(paths) and all(path.is_relative_to(SELFTEST) for path in paths)


def _profile(config: pytest.Config) -> Profile:
    base_url = config.getoption("base_url", None) or None
    profile = load(config.getoption("environment"), folder=ENVIRONMENTS, base_url=base_url)
    for entry in profile.known_failures:
        if entry.id not in ledger():
            raise pytest.UsageError(
                f"{profile.path}: known_failures: {entry.id}: no such row in spec/requirements.yaml"
            )
    return profile


def _configure_controller(config: pytest.Config, profile: Profile) -> None:
    target = config.stash[TARGET] = open_target(profile)
    config.add_cleanup(target.stop)
    config.stash[RUN_ID] = secrets.token_hex(8)
    selection = _selection(config)
    narrowed = bool(selection) and selection != f"-m {config.option.markexpr}"
    given = config.getoption("seed")
    seed = config.stash[SEED] = secrets.randbelow(10**9) if given is None else given
    examples = _examples(config, profile)
    run = Run(profile, target.base_url, selection=selection, narrowed=narrowed, seed=seed, examples=examples)
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
            stop_parallel_run(controller, [int(path.stem) for path in config.stash[SHARED].glob("*.pid")])

    interruption = config.stash[INTERRUPTION] = Interruption(stop_workers)
    config.add_cleanup(interruption.restore)
    config.pluginmanager.register(interruption, "conformance-interruption")


def _configure_folder(config: pytest.Config) -> None:
    """A folder of the run, in which its workers count together and pytest keeps their files; it goes with the run."""
    shared = config.stash[SHARED] = Path(tempfile.mkdtemp(prefix="pix-conformance-"))
    config.add_cleanup(lambda: shutil.rmtree(shared, ignore_errors=True))
    if getattr(config.option, "dist", "no") == "no":
        return
    config.option.basetemp = config.option.basetemp or str(shared / "pytest")
    if config.option.maxworkerrestart is None:
        config.option.maxworkerrestart = "0"  # nobody knows what a worker that ended sent last
    if config.option.dist == "load":
        config.option.dist = "loadgroup"


def _selection(config: pytest.Config) -> str | None:
    """What the user narrowed the run to, as typed; None for a whole run."""
    parts = [f"-k {config.option.keyword}"] if config.option.keyword else []
    parts += [f"-m {config.option.markexpr}"] if config.option.markexpr else []
    whole = {ROOT, ROOT / "tests", CONFORMANCE}
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        parts += [arg for arg in config.args if Path(config.invocation_params.dir, arg).resolve() not in whole]
    return " ".join(parts) or None


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


def _redactor(profile: Profile, target: Target) -> Redactor:
    secrets_ = {
        "token": target.token(),
        **{f"header {name}": value for name, value in resolve_headers(profile)},
    }
    if passphrase := resolve_passphrase(profile):
        secrets_["passphrase"] = passphrase
    return Redactor(secrets=secrets_, values=_values(profile), fields=PERSONAL | personal_fields())


def _values(profile: Profile) -> dict[str, Sequence[str]]:
    return {
        "account": profile.accounts,
        "key": [key.key for key in profile.pix_keys if key.key],
        "code": profile.transactions.codes,
    }


def _journal_folder(config: pytest.Config, profile: Profile, target: Target) -> Path:
    """Beside the reports; for loopback, where no later run is to be kept from a code, gone with the run."""
    if not is_loopback(target.base_url):
        return RUNS / profile.name
    worker = getattr(config, "workerinput", None)
    return Path(worker["shared"]) if worker else config.stash[SHARED]


def _door(config: pytest.Config, profile: Profile, target: Target) -> Door:
    worker = getattr(config, "workerinput", None)
    run = worker["run"] if worker else config.stash[RUN_ID]
    limits, tls = profile.limits, profile.tls
    budget = Budget(
        requests=limits.requests,
        executions=limits.executions,
        rate=limits.rate,
        shared=Path(worker["shared"], BUDGET) if worker else None,
    )
    journal = Journal(
        profile.journal or _journal_folder(config, profile, target) / "journal.jsonl",
        origin=target.base_url,
        run=run,
        across_runs=profile.journal is not None or not is_loopback(target.base_url),
        resend=_codes_to_resend(config, profile),
    )
    wire = WireSettings(
        timeout_s=limits.timeout,
        response_bytes=limits.response_bytes,
        verify=str(tls.ca_bundle) if tls.ca_bundle else True,
        client_cert=str(tls.client_cert) if tls.client_cert else None,
        client_key=str(tls.client_key) if tls.client_key else None,
        client_key_passphrase=resolve_passphrase(profile),
        proxy=profile.proxy,
    )

    def refresh() -> bool:
        fetched = target.refresh()
        config.stash[WATCHER].redactor.learn("token", target.token())
        return fetched

    first = 1 + 100_000 * (1 + int(worker["workerid"].removeprefix("gw"))) if worker else 1
    return Door(
        target.base_url,
        allow=profile.allow,
        wire=wire,
        budget=budget,
        journal=journal,
        token=target.token,
        refresh=refresh,
        first_number=first,
    )


def _codes_to_resend(config: pytest.Config, profile: Profile) -> frozenset[str]:
    """The codes of --resend-code. UsageError for one that the profile does not supply; it is not repeated."""
    named, supplied = frozenset(config.getoption("resend_code") or ()), frozenset(profile.transactions.codes)
    if named - supplied - {EVERY_CODE}:
        raise pytest.UsageError(f"--resend-code: no such code in transactions.codes of {profile.path}")
    return supplied if EVERY_CODE in named else named


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Generated traffic comes last: the targeted tests find the keys of the profile as nobody has touched them."""
    items.sort(key=lambda item: item.get_closest_marker("property") is not None)


# -- the target is spoken to ------------------------------------------------------------------------------------


def pytest_collection_finish(session: pytest.Session) -> None:
    """Probe the target once, before the first test."""
    config = session.config
    if REPORTER in config.stash and session.items and not config.option.collectonly:
        _probe(config)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """What a worker of a parallel run needs to know."""
    config = node.config
    if REPORTER not in config.stash:
        return
    budget = config.stash[DOOR].budget
    if not budget.is_shared:
        budget.share(config.stash[SHARED] / BUDGET)
        _probe(config)
    target = config.stash[TARGET]
    node.workerinput |= {
        "base_url": target.base_url,
        "token": target.token(),
        "run": config.stash[RUN_ID],
        "seed": config.stash[SEED],
        "loadgroup": config.option.dist == "loadgroup",
        "shared": str(config.stash[SHARED]),
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
        run.unreachable = found.unreachable
        why = f"{run.base_url} cannot be spoken to: {found.unreachable}; this is no verdict on the service"
        pytest.exit(redactor.text(why), returncode=7)


def client_of(config: pytest.Config) -> Client:
    """The client of the run's target."""
    profile, target = config.stash[WATCHER].profile, config.stash[TARGET]
    return Client(
        config.stash[DOOR],
        base_url=target.base_url,
        token=target.token,
        headers=resolve_headers(profile),
        correlation_header=profile.correlation_header,
    )


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup() -> Iterator[Any]:
    """A target that is gone leaves the rows untested; it is no error of the suite."""
    try:
        result = yield
    except UnreachableError as error:
        raise NotExercised(f"the target cannot be spoken to any more: {error}") from None
    return result


@pytest.fixture(scope="session")
def profile(request: pytest.FixtureRequest) -> Profile:
    """The profile of the run."""
    return request.config.stash[WATCHER].profile


@pytest.fixture(scope="session")
def client(request: pytest.FixtureRequest) -> Client:
    """Speaks the documented operations of the target."""
    return client_of(request.config)


@pytest.fixture(scope="session")
def watcher(request: pytest.FixtureRequest) -> Watcher:
    """Takes what must be said first, and what a run leaves behind."""
    return request.config.stash[WATCHER]


@pytest.fixture(scope="session")
def door(request: pytest.FixtureRequest) -> Door:
    """The way out, with every exchange of this process."""
    return request.config.stash[DOOR]


@pytest.fixture(scope="session")
def generation_settings(request: pytest.FixtureRequest, profile: Profile) -> GenerationSettings:
    """How much traffic is generated, from which seed, and where failing examples are kept."""
    config = request.config
    return _generation_settings(config, profile, seed=config.stash[SEED], replay=config.getoption("seed") is None)


def _generation_settings(config: pytest.Config, profile: Profile, *, seed: int, replay: bool) -> GenerationSettings:
    wanted: int | None = config.getoption("examples") or profile.limits.examples
    return GenerationSettings(
        seed=seed,
        examples=wanted or DEFAULT_EXAMPLES,
        drawn=wanted or DEFAULT_DRAWN,
        cache=RUNS / ".hypothesis",
        database=None if config.getoption("no_report") else RUNS / profile.name / ".hypothesis",
        replay=replay,
    )


@pytest.fixture(scope="session")
def token(request: pytest.FixtureRequest) -> str:
    """The access token, to make wrong ones from."""
    return request.config.stash[TARGET].token()
