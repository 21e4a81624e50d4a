"""The plan of a run as text: what was asked of a wire that sends nothing, and the hard limits beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from environments.door.wrong_tokens import NO_HEADER, RESTORABLE, forms
from environments.profiles.model import PixKey, Profile
from reports.wording import listed, needed_for
from spec.exchange import VALID, Exchange
from spec.interface import MARK, PREPARING, operations
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
    yield from _out_of_scope(plan, profile)
    limits = profile.limits
    rate = f"{limits.rate:g} requests a second" if limits.rate else "no rate limit"
    yield (
        f"budgets: {limits.requests} requests, {limits.executions} executions, {limits.duration:g} s, {rate}, "
        f"{limits.timeout:g} s and {limits.response_bytes} bytes for one answer"
    )


def _requests(plan: Plan, profile: Profile, selected: str) -> Iterator[str]:
    where = f"{profile.base_url}, {'a sandbox' if profile.is_sandbox else 'no sandbox'}"
    yield f"nothing was sent; a run with {profile.path} would send to {where}, {selected}if answered as documented:"
    requests = {operation.id: f"{operation.method} {operation.path}" for operation in operations().values()}
    for name, request in {**requests, "": "to see how an unknown path is answered"}.items():
        share = Counter(bool(seen.part) for seen in plan.to(name))
        generated = f", {share[True]} of them generated" if share[True] else ""
        if share:
            yield f"  {name or 'unknown paths':<17} {share.total():>5}  {request}{generated}"
    yield f"  {'total':<17} {len(plan.sent):>5}  about; at most limits.requests ({profile.limits.requests}) in all"
    yield "  What a list shows of the keys, which is not described, changes a few of these numbers."
    yield "  A request is repeated when the service asks for it (429, 502, 503, 504), once when a connection drops or a"
    yield "  finding has to be reproduced, an execution only when the connection was refused; a read is repeated to see"
    yield "  whether the token has expired."


def _wrong_tokens(plan: Plan, profile: Profile) -> Iterator[str]:
    wrong = [seen for seen in plan.to("executePix", "registerPixKey") if seen.credential not in (VALID, NO_HEADER)]
    if not wrong:
        yield "wrong tokens: none"
        return
    names = sorted({seen.operation for seen in wrong})
    yield f"wrong tokens, at most {profile.limits.wrong_tokens} to each of {' and '.join(names)} (limits.wrong_tokens):"
    for form in dict.fromkeys(seen.credential for seen in wrong):
        yield f"  {form}{'; tells the token, so it needs fuzz' if form in RESTORABLE else ''}"
    for name in names:
        names = [form.name for form in forms(profile)]
        rows = [seen for seen in plan.to(name) if seen.credential in (NO_HEADER, *names)]
        pairs = {(seen.credential, way) for seen in rows for way in seen.written or ("",)}
        yield f"  {name}: {len(pairs)} pairs of a form and a way to write the request"
        if left := [form for form in names if form not in {seen.credential for seen in rows}]:
            yield f"  {name}: no room in limits.wrong_tokens for {', '.join(left)}"
    executed = {seen.request.url: seen.number for seen in plan.to("executePix") if seen.valid}
    if again := [seen for seen in wrong if seen.number > executed.get(seen.request.url, seen.number)]:
        yield f"  {len(again)} of them, and as many requests without a token, ask for the code that was executed first"


def _keys(plan: Plan, profile: Profile) -> Iterator[str]:
    yield "keys:"
    if not plan.to("registerPixKey"):
        yield "  none is registered"
        return
    for place, key in enumerate(profile.pix_keys, 1):
        yield f"  {key.type}, number {place} of pix_keys: registered unless a list shows it; {_after(key, profile)}"
    synthetic = "deleted" if profile.deletes_keys else _STAYS
    yield f"  {MARK}…@example.com, which the run makes up: registered; {synthetic}"
    yield "  no other key is deleted"


_STAYS = "stays: a deletion needs delete-keys in allow and requests.deletePixKey"


def _after(key: PixKey, profile: Profile) -> str:
    """The end of a key of the profile that the run registered: deleted, or stays."""
    if not profile.deletes_keys:
        return _STAYS
    if key.type == "RANDOM" and not key.key:
        return "deleted where Key or key_at tells its value"
    if key.disposable or profile.is_sandbox:
        return "deleted, unless a list showed it before the run"
    return "stays: it is not disposable"


def _transfers(plan: Plan, profile: Profile) -> Iterator[str]:
    """Requests that may prepare or move a transfer, other than an execution."""
    most, limit = len(plan.to(*PREPARING)), profile.limits.transfers
    yield f"transfers: at most {min(most, limit)} may succeed (limits.transfers: {limit}; {most} bodies may be sent)"
    for name in PREPARING:
        valid = sum(seen.valid for seen in plan.to(name))
        if valid:
            yield f"  {name}: {valid} with the body of the profile, which may move money by itself"
    if any(not seen.valid for seen in plan.to(*PREPARING)):
        amount = "of any amount" if profile.is_sandbox else "of at most the amount of the profile"
        yield f"  invalid and generated bodies: with synthetic accounts ({MARK}…), {amount}"


def _executions(plan: Plan, profile: Profile) -> Iterator[str]:
    supplied, asked = profile.transactions.codes, [seen for seen in plan.to("executePix") if seen.valid]
    codes = [unquote(seen.request.url.rsplit("/", 1)[-1]) for seen in asked if not seen.part]
    of_profile = [code for code in codes if code in supplied]
    executed = [_places(of_profile, supplied)] * bool(of_profile)
    executed += [f"{len(codes) - len(of_profile)} that the run prepares"] * (len(codes) > len(of_profile))
    if executed:
        yield f"each once: {', and '.join(executed)}"
    if plan.barred:
        yield f"not sent, because the journal says that an earlier run sent it: {_places(plan.barred, supplied)}"
    yield from map(str, plan.cut)
    if in_sequences := [seen for seen in asked if seen.part]:
        yield f"{len(in_sequences)} more of a transfer that the run prepares, to see if a balance follows"
    if not asked and not plan.barred:
        yield f"no execution: {_why_none(plan)}"


def _why_none(plan: Plan) -> str:
    if "executePix" in plan.denied:
        return "it needs execute in allow"
    if not plan.executes:
        return "nothing that was selected needs one"
    return plan.journal_trouble or "there is no code in transactions.codes, and no transactions.prepare"


def _places(codes: Sequence[str], supplied: Sequence[str]) -> str:
    numbers = [f"number {supplied.index(code) + 1}" for code in codes]
    return f"{listed(numbers)} of transactions.codes"


def _out_of_scope(plan: Plan, profile: Profile) -> Iterator[str]:
    missing = [operation for operation in operations().values() if operation.id in plan.denied]
    yield "out of scope:" if missing else "out of scope: no operation"
    for operation in missing:
        yield f"  {operation.id:<17} {needed_for(operation)}"
    if "fuzz" not in profile.allow:
        yield "  generated and malformed requests: need fuzz in allow"
