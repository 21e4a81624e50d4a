"""What a run would send, as text for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from environments.door.budget import Spending
from environments.profiles.gaps import deletes_keys
from environments.profiles.profile import Profile, is_loopback
from reports.redaction import Redactor
from reports.wording import needed_for
from spec.interface import KEY_TYPES, MARK, operations

UNDOCUMENTED = ""
"""Stands for the paths beside the documented ones, which show what an unknown path looks like."""


@dataclass(frozen=True)
class Plan:
    """The most requests by operationId, without repetitions; `generated` are the property tests' share of them.

    `denied` are operations that the selection is about and the profile does not permit; `bodies` is how many valid
    bodies go to operations that may move money, `invalid` are the operations that write and get invalid requests.
    `registers`: the keys of the profile; `generates`: malformed or generated requests. `spending` is None where nothing
    is to be executed, `follows` says that a sequence of generated traffic executes a transfer of its own.
    `wrong_tokens` are tried with a real transaction code, or with a key of the profile.
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
    wrong_tokens: int = 0
    journal_trouble: str = ""

    def most(self, operation: str) -> int:
        """Requests to an operation, targeted and generated ones."""
        return self.targeted.get(operation, 0) + self.generated.get(operation, 0)

    @property
    def together(self) -> int:
        """All requests."""
        return sum(self.targeted.values()) + sum(self.generated.values())


def plan_lines(plan: Plan, profile: Profile, redactor: Redactor, selected: str | None) -> Iterator[str]:
    """The plan for people, redacted. `selected` is what the user narrowed the run to."""
    lines = (
        *_requests(plan, profile, f"only {selected}, " if selected else ""),
        *_written(plan, profile),
        *_money(plan, profile),
        *_out_of_scope(plan, profile),
        *_budgets(profile),
    )
    return (redactor.text(line) for line in lines)


def _requests(plan: Plan, profile: Profile, selected: str) -> Iterator[str]:
    yield f"nothing was sent; a run with {profile.path} would send to {profile.base_url}, {selected}at most:"
    for operation in operations().values():
        if plan.most(operation.id):
            share = plan.generated.get(operation.id, 0)
            generated = f", {share} of them generated" if share else ""
            yield f"  {operation.id:<17} {plan.most(operation.id):>5}  {operation.method} {operation.path}{generated}"
    if plan.most(UNDOCUMENTED):
        yield f"  {'unknown paths':<17} {plan.most(UNDOCUMENTED):>5}  to see how an unknown path is answered"
    together = min(plan.together, profile.limits.requests)
    yield f"  {'total':<17} {together:>5}  at most limits.requests ({profile.limits.requests}), repeats included"
    if plan.wrong_tokens:
        yield f"  At most {plan.wrong_tokens} of them carry a wrong token, with a real transaction code or key."
    yield "  A request is repeated when the service asks for it (429, 502, 503, 504), once when a connection drops or a"
    yield "  finding has to be reproduced, an execution only when the connection was refused; a read is repeated to see"
    yield "  whether the token has expired."


def _written(plan: Plan, profile: Profile) -> Iterator[str]:
    yield "what the run changes:"
    yield from [*_registered(plan, profile), *_prepared(plan), *_invalid(plan)] or ["  nothing"]


def _registered(plan: Plan, profile: Profile) -> Iterator[str]:
    if not plan.registers or not profile.accounts:
        return
    deletes = deletes_keys(profile)
    after = "deleted at once" if deletes else "not deleted: that needs delete-keys in allow and requests.deletePixKey"
    for key in profile.pix_keys:
        name = f"{key.type} {key.key}".strip()
        yield f"  the key {name} is registered for {profile.accounts[0]} and {after}"
    if any(key.type == "RANDOM" for key in profile.pix_keys) and deletes:
        yield "  a RANDOM key that the service makes is deleted if the list shows which one it is, and that it is new"
        if "fuzz" in profile.allow:
            yield "  one more RANDOM key may be registered and deleted: with an unknown account in the body"


def _prepared(plan: Plan) -> Iterator[str]:
    for operation, count in plan.bodies.items():
        yield f"  {operation}: {count} with the body of the profile, which may move money by itself"


def _invalid(plan: Plan) -> Iterator[str]:
    if plan.invalid:
        yield f"  anything that the service does with an invalid request to {', '.join(plan.invalid)};"
        yield f"  these requests name only synthetic identifiers ({MARK}…)"


def _money(plan: Plan, profile: Profile) -> Iterator[str]:
    yield "what moves money:"
    yield from (f"  {line}" for line in (*_executed(plan), *_followed(plan, profile)))


def _executed(plan: Plan) -> Iterator[str]:
    if "executePix" in plan.denied:
        yield "no execution: it needs execute in allow"
    elif plan.journal_trouble:
        yield f"no execution: {plan.journal_trouble}"
    elif plan.spending == Spending():
        yield "no execution: there is no code in transactions.codes, and no transactions.prepare"
    elif plan.spending is not None:
        yield from spending_lines(plan.spending)
    elif not plan.follows:
        yield "no execution: nothing that was selected needs one"


def _followed(plan: Plan, profile: Profile) -> Iterator[str]:
    if plan.follows:
        times = "twice" if is_loopback(profile.base_url) else "once"
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
        f"budgets: {limits.requests} requests, {limits.executions} executions, {rate}, {limits.timeout:g} s and "
        f"{limits.response_bytes} bytes for one answer"
    )


def spending_lines(spent: Spending) -> Iterator[str]:
    """What is executed and what is not, for people."""
    executed = [*spent.codes, *[f"{spent.prepared} that the run prepares"] * bool(spent.prepared)]
    if executed:
        yield f"each once: {', '.join(executed)}"
    if spent.sent_before:
        yield f"not sent, because the journal says that an earlier run sent it: {', '.join(spent.sent_before)}"
    if spent.left_out:
        yield spent.left_out
