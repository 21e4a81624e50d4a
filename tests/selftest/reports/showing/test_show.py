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
from spec.facts import NAME_WORDS, WORDS, is_plain_value, is_surely_no_data, words_of
from spec.interface import personal_fields
from tests.selftest.services.echoing import encodings

TOKEN, PHRASE = "Can4ry.t0ken-OF_the+run/9f8e7d==", "zork-quux frobnitz"
VALUES_OF_THE_PROFILE = {"account": "ac-0001-77", "code": "TX0001B", "key": "qa.canary@zork-bank.example"}
SECRETS = {"token": TOKEN, "password": "zorkmidquuxfrobnitz", "phrase": PHRASE}
VALUES_UNKNOWN_TO_THE_RUN = {
    "a name": "Maria Canario da Silva",
    "an e-mail address": "maria@bank.example",
    "a code": "E2E-2026-0077",
}
CANARIES = VALUES_OF_THE_PROFILE | SECRETS | VALUES_UNKNOWN_TO_THE_RUN


def display_that_knows(*names):
    """A display, which prepares answers for a report. It hides the values that have these names here.

    The values are in VALUES_OF_THE_PROFILE and SECRETS: "account" is an account of the profile, "token" a secret.
    """
    values_of_profile = {name: [value] for name, value in VALUES_OF_THE_PROFILE.items() if name in names}
    secrets = Secrets(values_of_profile)
    for name in SECRETS.keys() & names:
        secrets.learn_secret(name, SECRETS[name])
    return Display(secrets)


@pytest.fixture(scope="module")
def display():
    """A display, which prepares answers for a report. It knows and hides a token, an account, a key and a code."""
    return display_that_knows("token", *VALUES_OF_THE_PROFILE)


def forms_of_text(text):
    """The forms in which a text may be written, by their names: usual encodings, and odd ones such as reversed."""
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
    """Pairs of a body and its media type. Each body has this form of a text in it, such as the text in base64."""
    result = json.dumps({"code": 0, "data": {"other": form, "name": form}}).encode()
    page = f"<p title='{escape(form)}'>{escape(form)}</p>"
    yield result, "application/json"
    yield json.dumps({"message": f"Error: {form} found", "data": {form: 1}}).encode(), ""
    yield json.dumps({"data": json.dumps({"name": form}), "letters": list(form)}).encode(), "application/json"
    yield result[:-3], "application/json"  # cut short
    yield page.encode(), "text/html"
    yield f"name={form}&code=1".encode(), "application/x-www-form-urlencoded"
    yield form.encode("cp500", "replace"), "text/plain"


def letters_and_digits(text):
    """The letters, in small letters, and the digits of a text: "Ac-1" gives "ac1"."""
    return "".join(character for character in text.lower() if character.isalnum())


def leaked_parts(shown_text, canary, form):
    """The parts of a canary, a value that must not be shown, that are in a shown text all the same.

    The parts are the canary itself, each half of it, and its encoded form. Only letters and digits are compared. A part
    of less than four of them is left out, because it may be in any text by chance.
    """
    half = len(canary) // 2
    parts = [letters_and_digits(part) for part in (form, canary, canary[:half], canary[half:])]
    long_parts = [part for part in parts if len(part) > 3]
    return [part for part in long_parts if part in letters_and_digits(shown_text)]


def texts_shown(display, form):
    """What a report shows of answers that have this form of a value in their bodies, headers and names of headers."""
    names_of_headers = ("Content-Type", "Date", "Server", "Location", "Set-Cookie", "X-Mine")
    headers = [(name, form) for name in names_of_headers]
    shown_headers = display.shown_headers([*headers, (form, form)])
    shown_bodies = [display.shown_body(body, media_type) for body, media_type in bodies_with(form)]
    return [*shown_bodies, str(shown_headers)]


@pytest.mark.parametrize("name", CANARIES)
def test_no_canary_is_shown(name):
    """No secret, account, code, key or name is shown, in whichever encoding and wherever in an answer it stands.

    A canary is a value that must not be shown. The display prepares an answer for a report. It knows the canary if the
    canary is a value of the profile or a secret. It does not know the name of a person, for example.
    """
    canary = CANARIES[name]
    known_name = "token" if name in VALUES_UNKNOWN_TO_THE_RUN else name
    display = display_that_knows(known_name)
    texts_with_canary = []

    for name_of_form, form in forms_of_text(canary).items():
        for text in texts_shown(display, form):
            if leaked_parts(text, canary, form):
                texts_with_canary.append((name_of_form, text))

    assert texts_with_canary == []


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
    ],
    ids=[
        "a name after an ordinary message",
        "capitals",
        "a number",
        "a known key",
        "a known account",
        "markup",
        "a key that the suite made up (pixconf-)",
        "a field with a name",
        "a user name",
        "a password",
        "an address with a name",
    ],
)
def test_an_error_message_stays_readable(display, text, shown):
    """In an error message ordinary words stay, known values become placeholders, and other words and numbers become
    shapes.

    The shape of a text has `a` for each letter and `9` for each digit. Ordinary words are listed, in English and
    Portuguese.
    """
    assert display.shown_text(text) == shown


def test_a_long_word_and_a_long_message_are_cut(display):
    """A message is cut after 300 characters, and a long word in it becomes its first four signs and its length.

    The length of the whole message stands at the end. Here a message is one word of 400 letters, shown as `a`.
    """
    assert display.shown_text("x" * 400) == "aaaa…(300 characters)…(400 characters)"


@pytest.mark.parametrize("name", ["Any", "An", "Do", "Um", "Uma", "La", "Es", "To", "In", "Banco"])
def test_words_that_may_be_names_are_on_no_list(display, name):
    """A word that may be the name of a person, such as Do, is not on the list of ordinary words.

    So a report shows only its shape, `Aa`, even if it is the whole message.
    """
    assert display.shown_text(name) == shape(name)


def test_a_result_shows_names_types_and_structure(display):
    """Of a successful answer a report shows all names of fields, and values that are not personal. Other values become
    shapes.

    `maria silva` becomes `aaaaa aaaaa`. A known code becomes `<code>`. A name of a field that may be a person's name
    becomes `*`.
    """
    data = {
        "id": VALUES_OF_THE_PROFILE["code"], "document": "***.456.789-**", "name": "maria silva", "message": "aluguel", "accountType": 1,
        "type": "PHONE", "status": "DONE", "value": 1234.5, "error": None, "saldoDisponivel": 7, "maria": True,
    }  # fmt: skip
    shown = json.loads(display.shown_body(json.dumps({"code": 0, "data": data}).encode()))

    assert shown == {"code": 0, "data": {
        "id": "<code>", "document": "***.999.999-**", "name": "aaaaa aaaaa", "message": "aaaaaaa", "accountType": 1,
        "type": "PHONE", "status": "DONE", "value": 9999.9, "error": None, "saldoDisponivel": 9, "*": True,
    }}  # fmt: skip


def test_the_reason_of_a_refusal_stays_readable(display):
    """In a refusal ordinary words and codes of errors are shown, also in `Message`.

    Names in it become shapes: `Maria` is `Aaaaa`.
    """
    body = {"code": "ACCOUNT_NOT_FOUND", "error": "invalid_token", "Message": "conta of Maria", "name": "Conta"}
    shown = json.loads(display.shown_body(json.dumps(body).encode()))

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
    """The fields `status` and `type` show a documented value or one word in capitals. Any other text becomes a shape.

    A service may put the name of the counterparty there by mistake.
    """
    body = json.dumps({"data": {member: value}}).encode()

    shown_body = json.loads(display.shown_body(body))

    assert shown_body == {"data": {member: shown}}


def test_a_body_keeps_its_layout(display):
    """A shown body keeps its layout and its faults: a byte order mark, a repeated name, and an object that is not closed."""
    body = b'\xef\xbb\xbf{"success": 123456,\n "code": 0, "code": "000000"'

    shown = display.shown_body(body)

    assert shown == '\\ufeff{"success": 999999,\n "code": 0, "code": "999999"'


def test_of_a_body_that_is_no_json_only_ordinary_words_are_shown(display):
    """A body that is not JSON may be a table of people, so a report shows only ordinary words of it."""
    table = b"name;balance\nmaria;10\nthe account is blocked"

    shown = display.shown_body(table)

    assert shown == "name;balance\naaaaa;99\nthe account is blocked"


def test_a_large_body_is_cut(display):
    """Of a large body only the first MOST_BYTES_SHOWN bytes are shown, and the size of the whole body."""
    large_body = b'{"x": "' + b'"a":' * MOST_BYTES_SHOWN

    shown = display.shown_body(large_body, "application/json")

    assert shown.endswith(f"… ({len(large_body)} bytes in all)")
    assert len(shown) < MOST_BYTES_SHOWN + 100


def test_a_personal_member_is_its_shape(display):
    """The value of a personal field, such as `name`, is never shown, whether the field is written in capitals or with
    an underscore.

    This holds for every personal field of the interface document, and for lists and objects in it.
    """
    people = [{name.upper(): {"x": "maria silva"}, f"_{name}": ["rua"]} for name in personal_fields()]

    shown_bodies = [display.shown_body(json.dumps({"data": [person]}).encode()) for person in people]
    bodies_with_values = [text for text in shown_bodies if "maria" in text or "rua" in text]

    assert bodies_with_values == []


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
def test_only_well_known_headers_are_shown(display, name, value, shown):
    """A report shows well-known headers only, as they are if the value has the usual form, and by their shape if not.

    `Set-Cookie` is not on the list of well-known headers, so it is left out.
    """
    shown_headers = display.shown_headers(((name, value), ("Set-Cookie", "sid=1")))

    assert shown_headers == ((name, shown),)


def test_a_path_has_a_star_in_the_place_of_a_known_value():
    """If a field of an answer has an account of the profile as its name, a report writes `*` in the path of the field."""
    display = Display(Secrets({"account": ["pendingBalance"]}))

    shown_path = display.shown_pointer("/data/0/pendingBalance")

    assert shown_path == "/data/0/*"


def test_a_known_value_in_a_well_known_header_is_a_placeholder():
    """If the value of a well-known header is an account of the profile, a report shows a placeholder.

    `<account 2>` is the second account of the profile.
    """
    display = Display(Secrets({"account": ["0001", "1234567"]}))

    shown_headers = display.shown_headers([("Age", "1234567")])

    assert shown_headers == (("Age", "<account 2>"),)


def test_a_body_is_shown_anew_once_another_value_is_known():
    """A body that was shown before is made anew if one of its values has become known as a transaction code since then.

    A display remembers the shown form of each body. It must not give a remembered form that has the code.
    """
    secrets = Secrets({})
    display = Display(secrets)
    body = b'{"code": 4711}'

    shown_before = display.shown_body(body)
    secrets.learn("code", "4711")
    shown_afterwards = display.shown_body(body)

    assert shown_before == '{"code": 4711}'
    assert "4711" not in shown_afterwards


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("KeyError: 'ac-0001-77'\x1b", r"KeyError: '<account>'\x1b"),
        ("ready: GET /v1/execute/pix/read", "ready: GET /v1/execute/pix/<code>"),
    ],
    ids=["a known account", "a short code, which is also a part of another word"],
)
def test_text_that_is_not_ours_keeps_all_but_the_known_values(text, shown):
    """A text such as a traceback is shown whole, except for known values and control characters.

    A short value is replaced only as a whole word: the code `read` in a path, but not in `ready`.
    """
    display = Display(Secrets({"code": ["read"], "account": ["ac-0001-77"]}))

    assert display.without_known_values(text) == shown


@pytest.mark.parametrize("content_type", ["application/json", "text/html", ""])
def test_no_body_raises(content_type, display):
    """Any bytes can be shown as a body: no error is raised, and no control character is in the shown text.

    The bytes are drawn at random, half of them from signs of JSON.
    """
    draw = random.Random(0)
    bodies = [draw.randbytes(draw.randrange(200)) for _ in range(100)]
    bodies += [bytes(draw.choices(b'{}[]":,\\ntu0\xc3\xff\0', k=30)) for _ in range(100)]

    shown = "".join(display.shown_body(body, content_type) for body in bodies)
    control_characters = [sign for sign in shown if sign < " " and sign != "\n"]

    assert control_characters == []


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
WORDS_OF_THE_SUITE = {"characters", "bytes", "in", "all", "true", "false", "null", "ufeff"}
WORD_OR_ESCAPE_IN_JSON = re.compile(r"\\(?:[ux][0-9a-f]{2,4}|[bfnrt\\])|[^\W\d_]+")
"""Words, and the escapes of what is not printed."""
WORD_OR_ESCAPE_IN_PLAIN_TEXT = re.compile(r"\\[ux][0-9a-f]{2,4}|[^\W\d_]+")
"""The same for a text that is no JSON, such as a header or a message, in which `\\name` is a backslash and a word."""


def forbidden_words_in(text, pattern=WORD_OR_ESCAPE_IN_JSON):
    """The words of a shown text that are not ordinary: no shapes such as `Aaaa`, and no words of the suite itself.

    An escape, such as \\x1b for a control character, is no word. `pattern` finds words and escapes.
    """
    words = {word for word in pattern.findall(text) if not word.startswith("\\")}
    shapes = {word for word in words if re.fullmatch("[Aa]+", word)}
    ordinary_words = {word for word in words if word.lower() in WORDS | WORDS_OF_THE_SUITE}
    return words - shapes - ordinary_words


def may_be_shown(word):
    """True if a report may show the word: it is made of ordinary words, is a documented name, or is in capitals.

    `is_surely_no_data` judges the word as the name of a field, `is_plain_value` as the value of `status` or `type`.
    """
    has_only_ordinary_words = NAME_WORDS.issuperset(words_of(word))
    return has_only_ordinary_words or is_surely_no_data(word) or is_plain_value(word)


@settings(deadline=None)
@given(VALUES, st.sampled_from(["utf-8", "utf-16", "latin-1"]), st.integers(0, 30), st.booleans())
def test_no_word_of_an_answer_is_shown_that_is_not_allowed(display, value, coding, cut, is_ascii):
    """Of a JSON answer a report shows only ordinary words, names of fields made of ordinary words, and single words in
    capitals.

    The test draws names and values at random, with names of people among them, and also cuts the JSON short.
    """
    body = json.dumps(value, ensure_ascii=is_ascii).encode(coding, "replace")
    cut_body = body[: len(body) - cut]
    shown = display.shown_body(cut_body, "application/json")

    forbidden_words = [word for word in forbidden_words_in(shown) if not may_be_shown(word)]

    assert forbidden_words == [], shown


@settings(deadline=None)
@given(TEXTS)
def test_only_listed_words_of_a_text_are_shown(display, text):
    """Of a message, and of a page in HTML, a report shows only ordinary words, which are on a list.

    The test draws texts at random, with names of people among the words.
    """
    shown_message = display.shown_text(text)
    shown_page = display.shown_body(f"<p>{text}</p>".encode(), "text/html")

    assert forbidden_words_in(shown_message, WORD_OR_ESCAPE_IN_PLAIN_TEXT) == set()
    assert forbidden_words_in(shown_page, WORD_OR_ESCAPE_IN_PLAIN_TEXT) == set()


@settings(deadline=None)
@given(st.sampled_from(HEADERS), TEXTS)
def test_no_word_of_a_header_is_shown_that_is_not_listed(display, name, value):
    """Of a header a report shows only ordinary words, and a header that is not well-known is left out.

    The test draws the values of headers at random, with names of people among the words.
    """
    [(shown_name, shown_value)] = display.shown_headers([(name, value), ("X-Person", value)])

    assert shown_name == name
    assert forbidden_words_in(shown_value, WORD_OR_ESCAPE_IN_PLAIN_TEXT) == set()
