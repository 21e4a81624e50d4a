"""Facts of answers: places and types, merged in any order, without any value of them."""

import json
from itertools import permutations

import pytest

from spec.facts import DEEP, contradictions, facts_of, merged, redacted_facts, text_of, updated
from spec.json_text import read_json


def facts(value):
    """The facts of a body. A text is the JSON of it; what is not one is written as JSON first."""
    body = value if isinstance(value, str) else json.dumps(value)
    return facts_of(read_json(body.encode()).value)


def text(value):
    return text_of(facts(value))


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
def test_facts_name_what_an_answer_is_made_of(body, expected):
    """Places, types of all values, members that are not always there; what a member implies is not said."""
    assert text(body) == expected


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
def test_what_contradicts(was, now, expected):
    """Places whose types have nothing in common, with both of them; a member that is not there is absent."""
    assert differences(was, now) == expected


@pytest.mark.parametrize(("was", "now"), NO_DRIFT.values(), ids=NO_DRIFT)
def test_what_does_not_contradict(was, now):
    """What one side does not know, or what may vary, is no difference in either direction."""
    assert differences(was, now) == differences(now, was) == []


@pytest.mark.parametrize(
    ("was", "now", "expected"),
    [
        ({"account": [{"bank": 1}], "code": 1}, {"account": [], "date": 1}, "/account/*/bank number, /date number"),
        ({"account": [[1]]}, {"account": ""}, "/account string"),
    ],
)
def test_what_new_facts_do_not_say(was, now, expected):
    """It is as it was, unless the new facts contradict it; then, and for all that they say, the new ones count."""
    assert text_of(updated(facts(was), facts(now))) == expected


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
    """A documented name, in any spelling, and one of ordinary words stay."""
    assert [name for name in PLAIN.split() if text({name: 1}) != f"/{name} number"] == []


def test_names_that_are_data():
    """An identifier, a day or a person is `*`, and the facts show nothing of it."""
    names = [*DATA.split(), "", "Maria Silva", "tab\t", "x" * 61]

    assert [
        each for each in names if text({each: {"account": 1}, "total": 1}) != "/*/account number, /total number"
    ] == []


def test_names_that_a_redaction_knows():
    """They are `*`, at any depth, and so are names of facts that were read which are not plain."""
    read = frozenset({("", "200 saldo"), ("/data/saldo/0001-77/*/id", "string"), ("/saldo", "absent")})

    assert redacted_facts(read, lambda text: text.replace("saldo", "<key>")) == {
        ("", "200 <key>"),
        ("/data/*/*/*/id", "string"),
    }


def test_merging_depends_on_no_order():
    """In another order or once more, facts give the same, which contradict none that were merged."""
    bodies = [
        {"account": [{"bank": 1}], "saldo": "2026-01-31"},
        {"account": [{"bank": ""}, {}]},
    ]
    each = [facts(body) for body in bodies]
    orders = {merged([merged(order[:1]), *order]) for order in permutations(each)}

    assert orders == {merged(each)}
    assert not any([*contradictions(merged(each), one), *contradictions(one, merged(each))] for one in each)


LEVELS = 8
"""Levels of an answer that are looked at."""


def nested(levels, wrap):
    """A text in so many containers."""
    value = "x"
    for _ in range(levels):
        value = wrap(value)
    return value


@pytest.mark.parametrize("wrap", [lambda value: {"data": value}, lambda value: [value]], ids=["objects", "arrays"])
def test_facts_end_at_a_depth(wrap):
    """Of what lies deeper it is known that there is more, and no more."""
    whole, cut = facts_of(nested(LEVELS, wrap)), facts_of(nested(LEVELS + 3, wrap))
    (deepest,) = [place for place, what in cut if what == DEEP]

    assert deepest.count("/") == max(place.count("/") for place, _ in cut) == LEVELS
    assert DEEP not in {what for _, what in whole}
