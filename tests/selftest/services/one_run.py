"""Runs without pytest: the door of one, and what the journal says of it; and whole ones, in this process."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

from environments.door.client import Client
from environments.door.door import Door, let_pass
from environments.door.event_log import LogKey
from environments.door.journal import NEVER_SENT, Journal, Outcome
from environments.door.limits import Budget
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
from tests.harness.selection import ids_of, reach_of
from tests.selftest.proof.directly import run_in_memory
from tests.selftest.schemas import problems
from tests.selftest.services.running import TOKEN, Result, write_profile
from tests.selftest.services.serving import is_real, real_codes
from tests.selftest.services.waiting import CutsWhen
from tests.traffic.execution import execute
from tests.traffic.scenario import Traffic

CODE, OTHER = "SBX-PHONE-1", "SBX-EMAIL-1"
PREPARE = {
    "operation": "createPix",
    "json": {"account": "ac-0001", "pixKey": "+5511955500101", "value": 10.5},
    "code_at": "/data/transactionId",
    "count": 1,
}
ADDRESS = "http://127.0.0.1:1"
"""That of the profiles of banks. Nothing listens there."""
TARGETED, GENERATED, BOTH = (False,), (True,), (False, True)
EVERYTHING = frozenset(operation.permission for operation in operations().values()) | {"fuzz"}


class Run:
    """The door of one run and its client, with a journal that the next run reads, too; none where it `outlives` nothing.
    With `proxied` the service is the proxy that another target is reached through. Time is up as soon as the service
    holds an answer back."""

    def __init__(
        self, service, folder, *, name="one", environment="staging", outlives=True, allow=EVERYTHING, resend=(),
        proxied=False, base_url="", token=None, ca_bundle=None, parallel=1, refresh=lambda: False, is_sandbox=False,
        **limits,
    ):  # fmt: skip
        self.journal = folder / "journal.jsonl"
        base_url = base_url or ("http://bank.example" if proxied else service.base_url)
        journal = journal_in(folder, run=name, environment=environment, resend=resend) if outlives else None
        sizes = {"requests": 100, "timeout": 60, "response_bytes": 100_000, "parallel": parallel}
        budget = Budget(Limits(**{**sizes, **limits}), is_sandbox=is_sandbox)
        proxy = service.base_url if proxied else None
        budget.ending = CutsWhen()
        budget.ending.silent = getattr(service, "silent", CutsWhen.silent)
        self.secrets = Secrets({"code": (CODE, OTHER)})
        self.secrets.learn_token(token or service.service.token)
        tls = Tls(ca_bundle=ca_bundle)
        wire = Wire(SimpleNamespace(base_url=base_url, limits=budget.limits, tls=tls, proxy=proxy), budget.ending)
        self.door = Door(
            SimpleNamespace(base_url=base_url, secrets=self.secrets, refresh=refresh), allow=allow, wire=wire,
            budget=budget, check_amounts=let_pass, check_identifiers=let_pass, journal=journal, is_sandbox=is_sandbox,
        )  # fmt: skip
        self.client = Client(self.door)

    def execute(self, code=CODE, credential=VALID):
        return self.client.send("executePix", code, credential=credential, valid=credential == VALID)

    @property
    def events(self):
        """What the journal says of codes that were sent with the valid token."""
        events = [json.loads(line)["event"] for line in self.journal.read_text().splitlines()]
        return [event for event in events if event in list(Outcome) and event not in NEVER_SENT]

    def execute_all(self, profile: Profile, *, pair=False) -> Log:
        """The log of all that a run sends to the execution, transfers that it prepares included, with or without pairs."""
        wanted = [id for id in requirements() if pair or id != "executePix.id.matches"]
        self.secrets.learn("code", *profile.transactions.codes)
        traffic = Traffic(self.client, profile, reach_of(wanted, profile))
        execute.send(traffic)
        return traffic.log


def journal_in(folder, *, run="another", **options) -> Journal:
    """The journal of this folder, which was started with --new-journal where there was none."""
    path = folder / "journal.jsonl"
    journal = Journal(path, LogKey(folder / "journal.key"), run=run, **options)
    if folder.is_dir() and not path.exists() and not path.with_suffix(".key").exists():
        journal.start()
    return journal


def profile_of(folder, codes=(CODE, OTHER), *, prepare=None, executions=5) -> Profile:
    """The profile of the sandbox with these codes."""
    transactions = {"codes": list(codes), **({"prepare": prepare} if prepare else {})}
    limits = {"executions": executions, "requests": 400}
    path = write_profile(folder, ADDRESS, transactions=transactions, limits=limits)
    return load(str(path), folder=folder)


class Bank(Service):
    """The sandbox in this process. `seen` are the requests. `execute` answers a real code with the valid token."""

    def __init__(self, token: str = "Tok-3n.Of-The_Service") -> None:
        super().__init__(token=token)
        self.seen: list[Request] = []

    def serve(self, request: Request, connection: object) -> Response | None:
        self.seen.append(request)
        is_execution = is_real(request.path) and self.is_granted(request)
        return self.execute(request) if is_execution else self.respond(request)

    def execute(self, request: Request) -> Response | None:
        """Say what a lawful service says; None hangs up."""
        return self.respond(request)

    def is_granted(self, request: Request) -> bool:
        return request.header("Authorization") == f"Bearer {self.token}"

    @property
    def executions(self) -> list[str]:
        """The codes that were sent with the valid token."""
        return [code for code, sent in real_codes(self) if sent == f"Bearer {self.token}"]


def bank_profile(folder, **changes) -> Profile:
    """A profile of a target that is no sandbox, unless `changes` say so, with a journal of its own."""
    changes = {"sandbox": None, "journal": str(folder / "journal.jsonl"), **changes}
    profile = load(str(write_profile(folder, ADDRESS, **changes)), folder=folder)
    return replace(profile, limits=replace(profile.limits, parallel=1, examples=profile.limits.examples or 2))


def whole_run(service: Service, profile: Profile, only: str = "", among: tuple[bool, ...] = TARGETED) -> Model:
    """A run in this process for these requirements, or all."""
    ids = ids_of(only) if only else requirements()

    def takes(item) -> bool:
        is_generated = item.get_closest_marker("property") is not None
        return is_generated in among and item.get_closest_marker("requirement").args[0] in ids

    return run_in_memory(service, profile, takes)


def run_against(
    service: Service, folder: Path, only: str = "", among: tuple[bool, ...] = TARGETED, **changes
) -> Result:
    """The same as a user sees it: conformance.json in this folder, and the lines that close a run as its output. Its
    profile is that of the sandbox with these changes."""
    loaded = load(str(write_profile(folder, ADDRESS, **changes)), folder=folder)
    one_at_a_time = replace(loaded.limits, parallel=1, examples=loaded.limits.examples or 2)
    service.token = TOKEN["PIX_TOKEN"]
    model = whole_run(service, replace(loaded, limits=one_at_a_time), only, among)
    document = document_of(model)
    deviations_from_schema = problems(document)
    assert not deviations_from_schema, deviations_from_schema
    (folder / "conformance.json").write_text(as_json(document), "utf-8")
    return Result(document.exit_status, "\n".join(summary(document, model, report="")), folder, run=model)


def notes_of(model: Model) -> list[str]:
    """What the report of a run says first."""
    return [str(note.text) for note in result_of_run(model).notes]
