"""Runs in this process: one whose requests a test sends by hand, and whole ones against a service in memory."""

import json
import math
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

from environments.door.client import Client
from environments.door.door import Door, permit_everything
from environments.door.event_log import DigestKey
from environments.door.journal import NEVER_SENT_WITH_VALID_TOKEN, Journal, Outcome
from environments.door.limits import Budget
from environments.door.run_keys import Keys
from environments.door.wire import Wire
from environments.profiles.loading import load
from environments.profiles.model import Limits, Profile, Tls
from environments.sandbox import Request, Response, Service
from environments.secret_values import Secrets
from reports.outputs.conformance_json import as_json, document_of
from reports.outputs.terminal import summary
from reports.result.run import Run as Model
from reports.result.run_verdict import result_of_run
from spec.exchange import VALID
from spec.interface import operations
from spec.log import Log
from spec.requirements import requirements
from tests.harness.selection import ids_selected_by, selection_of
from tests.selftest.proof.directly import run_tests_in_memory
from tests.selftest.schemas import schema_deviations
from tests.selftest.services.running import TOKEN_VARIABLES, RunResult, write_profile
from tests.selftest.services.serving import has_real_code, real_codes_received
from tests.selftest.services.waiting import EndsWhenSet
from tests.traffic.execution import execute
from tests.traffic.scenario import Traffic

CODE, OTHER_CODE = "SBX-PHONE-1", "SBX-EMAIL-1"
HOW_TO_PREPARE = {
    "operation": "createPix",
    "json": {"account": "ac-0001", "pixKey": "+5511955500101", "value": 10.5},
    "code_at": "/data/transactionId",
    "count": 1,
}
UNUSED_ADDRESS = "http://127.0.0.1:1"
"""The address of profiles for services in memory. Nothing listens there."""
TARGETED_TESTS, GENERATED_TESTS, ALL_TESTS = (False,), (True,), (False, True)
"""Which tests a whole run has: those with True for `is_generated` judge generated traffic, the others targeted requests."""
ALL_PERMISSIONS = frozenset(operation.permission for operation in operations().values()) | {"fuzz"}


class ManualRun:
    """A run whose requests a test sends one by one: its door, its client, its secrets and its journal.

    With `has_journal` a later run in the same folder reads the journal. With `proxied` the service is the proxy that
    another target is reached through. A request is cut as soon as the service sets its event `silent`. `pix_keys` are the
    keys of the profile, `clock` gives the seconds that limits.duration counts, and `limits` are other limits of the profile.
    """

    def __init__(
        self, service, folder, *, name="one", environment="staging", has_journal=True, allow=ALL_PERMISSIONS, codes_to_resend=(),
        proxied=False, base_url="", token=None, ca_bundle=None, parallel=1, refresh=lambda: False, is_sandbox=False,
        pix_keys=(), clock=time.monotonic, duration=math.inf, **limits,
    ):  # fmt: skip
        self.journal = folder / "journal.jsonl"
        base_url = base_url or ("http://bank.example" if proxied else service.base_url)
        journal = None
        if has_journal:
            journal = started_journal(folder, run=name, environment=environment, codes_to_resend=codes_to_resend)
        sizes = {"requests": 100, "timeout": 60, "response_bytes": 100_000, "parallel": parallel}
        budget = Budget(Limits(**{**sizes, **limits}), is_sandbox=is_sandbox)
        proxy = service.base_url if proxied else None
        budget.run_end = EndsWhenSet(duration, clock=clock)
        budget.run_end.silent = getattr(service, "silent", EndsWhenSet.silent)
        self.secrets = Secrets({"code": (CODE, OTHER_CODE)})
        self.secrets.learn_token(token or service.sandbox.token)
        tls = Tls(ca_bundle=ca_bundle)
        wire = Wire(SimpleNamespace(base_url=base_url, limits=budget.limits, tls=tls, proxy=proxy), budget.run_end)
        self.door = Door(
            SimpleNamespace(base_url=base_url, secrets=self.secrets, refresh=refresh), allow=allow, wire=wire,
            budget=budget, check_amounts=permit_everything, check_identifiers=permit_everything, journal=journal, keys=Keys(pix_keys), is_sandbox=is_sandbox,
        )  # fmt: skip
        self.client = Client(self.door)

    def execute(self, code=CODE, credential=VALID):
        """Send an execution of this code with this credential, and return the exchange."""
        return self.client.send("executePix", code, credential=credential, valid=credential == VALID)

    @property
    def outcomes_in_journal(self):
        """The outcomes in the journal of codes that were sent with the valid token, such as `sent` and `success`."""
        events = [json.loads(line)["event"] for line in self.journal.read_text().splitlines()]
        return [event for event in events if event in list(Outcome) and event not in NEVER_SENT_WITH_VALID_TOKEN]

    def execute_all(self, profile: Profile, *, simultaneous_executions=False) -> Log:
        """Send everything that a run sends to executePix, after the transfers that it prepares. Returns the log.

        With `simultaneous_executions` two executions are also sent at the same moment. A run sends them only if
        executePix.id.matches is selected, because their answers, if mixed up, show the id of the other transfer.
        """
        selected_ids = list(requirements())
        if not simultaneous_executions:
            selected_ids.remove("executePix.id.matches")
        self.secrets.learn("code", *profile.transactions.codes)
        traffic = Traffic(self.client, profile, selection_of(selected_ids, profile))
        execute.send(traffic)
        return traffic.log


def started_journal(folder, *, run="another", **options) -> Journal:
    """The journal of this folder. If there is none, it is started as with --new-journal."""
    path = folder / "journal.jsonl"
    journal = Journal(path, DigestKey(folder / "journal.key"), run=run, **options)
    if folder.is_dir() and not path.exists() and not path.with_suffix(".key").exists():
        journal.start()
    return journal


def profile_with_codes(folder, codes=(CODE, OTHER_CODE), *, prepare=None, executions=5) -> Profile:
    """The profile of the sandbox with these codes."""
    transactions = {"codes": list(codes), **({"prepare": prepare} if prepare else {})}
    limits = {"executions": executions, "requests": 400}
    path = write_profile(folder, UNUSED_ADDRESS, transactions=transactions, limits=limits)
    return load(str(path), folder=folder)


class FakeBank(Service):
    """The sandbox in this process, in the place of a bank.

    `received` are the requests; `execute` answers an execution with the valid token.
    """

    def __init__(self, token: str = "Tok-3n.Of-The_Service") -> None:
        super().__init__(token=token)
        self.received: list[Request] = []

    def serve(self, request: Request, connection: object) -> Response | None:
        self.received.append(request)
        is_execution = has_real_code(request.path) and self.has_valid_token(request)
        return self.execute(request) if is_execution else self.respond(request)

    def execute(self, request: Request) -> Response | None:
        """Answer as a conforming service does. A subclass may return None, which closes the connection without an answer."""
        return self.respond(request)

    def has_valid_token(self, request: Request) -> bool:
        """True if a request has the valid token."""
        return request.header("Authorization") == f"Bearer {self.token}"

    @property
    def executions_with_valid_token(self) -> list[str]:
        """The codes of executions that arrived with the valid token, whatever the answer was."""
        return [code for code, credential in real_codes_received(self) if credential == f"Bearer {self.token}"]


def profile_of_bank(folder, **changes) -> Profile:
    """A profile whose target is a bank (no sandbox), for a service in memory. Its journal is in the folder.

    `changes` are keys of the profile.
    """
    changes = {"sandbox": None, "journal": str(folder / "journal.jsonl"), **changes}
    profile = load(str(write_profile(folder, UNUSED_ADDRESS, **changes)), folder=folder)
    return replace(profile, limits=replace(profile.limits, parallel=1, examples=profile.limits.examples or 2))


def profile_of_sandbox(folder, **changes) -> Profile:
    """The same profile with a sandbox (a test system without real money) as its target."""
    return profile_of_bank(folder, sandbox=UNUSED_ADDRESS, **changes)


def run_suite_in_memory(
    service: Service, profile: Profile, selected: str = "", tests: tuple[bool, ...] = TARGETED_TESTS
) -> Model:
    """The model of a whole run against a service in this process.

    `selected` is an expression of -k; `tests` are TARGETED_TESTS, GENERATED_TESTS or ALL_TESTS.
    """
    ids = ids_selected_by(selected) if selected else requirements()

    def is_selected(item) -> bool:
        is_generated = item.get_closest_marker("property") is not None
        return is_generated in tests and item.get_closest_marker("requirement").args[0] in ids

    return run_tests_in_memory(service, profile, is_selected)


def result_in_memory(
    service: Service, folder: Path, selected: str = "", tests: tuple[bool, ...] = TARGETED_TESTS, **changes
) -> RunResult:
    """The result of such a run as a user sees it: conformance.json in the folder, and the last lines as its output.

    The profile is that of the sandbox with these changes.
    """
    loaded = load(str(write_profile(folder, UNUSED_ADDRESS, **changes)), folder=folder)
    one_at_a_time = replace(loaded.limits, parallel=1, examples=loaded.limits.examples or 2)
    service.token = TOKEN_VARIABLES["PIX_TOKEN"]
    model = run_suite_in_memory(service, replace(loaded, limits=one_at_a_time), selected=selected, tests=tests)
    document = document_of(model)
    deviations_from_schema = schema_deviations(document)
    assert not deviations_from_schema, deviations_from_schema
    (folder / "conformance.json").write_text(as_json(document), "utf-8")
    return RunResult(document.exit_status, "\n".join(summary(document, model, report="")), folder, run=model)


def report_notes(model: Model) -> list[str]:
    """The notes at the beginning of the report of a run."""
    return [str(note.text) for note in result_of_run(model).notes]
