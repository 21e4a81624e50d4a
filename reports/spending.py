"""Which transfers a run executes, and which it leaves out: the codes of the profile, and those that it prepares."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from environments.profile import Profile


@dataclass(frozen=True)
class Spending:
    """`codes` are sent; `sent_before` the journal keeps from being sent again, and `left_out` limits.executions.

    `prepared` transfers are prepared and executed, `not_prepared` are those for which limits.executions has no room.
    """

    codes: tuple[str, ...] = ()
    sent_before: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    prepared: int = 0
    not_prepared: int = 0


def spending(profile: Profile, sent_before: Collection[str] = ()) -> Spending:
    """What of the profile's transactions a run executes."""
    codes, most = profile.transactions.codes, profile.limits.executions
    prepare = profile.transactions.prepare
    wanted = prepare.count if prepare else 0
    prepared = min(wanted, max(0, most - len(codes)))
    return Spending(
        tuple(code for code in codes[:most] if code not in sent_before),
        tuple(code for code in codes[:most] if code in sent_before),
        codes[most:],
        prepared,
        wanted - prepared,
    )


def spending_lines(spent: Spending, most: int) -> Iterator[str]:
    """What is executed and what is not, for people; `most` is limits.executions."""
    executed = [*spent.codes, *[f"{spent.prepared} that the run prepares"] * bool(spent.prepared)]
    if executed:
        yield f"each once: {', '.join(executed)}"
    if spent.sent_before:
        yield f"not again, as the journal says that an earlier run sent it: {', '.join(spent.sent_before)}"
    left_out = [
        *spent.left_out,
        *[f"{spent.not_prepared} that transactions.prepare asks for"] * bool(spent.not_prepared),
    ]
    if left_out:
        yield f"left out, as limits.executions is {most}: {', '.join(left_out)}"
