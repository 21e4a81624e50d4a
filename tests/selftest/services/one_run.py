"""Runs of the suite in this process: a run whose requests a test sends by hand, and whole runs against a service in memory."""

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
from reports.result.run import Run
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
"""Transaction codes that the sandbox knows. An execution of such a code moves money."""
HOW_TO_PREPARE = {
    "operation": "createPix",
    "json": {"account": "ac-0001", "pixKey": "+5511955500101", "value": 10.5},
    "code_at": "/data/transactionId",
    "count": 1,
}
"""The setting `transactions.prepare` of a profile: how the run prepares a transfer, and where its code is in the answer."""
UNUSED_ADDRESS = "http://127.0.0.1:1"
"""The address of profiles for services in memory. Nothing listens there."""
TARGETED_TESTS, GENERATED_TESTS, ALL_TESTS = (False,), (True,), (False, True)
"""Which tests a whole run has: True stands for tests that judge generated traffic, and False for tests that judge targeted
requests."""
ALL_PERMISSIONS = frozenset(operation.permission for operation in operations().values()) | {"fuzz"}


class ManualRun:
    """A run whose requests a test sends one by one, with `client.send` or `execute`.

    Every request goes through `door`, which refuses what could do harm. A request on the wire is cut off as soon as the
    service sets its event `silent`.
    """

    def __init__(
        self, service, folder, *, name="one", environment="staging", has_journal=True, allow=ALL_PERMISSIONS, codes_to_resend=(),
        proxied=False, base_url="", token=None, ca_bundle=None, parallel=1, refresh=lambda: False, is_sandbox=False,
        pix_keys=(), clock=time.monotonic, duration=math.inf, **limits,
    ):  # fmt: skip
        """A run against this service that has sent nothing.

        - `name` and `environment` are the names of the run and of its profile (its settings). `allow` has the permissions
          of the profile, `pix_keys` its keys, and `limits` further limits, such as `requests=40`.
        - The folder has the journal, the file of the transaction codes that runs sent. A later run in the same folder
          reads it. `codes_to_resend` are codes that may be sent although an earlier run sent them.
        - With `proxied` the service is a proxy, through which the target at `base_url` is reached.
        - `refresh` fetches another token, and returns True if there is one.
        - `clock` gives the seconds that count against `duration`.
        """
        self.journal = folder / "journal.jsonl"
        if not base_url:
            base_url = "http://bank.example" if proxied else service.base_url
        proxy = service.base_url if proxied else None
        journal = None
        if has_journal:
            journal = started_journal(folder, run=name, environment=environment, codes_to_resend=codes_to_resend)
        sizes = {"requests": 100, "timeout": 60, "response_bytes": 100_000, "parallel": parallel}
        budget = Budget(Limits(**{**sizes, **limits}), is_sandbox=is_sandbox)
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

    @property
    def exchanges(self):
        """The requests that were sent, each with its answer, in order."""
        return self.door.exchanges

    @property
    def executions_of_unknown_outcome(self):
        """The numbers of the executions after which nobody knows whether money moved, for example after a time-out."""
        return self.door.guard.unknown_outcomes

    @property
    def notes(self):
        """The notes of the run for its report, such as "executions were stopped: …"."""
        return self.door.guard.notes

    @property
    def operations_left_out(self):
        """Operations to which requests were not sent, or not sent again, by the reason."""
        return self.door.unsent

    @property
    def why_unreachable(self):
        """Why the service counts as unreachable. Empty if it can be reached."""
        return self.door.liveness.why_unreachable

    def codes_that_may_be_sent(self, codes):
        """Those of these transaction codes that the run may send with the valid token, as the journal says."""
        return self.door.guard.open_journal_and_find_usable(codes)

    def stop(self):
        """Stop the run, as Ctrl-C does. Requests on the wire are cut off, and later ones are not sent."""
        self.door.run_end.stop()

    def execute(self, code=CODE, credential=VALID):
        """Send an execution of this code with this credential, and return the exchange."""
        return self.client.send("executePix", code, credential=credential, valid=credential == VALID)

    @property
    def outcomes_in_journal(self):
        """The outcomes in the journal of codes that were sent with the valid token, such as `sent` and `success`."""
        events = [json.loads(line)["event"] for line in self.journal.read_text().splitlines()]
        outcomes = set(Outcome) - set(NEVER_SENT_WITH_VALID_TOKEN)
        return [event for event in events if event in outcomes]

    def execute_all(self, profile: Profile, *, simultaneous_executions=False) -> Log:
        """Prepare transfers, and send everything that a run sends to executePix. Returns the exchanges (the log).

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
    """The journal of this folder, a file of the transaction codes that runs sent. If there is none, it is started.

    A journal counts as never started only if its key (journal.key) is missing, too. If somebody deletes the journal,
    the key is left.
    """
    path = folder / "journal.jsonl"
    journal = Journal(path, DigestKey(folder / "journal.key"), run=run, **options)
    was_never_started = not path.exists() and not path.with_suffix(".key").exists()
    if folder.is_dir() and was_never_started:
        journal.start()
    return journal


def profile_with_codes(folder, codes=(CODE, OTHER_CODE), *, prepare=None, executions=5) -> Profile:
    """A profile (the settings of a run) for a sandbox, with these transaction codes.

    `prepare` says how the run prepares transfers itself, such as HOW_TO_PREPARE. `executions` is the greatest number of
    executions.
    """
    transactions = {"codes": list(codes)}
    if prepare:
        transactions["prepare"] = prepare
    limits = {"executions": executions, "requests": 400}
    path = write_profile(folder, UNUSED_ADDRESS, transactions=transactions, limits=limits)
    return load(str(path), folder=folder)


class FakeBank(Service):
    """The sandbox in this process, without a network, in the place of a bank.

    `received` are the requests that arrived. A subclass overrides `execute` to answer executions with the valid token
    in another way.
    """

    def __init__(self, token: str = "Tok-3n.Of-The_Service") -> None:
        """A bank that has received no request. `token` is the valid token."""
        super().__init__(token=token)
        self.received: list[Request] = []

    def serve(self, request: Request, connection: object) -> Response | None:
        """The answer to a request. If the request may move money, `execute` gives the answer, and otherwise the
        sandbox.
        """
        self.received.append(request)
        may_move_money = has_real_code(request.path) and self.has_valid_token(request)
        if may_move_money:
            return self.execute(request)
        return self.respond(request)

    def execute(self, request: Request) -> Response | None:
        """Answer as a conforming service does. A subclass may return None, which closes the connection without an
        answer.
        """
        return self.respond(request)

    def has_valid_token(self, request: Request) -> bool:
        """True if a request has the valid token."""
        return request.header("Authorization") == f"Bearer {self.token}"

    @property
    def executions_with_valid_token(self) -> list[str]:
        """The codes of executions that arrived with the valid token, whatever the answer was."""
        valid_credential = f"Bearer {self.token}"
        return [code for code, credential in real_codes_received(self) if credential == valid_credential]


def profile_of_bank(folder, **changes) -> Profile:
    """A profile (the settings of a run) whose target is a bank, not a sandbox. The service is in this process.

    The journal, the file of the transaction codes that runs sent, is in the folder. `changes` are keys of the profile.
    """
    settings = {"sandbox": None, "journal": str(folder / "journal.jsonl"), **changes}
    profile = load(str(write_profile(folder, UNUSED_ADDRESS, **settings)), folder=folder)
    return replace(profile, limits=one_request_at_once(profile.limits))


def one_request_at_once(limits: Limits) -> Limits:
    """The limits with one request at once, because a service in memory answers in the thread of the caller.

    If the profile does not say how many examples are drawn for a property, two are enough for these tests.
    """
    return replace(limits, parallel=1, examples=limits.examples or 2)


def profile_of_sandbox(folder, **changes) -> Profile:
    """The profile of `profile_of_bank`, with a sandbox (a test system without real money) as its target."""
    return profile_of_bank(folder, sandbox=UNUSED_ADDRESS, **changes)


def run_suite_in_memory(
    service: Service, profile: Profile, selected: str = "", tests: tuple[bool, ...] = TARGETED_TESTS
) -> Run:
    """Run the suite to its end against a service in this process. Returns the run: its results and its exchanges.

    `selected` is an expression of the option -k, such as "executePix.document". It selects requirements; empty selects
    all. `tests` are TARGETED_TESTS, GENERATED_TESTS or ALL_TESTS.
    """
    selected_ids = ids_selected_by(selected) if selected else requirements()

    def is_selected(item) -> bool:
        """True if this test of pytest is to run: it is of the wanted sort, and its requirement is selected."""
        is_generated = item.get_closest_marker("property") is not None
        requirement_id = item.get_closest_marker("requirement").args[0]
        return is_generated in tests and requirement_id in selected_ids

    return run_tests_in_memory(service, profile, is_selected)


def result_in_memory(
    service: Service, folder: Path, selected: str = "", tests: tuple[bool, ...] = TARGETED_TESTS, **changes
) -> RunResult:
    """Run the suite against a service in this process, and return the result as a user sees it.

    conformance.json is in the folder, and the output is the summary that a run prints. `changes` are keys of the
    profile (the settings of the run), whose target is a sandbox. `selected` and `tests` are those of
    `run_suite_in_memory`.
    """
    loaded = load(str(write_profile(folder, UNUSED_ADDRESS, **changes)), folder=folder)
    profile = replace(loaded, limits=one_request_at_once(loaded.limits))
    service.token = TOKEN_VARIABLES["PIX_TOKEN"]
    run = run_suite_in_memory(service, profile, selected=selected, tests=tests)
    document = document_of(run)
    deviations_from_schema = schema_deviations(document)
    assert not deviations_from_schema, deviations_from_schema
    (folder / "conformance.json").write_text(as_json(document), "utf-8")
    return RunResult(document.exit_status, "\n".join(summary(document, run, report="")), folder, run=run)


def report_notes(run: Run) -> list[str]:
    """The notes at the beginning of the report of a run, such as "executions were stopped: …"."""
    return [str(note.text) for note in result_of_run(run).notes]
