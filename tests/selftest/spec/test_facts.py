"""Facts of answers: places and types, merged in any order, without any value of them."""

import json
from itertools import permutations

import pytest

from spec.facts import DEEP, contradictions, facts_as_text, facts_of, merged_facts, redacted_facts, updated_facts
from spec.json_text import read_json


def facts(value):
    """The facts of a body. A text is read as JSON; any other value is written as JSON first."""
    body = value if isinstance(value, str) else json.dumps(value)
    return facts_of(read_json(body.encode()).value)


def text_of_facts(value):
    """The facts of a body in words."""
    return facts_as_text(facts(value))


def differences(was, now):
    """Places that contradict each other, with both sides in words."""
    return [(place, *map(" ".join, (old, new))) for place, old, new in contradictions(facts(was), facts(now))]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            '{"code": 0, "data": {"keys": [{"id": "8a6e0804", "at": "2026-01-01", "number": 1.0}, '
            '{"id": "x", "at": null, "number": 2, "email": "a@b"}], "tags": []}}',
            "/code number, /data/keys/*/at date or null, /data/keys/*/email absent or string, /data/keys/*/id string, "
            "/data/keys/*/number number, /data/tags array",
        ),
        (f"1{'0' * 2_000}", "/ number"),
        ('{"account": 1, "account": ""}', "/account string"),
        ('[1e2, "", null]', "/* null or number or string"),
        ('{"": 1}', "/* number"),
        ('"2026-01-31T10:00:00-03:00"', "/ date and time"),
        ('"31/01/2026"', "/ string"),
    ],
)
def test_facts_of_a_body_are_its_places_and_types(body, expected):
    """The line has each place with the types of all its values, and "absent" if some objects lack the member.

    A place is left out if a place in it implies it.
    """
    assert text_of_facts(body) == expected


DRIFT = {
    "another type": ({"account": 1}, {"account": "1"}, [("/account", "number", "string")]),
    "all members are gone": ({"account": 1}, {}, [("/account", "number", "absent")]),
    "inside items": ([{"account": 1}], [{"account": None}, {"account": True}], [("/*/account", "number", "boolean")]),
}
NO_DRIFT = {
    "an empty array": ({"account": []}, {"account": [{"bank": 1}]}),
    "a member that is not always there": ([{"account": 1}, {}], [{}]),
    "one more account": ({"total": 2, "0001-77": 1}, {"total": 2, "0001-77": 1, "0002-77": 1}),
    "a cursor": ({"items": []}, {"items": [], "nextCursor": "", "proximaPagina": 2, "next_page_token": ""}),
}


@pytest.mark.parametrize(("was", "now", "expected"), DRIFT.values(), ids=DRIFT)
def test_places_without_a_common_type_contradict_each_other(was, now, expected):
    """The line gives the place with both types. The type of a missing member is "absent"."""
    assert differences(was, now) == expected


@pytest.mark.parametrize(("was", "now"), NO_DRIFT.values(), ids=NO_DRIFT)
def test_unknown_and_varying_places_do_not_contradict(was, now):
    """A place that one side does not know, or that may vary, is no difference in either direction."""
    assert differences(was, now) == differences(now, was) == []


@pytest.mark.parametrize(
    ("was", "now", "expected"),
    [
        ({"account": [{"bank": 1}], "code": 1}, {"account": [], "date": 1}, "/account/*/bank number, /date number"),
        ({"account": [[1]]}, {"account": ""}, "/account string"),
    ],
)
def test_old_facts_stay_unless_new_facts_say_something_of_their_place(was, now, expected):
    """The items of an array that is empty now are as they were. An array that is a text now has no items any more."""
    assert facts_as_text(updated_facts(facts(was), facts(now))) == expected


# -- names --------------------------------------------------------------------------------------------------------

PLAIN = (
    "saldo x-total address1 Success CNPJ transaction_id _links @type pix_key saldoDisponivel nextCursor txId errorCode"
)
DATA = (
    "ac-0001-77 12345 TX0001B conta1234 conta123 2026-01-31 31/01 123.456 12ABC34501DE35 +5511955500101 a/b ~ "
    "maria@example.com 8a6e0804-2bd0-4672-b79d-d97027f9071a maria Maria mariaSilva conta_da_maria conta-da-zuleica "
    "@maria João QWxhZGRpbjpv dG9rZW4 ☃ é"
)


def test_names_of_a_schema():
    """Documented names, in any spelling, and names of ordinary words stay."""
    assert [name for name in PLAIN.split() if text_of_facts({name: 1}) != f"/{name} number"] == []


def test_names_that_are_data():
    """A name that is an identifier, a day or a person is `*`, and the facts show nothing of it."""
    names = [*DATA.split(), "", "Maria Silva", "tab\t", "x" * 61]

    shown = {name: text_of_facts({name: {"account": 1}, "total": 1}) for name in names}

    assert set(shown.values()) == {"/*/account number, /total number"}


def test_names_that_a_redaction_knows():
    """Names that the redaction changes are `*` at any depth, and so are names that may be data."""
    read = frozenset({("", "200 saldo"), ("/data/saldo/0001-77/*/id", "string"), ("/saldo", "absent")})

    assert redacted_facts(read, lambda text: text.replace("saldo", "<key>")) == {
        ("", "200 <key>"),
        ("/data/*/*/*/id", "string"),
    }


def test_merging_depends_on_no_order():
    """Facts that are merged_facts in another order, or once more, give the same, which contradicts none of them."""
    bodies = [
        {"account": [{"bank": 1}], "saldo": "2026-01-31"},
        {"account": [{"bank": ""}, {}]},
    ]
    answers = [facts(body) for body in bodies]
    union = merged_facts(answers)

    assert {merged_facts([merged_facts(order[:1]), *order]) for order in permutations(answers)} == {union}
    assert not any(list(contradictions(union, answer)) for answer in answers)
    assert not any(list(contradictions(answer, union)) for answer in answers)


LEVELS = 8
"""Levels of an answer that are looked at."""


def nested(levels, wrap):
    """A text inside of this number of objects or arrays."""
    value = "x"
    for _ in range(levels):
        value = wrap(value)
    return value


@pytest.mark.parametrize("wrap", [lambda value: {"data": value}, lambda value: [value]], ids=["objects", "arrays"])
def test_facts_end_at_a_depth(wrap):
    """Facts say that there is more below the last level, and nothing about it."""
    whole, cut = facts_of(nested(LEVELS, wrap)), facts_of(nested(LEVELS + 3, wrap))
    (deepest,) = [place for place, what in cut if what == DEEP]

    assert deepest.count("/") == max(place.count("/") for place, _ in cut) == LEVELS
    assert DEEP not in {what for _, what in whole}
