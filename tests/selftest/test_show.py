"""What may be shown of a service's answer: what a reader needs stays readable, and no secret shows, however it is written."""

import base64
import codecs
import html
import json
import string
from itertools import pairwise
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.secret_values import Secrets
from reports.show import Display
from spec.facts import is_name
from spec.interface import personal_fields

TOKEN, PASSWORD, PHRASE = "Can4ry.t0ken-OF_the+run/9f8e7d==", "zorkmidquuxfrobnitz", "zork-quux frobnitz"
ACCOUNT, CODE, KEY, CPF = "ac-0001-77", "TX0001B", "qa.canary@zork-bank.example", "390.533.447-05"
UNKNOWN = {"a name": "Maria Canario da Silva", "an e-mail address": "maria@bank.example", "a code": "E2E-2026-0077"}
KNOWN = {
    "token": TOKEN,
    "password": PASSWORD,
    "phrase": PHRASE,
    "account": ACCOUNT,
    "code": CODE,
    "key": KEY,
    "cpf": CPF,
}
CANARIES = KNOWN | UNKNOWN

FORMS = {
    "plain": str,
    "upper case": str.upper,
    "swapped case": str.swapcase,
    "reversed": lambda text: text[::-1],
    "rot13": lambda text: codecs.encode(text, "rot13"),
    "percent": lambda text: quote(text, safe=""),
    "percent wholly": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64url": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "base64 behind another text": lambda text: base64.b64encode(b"qa:" + text.encode()).decode(),
    "base32": lambda text: base64.b32encode(text.encode()).decode(),
    "hexadecimal": lambda text: text.encode().hex(),
    "JSON escapes": lambda text: "".join(f"\\u{ord(sign):04x}" for sign in text),
    "HTML escapes": lambda text: "".join(f"&#{ord(sign)};" for sign in text),
    "wide letters": lambda text: "".join(chr(ord(sign) + 0xFEE0) if sign > " " else sign for sign in text),
    "numbers": lambda text: " ".join(str(ord(sign)) for sign in text),
    "letters apart": " ".join,
    "halves": lambda text: f"{text[: len(text) // 2]} {text[len(text) // 2 :]}",
    "first half": lambda text: text[: len(text) // 2 + 1],
    "second half": lambda text: text[len(text) // 2 :],
}
"""Ways to write a text: those that many know, and those that nobody foresees."""
REFUSAL = {"refusal": True}
PLACES = {
    "a value": lambda form: (json.dumps({"code": 0, "data": {"other": form}}).encode(), "application/json", {}),
    "a personal member": lambda form: (json.dumps({"data": {"name": form}}).encode(), "application/json", {}),
    "an error message": lambda form: (json.dumps({"message": f"Error: {form} found"}).encode(), "", REFUSAL),
    "a name": lambda form: (json.dumps({"data": {form: 1}}).encode(), "application/json", REFUSAL),
    "JSON in a string": lambda form: (json.dumps({"data": json.dumps({"name": form})}).encode(), "", REFUSAL),
    "a list of letters": lambda form: (json.dumps({"data": list(form)}).encode(), "application/json", REFUSAL),
    "broken JSON": lambda form: (json.dumps({"data": {"other": form}}).encode()[:-3], "application/json", REFUSAL),
    "HTML": lambda form: (f"<h1 title='{html.escape(form)}'>{html.escape(form)}</h1>".encode(), "text/html", REFUSAL),
    "a form": lambda form: (f"name={form}&code=1".encode(), "application/x-www-form-urlencoded", {}),
    "XML": lambda form: (f"<name>{form}</name>".encode(), "text/xml", {}),
    "UTF-16": lambda form: (form.encode("utf-16"), "text/plain", REFUSAL),
    "EBCDIC": lambda form: (form.encode("cp500", "replace"), "text/plain", REFUSAL),
}


def registry(*names):
    """A registry that knows these canaries."""
    listed = {"account": ["account", "cpf"], "key": ["key"], "code": ["code"]}
    secrets = Secrets({kind: [KNOWN[one] for one in values if one in names] for kind, values in listed.items()})
    for name in ("token", "password", "phrase"):
        secrets.learn_secret(name, *[KNOWN[name]] * (name in names))
    return secrets


@pytest.fixture(scope="module")
def display():
    """What knows a token, an account, a key and a code."""
    return Display(registry("token", "account", "code", "key", "cpf"))


def display_of(name):
    """What knows a canary, if it is one that a run knows."""
    return Display(registry(name if name in KNOWN else "token"))


def leaks(shown, canary, form):
    """The parts of a canary, plain and as it was written, that are shown."""
    compact = "".join(sign for sign in shown if sign.isalnum()).lower()
    parts = {form, canary, canary[: len(canary) // 2], canary[len(canary) // 2 :]} - {""}
    plain = {part: "".join(sign for sign in part if sign.isalnum()).lower() for part in parts}
    return [part for part, said in plain.items() if len(said) > 3 and said in compact]


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("written", FORMS.values(), ids=FORMS)
def test_no_canary_is_shown(written, place):
    """Known or not, in an encoding that is known or not, wherever it stands in an answer."""
    shown = {}
    for name, canary in CANARIES.items():
        body, content_type, how = place(written(canary))
        shown[name] = leaks(display_of(name).body(body, content_type, **how), canary, written(canary))

    assert [name for name, leaked in shown.items() if leaked] == []


@pytest.mark.parametrize("written", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("name", CANARIES)
def test_no_canary_is_shown_in_a_header(name, written):
    """Neither in one of the list, nor in any other."""
    form = written(CANARIES[name])
    sent = [(header, form) for header in ("Content-Type", "Date", "Server", "Location", "Set-Cookie", "X-Mine", form)]

    assert leaks(str(display_of(name).headers(sent)), CANARIES[name], form) == []


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    secret=st.text(string.ascii_letters + string.digits + "-._~+/=", min_size=12, max_size=50),
    cuts=st.lists(st.integers(0, 49), max_size=6),
    names=st.lists(st.sampled_from(("a", "message", "error", "status", "code")), min_size=7, max_size=7),
)
def test_no_piece_of_a_split_secret_is_shown(secret, cuts, names):
    """A secret in pieces, each in a member of its own: no piece of four characters is shown that is no ordinary word."""
    secrets = Secrets()
    secrets.learn_secret("token", secret)
    edges = sorted({0, *cuts, len(secret)})
    pieces = [secret[start:end] for start, end in pairwise(edges)]
    body = json.dumps([{name: piece} for name, piece in zip(names, pieces, strict=False)])
    shown = json.loads(Display(secrets).body(body.encode(), refusal=True))
    told = [value for one in shown for value in one.values()]

    assert [
        one
        for one in told
        if len(one) > 3 and one in secret and not is_name(one) and set(one) - set("Aa9" + string.punctuation)
    ] == []


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
        ("x" * 400, f"{'x' * 4}…(300 characters)…(400 characters)"),
    ],
)
def test_an_error_message_stays_readable(display, said, shown):
    """In English and in Portuguese; names, numbers and known values do not show."""
    assert display.text(said) == shown.replace("xxxx", "aaaa")


def test_a_success_that_is_no_json_shows_ordinary_words_alone(display):
    """It may be a page or a table of people."""
    assert display.body(b"name;balance\nmaria;10\nthe account is open") == "name;balance\naaaaa;99\nthe account is open"


def test_a_result_shows_names_types_and_structure(display):
    """Of values those of documented members that name nobody, of others the form."""
    data = {
        "id": CODE, "document": "***.456.789-**", "name": "maria silva", "message": "aluguel", "accountType": 1,
        "type": "PHONE", "status": "DONE", "value": 1234.5, "error": None, "saldoDisponivel": 7, "maria": True,
    }  # fmt: skip
    shown = json.loads(display.body(json.dumps({"code": 0, "data": data}).encode()))

    assert shown["code"] == 0
    assert shown["data"] == {
        "id": "<code>", "document": "***.999.999-**", "name": "aaaaa aaaaa", "message": "aaaaaaa", "accountType": 1,
        "type": "PHONE", "status": "DONE", "value": 9999.9, "error": None, "saldoDisponivel": 9, "*": True,
    }  # fmt: skip


def test_a_refusal_says_why(display):
    """Its texts are shown in words, and what it enumerates."""
    said = {"code": "ACCOUNT_NOT_FOUND", "error": "invalid_token", "Message": "ispb of Maria", "name": "Conta"}
    more = {"errors": ["chave zerada"], "error_description": "stale", "holder": "maria: account", "type": "about:blank"}
    shown = json.loads(display.body(json.dumps(said | more).encode(), refusal=True))

    assert shown == {**said, **more, "Message": "ispb of Aaaaa", "name": "Aaaaa", "holder": "aaaaa: account"}


def test_the_body_keeps_its_layout(display):
    """Misspelled names, repeated ones, a byte order mark and what is not closed stay what they are."""
    assert display.body(b'\xef\xbb\xbf{"success": 123456,\n "code": 0, "code": "000000"') == (
        '\\ufeff{"success": 999999,\n "code": 0, "code": "999999"'
    )


@pytest.mark.parametrize("named", sorted(personal_fields()))
def test_a_personal_member_is_its_shape(display, named):
    """At any depth, in any spelling of its name."""
    body = json.dumps({"data": [{named.upper(): {"x": "maria silva"}, f"_{named}": ["rua"]}]}).encode()

    assert "maria" not in display.body(body)
    assert "rua" not in display.body(body)


@pytest.mark.parametrize("name", ["saldoDisponivel", "nextCursor", "account_holder", "txId", "Message", "errorCode"])
def test_a_name_of_ordinary_words_is_shown(name):
    """An undocumented member can be told."""
    assert is_name(name)


@pytest.mark.parametrize("name", ["maria", "mariaSilva", "ac-0001", "a b", "x" * 61, "dG9rZW4", "conta123", "é"])
def test_any_other_name_is_not(name):
    """It may be the name of a person, an account, a code."""
    assert not is_name(name)


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("Content-Type", "application/json; charset=utf-8", "application/json; charset=utf-8"),
        ("Content-Type", "application/maria", "application/aaaaa"),
        ("Retry-After", "120", "120"),
        ("Date", "Mon, 23 Nov 2026 14:39:57 GMT", "Mon, 23 Nov 2026 14:39:57 GMT"),
        ("Server", "nginx/1.25.3", "nginx/1.25.3"),
        ("Location", f"/back?token={TOKEN}", "/back?token=<token>"),
    ],
)
def test_headers_of_the_list(display, name, value, shown):
    """As they are in the form that the header has, else in the words of the list."""
    assert display.headers([(name, value), ("Set-Cookie", "sid=1")]) == [[name, shown]]


def test_text_that_is_not_ours_keeps_all_but_the_known_values(display):
    """A traceback stays whole; a short value is one where it stands alone."""
    display = Display(Secrets({"code": ["read"], "account": [ACCOUNT]}))

    assert display.foreign(f"KeyError: {ACCOUNT!r}\x1b") == r"KeyError: '<account>'\x1b"
    assert display.foreign("ready: GET /v1/execute/pix/read") == "ready: GET /v1/execute/pix/<code>"


def test_what_becomes_known_is_hidden_from_then_on():
    """A token that is fetched again, a code that is prepared."""
    secrets = Secrets({"code": ["TX-1"]})
    display = Display(secrets)
    before = display.foreign("PREPARED-77")
    secrets.learn("code", "PREPARED-77")

    assert [before, display.foreign("PREPARED-77")] == ["PREPARED-77", "<code 2>"]


@settings(max_examples=300, deadline=None, derandomize=True)
@given(body=st.binary(max_size=200), content_type=st.sampled_from(("application/json", "text/html", "")))
def test_no_body_raises(body, content_type):
    """Nor is a control character shown."""
    shown = Display(registry("token")).body(body, content_type)

    assert [sign for sign in shown if sign < " " and sign != "\n"] == []


@pytest.mark.parametrize("part", [b"[", b'{"', b'"a":', b"'", b"\\", b"<a", b"=", b"%41", b'{"a":{', b"a ", b"9", b"}"])
def test_no_body_takes_long(part):
    """In proportion to what is looked at, which is 64 KB."""
    assert len(Display(registry("token")).body(b'{"x": "' + part * 100_000, "application/json")) < 4_100
