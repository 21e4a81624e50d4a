"""What a run would send, as text for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from environments.door.authorization import forms
from environments.door.budget import Spending
from environments.door.wrong_tokens import OTHER_SCHEMES
from environments.profiles.gaps import deletes_keys
from environments.profiles.profile import PixKey, Profile
from environments.secrets import ordinal
from reports.wording import listed, needed_for
from spec.interface import KEY_TYPES, MARK, PREPARING, operations

UNDOCUMENTED = ""
"""Stands for the paths beside the documented ones, which show what an unknown path looks like."""


@dataclass(frozen=True)
class Plan:
    """The requests by operationId, to a service that answers as documented; `generated` are the property tests' share.

    `denied` are operations that the selection is about and the profile does not permit; `bodies` is how many valid
    bodies go to operations that may move money, `invalid` are the operations that write and get invalid requests.
    `registers`: the keys of the profile; `generates`: malformed or generated requests. `spending` is None where nothing
    is to be executed, `follows` says that a sequence of generated traffic executes a transfer of its own.
    `wrong_tokens` are the operations that get them.
    """

    targeted: Mapping[str, int]
    generated: Mapping[str, int] = field(default_factory=dict)
    denied: frozenset[str] = frozenset()
    bodies: Mapping[str, int] = field(default_factory=dict)
    invalid: tuple[str, ...] = ()
    registers: bool = False
    generates: bool = False
    spending: Spending | None = None
    follows: bool = False
    wrong_tokens: tuple[str, ...] = ()
    journal_trouble: str = ""

    def most(self, operation: str) -> int:
        """Requests to an operation, targeted and generated ones."""
        return self.targeted.get(operation, 0) + self.generated.get(operation, 0)

    @property
    def together(self) -> int:
        """All requests."""
        return sum(self.targeted.values()) + sum(self.generated.values())


def plan_lines(plan: Plan, profile: Profile, journal: str, selected: str | None) -> Iterator[str]:
    """The plan for people. `journal` says which one and how many codes it holds, `selected` what the user
    narrowed the run to."""
    lines = (
        *_requests(plan, profile, f"only {selected}, " if selected else ""),
        *_wrong_tokens(plan, profile),
        *_keys(plan, profile),
        *_transfers(plan, profile),
        *_money(plan, profile),
        f"journal: {journal}",
        *_own_account(plan, profile),
        *_out_of_scope(plan, profile),
        *_budgets(profile),
    )
    return iter(lines)


def _requests(plan: Plan, profile: Profile, selected: str) -> Iterator[str]:
    sandbox = "a sandbox" if profile.is_sandbox else "no sandbox"
    where = f"{profile.base_url}, {sandbox}"
    yield f"nothing was sent; a run with {profile.path} would send to {where}, {selected}if answered as documented:"
    for operation in operations().values():
        if plan.most(operation.id):
            share = plan.generated.get(operation.id, 0)
            generated = f", {share} of them generated" if share else ""
            yield f"  {operation.id:<17} {plan.most(operation.id):>5}  {operation.method} {operation.path}{generated}"
    if plan.most(UNDOCUMENTED):
        yield f"  {'unknown paths':<17} {plan.most(UNDOCUMENTED):>5}  to see how an unknown path is answered"
    yield f"  {'total':<17} {plan.together:>5}  at most limits.requests ({profile.limits.requests}), repeats included"
    yield "  A request is repeated when the service asks for it (429, 502, 503, 504), once when a connection drops or a"
    yield "  finding has to be reproduced, an execution only when the connection was refused; a read is repeated to see"
    yield "  whether the token has expired."


def _wrong_tokens(plan: Plan, profile: Profile) -> Iterator[str]:
    """The table of forms, as far as the profile permits it."""
    if not plan.wrong_tokens:
        yield "wrong tokens: none"
        return
    most = profile.limits.wrong_tokens
    yield f"wrong tokens, at most {most} to each of {' and '.join(plan.wrong_tokens)} (limits.wrong_tokens):"
    for form in (*forms(profile), *forms(profile, among=OTHER_SCHEMES)):
        told = "; tells the token, so it needs fuzz" if form.restorable else ""
        yield f"  {form.name}{told}"


def _keys(plan: Plan, profile: Profile) -> Iterator[str]:
    yield "keys:"
    if not plan.registers or not profile.accounts:
        yield "  none is registered"
        return
    for place, key in enumerate(profile.pix_keys, 1):
        yield f"  {key.type}, {ordinal(place)} of pix_keys: registered unless a list shows it; {_after(key, profile)}"
    synthetic = "deleted" if deletes_keys(profile) else f"stay: {_NO_DELETION}"
    yield f"  {MARK}…@example.com, which the run makes up: registered, and {synthetic}"
    if any(key.type == "RANDOM" for key in profile.pix_keys) and deletes_keys(profile) and "fuzz" in profile.allow:
        yield "  one more RANDOM key may be registered and deleted: with an unknown account in the body"
    yield "  no other key is deleted"


_NO_DELETION = "a deletion needs delete-keys in allow and requests.deletePixKey"


def _after(key: PixKey, profile: Profile) -> str:
    """What becomes of a key of the profile that the run registered."""
    if not deletes_keys(profile):
        return f"stays: {_NO_DELETION}"
    if key.type == "RANDOM" and not key.key:
        sure = "" if key.disposable or profile.is_sandbox else ", and a list shows that it is new"
        return f"the key that the service makes is deleted where Key or key_at tells its value{sure}"
    if key.disposable or profile.is_sandbox:
        return "deleted, unless a list showed it before the run"
    return "stays: it is not disposable"


def _own_account(plan: Plan, profile: Profile) -> Iterator[str]:
    """What changes, or may change, the first of the accounts."""
    if not profile.accounts:
        return
    reaches = ["reads"] * ("read" in profile.allow)
    reaches += ["registrations and deletions of the keys above"] * (plan.registers)
    invalid = [name for name in plan.invalid if name in ("registerPixKey", "deletePixKey")]
    reaches += [f"invalid requests to {' and '.join(invalid)}, with synthetic keys"] * bool(invalid)
    reaches += [f"the bodies of the profile for {', '.join(filter(plan.bodies.get, PREPARING))}"] * bool(plan.bodies)
    yield f"what reaches the first of accounts: {'; '.join(reaches) or 'nothing'}"
    if len(profile.accounts) > 1:
        yield "what reaches the other accounts: reads of balances, and what the bodies of the profile name"


def _transfers(plan: Plan, profile: Profile) -> Iterator[str]:
    """What may prepare or move a transfer, other than an execution."""
    most = sum(plan.most(operation) for operation in PREPARING)
    limit = profile.limits.transfers
    yield f"transfers: at most {min(most, limit)} may succeed (limits.transfers: {limit}; {most} bodies may be sent)"
    yield from _prepared(plan)
    yield from _invalid(plan, profile)


def _prepared(plan: Plan) -> Iterator[str]:
    for operation in filter(plan.bodies.get, PREPARING):
        yield f"  {operation}: {plan.bodies[operation]} with the body of the profile, which may move money by itself"


def _invalid(plan: Plan, profile: Profile) -> Iterator[str]:
    invalid = [name for name in plan.invalid if name in PREPARING]
    if invalid:
        amount = "of any amount" if profile.is_sandbox else "of at most the amount of the profile"
        yield f"  invalid and generated bodies to {', '.join(invalid)}: with synthetic accounts ({MARK}…), {amount}"


def _money(plan: Plan, profile: Profile) -> Iterator[str]:
    yield "what moves money:"
    yield from (f"  {line}" for line in (*_executed(plan, profile), *_followed(plan, profile)))


def _executed(plan: Plan, profile: Profile) -> Iterator[str]:
    if "executePix" in plan.denied:
        yield "no execution: it needs execute in allow"
    elif plan.journal_trouble:
        yield f"no execution: {plan.journal_trouble}"
    elif plan.spending == Spending():
        yield "no execution: there is no code in transactions.codes, and no transactions.prepare"
    elif plan.spending is not None:
        yield from spending_lines(plan.spending, profile.transactions.codes)
    elif not plan.follows:
        yield "no execution: nothing that was selected needs one"


def _followed(plan: Plan, profile: Profile) -> Iterator[str]:
    if plan.follows:
        times = "twice" if profile.is_sandbox else "once"
        yield f"one more that the run prepares, {times}, to see if a balance follows, where limits.executions has room"


def _out_of_scope(plan: Plan, profile: Profile) -> Iterator[str]:
    missing = [operation for operation in operations().values() if operation.id in plan.denied]
    yield "out of scope:" if missing else "out of scope: no operation"
    for operation in missing:
        yield f"  {operation.id:<17} {needed_for(operation)}"
    if plan.generates and "fuzz" not in profile.allow:
        yield "  generated and malformed requests: need fuzz in allow"
    absent = [name for name in KEY_TYPES if name not in {key.type for key in profile.pix_keys}]
    if absent and plan.registers:
        yield f"  keys of the type {', '.join(absent)}: need one in pix_keys"


def _budgets(profile: Profile) -> Iterator[str]:
    limits = profile.limits
    rate = f"{limits.rate:g} requests a second" if limits.rate else "no rate limit"
    yield (
        f"budgets: {limits.requests} requests, {limits.executions} executions, {limits.duration:g} s, {rate}, "
        f"{limits.timeout:g} s and {limits.response_bytes} bytes for one answer"
    )


def spending_lines(spent: Spending, supplied: Sequence[str]) -> Iterator[str]:
    """What is executed and what is not, for people. A code is named by its place among those `supplied`."""
    executed = [_places(spent.codes, supplied)] * bool(spent.codes)
    executed += [f"{spent.prepared} that the run prepares"] * bool(spent.prepared)
    if executed:
        yield f"each once: {', and '.join(executed)}"
    if spent.sent_before:
        yield f"not sent, because the journal says that an earlier run sent it: {_places(spent.sent_before, supplied)}"
    if spent.left_out:
        yield spent.left_out


def _places(codes: Sequence[str], supplied: Sequence[str]) -> str:
    return f"{listed([ordinal(supplied.index(code) + 1) for code in codes])} of transactions.codes"
