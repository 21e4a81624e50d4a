"""Facts of answers: places and types, merged in any order, without any value of them."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spec.facts import DEEP, WORDS, contradictions, facts_of, is_name, merged, renamed, text_of, updated
from spec.json_text import MAX_DEPTH, read_json


def facts(value):
    """The facts of a body. A text is the JSON of it; what is not one is written as JSON first."""
    body = value if isinstance(value, str) else json.dumps(value)
    return facts_of(read_json(body.encode()).value)


def text(*values):
    return text_of(merged(map(facts, values)))


def differences(was, now):
    """Places that contradict each other, with both sides in words."""
    return [(place, *map(" ".join, (old, new))) for place, old, new in contradictions(facts(was), facts(now))]


def test_facts_name_what_an_answer_is_made_of():
    """Places, types of all values, members that are not always there; what a member implies is not said."""
    keys = [{"id": "8a6e0804", "at": "2026-01-01", "number": 1.0}, {"id": "x", "at": None, "number": 2, "email": "a@b"}]

    assert text({"code": 0, "data": {"keys": keys, "tags": []}}) == (
        "/code number, /data/keys/*/at date or null, /data/keys/*/email absent or string, /data/keys/*/id string, "
        "/data/keys/*/number number, /data/tags array"
    )
    assert facts({"id": [1]}) == {("/", "object"), ("/id", "array"), ("/id/*", "number")}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("1e2", "/ number"),
        (f"1{'0' * 2_000}", "/ number"),
        ("true", "/ boolean"),
        ('{"account": 1, "account": ""}', "/account string"),
        ('[1, "", null]', "/* null or number or string"),
        ("[]", "/ array"),
        ("{}", "/ object"),
        ('{"": 1}', "/* number"),
        ('"2026-01-31"', "/ date"),
        ('"2026-01-31T10:00:00-03:00"', "/ date and time"),
        ('"31/01/2026"', "/ string"),
    ],
)
def test_types(body, expected):
    """The types of JSON, and of texts dates."""
    assert text(body) == expected


DRIFT = {
    "another type": ({"account": 1}, {"account": "1"}, [("/account", "number", "string")]),
    "another form of a date": ({"date": "2026-01-01"}, {"date": "01/01/2026"}, [("/date", "date", "string")]),
    "a member that is gone": ({"account": 1, "bank": 2}, {"account": 1}, [("/bank", "number", "absent")]),
    "all members are gone": ({"account": 1}, {}, [("/account", "number", "absent")]),
    "a new member": ({"account": 1}, {"account": 1, "bank": []}, [("/bank", "absent", "array")]),
    "a new member that begins like a link": ({}, {"nextPayment": ""}, [("/nextPayment", "absent", "string")]),
    "a number that was before": ({"previous": 1.5}, {}, [("/previous", "number", "absent")]),
    "a renamed member": (
        {"account": 1},
        {"bank": 1},
        [("/account", "number", "absent"), ("/bank", "absent", "number")],
    ),
    "inside items": ([{"account": 1}], [{"account": None}, {"account": True}], [("/*/account", "number", "boolean")]),
    "inside any name": ({"0001-77": {"id": 1}}, {"0002-77": {"id": ""}}, [("/*/id", "number", "string")]),
    "an object for an array": ({"id": []}, {"id": {"bank": 1}}, [("/id", "array", "object")]),
    "a documented name becomes data": ({"account": "1"}, {"0001-77": "1"}, [("/account", "string", "absent")]),
    "after a long list": (
        {"entries": [{"id": 1}], "page": {"total": 5}},
        {"entries": [{"id": 1}] * 20_000, "page": {"total": ""}},
        [("/page/total", "number", "string")],
    ),
}
NO_DRIFT = {
    "the same": ({"account": [1]}, {"account": [1]}),
    "an empty array": ({"account": []}, {"account": [{"bank": 1}]}),
    "only ever null": ({"account": None}, {"account": {"bank": 1}}),
    "null, or not there": ([{"account": None}, {}], [{"account": 1}]),
    "whole amounts": ({"account": 10}, {"account": 10.5}),
    "several types": ([1, ""], [""]),
    "a member that is not always there": ([{"account": 1}, {}], [{}]),
    "another account": ({"0001-77": 1}, {"ac-2222-77": 1}),
    "one more account": ({"total": 2, "0001-77": 1}, {"total": 2, "0001-77": 1, "0002-77": 1}),
    "no account": ({"0001-77": 1}, {}),
    "one more person": ({"joao": {"value": 1}}, {"joao": {"value": 1}, "maria": {"value": 2}}),
    "a link to a page": ({"links": {"self": ""}}, {"links": {"self": "", "next": {"href": ""}}}),
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
        ({"account": {"bank": 1}}, {"account": None}, "/account null or object, /account/bank number"),
        ({"0001-77": [1]}, {"0002-77": []}, "/*/* number"),
        ({"account": {"bank": 1}}, {"account": {}}, "/account object"),
        ({"account": [{"bank": 1}]}, {"account": [1]}, "/account/* number"),
        ({"account": [[1]]}, {"account": ""}, "/account string"),
    ],
)
def test_what_new_facts_do_not_say(was, now, expected):
    """It is as it was, unless the new facts contradict it; then, and for all that they say, the new ones count."""
    assert text_of(updated(facts(was), facts(now))) == expected
    assert updated(facts(now), facts(now)) == facts(now)


# -- names --------------------------------------------------------------------------------------------------------

PLAIN = ["saldo", "balance", "x-total", "address1", "Success", "CNPJ", "transaction_id", "_links", "@type", "pix_key"]
DATA = [
    *["ac-0001-77", "0001-77", "12345", "TX0001B", "conta1234", "2026-01-31", "31/01", "123.456", "Maria Silva", ""],
    *["12ABC34501DE35", "+5511955500101", "maria@example.com", "8a6e0804-2bd0-4672-b79d-d97027f9071a", "a/b", "~"],
    *[
        "maria",
        "Maria",
        "mariaSilva",
        "conta_da_maria",
        "conta-da-zuleica",
        "@maria",
        "João",
        "QWxhZGRpbjpv",
        "tab\t",
        "☃",
    ],
]


@pytest.mark.parametrize("name", PLAIN)
def test_names_of_a_schema(name):
    """A documented name, in any spelling, and one of ordinary words stay."""
    assert text({name: 1}) == f"/{name} number"


@pytest.mark.parametrize("name", DATA)
def test_names_that_are_data(name):
    """An identifier, a day or a person is `*`, and the facts show nothing of it."""
    assert text({name: {"account": 1}, "total": 1}) == "/*/account number, /total number"


def test_more_names_than_an_object_has():
    """Fifty members of one object stay; more of them are keyed by data."""
    words = sorted(filter(is_name, WORDS))[:51]

    assert text(dict.fromkeys(words, 1)) == "/* number"
    assert text(dict.fromkeys(words[:50], 1)) == ", ".join(f"/{word} number" for word in words[:50])


def test_names_that_a_redaction_knows():
    """They are `*`, at any depth, and so are names of facts that were read which are not plain."""
    found = frozenset(
        {("", "200 saldo"), ("/data/saldo/0001-77/*/id", "string"), ("/", "object"), ("/saldo", "absent")}
    )

    assert renamed(found, lambda text: text.replace("saldo", "<key>")) == {
        ("", "200 <key>"),
        ("/data/*/*/*/id", "string"),
        ("/", "object"),
    }


# -- bounds -------------------------------------------------------------------------------------------------------


def test_what_lies_deep_is_not_seen():
    """Eight levels of objects and arrays; nothing contradicts what lies there."""
    deep, flat = '{"account":' * MAX_DEPTH + "1" + "}" * MAX_DEPTH, '{"account":' * 8 + "1" + "}" * 8

    assert text(deep) == "/account" * 8 + f" {DEEP}"
    assert differences(deep, flat) == []


LETTERS = "abcdefghijklmnop"
HUGE = {
    "five megabytes": {"data": [{"id": f"x{at}", "number": at, "state": "é" * 80} for at in range(20_000)]},
    "deep arrays": "[" * MAX_DEPTH + "]" * MAX_DEPTH,
    "many names": {f"{a}{b}{c}": 1 for a in LETTERS for b in LETTERS for c in LETTERS},
    "many places": {a: {"id": {b: {"id": 1, c: ""} for b in LETTERS for c in LETTERS}, a: 1} for a in LETTERS},
    "many lists": {a: {b: {c: [[1], [""]][a < b]} for c in LETTERS for b in LETTERS} for a in LETTERS},
}


@pytest.mark.parametrize("body", HUGE.values(), ids=HUGE)
def test_huge_answers(body):
    """The facts of any answer that can be read are few."""
    found = facts(body)

    assert len(found) <= 1_000
    assert not list(contradictions(found, found))


# -- whatever the answers are -------------------------------------------------------------------------------------

CANARY = "zq7"
"""Stands in every text; names get it too, where a name is data."""
NAMES = st.sampled_from(["account", "bank", "keys", "saldo"])
TEXTS = st.sampled_from(["2026-01-31", "", f"{CANARY}@example.com"]) | st.text().map(lambda drawn: f"{CANARY}{drawn}")
NUMBERS = st.integers(777_000, 777_999) | st.floats(777_000, 777_999, allow_nan=False)
NAMED_BY_DATA = st.text(max_size=5).map(lambda drawn: f"{drawn} {CANARY}0{CANARY}")
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | NAMED_BY_DATA, inner, max_size=3),
    max_leaves=12,
)
ANSWERS = st.lists(VALUES.map(json.dumps), min_size=1, max_size=4)


@settings(max_examples=100, deadline=None)
@given(ANSWERS, st.randoms())
def test_merging_depends_on_no_order(bodies, random):
    """Merged in another order, in parts or once more, facts give the same, which contradict none that were merged."""
    each = [facts(body) for body in bodies]
    once, half = merged(each), random.randint(0, len(each))
    shuffled = random.sample(each * 2, len(each) * 2)

    assert merged(shuffled) == merged([merged(each[:half]), merged(each[half:])]) == merged([once, *each]) == once
    assert not any([*contradictions(once, one), *contradictions(one, once)] for one in each)


@settings(max_examples=100, deadline=None)
@given(ANSWERS)
def test_facts_hold_no_value(bodies):
    """Names of a schema and types are all there is."""
    found = merged(facts(body) for body in bodies)

    assert not [fact for fact in found if any(word in "".join(fact) for word in (CANARY, "777", "2026"))]
    assert {part for place, _ in found for part in place.split("/")} <= {*("", "*", "account", "bank", "keys", "saldo")}
