"""The plan of a run as text: what was asked of a wire that sends nothing, and the hard limits beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from environments.door.limits import WANT_THE_TOKEN
from environments.door.wrong_tokens import NO_HEADER, RESTORABLE, forms
from environments.profiles.model import PixKey, Profile
from reports.sentences.wording import listed, needed_for
from spec.exchange import VALID, Exchange
from spec.interface import MARK, PREPARING, operations
from spec.json_text import as_bytes
from spec.message import Text


@dataclass(frozen=True)
class Plan:
    """`sent` is what the wire was asked, which answers as documented; `denied` are operations that the selection is
    about and the profile does not permit. `executes`: a selected requirement needs it; `barred` are codes that
    earlier runs sent, `cut` the limits that leave something out."""

    sent: Sequence[Exchange] = ()
    denied: frozenset[str] = frozenset()
    executes: bool = False
    barred: Sequence[str] = ()
    cut: Sequence[Text] = ()
    few: Sequence[str] = ()  # situations that statements name and few exchanges show, each with the line to change
    journal_trouble: str = ""

    def to(self, *names: str) -> list[Exchange]:
        """The requests to these operations; the empty name stands for paths that are not documented."""
        return [seen for seen in self.sent if seen.operation in names]


def plan_lines(plan: Plan, profile: Profile, journal: str, selected: str | None) -> Iterator[str]:
    """The plan for people. `journal` says which one and how many codes it holds, `selected` what the user
    narrowed the run to."""
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
    of_the_option = "" if profile.redirected is None else " (of --base-url, not that of the profile)"
    where = f"{profile.base_url}{of_the_option}, {'a sandbox' if profile.is_sandbox else 'not a sandbox'}"
    yield f"nothing was sent; a run with {profile.path} would send to {where}, {selected}if answered as documented:"
    if profile.redirected:
        yield f"  {profile.redirected}"
    requests = {operation.id: f"{operation.method} {operation.path}" for operation in operations().values()}
    for name, request in {**requests, "": "to see how an unknown path is answered"}.items():
        share = Counter(bool(seen.part) for seen in plan.to(name))
        generated = f", {share[True]} of them generated" if share[True] else ""
        if share:
            yield f"  {name or 'unknown paths':<17} {share.total():>5}  {request}{generated}"
            yield from _purposes(plan.to(name))
    yield f"  {'total':<17} {len(plan.sent):>5}  about; at most limits.requests ({profile.limits.requests}) in all"
    yield "  What a list shows of the keys, which is not described, changes a few of these numbers."
    yield "  A request is repeated when the service asks for it (429, 502, 503, 504), once when a connection drops or a"
    yield "  finding has to be reproduced, an execution only when the connection was refused; a read is repeated to see"
    yield "  whether the token has expired."


def purposes_in_words(sent: Iterable[Exchange]) -> Iterator[str]:
    """The purposes of these requests, a line for each operation."""
    purposes: dict[str, dict[str, None]] = {}  # in their order
    for exchange in sent:
        if exchange.purpose:
            purposes.setdefault(exchange.operation or "unknown paths", {})[exchange.purpose.value] = None
    for name, texts in purposes.items():
        yield f"{name}: {'; '.join(texts)}"


def _purposes(sent: Sequence[Exchange]) -> Iterator[str]:
    """Each purpose of these requests, and how many have it."""
    times = Counter(exchange.purpose for exchange in sent if exchange.purpose and not exchange.part)
    for purpose, number in times.items():
        yield f"  {'':<17} {number:>5}  {purpose.value}"


def _wrong_tokens(plan: Plan, profile: Profile) -> Iterator[str]:
    refused = [seen for seen in plan.sent if seen.credential != VALID]
    tokens = Counter(seen.operation for seen in refused if dict(seen.request.headers).get("Authorization"))
    limit = f"at most {profile.limits.wrong_tokens} to each of {' and '.join(WANT_THE_TOKEN)} (limits.wrong_tokens)"
    yield f"wrong tokens, {limit}; to others in requests that change nothing:" if tokens else "wrong tokens: none"
    for form in dict.fromkeys(seen.credential for seen in refused if seen.credential != NO_HEADER):
        yield f"  {form}{'; tells the token, so it needs fuzz' if form in RESTORABLE else ''}"
    for name, number in tokens.items():
        sent = [seen.credential for seen in refused if seen.operation == name]
        yield f"  {name}: {number} requests with one, and {len(sent) - number} without any"
        left = ", ".join(form.name for form in forms(profile) if form.name not in sent)
        if left and name in WANT_THE_TOKEN:
            is_full = any(seen.valid for seen in plan.to(name))
            yield f"  {name}: {'no room in limits.wrong_tokens for' if is_full else 'no code to offer with'} {left}"


def _keys(plan: Plan, profile: Profile) -> Iterator[str]:
    yield "keys:"
    if not plan.to("registerPixKey"):
        yield "  none is registered"
        return
    for place, key in enumerate(profile.pix_keys, 1):
        number = sum(as_bytes(key.key or key.type) in seen.request.body for seen in plan.sent)
        how = f"registered unless a list shows it, named by {number} requests"
        yield f"  {key.type}, number {place} of pix_keys: {how}; {_after(key, profile)}"
    becomes = "is deleted" if profile.deletes_keys else _why_it_stays(profile)
    yield f"  {MARK}…@example.com, and with fuzz {MARK}… of any spelling: where the service registers one, it {becomes}"
    yield "  no other key is deleted"


def _why_it_stays(profile: Profile) -> str:
    needs = "delete-keys in allow and requests.deletePixKey"
    if profile.is_sandbox:
        return f"stays: a deletion needs {needs}"
    return f"stays: off a sandbox a deletion needs {needs}, key_at, and read in allow"


def _after(key: PixKey, profile: Profile) -> str:
    """The end of a key of the profile that the run registered: deleted, or stays."""
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
    """Requests that may prepare or move a transfer, other than an execution."""
    sent, limit = plan.to(*PREPARING), profile.limits.transfers
    yield f"transfers: at most {min(len(sent), limit)} may succeed (limits.transfers: {limit}; bodies: {len(sent)})"
    for name in PREPARING:
        if valid := sum(seen.valid for seen in plan.to(name)):
            yield f"  {name}: {valid} with the body of the profile, which may move money by itself"
    if any(not seen.valid for seen in sent):
        amount = "of any amount" if profile.is_sandbox else "of at most the amount of the profile"
        yield f"  invalid and generated bodies: with synthetic accounts ({MARK}…), {amount}"
    if not profile.is_sandbox and "fuzz" in profile.allow and plan.to("registerPixKey", "deletePixKey", *PREPARING):
        yield "unseen outside a sandbox: malformed bodies, if a service looks their account up first: it is synthetic"


def _executions(plan: Plan, profile: Profile) -> Iterator[str]:
    supplied, sent = profile.transactions.codes, plan.to("executePix")
    asked = [seen for seen in sent if seen.valid]
    executed = {seen.request.last_segment: seen.number for seen in asked if not seen.part}
    of_profile = [code for code in executed if code in supplied]
    if of_profile:
        yield f"each once: {_places(of_profile, supplied)}"
    if len(executed) > len(of_profile):
        yield f"each once: {len(executed) - len(of_profile)} that the run prepares"
    for code, at in executed.items():
        tries = [seen.number < at for seen in sent if seen.request.last_segment == code and seen.credential != VALID]
        if tries:
            name = _places([code], supplied) if code in supplied else "one that the run prepares"
            yield f"{name}: {sum(tries)} times with no valid token first, when a lax service executes it"
    if plan.barred:
        yield f"not sent, because the journal says that an earlier run sent it: {_places(plan.barred, supplied)}"
    yield from map(str, plan.cut)
    if in_sequences := [seen for seen in asked if seen.part]:
        yield f"{len(in_sequences)} more of a transfer that the run prepares, to see if a balance follows"
    if asked and not profile.is_sandbox:
        yield "unseen outside a sandbox: answers to two executions that are mixed up, a code that moves money twice"
    if not asked and not plan.barred:
        yield f"no execution: {_why_none(plan)}"


def _why_none(plan: Plan) -> str:
    if "executePix" in plan.denied:
        return "it needs execute in allow"
    if not plan.executes:
        return "nothing that was selected needs one"
    if plan.journal_trouble:
        return "the next line says why; --plan --new-journal prints what a run with --new-journal would send"
    return "there is no code in transactions.codes, and no transactions.prepare"


def _places(codes: Sequence[str], supplied: Sequence[str]) -> str:
    numbers = [f"number {supplied.index(code) + 1}" for code in codes]
    return f"{listed(numbers)} of transactions.codes"


def _out_of_scope(plan: Plan, profile: Profile) -> Iterator[str]:
    missing = [operation for operation in operations().values() if operation.id in plan.denied]
    yield "out of scope:" if missing else "out of scope: no operation"
    for operation in missing:
        yield f"  {operation.id:<17} {needed_for(operation)}"
    if "fuzz" not in profile.allow:
        yield "  generated and malformed requests: need fuzz in allow, but for registrations with an empty or cut-off"
        yield "  body at a synthetic account, or with an undocumented key type"
