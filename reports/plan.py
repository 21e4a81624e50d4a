"""What a run would send, as text: `pytest --plan` prints it and sends nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from environments.budget import shares
from environments.permission import MONEY
from environments.profile import Profile
from spec.interface import KEY_KINDS, MARK, operations
from spec.redaction import Redactor

UNDOCUMENTED = ""
"""Stands for the paths beside the documented ones, which show what an unknown path looks like."""


@dataclass(frozen=True)
class Plan:
    """The most requests by operationId, without repetitions; `generated` are the property tests' share of them."""

    targeted: Mapping[str, int]
    generated: Mapping[str, int] = field(default_factory=dict)

    def most(self, operation: str) -> int:
        """Requests to an operation, targeted and generated ones."""
        return self.targeted.get(operation, 0) + self.generated.get(operation, 0)

    @property
    def together(self) -> int:
        """All requests."""
        return sum(self.targeted.values()) + sum(self.generated.values())


class Planner:
    """In place of a run: nothing is sent, the plan of what was selected is printed."""

    def __init__(self, profile: Profile, redactor: Redactor, planned: Callable[[bool], Plan]) -> None:
        self._profile, self._redactor, self._planned = profile, redactor, planned
        self._generates = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._generates = any(item.get_closest_marker("property") for item in session.items)
        return True

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.section("plan")
        for line in plan_lines(self._planned(self._generates), self._profile, self._redactor):
            terminalreporter.write_line(line)


def plan_lines(plan: Plan, profile: Profile, redactor: Redactor) -> Iterator[str]:
    """The plan for people, redacted."""
    lines = (
        *_requests(plan, profile),
        *_written(profile),
        *_money(profile),
        *_out_of_scope(profile),
        *_budgets(profile),
    )
    return (redactor.text(line) for line in lines)


def _requests(plan: Plan, profile: Profile) -> Iterator[str]:
    yield f"nothing was sent; a run with {profile.path} would send to {profile.base_url}, at most:"
    for operation in operations().values():
        if operation.permission in profile.allow:
            share = plan.generated.get(operation.id, 0)
            generated = f", {share} of them generated" if share else ""
            yield f"  {operation.id:<17} {plan.most(operation.id):>5}  {operation.method} {operation.path}{generated}"
    yield f"  {'paths beside them':<17} {plan.most(UNDOCUMENTED):>5}  to see how an unknown path is answered"
    together = min(plan.together, profile.limits.requests)
    yield f"  {'together':<17} {together:>5}  and with repeats at most limits.requests ({profile.limits.requests})"
    yield "  Repeats come on top: a request goes again where the service asks for it (429, 502, 503, 504), once where"
    yield "  a connection drops or a finding has to be seen twice, an execution only where the connection was refused;"
    yield "  a read goes again where it shows whether the token has expired."


def _written(profile: Profile) -> Iterator[str]:
    yield "what is written:"
    yield from [*_registered(profile), *_prepared(profile), *_mistaken(profile)] or ["  nothing"]


def _registered(profile: Profile) -> Iterator[str]:
    if "register-keys" not in profile.allow or not profile.accounts:
        return
    deletes = "delete-keys" in profile.allow and "deletePixKey" in profile.requests
    after = "deleted again at once" if deletes else "left behind: nothing says how to delete it"
    for key in profile.pix_keys:
        name = f"{key.type} {key.key}".strip()
        yield f"  the key {name} is registered for {profile.accounts[0]} and {after}"
    if any(key.type == "RANDOM" for key in profile.pix_keys) and deletes:
        yield "  a RANDOM key whose value the service does not answer is left behind"


def _prepared(profile: Profile) -> Iterator[str]:
    for operation in operations().values():
        if operation.permission not in ("create-pix", "transfer") or operation.permission not in profile.allow:
            continue
        count, prepare = 1, profile.transactions.prepare
        if prepare and prepare.operation == operation.id:
            count = max(1, prepared(profile))
        if operation.id in profile.requests or (prepare and prepare.operation == operation.id):
            yield f"  {operation.id}: {count} with the body of the profile, which may move money by itself"


def _mistaken(profile: Profile) -> Iterator[str]:
    writing = [each.id for each in operations().values() if each.method != "GET" and each.permission in profile.allow]
    if "fuzz" in profile.allow and writing:
        yield f"  what the service makes of mistaken requests to {', '.join(writing)},"
        yield f"  whose keys, payers and payees are nobody's ({MARK}…)"


def _money(profile: Profile) -> Iterator[str]:
    yield "what moves money:"
    codes = profile.transactions.codes[: profile.limits.executions]
    if "execute" not in profile.allow:
        yield "  no execution: it needs execute in allow"
    elif not codes and not prepared(profile):
        yield "  no execution: there is no code in transactions.codes, and no transactions.prepare"
    else:
        shown = ", ".join([*codes, *[f"{prepared(profile)} that the run prepares"] * bool(prepared(profile))])
        yield f"  each once, unless the journal says that it was sent: {shown}"
        yield from (f"  {left_out}" for left_out in [shares(profile).left_out] if left_out)


def prepared(profile: Profile) -> int:
    """How many codes a run prepares for itself."""
    return shares(profile).prepared if "execute" in profile.allow else 0


def _out_of_scope(profile: Profile) -> Iterator[str]:
    missing = [operation for operation in operations().values() if operation.permission not in profile.allow]
    yield "out of scope:" if missing else "out of scope: no operation"
    for operation in missing:
        money = ", which moves money or may" if operation.permission in MONEY else ""
        yield f"  {operation.id:<17} {operation.method} {operation.path}: needs {operation.permission} in allow{money}"
    if "fuzz" not in profile.allow:
        yield "  generated and malformed requests: need fuzz in allow"
    absent = [kind for kind in KEY_KINDS if kind not in {key.type for key in profile.pix_keys}]
    if absent and "register-keys" in profile.allow:
        yield f"  keys of the kind {', '.join(absent)}: need one in pix_keys"


def _budgets(profile: Profile) -> Iterator[str]:
    limits = profile.limits
    rate = f"{limits.rate:g} requests a second" if limits.rate else "no limit of the rate"
    yield (
        f"budgets: {limits.requests} requests, {limits.executions} executions, {rate}, {limits.timeout:g} s and "
        f"{limits.response_bytes} bytes an answer"
    )
