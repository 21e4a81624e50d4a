"""Which transfers a run executes, and which it leaves out: the codes of the profile, and those that it prepares."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from environments.door.budget import shares
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
    """What of the profile's transactions a run executes."""
    supplied = tuple(dict.fromkeys(profile.transactions.codes))
    usable = tuple(code for code in supplied if code not in sent_before)
    share = shares(profile, len(usable))
    spent = tuple(code for code in supplied if code in sent_before)
    return Spending(usable[: share.codes], spent, share.prepared, share.left_out)


def spending_lines(spent: Spending) -> Iterator[str]:
    """What is executed and what is not, for people."""
    executed = [*spent.codes, *[f"{spent.prepared} that the run prepares"] * bool(spent.prepared)]
    if executed:
        yield f"each once: {', '.join(executed)}"
    if spent.sent_before:
        yield f"not again, as the journal says that an earlier run sent it: {', '.join(spent.sent_before)}"
    if spent.left_out:
        yield spent.left_out
