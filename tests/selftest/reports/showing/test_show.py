"""What may be shown of a service's answer: what a reader needs stays readable, and no secret shows, however it is written."""

import codecs
import json
import random
import re
from html import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.secret_values import Secrets
from reports.showing.show import SHOWN, Display, shape
from spec.facts import NAME_WORDS, WORDS, is_name, is_plain_value, words_of
from spec.interface import personal_fields
from tests.selftest.services.echoing import encodings

TOKEN, PHRASE = "Can4ry.t0ken-OF_the+run/9f8e7d==", "zork-quux frobnitz"
LISTED = {"account": "ac-0001-77", "code": "TX0001B", "key": "qa.canary@zork-bank.example"}
SECRET = {"token": TOKEN, "password": "zorkmidquuxfrobnitz", "phrase": PHRASE}
UNKNOWN = {"a name": "Maria Canario da Silva", "an e-mail address": "maria@bank.example", "a code": "E2E-2026-0077"}
CANARIES = LISTED | SECRET | UNKNOWN


def display_that_knows(*names):
    secrets = Secrets({name: [LISTED[name]] for name in names if name in LISTED})
    for name in SECRET.keys() & names:
        secrets.learn_secret(name, SECRET[name])
    return Display(secrets)


@pytest.fixture(scope="module")
def display():
    """What knows a token, an account, a key and a code."""
    return display_that_knows("token", *LISTED)


def forms_of(text):
    """Ways to write a text: those that many know, and those that nobody foresees."""
    half = len(text) // 2
    return encodings(text) | {
        "reversed": text[::-1],
        "rot13": codecs.encode(text, "rot13"),
        "letters apart": " ".join(text),
        "halves": f"{text[:half]} {text[half:]}",
        "first half": text[: half + 1],
        "second half": text[half:],
    }


def bodies_with(form):
    """Answers that hold a text, with their media type."""
    code, page = {"code": 0, "data": {"other": form, "name": form}}, f"<p title='{escape(form)}'>{escape(form)}</p>"
    yield json.dumps(code).encode(), "application/json"
    yield json.dumps({"message": f"Error: {form} found", "data": {form: 1}}).encode(), ""
    yield json.dumps({"data": json.dumps({"name": form}), "letters": list(form)}).encode(), "application/json"
    yield json.dumps(code).encode()[:-3], "application/json"
    yield page.encode(), "text/html"
    yield f"name={form}&code=1".encode(), "application/x-www-form-urlencoded"
    yield form.encode("cp500", "replace"), "text/plain"


def leaks(shown, canary, form):
    """The parts of a canary, plain and as it was written, that are shown."""
    compact = "".join(filter(str.isalnum, shown)).lower()
    parts = (form, canary, canary[: len(canary) // 2], canary[len(canary) // 2 :])
    return [part for part in parts if len(said := "".join(filter(str.isalnum, part)).lower()) > 3 and said in compact]


@pytest.mark.parametrize("name", CANARIES)
def test_no_canary_is_shown(name):
    """Known or not, in an encoding that is known or not, wherever it stands in an answer and its headers."""
    canary, display = CANARIES[name], display_that_knows(name if name not in UNKNOWN else "token")
    leaked = []
    for written, form in forms_of(canary).items():
        headers = ("Content-Type", "Date", "Server", "Location", "Set-Cookie", "X-Mine", form)
        shown = [display.body(body, kind) for body, kind in bodies_with(form)]
        shown.append(str(display.headers([(header, form) for header in headers])))
        leaked += [(written, one) for one in shown if leaks(one, canary, form)]

    assert leaked == []


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Conta não encontrada: Maria", "Conta não encontrada: Aaaaa"),
        ("TRANSAÇÃO INVÁLIDA", "TRANSAÇÃO INVÁLIDA"),
        ("The field pixKey is required, got 17", "The field pixKey is required, got 99"),
        ("Invalid key qa.canary@zork-bank.example", "Invalid key <key>"),
        ("unknown account ac-0001-77 of John", "unknown account <account> of Aaaa"),
        ("<h1>Not Found</h1>", "<a9>Not Found</a9>"),
        ("pixconf-0a1b2c3d@example.com exists", "pixconf-0a1b2c3d@example.com exists"),
        ("name=maria silva", "aaaa=aaaaa aaaaa"),
        ("usuario zeferino.quintela sem acesso", "usuario aaaaaaaa.aaaaaaaa sem aaaaaa"),
        ("senha incorreta: cavalobateriagrampo", "aaaaa incorreta: aaaaaaaaaaaaaaaaaaa"),
        ("https://bank.example/conta/joaquim", "aaaaa://aaaa.aaaaaaa/conta/aaaaaaa"),
        ("x" * 400, "aaaa…(300 characters)…(400 characters)"),
    ],
)
def test_an_error_message_stays_readable(display, said, shown):
    """In English and in Portuguese; names, numbers and known values do not show."""
    assert display.text(said) == shown


@pytest.mark.parametrize("name", ["Any", "An", "Do", "Um", "Uma", "La", "Es", "To", "In", "Banco"])
def test_a_word_that_may_be_a_name_alone_is_on_no_list(display, name):
    """A message may be a name and nothing else."""
    assert display.text(name) == shape(name)


def test_a_result_shows_names_types_and_structure(display):
    """Of values those of documented members that name nobody, of others the form."""
    data = {
        "id": LISTED["code"], "document": "***.456.789-**", "name": "maria silva", "message": "aluguel", "accountType": 1,
        "type": "PHONE", "status": "DONE", "value": 1234.5, "error": None, "saldoDisponivel": 7, "maria": True,
    }  # fmt: skip
    shown = json.loads(display.body(json.dumps({"code": 0, "data": data}).encode()))

    assert shown == {"code": 0, "data": {
        "id": "<code>", "document": "***.999.999-**", "name": "aaaaa aaaaa", "message": "aaaaaaa", "accountType": 1,
        "type": "PHONE", "status": "DONE", "value": 9999.9, "error": None, "saldoDisponivel": 9, "*": True,
    }}  # fmt: skip


def test_a_refusal_says_why(display):
    """Its texts are shown in words of the list, those of personal members but `message` by their shape."""
    body = {"code": "ACCOUNT_NOT_FOUND", "error": "invalid_token", "Message": "conta of Maria", "name": "Conta"}
    shown = json.loads(display.body(json.dumps(body).encode()))

    assert shown == {**body, "Message": "conta of Aaaaa", "name": "Aaaaa"}


@pytest.mark.parametrize("member", ["status", "type", "STATUS"])
@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("DONE", "DONE"),
        ("phone", "phone"),
        ("PENDING", "PENDING"),
        ("Joaquim Zeferino Quintela", "Aaaaaaa Aaaaaaaa Aaaaaaaa"),
        ("JOAQUIM QUINTELA", "AAAAAAA AAAAAAAA"),
        ("joaquim", "aaaaaaa"),
        ("Joaquim", "Aaaaaaa"),
        ("invalid", "aaaaaaa"),
    ],
)
def test_status_and_type_show_one_word_in_capitals(display, member, value, shown):
    """Or a documented value: a mapping that is off by one puts the name of the counterparty there."""
    assert json.loads(display.body(json.dumps({"data": {member: value}}).encode())) == {"data": {member: shown}}


def test_the_body_keeps_its_layout(display):
    """Misspelled names, repeated ones, a byte order mark and what is not closed stay what they are; a large one is cut.
    A success that is no JSON may be a table of people: it shows ordinary words alone."""
    table = b"name;balance\nmaria;10\nthe account is blocked"
    layout = b'\xef\xbb\xbf{"success": 123456,\n "code": 0, "code": "000000"'
    large = display.body(b'{"x": "' + b'"a":' * SHOWN, "application/json")

    assert display.body(table) == "name;balance\naaaaa;99\nthe account is blocked"
    assert display.body(layout) == '\\ufeff{"success": 999999,\n "code": 0, "code": "999999"'
    assert large.endswith("… (16007 bytes in all)")
    assert len(large) < SHOWN + 100


def test_a_personal_member_is_its_shape(display):
    """At any depth, in any spelling of its name."""
    people = [{named.upper(): {"x": "maria silva"}, f"_{named}": ["rua"]} for named in personal_fields()]
    shown = [display.body(json.dumps({"data": [one]}).encode()) for one in people]

    assert [one for one in shown if "maria" in one or "rua" in one] == []


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("Content-Type", "application/json; charset=utf-8", "application/json; charset=utf-8"),
        ("Content-Type", "application/maria", "aaaaaaaaaaa/aaaaa"),
        ("Server", "nginx/1.25.3", "nginx/1.25.3"),
        ("Server", "joaquim/1.25.3", "aaaaaaa/9.99.9"),
        ("X-Powered-By", "390.533.447", "999.999.999"),
        ("Date", "Ana, 01 Eva 2026 10:00:00 GMT", "Aaa, 99 Aaa 9999 99:99:99 AAA"),
        ("Age", "11987654321", "99999999999"),
        ("Allow", "GET, POST", "GET, POST"),
        ("Allow", "JOAQUIM", "AAAAAAA"),
        ("Location", f"/conta?token={TOKEN}", "/conta?token=<token>"),
    ],
)
def test_headers_of_the_list(display, name, value, shown):
    """As they are in the form that the header has, else in the words of the list."""
    assert display.headers(((name, value), ("Set-Cookie", "sid=1"))) == ((name, shown),)


def test_a_member_that_is_called_like_a_known_value_is_not_named():
    """Of its place all else stays."""
    display = Display(Secrets({"account": ["pendingBalance", "1234567"]}))

    assert display.pointer("/data/0/pendingBalance") == "/data/0/*"
    assert display.headers((("Age", "1234567"),)) == (("Age", "<account 2>"),)


def test_a_body_that_was_shown_hides_what_became_known_since():
    """What is shown of a body is kept, until more values are known."""
    secrets = Secrets({})
    shows, body = Display(secrets).body, b'{"code": 4711}'
    before = shows(body)
    secrets.learn("code", "4711")

    assert before == '{"code": 4711}'
    assert "4711" not in shows(body)


def test_text_that_is_not_ours_keeps_all_but_the_known_values():
    """A traceback stays whole; a short value is one where it stands alone."""
    display = Display(Secrets({"code": ["read"], "account": ["ac-0001-77"]}))

    assert display.foreign("KeyError: 'ac-0001-77'\x1b") == r"KeyError: '<account>'\x1b"
    assert display.foreign("ready: GET /v1/execute/pix/read") == "ready: GET /v1/execute/pix/<code>"


@pytest.mark.parametrize("content_type", ["application/json", "text/html", ""])
def test_no_body_raises(content_type, display):
    """Nor is a control character shown, whatever the bytes are."""
    draw = random.Random(0)
    bodies = [draw.randbytes(draw.randrange(200)) for _ in range(100)]
    bodies += [bytes(draw.choices(b'{}[]":,\\ntu0\xc3\xff\0', k=30)) for _ in range(100)]
    shown = "".join(display.body(body, content_type) for body in bodies)

    assert [sign for sign in shown if sign < " " and sign != "\n"] == []


# -- whatever a service writes --------------------------------------------------------------------------------------

PEOPLE = ("Joaquim", "Zeferino", "quintela", "QUINTELA", "cavalobateriagrampo", "João", "Иван", "李小龍", "MariaClara")
SIGNS = (" ", "", ".", "_", "-", "/", ": ", "\n", '"', "\\", "<", "{", "@", "\u200b", "\ufeff", "0", "=", "'", "\x1b")
PIECES = (
    st.sampled_from(PEOPLE) | st.sampled_from(SIGNS) | st.sampled_from(sorted(WORDS)) | st.characters(codec="utf-8")
)
TEXTS = st.lists(PIECES, min_size=1, max_size=12).map("".join)
MEMBERS = st.sampled_from(["status", "type", "code", "Success", "accountType", "message", "Message", "error", "name"])
VALUES = st.recursive(
    TEXTS | st.booleans() | st.none() | st.integers(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(MEMBERS | TEXTS, inner, max_size=4),
    max_leaves=12,
)
HEADERS = ("Content-Type", "Date", "Server", "Age", "Location", "WWW-Authenticate", "Allow", "Vary", "X-Build")
OF_THE_SUITE = {"characters", "bytes", "in", "all", "true", "false", "null", "ufeff"}
WRITTEN = re.compile(r"\\(?:[ux][0-9a-f]{2,4}|[bfnrt\\])|[^\W\d_]+")
"""Words, and the escapes of what is not printed."""
WRITTEN_IN_A_HEADER = re.compile(r"\\[ux][0-9a-f]{2,4}|[^\W\d_]+")
"""The same for a header, in which JSON has escaped nothing: `\\name` is a backslash and a word."""


def words_shown(text, written=WRITTEN):
    """The words that are shown of a text, but for shapes and what the suite itself says."""
    words = {word for word in written.findall(text) if not word.startswith("\\")}
    return {word for word in words if word.lower() not in WORDS | OF_THE_SUITE and not re.fullmatch("[Aa]+", word)}


@settings(deadline=None)
@given(VALUES, st.sampled_from(["utf-8", "utf-16", "latin-1"]), st.integers(0, 30), st.booleans())
def test_no_word_of_an_answer_is_shown_that_is_not_allowed(display, value, coding, cut, is_ascii):
    """In any member, at any depth, in names of members, in broken JSON: words of the list, names that are made of
    ordinary words, one word in capitals as status and type, and nothing else."""
    body = json.dumps(value, ensure_ascii=is_ascii).encode(coding, "replace")
    shown = display.body(body[: len(body) - cut], "application/json")

    for word in words_shown(shown):
        is_of_a_name = NAME_WORDS.issuperset(words_of(word)) or is_name(word)
        assert is_of_a_name or is_plain_value(word), (word, shown)


@settings(deadline=None)
@given(TEXTS)
def test_no_word_of_a_text_is_shown_that_is_not_listed(display, text):
    """Of bodies that are no JSON, and of what goes into a sentence."""
    assert words_shown(display.text(text)) == set()
    assert words_shown(display.body(f"<p>{text}</p>".encode(), "text/html")) == set()


@settings(deadline=None)
@given(st.sampled_from(HEADERS), TEXTS)
def test_no_word_of_a_header_is_shown_that_is_not_listed(display, name, value):
    """Of the headers that are shown; any other is not there."""
    ((shown_name, shown),) = display.headers(((name, value), ("X-Person", value)))

    assert shown_name == name
    assert words_shown(shown, WRITTEN_IN_A_HEADER) == set()
