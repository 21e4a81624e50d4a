"""The door of one run, without pytest: what is sent by whom, and what the journal says of it."""

import json
from types import SimpleNamespace

from environments.door.budget import Budget
from environments.door.client import Client
from environments.door.door import Door
from environments.door.event_log import LogKey
from environments.door.journal import Journal, Outcome
from environments.door.wire import Wire
from environments.profiles.loading import load
from environments.profiles.model import Limits, Profile, Tls
from environments.secret_values import Secrets
from spec.exchange import VALID
from spec.interface import operations
from spec.requirements import requirements
from tests.selftest.services.running import write_profile
from tests.selftest.services.waiting import CutsWhen
from tests.traffic.execution import Executions, execute
from tests.traffic.scenario import Traffic, reach_of

CODE, OTHER = "SBX-PHONE-1", "SBX-EMAIL-1"
EVERYTHING = frozenset(operation.permission for operation in operations().values()) | {"fuzz"}


class Run:
    """The door of one run and its client, with a journal that the next run reads, too; none where it `outlives` nothing.
    With `proxied` the service is the proxy that another target is reached through. Time is up as soon as the service
    holds an answer back."""

    def __init__(
        self, service, folder, *, name="one", environment="staging", outlives=True, allow=EVERYTHING, resend=(),
        proxied=False, base_url="", token=None, ca_bundle=None, correlation_header=None, parallel=1, refresh=lambda: False, **limits,
    ):  # fmt: skip
        self.journal = folder / "journal.jsonl"
        base_url = base_url or ("http://bank.example" if proxied else service.base_url)
        journal = journal_in(folder, run=name, environment=environment, resend=resend) if outlives else None
        sizes = {"requests": 100, "timeout": 60, "response_bytes": 100_000, "parallel": parallel}
        budget = Budget(Limits(**{**sizes, **limits}))
        proxy = service.base_url if proxied else None
        budget.ending = CutsWhen()
        budget.ending.silent = getattr(service, "silent", CutsWhen.silent)
        self.secrets = Secrets({"code": (CODE, OTHER)})
        self.secrets.learn_token(token or service.service.token)
        tls = Tls(ca_bundle=ca_bundle)
        wire = Wire(SimpleNamespace(limits=budget.limits, tls=tls, proxy=proxy), budget.ending)
        self.door = Door(
            SimpleNamespace(base_url=base_url, secrets=self.secrets, refresh=refresh), allow=allow, wire=wire,
            budget=budget, journal=journal,
        )  # fmt: skip
        self.client = Client(self.door, correlation_header=correlation_header)

    def execute(self, code=CODE, credential=VALID):
        return self.client.send("executePix", code, credential=credential, valid=credential == VALID)

    @property
    def events(self):
        """What the journal says of codes, but for the first event of each."""
        events = [json.loads(line)["event"] for line in self.journal.read_text().splitlines()]
        return [event for event in events if event in list(Outcome) and event != Outcome.OFFERED]

    def execute_all(self, profile: Profile, *, pair=False) -> Executions:
        """All that a run sends to the execution, transfers that it prepares included, with or without pairs."""
        wanted = [id for id in requirements() if pair or id != "executePix.id.matches"]
        self.secrets.learn("code", *profile.transactions.codes)
        return execute.send(Traffic(self.client, profile, reach_of(wanted, profile)))


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
    path = write_profile(folder, "http://127.0.0.1:1", transactions=transactions, limits=limits)
    return load(str(path), folder=folder)
