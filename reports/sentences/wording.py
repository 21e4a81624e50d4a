"""Parts of sentences that every report shares: lists, permissions, exchanges, levels, groups and moments.

The functions know nothing of a run. Whole sentences about a run are in headline.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from spec.interface import MONEY_PERMISSIONS, Operation, operations
from spec.message import Text, joined, joined_keeping_repeats, say, say_many
from spec.requirements import LEVELS, Requirement

_MOST_NAMED = 3
"""Most operations or exchanges that a sentence names, so that it stays short. The report has all of them."""
Item = TypeVar("Item")
GroupKey = TypeVar("GroupKey")


def joined_with_and(parts: Sequence[Text]) -> Text:
    """The parts in one text: `a`, `a and b`, or `a, b and c`; empty for none. Equal parts are all named."""
    if not parts:
        return ""
    *all_but_last, last = parts
    if not all_but_last:
        return last
    return say("{some} and {last}", some=joined_keeping_repeats(all_but_last, ", "), last=last)


def first_few(parts: Sequence[object]) -> Text:
    """The first three parts and the number of the others in one text: `a, b, c and 2 more`."""
    texts = [str(part) for part in parts]
    return joined_with_and(capped(texts, _MOST_NAMED))


def capped(texts: Sequence[Text], most: int) -> list[Text]:
    """The first `most` texts, followed by a text such as `2 more` if there are further ones."""
    if len(texts) <= most:
        return list(texts)
    return [*texts[:most], say("{n} more", n=len(texts) - most)]


def operations_in_words(names: Sequence[str]) -> Text:
    """The first three operations and the number of the others: `executePix, listPixKeys`.

    Without an operation it is "undocumented paths": a request to such a path has no operation.
    """
    return first_few(names) or say("undocumented paths")


def one_line(text: str) -> str:
    """A text as one line that no CI system executes as a command of its own.

    A command begins with `::` at the start of a line (GitHub), or with `##` anywhere (Azure, TeamCity). So line ends
    become blanks, and `##` becomes `# #`.
    """
    return " ".join(text.replace("##", "# #").split())


def shortened(text: str, most: int) -> str:
    """The first `most` characters of a text, with an ellipsis if there are more."""
    return text if len(text) <= most else f"{text[:most]}…"


def permission_needed_for(operation: Operation) -> Text:
    """The permission that the profile must list in `allow` before a request to this operation may be sent.

    For example `POST /v1/pix: needs create-pix in allow; it may move money`.
    """
    needed = say(
        "{method} {path}: needs {permission} in allow",
        method=operation.method,
        path=operation.path,
        permission=operation.permission,
    )
    if operation.permission in MONEY_PERMISSIONS:
        return joined((needed, say("it may move money")))
    return needed


def missing_permission(requirement: Requirement, allow: Collection[str], more: Sequence[Text] = ()) -> Text:
    """Reason why a requirement is not tested: the request that would be sent, and the permissions that it lacks.

    For example `would have sent GET /v1/accounts; needs read in allow`. Empty if no permission is missing. `allow` has
    the permissions of the profile. `more` has further permissions that the test needs and the profile lacks.
    """
    operation = operations().get(requirement.operation or "")
    if operation is None or operation.permission in allow:
        return say("needs {needed} in allow", needed=joined_with_and(more)) if more else ""
    return say(
        "would have sent {method} {path}; needs {needed} in allow",
        method=operation.method,
        path=operation.path,
        needed=joined_with_and([operation.permission, *more]),
    )


def exchanges_in_words(numbers: Sequence[int]) -> Text:
    """The numbers of the first three exchanges, and how many others there are: `exchanges 1, 2, 3 and 4 more`.

    An exchange is a request and its answer.
    """
    return say_many("exchange {numbers}", "exchanges {numbers}", n=len(numbers), numbers=first_few(numbers))


_OF_LEVEL = {
    "documented": say_many("{n} documented", "{n} documented"),
    "implied": say_many("{n} implied", "{n} implied"),
    "example": say_many("{n} example", "{n} example"),
    "robustness": say_many("{n} robustness", "{n} robustness"),
    "not-shown": say_many("{n} not-shown", "{n} not-shown"),
}
"""The number of requirements of a level in words, by the level."""


def count_of_each_level(levels: Iterable[str]) -> Text:
    """How often each level occurs: `2 documented and 1 implied`.

    Levels say how surely the interface document requires something, so that one sum of all would mislead.
    """
    numbers = Counter(levels)
    parts = []
    for level in LEVELS:
        if numbers[level]:
            words_with_number = _OF_LEVEL[level]  # such as "{n} documented"
            parts.append(words_with_number.with_values(n=numbers[level]))
    return joined_with_and(parts)


def grouped(items: Iterable[Item], key: Callable[[Item], GroupKey]) -> dict[GroupKey, list[Item]]:
    """The items in groups, by what `key` returns for each item. Groups and items keep the order of the items."""
    groups: dict[GroupKey, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


# -- moments: always UTC, written alike everywhere ----------------------------------------------------------------


def published_moment(moment: datetime) -> str:
    """A moment as conformance.json has it: `2026-11-20T09:30:00Z`."""
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def read_moment(text: str) -> datetime:
    """The moment that a text of conformance.json says, such as `2026-11-20T09:30:00Z`. ValueError for other texts."""
    return datetime.fromisoformat(text).astimezone(UTC)
