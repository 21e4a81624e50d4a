"""What may be shown of a service's answer: what a reader needs stays readable, and no secret shows, however it is written."""

import codecs
import json
import random
from html import escape

import pytest

from environments.secret_values import Secrets
from reports.show import SHOWN, Display
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
    """Answers that hold a text, with their media type, and True for a refusal."""
    code, page = {"code": 0, "data": {"other": form, "name": form}}, f"<p title='{escape(form)}'>{escape(form)}</p>"
    yield json.dumps(code).encode(), "application/json", False
    yield json.dumps({"message": f"Error: {form} found", "data": {form: 1}}).encode(), "", True
    yield json.dumps({"data": json.dumps({"name": form}), "letters": list(form)}).encode(), "application/json", True
    yield json.dumps(code).encode()[:-3], "application/json", True
    yield page.encode(), "text/html", True
    yield f"name={form}&code=1".encode(), "application/x-www-form-urlencoded", False
    yield form.encode("cp500", "replace"), "text/plain", True


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
        shown = [display.body(body, kind, refusal=refusal) for body, kind, refusal in bodies_with(form)]
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
        ("name=maria silva", "name=aaaaa aaaaa"),
        ("x" * 400, "aaaa…(300 characters)…(400 characters)"),
    ],
)
def test_an_error_message_stays_readable(display, said, shown):
    """In English and in Portuguese; names, numbers and known values do not show."""
    assert display.text(said) == shown


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
    """Its texts are shown in words, and what it enumerates."""
    said = {"code": "ACCOUNT_NOT_FOUND", "error": "invalid_token", "Message": "ispb of Maria", "name": "Conta"}
    shown = json.loads(display.body(json.dumps(said).encode(), refusal=True))

    assert shown == {**said, "Message": "ispb of Aaaaa", "name": "Aaaaa"}


def test_the_body_keeps_its_layout(display):
    """Misspelled names, repeated ones, a byte order mark and what is not closed stay what they are; a large one is cut.
    A success that is no JSON may be a table of people: it shows ordinary words alone."""
    table = b"name;balance\nmaria;10\nthe account is open"
    layout = b'\xef\xbb\xbf{"success": 123456,\n "code": 0, "code": "000000"'
    large = display.body(b'{"x": "' + b'"a":' * SHOWN, "application/json")

    assert display.body(table) == "name;balance\naaaaa;99\nthe account is open"
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
        ("Content-Type", "application/maria", "application/aaaaa"),
        ("Location", f"/back?token={TOKEN}", "/back?token=<token>"),
    ],
)
def test_headers_of_the_list(display, name, value, shown):
    """As they are in the form that the header has, else in the words of the list."""
    assert display.headers([(name, value), ("Set-Cookie", "sid=1")]) == [[name, shown]]


def test_a_member_that_is_called_like_a_known_value_is_not_named():
    """Of its place all else stays."""
    display = Display(Secrets({"account": ["pendingBalance", "1234567"]}))

    assert display.pointer("/data/0/pendingBalance") == "/data/0/*"
    assert display.headers([("Age", "1234567")]) == [["Age", "<account 2>"]]


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
