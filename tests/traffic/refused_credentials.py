"""Bad credentials to try, with codes that are offered before their execution, and with keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count

from environments.door.client import Client
from environments.door.wrong_tokens import ANOTHER, NO_HEADER, OTHER_SCHEMES, Row, forms, rows
from reports.sentences.wording import capped
from spec.exchange import Exchange
from spec.message import Text, joined, say
from tests.traffic.scenario import Traffic

MOST_CITED = 9
"""Exchanges that are named where none was granted."""
_MOST_NAMED = 6
"""Forms that a finding names."""
ASKED_AGAIN = 4
"""Requests for the code that was executed first, without a token and with a wrong one: at once, and in the end. As
many are kept on a sandbox for a wrong token with the key types that are not e-mail addresses."""


def _table(traffic: Traffic, operation: str) -> list[Row]:
    """The whole table for the token of now."""
    names = [form.name for form in forms(traffic.profile, traffic.client.door.secrets.token())]
    return rows(names, has_a_body=operation == "registerPixKey")


def wrong_token_rows(traffic: Traffic, operation: str) -> list[Row]:
    """The rows that go with real codes or keys, as far as limits.wrong_tokens reaches: all but the plain request
    without a token. What goes apart, one with a synthetic code or three with keys, has its room, but for the first;
    what is asked again, and a wrong token with each key of a sandbox, has all of it. Off a sandbox half of what the
    forms leave is for wrong tokens that name nobody."""
    is_reserved = operation == "executePix" or traffic.profile.is_sandbox
    room = traffic.profile.limits.wrong_tokens
    if is_reserved:
        room -= ASKED_AGAIN
    apart = (1 if operation == "executePix" else 3) + len(forms(traffic.profile, among=OTHER_SCHEMES))
    if not traffic.profile.is_sandbox:
        apart += max(0, room - apart - len(forms(traffic.profile, traffic.client.door.secrets.token()))) // 2
    most = count(max(min(room, 1), room - apart), -1)
    return [row for row in _table(traffic, operation) if row == Row(NO_HEADER) or next(most) > 0]


def of_code(found: Sequence[Row], index: int, codes: int) -> list[Row]:
    """The rows to try with one of so many codes that are offered, in turn. Behind the first, which leaves right behind
    the execution before, goes no header."""
    bare = [row for row in found if row.credential == NO_HEADER]
    wrong = [row for row in found if row not in bare][index::codes]
    return [*wrong[:1], *(bare[index::codes] or bare[:1]), *wrong[1:]]


def ask_again(client: Client) -> None:
    """Ask for the code that was executed first without a token and with a wrong one, as far as limits.wrong_tokens
    reaches: a cache may answer anybody."""
    if code := client.door.guard.first_executed:
        for name in (NO_HEADER, ANOTHER):
            client.send("executePix", code, credential=name)


def tried_in_words(operation: str, exchanges: Sequence[Exchange], traffic: Traffic) -> Text:
    """The forms and ways that were tried, for people, and how many pairs of the table."""
    pairs = _pairs(_table(traffic, operation))
    share = say("{number} of {all} pairs of a form and a way", number=len(pairs & _pairs(exchanges)), all=len(pairs))
    return say("credentials tried: {names} ({share})", names=credentials_of(exchanges), share=share)


def _pairs(found: Iterable[Row | Exchange]) -> set[tuple[str, str]]:
    """Each form with each of the ways in which it was written; with an empty one if it was written as documented."""
    pairs: set[tuple[str, str]] = set()
    for row in found:
        pairs.update((row.credential, way) for way in row.written or ("",))
    return pairs


def let_in_words(exchanges: Sequence[Exchange]) -> Text:
    """The forms that were let in, for people: the first few, and the number of the others. A form that is let in as it
    is usually written has no further entry for the ways in which it was let in, too."""
    usual = {each.credential for each in exchanges if not each.written}
    shown = [each for each in exchanges if not each.written or each.credential not in usual]
    names = dict.fromkeys(joined((say(each.credential), *each.written), " + ") for each in shown)
    return joined(capped([*names], _MOST_NAMED), ", ")


def credentials_of(exchanges: Sequence[Exchange]) -> Text:
    """The credentials of requests, for people: of those that are written as usual, else each with the way in which it
    is written."""
    shown = [each for each in exchanges if not each.written] or exchanges
    return joined((joined((say(each.credential), *each.written), " + ") for each in shown), ", ")
