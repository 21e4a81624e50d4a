"""The plan of a run as text (--plan): the requests that it would send, by operation and purpose, and the hard limits.

The requests of a plan went through the same scenarios as those of a run, and a wire that sends nothing answered them as
documented.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from environments.door.limits import WANT_THE_TOKEN
from environments.door.wrong_tokens import NO_HEADER, RESTORABLE, forms
from environments.profiles.model import PixKey, Profile
from reports.sentences.wording import grouped, listed, needed_for
from spec.exchange import VALID, Exchange
from spec.interface import MARK, PREPARING, operations
from spec.json_text import as_bytes
from spec.message import Text


@dataclass(frozen=True)
class Plan:
    """The requests of a run that sent nothing, and what kept others from being made."""

    exchanges: Sequence[Exchange] = ()
    denied: frozenset[str] = frozenset()  # operations of the selection that the profile does not permit
    executes: bool = False  # a selected requirement needs an execution
    barred: Sequence[str] = ()  # codes that an earlier run sent
    cut: Sequence[Text] = ()  # limits that leave requests out, in words
    few: Sequence[str] = ()  # situations that statements name and few exchanges show, each with the line to change
    journal_trouble: str = ""  # why the journal cannot be used; empty if it can

    def to(self, *names: str) -> list[Exchange]:
        """The requests to these operations. The empty name stands for paths that are not documented."""
        return [exchange for exchange in self.exchanges if exchange.operation in names]


def plan_lines(plan: Plan, profile: Profile, journal: str, selected: str | None) -> Iterator[str]:
    """Lines of the plan for people.

    `journal` says which journal is used and how many codes it has, `selected` what the user selects; None for
    everything.
    """
    yield from _requests(plan, profile, f"only {selected}, " if selected else "")
    yield from _wrong_tokens(plan, profile)
    yield from _keys(plan, profile)
    yield from _transfers(plan, profile)
    yield "what moves money:"
    yield from (f"  {line}" for line in _executions(plan, profile))
    yield f"journal: {journal}"
    if plan.few:
        yield "few exchanges, so that statements may pass although one node of several is at fault:"
        yield from (f"  {line}" for line in plan.few)
    yield from _out_of_scope(plan, profile)
    limits = profile.limits
    yield (
        f"budgets: {limits.requests} requests, {limits.executions} executions, {limits.duration:g} s, "
        f"rate {limits.rate or 'unlimited'}, {limits.timeout:g} s and {limits.response_bytes} bytes for one answer"
    )


def _requests(plan: Plan, profile: Profile, selected: str) -> Iterator[str]:
    """The target, and the number of requests to each operation by purpose."""
    of_the_option = "" if profile.redirected is None else " (of --base-url, not that of the profile)"
    where = f"{profile.base_url}{of_the_option}, {'a sandbox' if profile.is_sandbox else 'not a sandbox'}"
    yield f"nothing was sent; a run with {profile.path} would send to {where}, {selected}if answered as documented:"
    if profile.redirected:
        yield f"  {profile.redirected}"
    requests = {operation.id: f"{operation.method} {operation.path}" for operation in operations().values()}
    for name, request in {**requests, "": "to see how an unknown path is answered"}.items():
        exchanges = plan.to(name)
        if exchanges:
            number_of_generated = len([exchange for exchange in exchanges if exchange.part])
            generated = f", {number_of_generated} of them generated" if number_of_generated else ""
            yield f"  {name or 'unknown paths':<17} {len(exchanges):>5}  {request}{generated}"
            yield from _purposes(exchanges)
    yield f"  {'total':<17} {len(plan.exchanges):>5}  about; at most limits.requests ({profile.limits.requests}) in all"
    yield "  What a list shows of the keys, which is not described, changes a few of these numbers."
    yield "  A request is repeated when the service asks for it (429, 502, 503, 504), once when a connection drops or a"
    yield "  finding has to be reproduced, an execution only when the connection was refused; a read is repeated to see"
    yield "  whether the token has expired."


def purposes_in_words(exchanges: Iterable[Exchange]) -> Iterator[str]:
    """The purposes of these requests, each once, in a line for each operation."""
    with_purpose = [exchange for exchange in exchanges if exchange.purpose]
    for operation, group in grouped(with_purpose, lambda exchange: exchange.operation).items():
        purposes = dict.fromkeys(exchange.purpose.value for exchange in group if exchange.purpose)
        yield f"{operation or 'unknown paths'}: {'; '.join(purposes)}"


def _purposes(exchanges: Sequence[Exchange]) -> Iterator[str]:
    """Number of requests for each purpose."""
    times = Counter(exchange.purpose for exchange in exchanges if exchange.purpose)
    for purpose, number in times.items():
        yield f"  {'':<17} {number:>5}  {purpose.value}"


def _wrong_tokens(plan: Plan, profile: Profile) -> Iterator[str]:
    """Forms of wrong tokens, and the number of requests with one to each operation."""
    invalid = [exchange for exchange in plan.exchanges if exchange.credential != VALID]
    with_a_token = [exchange for exchange in invalid if dict(exchange.request.headers).get("Authorization")]
    numbers = Counter(exchange.operation for exchange in with_a_token)
    limit = f"at most {profile.limits.wrong_tokens} to each of {' and '.join(WANT_THE_TOKEN)} (limits.wrong_tokens)"
    if profile.is_sandbox:
        limit += ", and as many that name nobody"
    yield f"wrong tokens, {limit}; to others in requests that change nothing:" if numbers else "wrong tokens: none"
    for credential in dict.fromkeys(exchange.credential for exchange in invalid):
        if credential != NO_HEADER:
            yield f"  {credential}{'; tells the token, so it needs fuzz' if credential in RESTORABLE else ''}"
    stand_ins = dict.fromkeys(chain(*(exchange.written for exchange in invalid)))
    if stand_ins:
        yield f"  written, or with: {', '.join(stand_ins)}"
    for name, number in numbers.items():
        credentials = [exchange.credential for exchange in invalid if exchange.operation == name]
        yield f"  {name}: {number} requests with one, and {len(credentials) - number} without any"
        unsent_forms = ", ".join(form.name for form in forms(profile) if form.name not in credentials)
        if unsent_forms and name in WANT_THE_TOKEN:
            is_full = any(exchange.valid for exchange in plan.to(name))
            why = "no room in limits.wrong_tokens for" if is_full else "no code to offer with"
            yield f"  {name}: {why} {unsent_forms}"


def _keys(plan: Plan, profile: Profile) -> Iterator[str]:
    """Keys that are registered, and what becomes of each."""
    yield "keys:"
    if not plan.to("registerPixKey"):
        yield "  none is registered"
        return
    for place, key in enumerate(profile.pix_keys, 1):
        value = as_bytes(key.key or key.type)
        number = len([exchange for exchange in plan.exchanges if value in exchange.request.body])
        how = f"registered unless a list shows it, named by {number} requests"
        yield f"  {key.type}, number {place} of pix_keys: {how}; {_after_registration(key, profile)}"
    becomes = "is deleted" if profile.deletes_keys else _why_it_stays(profile)
    yield f"  {MARK}…@example.com, and with fuzz {MARK}… of any spelling: where the service registers one, it {becomes}"
    yield "  no other key is deleted"


def _why_it_stays(profile: Profile) -> str:
    """Why a run of this profile deletes no key."""
    needs = "delete-keys in allow and requests.deletePixKey"
    if profile.is_sandbox:
        return f"stays: a deletion needs {needs}"
    return f"stays: off a sandbox a deletion needs {needs}, key_at, and read in allow"


def _after_registration(key: PixKey, profile: Profile) -> str:
    """What becomes of a key of the profile that the run registered: deleted, or stays."""
    if not profile.deletes_keys:
        return _why_it_stays(profile)
    if key.type == "RANDOM" and not key.key:
        if key.disposable or profile.is_sandbox:
            return "deleted where Key or key_at tells its value"
        return "deleted where Key and the list agree on its value"
    if key.disposable or profile.is_sandbox:
        return "deleted each time, unless a list showed it before the run"
    return "stays: it is not disposable"


def _transfers(plan: Plan, profile: Profile) -> Iterator[str]:
    """Requests that may prepare or move a transfer. Executions are not among them."""
    exchanges = plan.to(*PREPARING)
    limit = profile.limits.transfers
    number = len(exchanges)
    yield f"transfers: at most {min(number, limit)} may succeed (limits.transfers: {limit}; bodies: {number})"
    for name in PREPARING:
        number_of_valid = len([exchange for exchange in plan.to(name) if exchange.valid])
        if number_of_valid:
            yield f"  {name}: {number_of_valid} with the body of the profile, which may move money by itself"
    if not all(exchange.valid for exchange in exchanges):
        amount = "of any amount" if profile.is_sandbox else "of at most the amount of the profile"
        yield f"  invalid and generated bodies: with synthetic accounts ({MARK}…), {amount}"
    if not profile.is_sandbox and "fuzz" in profile.allow and plan.to("registerPixKey", "deletePixKey", *PREPARING):
        yield "unseen outside a sandbox: malformed bodies, if a service looks their account up first: it is synthetic"


def _executions(plan: Plan, profile: Profile) -> Iterator[str]:
    """Executions, by the codes that they execute, and why codes are not executed."""
    supplied = profile.transactions.codes
    valid = [exchange for exchange in plan.to("executePix") if exchange.valid]
    in_sequences = [exchange for exchange in valid if exchange.part]
    number_of_execution = {exchange.request.last_segment: exchange.number for exchange in valid if not exchange.part}
    of_profile = [code for code in number_of_execution if code in supplied]
    prepared = len(number_of_execution) - len(of_profile)
    if of_profile:
        yield f"each once: {_places(of_profile, supplied)}"
    if prepared:
        yield f"each once: {prepared} that the run prepares"
    for code, number in number_of_execution.items():
        offers = _with_wrong_tokens(plan, code)
        offers_before = [exchange for exchange in offers if exchange.number < number]
        if offers:
            name = _places([code], supplied) if code in supplied else "one that the run prepares"
            yield f"{name}: {len(offers_before)} times with no valid token first, when a lax service executes it"
    if plan.barred:
        yield f"not sent, because the journal says that an earlier run sent it: {_places(plan.barred, supplied)}"
    yield from map(str, plan.cut)
    if in_sequences:
        steps = "as steps of sequences; some of them are executed a second time"
        yield f"{len(in_sequences)} more that the run prepares, {steps}"
    if valid and not profile.is_sandbox:
        yield "unseen outside a sandbox: answers to two executions that are mixed up, a code that moves money twice"
    if not valid and not plan.barred:
        yield f"no execution: {_why_no_execution(plan)}"


def _with_wrong_tokens(plan: Plan, code: str) -> list[Exchange]:
    """Requests that offer a code without a token, or with a wrong one."""
    executions = plan.to("executePix")
    return [
        exchange for exchange in executions if exchange.request.last_segment == code and exchange.credential != VALID
    ]


def _why_no_execution(plan: Plan) -> str:
    if "executePix" in plan.denied:
        return "it needs execute in allow"
    if not plan.executes:
        return "nothing that was selected needs one"
    if plan.journal_trouble:
        return "the next line says why; --plan --new-journal prints what a run with --new-journal would send"
    return "there is no code in transactions.codes, and no transactions.prepare"


def _places(codes: Sequence[str], supplied: Sequence[str]) -> str:
    """The places of codes in the profile, which stand for the codes: `number 1 and number 3 of transactions.codes`."""
    numbers = [f"number {supplied.index(code) + 1}" for code in codes]
    return f"{listed(numbers)} of transactions.codes"


def _out_of_scope(plan: Plan, profile: Profile) -> Iterator[str]:
    """Operations that the profile does not permit, each with the permission that it needs."""
    missing = [operation for operation in operations().values() if operation.id in plan.denied]
    yield "out of scope:" if missing else "out of scope: no operation"
    for operation in missing:
        yield f"  {operation.id:<17} {needed_for(operation)}"
    if "fuzz" not in profile.allow:
        yield "  generated and malformed requests: need fuzz in allow, but for registrations with an empty or cut-off"
        yield "  body at a synthetic account, or with an undocumented key type"
