"""Facts of answers: places and types, merged in any order, without any value of them."""

import json

import pytest

from spec.facts import TOO_DEEP, contradictions, facts_as_text, facts_of, merged_facts, redacted_facts, updated_facts
from spec.json_text import read_json


def facts(value):
    """The facts of a body. A text is read as JSON; any other value is written as JSON first."""
    body = value if isinstance(value, str) else json.dumps(value)
    return facts_of(read_json(body.encode()).value)


def text_of_facts(value):
    """The facts of a body in words, such as `/account string`: each place and the types of its values."""
    return facts_as_text(facts(value))


def contradicting_places(body_before, body_now):
    """The places that have no type in common in two bodies, each with its types before and now in words."""
    found_places = contradictions(facts(body_before), facts(body_now))
    return [(place, " ".join(old_types), " ".join(new_types)) for place, old_types, new_types in found_places]


@pytest.mark.parametrize(
    ("body", "text"),
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
    ids=[
        "a list of keys",
        "a number of 2001 digits",
        "a member that stands twice",
        "an array of different types",
        "a member with an empty name",
        "a date and time",
        "a date of another format",
    ],
)
def test_facts_of_a_body_are_its_places_and_types(body, text):
    """The suite records where the document is silent, without any value. A place is a JSON pointer with * for items.

    The text has each place with the types of all its values, and "absent" if some objects lack the member. A place such
    as /data is left out, because /data/keys implies it.
    """
    assert text_of_facts(body) == text


CONTRADICTING_BODIES = {
    "another type": ({"account": 1}, {"account": "1"}, [("/account", "number", "string")]),
    "all members are gone": ({"account": 1}, {}, [("/account", "number", "absent")]),
    "inside items": ([{"account": 1}], [{"account": None}, {"account": True}], [("/*/account", "number", "boolean")]),
}
"""By their difference: a body before, a body now, and the places that contradict each other."""
COMPATIBLE_BODIES = {
    "an empty array": ({"account": []}, {"account": [{"bank": 1}]}),
    "a member that is not always there": ([{"account": 1}, {}], [{}]),
    "one more account": ({"total": 2, "0001-77": 1}, {"total": 2, "0001-77": 1, "0002-77": 1}),
    "a cursor": ({"items": []}, {"items": [], "nextCursor": "", "proximaPagina": 2, "next_page_token": ""}),
}


@pytest.mark.parametrize(("body_before", "body_now", "places"), CONTRADICTING_BODIES.values(), ids=CONTRADICTING_BODIES)
def test_two_answers_contradict_each_other_at_a_place_without_a_common_type(body_before, body_now, places):
    """The suite compares how a service answered in an earlier run and now. The type of a missing member is "absent"."""
    assert contradicting_places(body_before, body_now) == places


@pytest.mark.parametrize(("first_body", "second_body"), COMPATIBLE_BODIES.values(), ids=COMPATIBLE_BODIES)
def test_two_answers_do_not_contradict_each_other_at_a_place_that_may_vary(first_body, second_body):
    """The suite compares how a service answered in an earlier run and now. Here neither answer contradicts the other
    one.

    Some places are in one of the two answers only, such as the items of an array that is empty in the other one. A
    member that not every item has may be missing, and a page of a list may have a cursor or not.
    """
    assert contradicting_places(first_body, second_body) == []
    assert contradicting_places(second_body, first_body) == []


@pytest.mark.parametrize(
    ("body_before", "body_now", "text"),
    [
        ({"account": [{"bank": 1}], "code": 1}, {"account": [], "date": 1}, "/account/*/bank number, /date number"),
        ({"account": [[1]]}, {"account": ""}, "/account string"),
    ],
    ids=["the array is empty now", "the array is a text now"],
)
def test_recorded_facts_stay_unless_a_new_answer_says_something_of_their_place(body_before, body_now, text):
    """The suite records the places and types of an answer, and updates them by a later one.

    The items of an array that is empty now are as they were. An array that is a text now has no items any more.
    """
    assert facts_as_text(updated_facts(facts(body_before), facts(body_now))) == text


# -- names --------------------------------------------------------------------------------------------------------

USUAL_NAMES = (
    "saldo x-total address1 Success CNPJ transaction_id _links @type pix_key saldoDisponivel nextCursor txId errorCode"
)
NAMES_THAT_MAY_BE_DATA = (
    "ac-0001-77 12345 TX0001B conta1234 conta123 2026-01-31 31/01 123.456 12ABC34501DE35 +5511955500101 a/b ~ "
    "maria@example.com 8a6e0804-2bd0-4672-b79d-d97027f9071a maria Maria mariaSilva conta_da_maria conta-da-zuleica "
    "@maria João QWxhZGRpbjpv dG9rZW4 ☃ é"
)


@pytest.mark.parametrize("name", USUAL_NAMES.split())
def test_the_facts_of_an_answer_show_usual_names(name):
    """The suite records the names and types of an answer. Documented names and ordinary words are no personal data."""
    assert text_of_facts({name: 1}) == f"/{name} number"


@pytest.mark.parametrize("name", [*NAMES_THAT_MAY_BE_DATA.split(), "", "Maria Silva", "tab\t", "x" * 61], ids=ascii)
def test_the_facts_of_an_answer_do_not_show_names_that_may_be_data(name):
    """The suite records the names and types of an answer. A name may be data: an identifier, a day or a person.

    It becomes `*`.
    """
    assert text_of_facts({name: {"account": 1}, "total": 1}) == "/*/account number, /total number"


def redact_saldo(text):
    """The text without `saldo`, which is a key of the profile here."""
    return text.replace("saldo", "<key>")


def test_names_that_are_known_secrets_become_a_star():
    """A name in a place that is a secret of the run (here `saldo`) becomes `*` at any depth of the place.

    So does 0001-77, because a name of digits may be data. A fact is a place in an answer and the type of its value.
    """
    recorded_facts = frozenset({("/data/saldo/0001-77/*/id", "string")})

    assert redacted_facts(recorded_facts, redact_saldo) == {("/data/*/*/*/id", "string")}


def test_a_known_secret_in_a_value_is_redacted():
    """A fact without a place has the status and the media type of the answer. A secret in them is redacted as a text."""
    assert redacted_facts(frozenset({("", "200 saldo")}), redact_saldo) == {("", "200 <key>")}


def test_a_fact_about_a_place_that_is_only_a_secret_is_left_out():
    """If the name at the top of an answer is a secret and its value is absent, the whole fact is left out.

    With `*` as its place it would say nothing.
    """
    assert redacted_facts(frozenset({("/saldo", "absent")}), redact_saldo) == set()


FACTS_OF_TWO_ANSWERS = (
    facts({"account": [{"bank": 1}], "saldo": "2026-01-31"}),
    facts({"account": [{"bank": ""}, {}]}),
)


def test_facts_can_be_merged_in_any_order_and_again():
    """The facts of two answers (their places and types) are merged. The result is the same the other way round.

    It is also the same if one of them was merged before.
    """
    first_facts, second_facts = FACTS_OF_TWO_ANSWERS
    merged = merged_facts([first_facts, second_facts])

    assert merged_facts([second_facts, first_facts]) == merged
    assert merged_facts([first_facts, merged]) == merged
    assert merged_facts([second_facts, merged]) == merged


@pytest.mark.parametrize("facts_of_answer", FACTS_OF_TWO_ANSWERS, ids=["the first answer", "the second answer"])
def test_merged_facts_contradict_none_of_their_answers(facts_of_answer):
    """The facts of two answers (their places and types) are merged, and compared with each answer in both directions."""
    merged = merged_facts(FACTS_OF_TWO_ANSWERS)

    assert list(contradictions(merged, facts_of_answer)) == []
    assert list(contradictions(facts_of_answer, merged)) == []


LEVELS_THAT_ARE_READ = 8


def object_with(value):
    """An object with this value as its member `data`."""
    return {"data": value}


def array_with(value):
    """An array with this value as its item."""
    return [value]


def nested(levels, container_with):
    """A text inside of this number of objects or arrays, which `container_with` makes."""
    value = "x"
    for _ in range(levels):
        value = container_with(value)
    return value


@pytest.mark.parametrize("container_with", [object_with, array_with])
def test_the_facts_of_a_deep_answer_end_at_the_eighth_level(container_with):
    """An answer has eleven levels of objects or arrays. The facts (places and types) say that there is more below.

    They say nothing about what is there. An answer of eight levels is read whole.
    """
    facts_of_deep_answer = facts_of(nested(LEVELS_THAT_ARE_READ + 3, container_with))
    facts_of_flat_answer = facts_of(nested(LEVELS_THAT_ARE_READ, container_with))
    [place_with_more_below] = [place for place, type_of_value in facts_of_deep_answer if type_of_value == TOO_DEEP]
    depths = [place.count("/") for place, _ in facts_of_deep_answer]

    assert place_with_more_below.count("/") == LEVELS_THAT_ARE_READ
    assert max(depths) == LEVELS_THAT_ARE_READ
    assert TOO_DEEP not in [type_of_value for _, type_of_value in facts_of_flat_answer]
