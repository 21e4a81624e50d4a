"""Shapes: names, types, optional members and formats of answers, merged in any order, without any value of them."""

import json

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports.redaction.masks import is_word
from spec.json_text import MAX_DEPTH, read_json
from spec.shapes import differences, filled, merged, shape_of, text_of, without_doubtful_names
from spec.shapes.data_names import is_data
from spec.shapes.doubtful_names import is_doubtful
from spec.shapes.inference import FORMATS
from spec.shapes.schema_parts import KEYWORDS


def shape(value):
    """The shape of an answer. A text is the JSON of it; what is not one is written as JSON first."""
    body = value if isinstance(value, str) else json.dumps(value)
    return shape_of(read_json(body.encode()).value)


def text(*values):
    return text_of(merged(map(shape, values)))


DRIFT = {
    "another type": ({"a": 1}, {"a": "1"}, [("/a", "integer", "string")]),
    "another format": ({"a": "2026-01-01"}, {"a": "01/01/2026"}, [("/a", "date string", "string")]),
    "a member that is gone": ({"a": 1, "b": 2}, {"a": 1}, [("/b", "integer", "absent")]),
    "a new member": ({"a": 1}, {"a": 1, "b": []}, [("/b", "absent", "[]")]),
    "a renamed member": ({"a": 1}, {"b": 1}, [("/a", "integer", "absent"), ("/b", "absent", "integer")]),
    "inside items": ([{"a": 1}], [{"a": None}, {"a": True}], [("/*/a", "integer", "boolean or null")]),
    "inside any name": ({"0001-77": {"a": 1}}, {"0002-77": {"a": ""}}, [("/{any name}/a", "integer", "string")]),
    "an object for an array": ([], {}, [("", "[]", "{}")]),
}
NO_DRIFT = {
    "the same": ({"a": [1]}, {"a": [1]}),
    "an empty array": ({"a": []}, {"a": [{"b": 1}]}),
    "only ever null": ({"a": None}, {"a": {"b": 1}}),
    "whole amounts": ({"a": 10}, {"a": 10.5}),
    "another account": ({"0001-77": 1}, {"ac-2-77": 1}),
    "a member of any name": ({"0001-77": 1}, {"total": 2}),
}


@pytest.mark.parametrize(("was", "now", "expected"), DRIFT.values(), ids=DRIFT)
def test_what_contradicts(was, now, expected):
    """Places whose types, formats or presence have nothing in common, with both sides of them."""
    assert differences(shape(was), shape(now)) == expected


@pytest.mark.parametrize(("was", "now"), NO_DRIFT.values(), ids=NO_DRIFT)
def test_what_does_not_contradict(was, now):
    """What one side does not know, or what may vary, is no difference in either direction."""
    assert differences(shape(was), shape(now)) == differences(shape(now), shape(was)) == []


@pytest.mark.parametrize(
    ("several", "one"),
    [
        (({"a": 1, "b": 2}, {"a": 1}), {"a": 1}),
        (({"a": "2026-01-01"}, {"a": "x"}), {"a": "2026-01-02"}),
        (({"a": "2026-01-01"}, {"a": "x"}), {"a": "qa@example.com"}),
        (({"a": 1}, {"a": None}), {"a": 2}),
        (({"a": 1}, {"a": "x"}), {"a": 2}),
    ],
)
def test_what_varies_contradicts_nothing(several, one):
    """One side saw an optional member, several types or several formats; the other side saw some of it."""
    varying = merged(map(shape, several))

    assert differences(varying, shape(one)) == differences(shape(one), varying) == []


def test_a_shape_names_what_an_answer_is_made_of():
    """Members, optional ones, types, formats of all values, nesting."""
    keys = [
        {"id": "8a6e0804-2bd0-4672-b79d-d97027f9071a", "at": "2026-01-01T10:00:00Z", "n": 1.0},
        {"id": "1d0c2a1e-7a3f-4c89-9a55-0e6f7f0d2b11", "at": None, "n": 2.5, "mail": "qa@example.com"},
    ]

    assert text({"code": 0, "data": {"keys": keys, "tags": []}}) == (
        "{code: integer, data: {keys: [{at: date-time string or null, id: uuid string, mail?: email string, n: number}], "
        "tags: []}}"
    )


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("1.0", "integer"),
        ("1e2", "integer"),
        ("1.5", "number"),
        (f"1{'0' * 2_000}", "integer"),
        ("1e-5000", "number"),
        ("true", "boolean"),
        ('{"a": 1, "a": ""}', "{a: string}"),
        ("[1, 1.5]", "[number]"),
        ('[1, "", null]', "[integer or string or null]"),
        ('{"": 1}', "{any name: integer}"),
    ],
)
def test_types(body, expected):
    """Types are told apart as the rules do: 1.0 is an integer, a boolean is none."""
    assert text(body) == expected


FORMATTED = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T10:00:00-03:00",
    "email": "qa@example.com",
    "time": "10:00:00Z",
    "uri": "https://pix.example/v1",
    "uuid": "8a6e0804-2bd0-4672-b79d-d97027f9071a",
}


@pytest.mark.parametrize("name", FORMATS)
def test_formats(name):
    """A format is named where every text has it, and only then."""
    assert text([FORMATTED[name]]) == f"[{name} string]"
    assert text([FORMATTED[name], "x"]) == "[string]"


@pytest.mark.parametrize("value", ["2026-02-30", "31/01/2026", "pix:1", "12345678909", "+5511955500101", "", "\ud83d"])
def test_texts_of_no_format(value):
    """A wrong date, an identifier, a tax number, an empty text and half of a surrogate pair have no format."""
    assert text([value]) == "[string]"


SCHEMA_NAMES = [
    *[
        "quantia",
        "saldoDisponivel",
        "x-total",
        "address1",
        "line2",
        "iso4217",
        "iso20022",
        "sha256",
        "md5",
    ],
    *[
        "hashSha256",
        "base64",
        "int64",
        "cnab240",
        "pacs008",
        "v2",
        "2fa",
        "3ds",
        "p2p",
        "Success",
        "DocumentNumber",
        "CNPJ",
    ],
    *[
        "endToEndId",
        "pixKeyType",
        "HTTPStatusCode",
        "_links",
        "$ref",
        "@type",
        "@odata.context",
        "endereço",
        "ABCDEFGHIJKL81",
    ],
    *["transactionIdentification", "counterpartyAccountBranch", "nationalRegistrationNumber"],
]
DATA_NAMES = [
    *["ac-0001-77", "0001-77", "12345", "TX0001B", "conta1234", "a1b2c3", "pixconf-anything", "<account>"],
    *["2026-01-31", "2026", "jan2026", "20260131T100000Z", "31/01"],
    *["123.456.789-09", "12345678909", "12.345.678/0001-95", "12.ABC.345/01DE-35", "12ABC34501DE35", "ABCDEFGHIJKL80"],
    *["+5511955500101", "(11)95550-0101", "maria@example.com", "maria.silva", "8a6e0804-2bd0-4672-b79d-d97027f9071a"],
    *["deadbeefcafe", "QWxhZGRpbjpvcGVuIHNlc2FtZQ", "xKjQzWvBnMtLpRsTqW", "bcdfghjklmnpqrstvwxz", "e30.e30.sig"],
    *["aKeQiWoBaMeLiRoTuW", "abcdefab-cdef-abcd-efab-cdefabcdefab", "@maria.silva", "@maria", "ag-12-cc-34"],
    "Maria Silva",
    "Conta corrente",
    "",
    "quantia" * 9,
    "tab\t",
    "-",
    "☃",
]


@pytest.mark.parametrize("name", SCHEMA_NAMES)
def test_names_of_a_schema(name):
    """A name that a developer chose stays."""
    assert not is_data(name)


@pytest.mark.parametrize("name", DATA_NAMES)
def test_names_that_are_data(name):
    """An identifier, a date or a person is "any name", and the shape shows nothing of it."""
    assert shape({name: {"a": 1}, "total": 1}) == {
        "type": "object",
        "properties": {"total": {"type": "integer"}},
        "required": ["total"],
        "additionalProperties": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
    }


DOUBTFUL = ["phy74pouml", "kQzTpLmW", "mariaSilva", "MARIA_SILVA", "joao", "João", "ana-dos-santos", "xyz"]


@pytest.mark.parametrize("name", [name for name in SCHEMA_NAMES if name not in ("ABCDEFGHIJKL81",)])
def test_names_of_fields_are_not_doubtful(name):
    """Each has a word of a field in it, in English or in Portuguese, with accents or without."""
    assert not is_doubtful(name, is_word)


@pytest.mark.parametrize("name", [*DOUBTFUL, "ABCDEFGHIJKL81"])
def test_names_without_a_word_of_a_field(name):
    """They are any name, at any depth, where all names of an object are like that and its values alike."""
    inside, known = shape([{"people": {name: {"paid": 1}}}]), shape({"quantia": 5})

    assert text_of(without_doubtful_names(inside, is_word)) == "[{people: {any name: {paid: integer}}}]"
    assert without_doubtful_names(known, is_word) == known


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([{"joao": 1, "rui": 2.5}], "{any name: number}"),
        ([{"joao": 1}, {"rui": None}, {}], "{any name: integer or null}"),
        ([{"joao": 1, "0001-77": 2}], "{any name: integer}"),
        ([{"joao": 1, "rui": ""}], "{joao: integer, rui: string}"),
        ([{"joao": 1}, {"joao": 1, "total": 2}], "{joao: integer, total?: integer}"),
    ],
)
def test_doubtful_names_that_stay(values, expected):
    """Beside a name that is known, or with values of several shapes."""
    assert text_of(without_doubtful_names(merged(map(shape, values)), is_word)) == expected


@pytest.mark.parametrize(
    ("was", "now", "expected"),
    [
        ({"a": [{"b": 1}], "c": 1}, {"a": [], "d": 1}, "{a: [{b: integer}], d: integer}"),
        ({"a": [{"b": [1]}]}, {"a": [{"b": [], "c": ""}]}, "{a: [{b: [integer], c: string}]}"),
        ({"a": {"b": 1}}, {"a": None}, "{a: {b: integer} or null}"),
        ({"a": {"0001-77": 1}}, {"a": {}}, "{a: {any name: integer}}"),
        ({"0001-77": [1]}, {"0002-77": []}, "{any name: [integer]}"),
        ([[1], None], [[], ""], "[[integer] or string]"),
        ({"a": {"b": 1}}, {"a": {}}, "{a: {}}"),
        ({"a": [{"b": 1}]}, {"a": [1]}, "{a: [integer]}"),
        ({"a": [1]}, {"a": ""}, "{a: string}"),
        ({"a": 1, "b": []}, {"a": 1.5}, "{a: number}"),
    ],
)
def test_what_a_new_shape_does_not_say(was, now, expected):
    """It is as it was, unless the new shape contradicts it; then, and for all that it says, the new one counts."""
    assert text_of(filled(shape(now), shape(was))) == expected
    assert filled(shape(now), shape(now)) == shape(now)


def test_names_that_change():
    """Names that change from answer to answer, where the values have one shape, are any name; also merged once more."""
    people = [{"data": {name: {"balance": amount}}} for name, amount in (("ana", 1), ("rui", 1.5), ("eva", 2))]
    once = merged(map(shape, people))

    assert text_of(once) == "{data: {any name: {balance: number}}}"
    assert merged([merged(map(shape, people[:2])), shape(people[2])]) == once


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (({"a": 1}, {"b": ""}), "{a?: integer, b?: string}"),
        (({}, {"a": 1, "b": 2}), "{a?: integer, b?: integer}"),
        (({"a": 1, "b": 2}, {"a": 1, "c": 2}), "{a: integer, b?: integer, c?: integer}"),
    ],
)
def test_names_that_stay(answers, expected):
    """Optional members of several shapes, of an object that may be empty, or beside one that is always there."""
    assert text(*answers) == expected


def test_more_names_than_a_schema_has():
    """An object of very many members, in one answer or in all of them, is keyed by data."""
    names = [f"{a}{b}{c}" for a in "klmno" for b in "klmno" for c in "klmno"]

    assert text(dict.fromkeys(names, 1)) == text(*({name: 1} for name in names)) == "{any name: integer}"
    assert text(*({name: [1, ""][len(name) % 2], "id": 1} for name in [*names, "ax"])) == (
        "{id: integer, any name: integer or string}"
    )


def test_what_lies_deep_is_not_seen():
    """Eight levels of objects and arrays."""
    assert text('{"a":' * MAX_DEPTH + "1" + "}" * MAX_DEPTH) == "{a: " * 8 + "{}" + "}" * 8
    assert text("[" * MAX_DEPTH + "]" * MAX_DEPTH) == "[" * 9 + "]" * 9


def test_a_part_of_which_nothing_is_known():
    """It adds nothing to what others know of it, in any order, and contradicts nothing."""
    unknown, known = shape({"a": {"b": 1}}), shape({"a": {"b": 1}})
    unknown["properties"]["a"] = {}

    assert merged([unknown, known]) == merged([known, unknown]) == known
    assert differences(unknown, known) == differences(known, unknown) == []
    assert text_of(unknown) == "{a: anything}"


def test_a_shape_that_was_read():
    """Keywords that no shape has are dropped: a file may say anything."""
    read = {"type": "string", "const": "a", "format": "uuid", "description": "b"}

    assert merged([read, {**read, "const": "c"}]) == {"type": "string", "format": "uuid"}
    assert merged([]) == {}


def test_a_long_shape_is_cut():
    """The text says how long the whole is."""
    shown = text_of(shape({f"{chr(97 + at // 26)}{chr(97 + at % 26)}": at for at in range(90)}))

    assert len(shown) < 430
    assert shown.endswith("…(1170 characters)")


def _large(items):
    return json.dumps(
        {"data": [{"id": f"x{at}", "at": FORMATTED["date-time"], "n": at, "s": "é" * 80} for at in range(items)]}
    )


HUGE = {
    "five megabytes": _large(20_000),
    "deep objects": '{"a":' * MAX_DEPTH + "1" + "}" * MAX_DEPTH,
    "deep objects of any name": '{"a1000":' * MAX_DEPTH + "1" + "}" * MAX_DEPTH,
    "deep arrays": "[" * MAX_DEPTH + "]" * MAX_DEPTH,
    "many names": json.dumps({f"n{'abcdefghij'[at // 1000]}{at % 1000 // 100}x{at % 100}": at for at in range(10_000)}),
    "many names of items": json.dumps(
        [{f"n{'abcdefghij'[at // 1000]}{at % 1000 // 100}x{at % 100}": [at, ""][at % 2]} for at in range(10_000)]
    ),
    "many places": json.dumps(
        {a: {b: dict.fromkeys("abcdefghij", 1) for b in "abcdefghijklm"} for a in "abcdefghijklm"}
    ),
    "a long text": json.dumps("2026-01-01" * 500_000),
}


@pytest.mark.parametrize("body", HUGE.values(), ids=HUGE)
def test_huge_answers(body):
    """The shape of any answer that can be read is small."""
    found = shape(body)

    assert len(json.dumps(found)) < 50_000
    assert merged([found, found]) == found
    assert len(text_of(found)) < 450


# -- whatever the answers are -----------------------------------------------------------------------------------------

CANARY = "zq7"
"""Stands in every text; names get it too, where a name is data."""
NAMES = st.sampled_from(["a", "b", "keys", "saldoDisponivel", "iso4217"])
TEXTS = st.sampled_from(
    [*FORMATTED.values(), "", f"{CANARY}@example.com", f"https://{CANARY}.example/"]
) | st.text().map(lambda drawn: f"{CANARY}{drawn}")
NUMBERS = st.integers(777_000, 777_999) | st.floats(777_000, 777_999, allow_nan=False)
DATA = st.text(max_size=5).map(lambda drawn: f"{drawn} {CANARY}0{CANARY}")
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | DATA, inner, max_size=3),
    max_leaves=12,
)
ANSWERS = st.lists(VALUES.map(json.dumps), min_size=1, max_size=4)


def _names_in(found):
    for name, inner in found.get("properties", {}).items():
        yield name
        yield from _names_in(inner)
    for inner in [*found.get("anyOf", []), found.get("items", {}), found.get("additionalProperties", {})]:
        if inner:
            yield from _names_in(inner)


@settings(max_examples=100, deadline=None)
@given(ANSWERS, st.randoms())
def test_merging_depends_on_no_order(bodies, random):
    """Merged in another order, or once more, shapes give the same; what was merged contradicts no part of it."""
    shapes = [shape(body) for body in bodies]
    once = merged(shapes)
    shuffled = random.sample(shapes * 2, len(shapes) * 2)

    assert merged(shuffled) == merged([once]) == merged([once, once]) == once
    assert not any(differences(once, each) or differences(each, once) for each in shapes)


@settings(max_examples=100, deadline=None)
@given(ANSWERS)
def test_a_shape_holds_no_value(bodies):
    """Keywords and names of a schema, types and formats are all there is."""
    found = merged(shape(body) for body in bodies)
    words = {CANARY, "777", *FORMATTED.values()}

    assert not [word for word in words if word in json.dumps(found) + text_of(found)]
    assert set(_names_in(found)) <= {"a", "b", "keys", "saldoDisponivel", "iso4217"}


NAMED = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.fixed_dictionaries({"id": inner}, optional={"a": inner, "b": inner, "keys": inner})
    ),
    max_leaves=12,
)


@settings(max_examples=100, deadline=None)
@given(st.lists(NAMED.map(json.dumps), min_size=1, max_size=4))
def test_every_answer_is_valid_under_the_merged_shape(bodies):
    """A shape is a JSON Schema that admits all that it was made from."""
    found = merged(shape(body) for body in bodies)
    validator = jsonschema_rs.Draft202012Validator(found, validate_formats=True)

    assert all(validator.is_valid(json.loads(body)) for body in bodies)
    assert set(found) <= set(KEYWORDS)
