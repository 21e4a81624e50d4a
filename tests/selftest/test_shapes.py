"""Shapes: names, types, optional members and formats of answers, merged in any order, without any value of them."""

import json
import re
from pathlib import Path

import jsonschema_rs
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from spec.json_text import MAX_DEPTH, read_json
from spec.shapes import differences, field_words, filled, inference, merged, shape_of, text_of
from spec.shapes.data_names import is_data
from spec.shapes.inference import FORMATS, MOST_VALUES
from spec.shapes.schema_parts import KEYWORDS


def shape(value):
    """The shape of an answer. A text is the JSON of it; what is not one is written as JSON first."""
    body = value if isinstance(value, str) else json.dumps(value)
    return shape_of(read_json(body.encode()).value)


def text(*values):
    return text_of(merged(map(shape, values)))


DRIFT = {
    "another type": ({"account": 1}, {"account": "1"}, [("/account", "integer", "string")]),
    "another format": ({"account": "2026-01-01"}, {"account": "01/01/2026"}, [("/account", "date string", "string")]),
    "a member that is gone": ({"account": 1, "bank": 2}, {"account": 1}, [("/bank", "integer", "absent")]),
    "a new member": ({"account": 1}, {"account": 1, "bank": []}, [("/bank", "absent", "[]")]),
    "a new member that begins like a link": (
        {"account": 1},
        {"account": 1, "nextPayment": ""},
        [("/nextPayment", "absent", "string")],
    ),
    "a renamed member": (
        {"account": 1},
        {"bank": 1},
        [("/account", "integer", "absent"), ("/bank", "absent", "integer")],
    ),
    "inside items": (
        [{"account": 1}],
        [{"account": None}, {"account": True}],
        [("/*/account", "integer", "boolean or null")],
    ),
    "inside any name": (
        {"0001-77": {"account": 1}},
        {"0002-77": {"account": ""}},
        [("/{any name}/account", "integer", "string")],
    ),
    "an object for an array": ([], {}, [("", "[]", "{}")]),
    "names that become data": (
        {"account": "1", "bank": "341"},
        {"0001-77": "341"},
        [("", "{account: string, bank: string}", "{any name: string}")],
    ),
    "one name beside data of another type": ({"transfer": 1}, {"0001-77": ""}, [("/transfer", "integer", "string")]),
    "a number that was before": (
        {"anterior": 1.5, "previous": 1},
        {},
        [("/anterior", "number", "absent"), ("/previous", "integer", "absent")],
    ),
    "what is no link to a page": ({"nextPage": []}, {}, [("/nextPage", "[]", "absent")]),
    "after a long list": (
        {"entries": [{"id": 1}], "page": {"total": 5}},
        {"entries": [{"id": 1}] * MOST_VALUES, "page": {"total": ""}},
        [("/page/total", "integer", "string")],
    ),
    "a name beside data": ({"0001-77": 1, "total": 2}, {"0001-77": 1}, [("/total", "integer", "absent")]),
}
NO_DRIFT = {
    "the same": ({"account": [1]}, {"account": [1]}),
    "an empty array": ({"account": []}, {"account": [{"bank": 1}]}),
    "only ever null": ({"account": None}, {"account": {"bank": 1}}),
    "whole amounts": ({"account": 10}, {"account": 10.5}),
    "another account": ({"0001-77": 1}, {"ac-2-77": 1}),
    "another member of any name": ({"total": 2}, {"total": 2, "0001-77": 1}),
    "no members": ({"0001-77": 1}, {}),
    "a link to a page": ({"links": {"self": ""}}, {"links": {"self": "", "next": {"href": ""}}}),
    "a cursor": ({"items": []}, {"items": [], "nextCursor": "", "proximaPagina": 2}),
    "a page of two words": (
        {"items": []},
        {"items": [], "nextPageToken": "", "next_page_token": "", "nextPageUrl": {}, "nextPageCursor": 1, "prev": None},
    ),
    "one name that may be data": ({"byCategory": {"transfer": 1}}, {"byCategory": {"Mercado Livre": 1}}),
    "a long list before others": (
        {"entries": [{"id": 1}] * 10_001, "page": {"total": 5}},
        {"entries": [{"id": 1}], "page": {"total": 5}},
    ),
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
        (({"account": 1, "bank": 2}, {"account": 1}), {"account": 1}),
        (({"account": "2026-01-01"}, {"account": "x"}), {"account": "2026-01-02"}),
        (({"account": "2026-01-01"}, {"account": "x"}), {"account": "qa@example.com"}),
        (({"account": 1}, {"account": None}), {"account": 2}),
        (({"account": 1}, {"account": "x"}), {"account": 2}),
    ],
)
def test_what_varies_contradicts_nothing(several, one):
    """One side saw an optional member, several types or several formats; the other side saw some of it."""
    varying = merged(map(shape, several))

    assert differences(varying, shape(one)) == differences(shape(one), varying) == []


def test_a_shape_names_what_an_answer_is_made_of():
    """Members, optional ones, types, formats of all values, nesting."""
    keys = [
        {"id": "8a6e0804-2bd0-4672-b79d-d97027f9071a", "at": "2026-01-01T10:00:00Z", "number": 1.0},
        {"id": "1d0c2a1e-7a3f-4c89-9a55-0e6f7f0d2b11", "at": None, "number": 2.5, "mail": "qa@example.com"},
    ]

    assert text({"code": 0, "data": {"keys": keys, "tags": []}}) == (
        "{code: integer, data: {keys: [{at: date-time string or null, id: uuid string, mail?: email string, number: number}], "
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
        ('{"account": 1, "account": ""}', "{account: string}"),
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
    assert shape({name: {"account": 1}, "total": 1}) == {
        "type": "object",
        "properties": {"total": {"type": "integer"}},
        "required": ["total"],
        "additionalProperties": {
            "type": "object",
            "properties": {"account": {"type": "integer"}},
            "required": ["account"],
        },
    }


WORDS = [f"{kind}{when}" for kind in ("data", "saldo", "valor", "numero") for when in ("", "Inicial", "Final", "Atual")]
LISTS = Path(__file__).with_name("member_names.yaml")
CORPUS = yaml.safe_load(LISTS.read_text("utf-8"))
FIRST, LAST = CORPUS["people"]["first"].split(), CORPUS["people"]["last"].split()
SPELLINGS = {
    "first": lambda first, last: first,
    "small": lambda first, last: first.lower(),
    "LAST": lambda first, last: last.upper(),
    "firstLast": lambda first, last: f"{first.lower()}{last}",
    "first-last": lambda first, last: f"{first}-{last}",
    "first_last": lambda first, last: f"{first}_{last}".lower(),
    "FirstL": lambda first, last: f"{first}{last[0]}",
    "flast": lambda first, last: f"{first[0]}{last}".lower(),
    "firstlast": lambda first, last: f"{first}{last}".lower(),
    "first7": lambda first, last: f"{first.lower()}7",
    "accountFirst": lambda first, last: f"account{first}",
    "conta_da_first": lambda first, last: f"conta_da_{first}".lower(),
    "last_saldo": lambda first, last: f"{last}_saldo".lower(),
}


@pytest.mark.parametrize("whose", CORPUS["fields"])
def test_names_of_fields(whose):
    """Names in the documents of public interfaces stay, in each way to write them."""
    assert [name for name in CORPUS["fields"][whose].split() if is_data(name)] == []


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
def test_names_of_people(spelling):
    """They are any name, alone and beside words of fields."""
    names = [spelling(first, last) for first, last in zip(FIRST, LAST, strict=True)]

    assert [name for name in names if not is_data(name)] == []


@pytest.mark.parametrize("name", CORPUS["codes"].split())
def test_names_of_letters_alone(name):
    """An initial, a short token and a nickname are any name."""
    assert is_data(name)


@pytest.mark.parametrize("others", [{}, {"total": 1}, {"id": 1, "status": "x", "rui": None}])
def test_a_name_is_data_whatever_is_beside_it(others):
    """One entry, several, values of several shapes, within arrays: no other member and no value has a say."""
    found = shape([{"people": {"joao": {"paid": 1}, **others}}])

    assert "joao" not in json.dumps(found)
    assert set(_names_in(found)) <= {"people", "paid", "total", "id", "status"}


@pytest.mark.parametrize(
    ("was", "now", "expected"),
    [
        (
            {"account": [{"bank": 1}], "code": 1},
            {"account": [], "date": 1},
            "{account: [{bank: integer}], date: integer}",
        ),
        (
            {"account": [{"bank": [1]}]},
            {"account": [{"bank": [], "code": ""}]},
            "{account: [{bank: [integer], code: string}]}",
        ),
        ({"account": {"bank": 1}}, {"account": None}, "{account: {bank: integer} or null}"),
        ({"account": {"0001-77": 1}}, {"account": {}}, "{account: {any name: integer}}"),
        ({"0001-77": [1]}, {"0002-77": []}, "{any name: [integer]}"),
        ([[1], None], [[], ""], "[[integer] or string]"),
        ({"account": {"bank": 1}}, {"account": {}}, "{account: {}}"),
        ({"account": [{"bank": 1}]}, {"account": [1]}, "{account: [integer]}"),
        ({"account": [1]}, {"account": ""}, "{account: string}"),
        ({"account": 1, "bank": []}, {"account": 1.5}, "{account: number}"),
    ],
)
def test_what_a_new_shape_does_not_say(was, now, expected):
    """It is as it was, unless the new shape contradicts it; then, and for all that it says, the new one counts."""
    assert text_of(filled(shape(now), shape(was))) == expected
    assert filled(shape(now), shape(now)) == shape(now)


CHANGING = {
    "one of them": ({"mercado_total": 1}, []),
    "another one": ({"taxa": 1}, []),
    "data": ({"0001-77": 1}, []),
    "another value": ({"taxa": ""}, [("/taxa", "integer", "string")]),
}


@pytest.mark.parametrize(("now", "expected"), CHANGING.values(), ids=CHANGING)
def test_names_that_change(now, expected):
    """Words that change from answer to answer, where the values have one shape, may be data: another one is no drift."""
    known = merged(map(shape, [{"mercado_total": 1}, {"renda": 1.5}]))

    assert differences(known, shape(now)) == expected
    assert len(differences(shape(now), known)) == len(expected)


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (({"account": 1}, {"bank": ""}), "{account?: integer, bank?: string}"),
        (({}, {"account": 1, "bank": 2}), "{account?: integer, bank?: integer}"),
        (({"account": 1, "bank": 2}, {"account": 1, "code": 2}), "{account: integer, bank?: integer, code?: integer}"),
    ],
)
def test_names_that_stay(answers, expected):
    """Optional members, of an object that may be empty, or beside one that is always there."""
    assert text(*answers) == expected


def test_more_names_than_a_schema_has():
    """An object of very many members, in one answer or in all of them, is keyed by data."""
    names = [f"{first}_{second}" for first in WORDS for second in WORDS]

    assert text(dict.fromkeys(names, 1)) == text(*({name: 1} for name in names)) == "{any name: integer}"
    assert text(*({name: [1, ""][len(name) % 2], "id": 1} for name in names)) == (
        "{id: integer, any name: integer or string}"
    )


def test_what_lies_deep_is_not_seen():
    """Eight levels of objects and arrays."""
    assert text('{"account":' * MAX_DEPTH + "1" + "}" * MAX_DEPTH) == "{account: " * 8 + "{}" + "}" * 8
    assert text("[" * MAX_DEPTH + "]" * MAX_DEPTH) == "[" * 9 + "]" * 9


def test_a_part_of_which_nothing_is_known():
    """It adds nothing to what others know of it, in any order, and contradicts nothing."""
    unknown, known = shape({"account": {"bank": 1}}), shape({"account": {"bank": 1}})
    unknown["properties"]["account"] = {}

    assert merged([unknown, known]) == merged([known, unknown]) == known
    assert differences(unknown, known) == differences(known, unknown) == []
    assert text_of(unknown) == "{account: anything}"


def test_a_shape_that_was_read():
    """Keywords that no shape has are dropped: a file may say anything."""
    read = {"type": "string", "const": "a", "format": "uuid", "description": "b"}

    assert merged([read, {**read, "const": "c"}]) == {"type": "string", "format": "uuid"}
    assert merged([]) == {}


def test_a_long_shape_is_cut():
    """The text says how long the whole is."""
    shown = text_of(shape(dict.fromkeys([f"{a}_{b}" for a in WORDS for b in WORDS[:5]], 1)))

    assert len(shown) < 430
    assert re.fullmatch(r"\{.{399}…\([0-9]{4} characters\)", shown)


def _large(items):
    return json.dumps(
        {
            "data": [
                {"id": f"x{at}", "at": FORMATTED["date-time"], "number": at, "state": "é" * 80} for at in range(items)
            ]
        }
    )


HUGE = {
    "five megabytes": _large(20_000),
    "deep objects": '{"account":' * MAX_DEPTH + "1" + "}" * MAX_DEPTH,
    "deep objects of any name": '{"a1000":' * MAX_DEPTH + "1" + "}" * MAX_DEPTH,
    "deep arrays": "[" * MAX_DEPTH + "]" * MAX_DEPTH,
    "many names": json.dumps({f"{a}_{b}_{c}": 1 for a in WORDS for b in WORDS for c in WORDS}),
    "many names of items": json.dumps(
        [{f"{a}_{b}_{c}": [1, ""][len(a) % 2]} for a in WORDS for b in WORDS for c in WORDS]
    ),
    "many places": json.dumps({a: {b: dict.fromkeys(WORDS[:10], 1) for b in WORDS[:13]} for a in WORDS[:13]}),
    "a long text": json.dumps("2026-01-01" * 500_000),
}


@pytest.mark.parametrize("body", HUGE.values(), ids=HUGE)
def test_huge_answers(body):
    """The shape of any answer that can be read is small."""
    found = shape(body)

    assert len(json.dumps(found)) < 50_000
    assert merged([found, found]) == found
    assert len(text_of(found)) < 450


def test_what_comes_after_very_many_values_is_not_looked_at():
    """Of a list, and of members of any name. A long list leaves the members beside it their share."""
    first, other = [{"id": 1, "date": None}] * MOST_VALUES, {"id": 1, "bank": 1}
    listed, keyed = [*first, other], {f"0001-{at}": 1 for at in range(MOST_VALUES)} | {"0002-1": ""}

    assert text({"entries": listed, "page": {"next": 1}, "total": 2}) == (
        "{entries: [{date: null, id: integer}], page: {next: integer}, total: integer}"
    )
    assert text([other, *first]) == "[{bank?: integer, date?: null, id: integer}]"
    assert text(keyed) == "{any name: integer}"


def test_of_what_is_not_looked_at_nothing_is_known(monkeypatch):
    """It is no object without members, and no empty array."""
    whole = {"account": {"bank": {"code": 1}, "keys": [1]}}
    known = shape(whole)
    monkeypatch.setattr(inference, "MOST_VALUES", 2)

    assert text(whole) == "{account: {bank: null, keys: null}}"
    assert differences(shape(whole), known) == differences(known, shape(whole)) == []


def test_the_words_of_fields():
    """Each stands once, sorted, and none is one letter."""
    text = Path(field_words.__file__).with_suffix(".txt").read_text("utf-8")
    plain, beside = (part.split() for part in text.split("\n\n")[1:])

    assert plain == sorted({word for word in plain if len(word) > 1})
    assert beside == sorted({f"~{word}" for word in (each.removeprefix("~") for each in beside) if word not in plain})


# -- whatever the answers are -----------------------------------------------------------------------------------------

CANARY = "zq7"
"""Stands in every text; names get it too, where a name is data."""
NAMES = st.sampled_from(["account", "bank", "keys", "saldoDisponivel", "iso4217"])
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
    assert set(_names_in(found)) <= {"account", "bank", "keys", "saldoDisponivel", "iso4217"}


NAMED = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.fixed_dictionaries({"id": inner}, optional={"account": inner, "bank": inner, "keys": inner})
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
