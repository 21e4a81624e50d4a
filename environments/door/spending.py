"""Which transfers a run executes, and which it leaves out: the codes of the profile, and those that it prepares."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from environments.profiles.profile import Profile


@dataclass(frozen=True)
class Spending:
    """`codes` are sent, `sent_before` the journal keeps from being sent again, `prepared` transfers are prepared and
    executed. `left_out` says what limits.executions has no room for; empty where it has room for all."""

    codes: tuple[str, ...] = ()
    sent_before: tuple[str, ...] = ()
    prepared: int = 0
    left_out: str = ""


def spending(profile: Profile, sent_before: Collection[str] = ()) -> Spending:
    """How limits.executions is shared out: first to the supplied codes that no earlier run sent, then to transfers that
    the run prepares."""
    limit, prepare = profile.limits.executions, profile.transactions.prepare
    supplied = tuple(dict.fromkeys(profile.transactions.codes))
    usable = tuple(code for code in supplied if code not in sent_before)
    wanted, codes = prepare.count if prepare else 0, usable[:limit]
    prepared = min(wanted, limit - len(codes))
    cut = [
        f"{total - taken} of {total} {what}"
        for total, taken, what in (
            (len(usable), len(codes), "transaction codes"),
            (wanted, prepared, "transfers to prepare"),
        )
        if taken < total
    ]
    left_out = f"limits.executions ({limit}) leaves out {' and '.join(cut)}" if cut else ""
    return Spending(codes, tuple(code for code in supplied if code in sent_before), prepared, left_out)
