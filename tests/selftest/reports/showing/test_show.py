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
from reports.showing.show import MOST_BYTES_SHOWN, Display, shape
from spec.facts import NAME_WORDS, WORDS, is_name, is_plain_value, words_of
from spec.interface import personal_fields
from tests.selftest.services.echoing import encodings

TOKEN, PHRASE = "Can4ry.t0ken-OF_the+run/9f8e7d==", "zork-quux frobnitz"
LISTED = {"account": "ac-0001-77", "code": "TX0001B", "key": "qa.canary@zork-bank.example"}
SECRET = {"token": TOKEN, "password": "zorkmidquuxfrobnitz", "phrase": PHRASE}
UNKNOWN = {"a name": "Maria Canario da Silva", "an e-mail address": "maria@bank.example", "a code": "E2E-2026-0077"}
CANARIES = LISTED | SECRET | UNKNOWN


def display_that_knows(*names):
    """A display that knows the values of these names in LISTED and SECRET."""
    secrets = Secrets({name: [LISTED[name]] for name in names if name in LISTED})
    for name in SECRET.keys() & names:
        secrets.learn_secret(name, SECRET[name])
    return Display(secrets)


@pytest.fixture(scope="module")
def display():
    """A display that knows a token, an account, a key and a code."""
    return display_that_knows("token", *LISTED)


def encodings_of(text):
    """The forms in which a text may be written: usual encodings, and unusual ones."""
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
    """Pairs of a body that holds a text and its media type."""
    code, page = {"code": 0, "data": {"other": form, "name": form}}, f"<p title='{escape(form)}'>{escape(form)}</p>"
    yield json.dumps(code).encode(), "application/json"
    yield json.dumps({"message": f"Error: {form} found", "data": {form: 1}}).encode(), ""
    yield json.dumps({"data": json.dumps({"name": form}), "letters": list(form)}).encode(), "application/json"
    yield json.dumps(code).encode()[:-3], "application/json"
    yield page.encode(), "text/html"
    yield f"name={form}&code=1".encode(), "application/x-www-form-urlencoded"
    yield form.encode("cp500", "replace"), "text/plain"


def parts_shown(shown_text, canary, form):
    """The parts of a canary, plain or in its written form, that are shown."""
    compact = "".join(filter(str.isalnum, shown_text)).lower()
    parts = (form, canary, canary[: len(canary) // 2], canary[len(canary) // 2 :])
    compact_parts = ["".join(filter(str.isalnum, part)).lower() for part in parts]
    return [part for part in compact_parts if len(part) > 3 and part in compact]


@pytest.mark.parametrize("name", CANARIES)
def test_no_canary_is_shown(name):
    """The canary may be known or not, in any encoding, and anywhere in an answer and its headers."""
    canary = CANARIES[name]
    display = display_that_knows(name if name not in UNKNOWN else "token")
    leaked = []
    for encoding, form in encodings_of(canary).items():
        headers = ("Content-Type", "Date", "Server", "Location", "Set-Cookie", "X-Mine", form)
        texts = [display.body(body, kind) for body, kind in bodies_with(form)]
        texts.append(str(display.headers([(header, form) for header in headers])))
        leaked += [(encoding, text) for text in texts if parts_shown(text, canary, form)]

    assert leaked == []


@pytest.mark.parametrize(
    ("text", "shown"),
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
def test_an_error_message_stays_readable(display, text, shown):
    """Words of English and Portuguese stay. Names, numbers and known values do not show."""
    assert display.text(text) == shown


@pytest.mark.parametrize("name", ["Any", "An", "Do", "Um", "Uma", "La", "Es", "To", "In", "Banco"])
def test_words_that_may_be_names_are_on_no_list(display, name):
    """A message may be a name and nothing else, so a word that may be a name is shown as a shape."""
    assert display.text(name) == shape(name)


def test_a_result_shows_names_types_and_structure(display):
    """Values of documented members that are not personal are shown, other values by their shape."""
    data = {
        "id": LISTED["code"], "document": "***.456.789-**", "name": "maria silva", "message": "aluguel", "accountType": 1,
        "type": "PHONE", "status": "DONE", "value": 1234.5, "error": None, "saldoDisponivel": 7, "maria": True,
    }  # fmt: skip
    shown = json.loads(display.body(json.dumps({"code": 0, "data": data}).encode()))

    assert shown == {"code": 0, "data": {
        "id": "<code>", "document": "***.999.999-**", "name": "aaaaa aaaaa", "message": "aaaaaaa", "accountType": 1,
        "type": "PHONE", "status": "DONE", "value": 9999.9, "error": None, "saldoDisponivel": 9, "*": True,
    }}  # fmt: skip


def test_the_reason_of_a_refusal_stays_readable(display):
    """Words of the list are shown. Personal members other than `message` are shown by their shape."""
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
    """A documented value is shown, too.

    Any other text is shown by its shape, because a service may put the name of the counterparty there by mistake.
    """
    assert json.loads(display.body(json.dumps({"data": {member: value}}).encode())) == {"data": {member: shown}}


def test_the_body_keeps_its_layout(display):
    """Misspelled and repeated names, a byte order mark and an unclosed object stay, and a large body is cut.

    A success that is no JSON may be a table of people, so it shows only ordinary words.
    """
    table = b"name;balance\nmaria;10\nthe account is blocked"
    layout = b'\xef\xbb\xbf{"success": 123456,\n "code": 0, "code": "000000"'
    large = display.body(b'{"x": "' + b'"a":' * MOST_BYTES_SHOWN, "application/json")

    assert display.body(table) == "name;balance\naaaaa;99\nthe account is blocked"
    assert display.body(layout) == '\\ufeff{"success": 999999,\n "code": 0, "code": "999999"'
    assert large.endswith("… (16007 bytes in all)")
    assert len(large) < MOST_BYTES_SHOWN + 100


def test_a_personal_member_is_its_shape(display):
    """The member may be at any depth, and its name in any spelling."""
    people = [{name.upper(): {"x": "maria silva"}, f"_{name}": ["rua"]} for name in personal_fields()]
    texts = [display.body(json.dumps({"data": [person]}).encode()) for person in people]

    assert [text for text in texts if "maria" in text or "rua" in text] == []


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
    """A header of the list is shown if its value has the usual form, else in words of the list.

    Other headers are left out.
    """
    assert display.headers(((name, value), ("Set-Cookie", "sid=1"))) == ((name, shown),)


def test_a_member_that_is_called_like_a_known_value_is_not_named():
    """The pointer has `*` in its place, and the rest stays."""
    display = Display(Secrets({"account": ["pendingBalance", "1234567"]}))

    assert display.pointer("/data/0/pendingBalance") == "/data/0/*"
    assert display.headers((("Age", "1234567"),)) == (("Age", "<account 2>"),)


def test_a_body_is_shown_anew_once_another_value_is_known():
    """The shown form of a body is kept only until another value becomes known."""
    secrets = Secrets({})
    show_body = Display(secrets).body
    body = b'{"code": 4711}'
    shown_before = show_body(body)
    secrets.learn("code", "4711")

    assert shown_before == '{"code": 4711}'
    assert "4711" not in show_body(body)


def test_text_that_is_not_ours_keeps_all_but_the_known_values():
    """A traceback stays whole except for known values. A short value is replaced only if it stands alone."""
    display = Display(Secrets({"code": ["read"], "account": ["ac-0001-77"]}))

    assert display.without_known_values("KeyError: 'ac-0001-77'\x1b") == r"KeyError: '<account>'\x1b"
    assert display.without_known_values("ready: GET /v1/execute/pix/read") == "ready: GET /v1/execute/pix/<code>"


@pytest.mark.parametrize("content_type", ["application/json", "text/html", ""])
def test_no_body_raises(content_type, display):
    """Any bytes are shown without an error, and without a control character."""
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
"""The same for a text that is no JSON, such as a header, in which nothing is escaped: `\\name` is a backslash and a word."""


def words_shown(text, written=WRITTEN):
    """The words in a text that is shown, without shapes and words of the suite itself."""
    words = {word for word in written.findall(text) if not word.startswith("\\")}
    return {word for word in words if word.lower() not in WORDS | OF_THE_SUITE and not re.fullmatch("[Aa]+", word)}


@settings(deadline=None)
@given(VALUES, st.sampled_from(["utf-8", "utf-16", "latin-1"]), st.integers(0, 30), st.booleans())
def test_no_word_of_an_answer_is_shown_that_is_not_allowed(display, value, coding, cut, is_ascii):
    """Names and values of any depth, and broken JSON, show only words of the list, names made of ordinary words, and
    one word in capitals as status and type.
    """
    body = json.dumps(value, ensure_ascii=is_ascii).encode(coding, "replace")
    shown = display.body(body[: len(body) - cut], "application/json")

    for word in words_shown(shown):
        is_of_a_name = NAME_WORDS.issuperset(words_of(word)) or is_name(word)
        assert is_of_a_name or is_plain_value(word), (word, shown)


@settings(deadline=None)
@given(TEXTS)
def test_only_listed_words_of_a_text_are_shown(display, text):
    """The test draws texts. Neither a sentence nor a body that is no JSON shows another word."""
    assert words_shown(display.text(text), WRITTEN_IN_A_HEADER) == set()
    assert words_shown(display.body(f"<p>{text}</p>".encode(), "text/html"), WRITTEN_IN_A_HEADER) == set()


@settings(deadline=None)
@given(st.sampled_from(HEADERS), TEXTS)
def test_no_word_of_a_header_is_shown_that_is_not_listed(display, name, value):
    """A header that is not on the list is left out."""
    ((shown_name, shown),) = display.headers(((name, value), ("X-Person", value)))

    assert shown_name == name
    assert words_shown(shown, WRITTEN_IN_A_HEADER) == set()
