"""Redaction: what must not leave the process does not, and what a reader needs stays readable."""

import base64
import html
import json
import os
import re
import shutil
import string
import subprocess
import time
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
import yaml
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from environments.secrets import Secrets
from reports.redaction import Redactor
from reports.redaction.masks import is_plain, is_word
from spec.requirements import ledger

CASES = yaml.safe_load(Path(__file__).with_name("redaction.yaml").read_text("utf-8"))
FIELDS = CASES["personal members"]
TOKEN = "s3cr3t-T0ken/with+odd=Chars.9xQ"
ACCOUNT, OTHER_ACCOUNT, CODE, KEY = "ac-0001-77", "0042-9", "TX0001B", "qa@example.com"

ENCODINGS = {
    "plain": str,
    "upper case": str.upper,
    "lower case": str.lower,
    "swapped case": str.swapcase,
    "percent-encoded": lambda text: quote(text, safe=""),
    "percent-encoded in lower hex": lambda text: quote(text, safe="").lower(),
    "percent-encoded for a form": quote_plus,
    "percent-encoded wholly": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "percent-encoded twice": lambda text: quote(quote(text, safe=""), safe=""),
    "JSON": lambda text: json.dumps(text)[1:-1],
    "JSON with escaped slashes": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    "JSON escapes alone": lambda text: "".join(f"\\u{ord(character):04x}" for character in text),
    "JSON escapes in upper hex": lambda text: "".join(f"\\u{ord(character):04X}" for character in text),
    "HTML": html.escape,
    "HTML decimal": lambda text: "".join(f"&#{ord(character)};" for character in text),
    "HTML hexadecimal": lambda text: "".join(f"&#x{ord(character):x};" for character in text),
    "Python repr": lambda text: repr(text)[1:-1],
    "hexadecimal": lambda text: text.encode().hex(),
    "upper hexadecimal": lambda text: text.encode().hex().upper(),
}
APART = {
    "bytes in hexadecimal, apart": lambda text: text.encode().hex(" "),
    "bytes in upper hexadecimal with colons": lambda text: text.encode().hex(":").upper(),
    "bytes of a programme": lambda text: ", ".join(f"0x{byte:02x}" for byte in text.encode()),
}
"""Found for values of eight bytes or more: shorter ones look like a date."""
BASE64 = {
    "standard": lambda data: base64.b64encode(data).decode(),
    "standard unpadded": lambda data: base64.b64encode(data).decode().rstrip("="),
    "urlsafe": lambda data: base64.urlsafe_b64encode(data).decode(),
    "urlsafe unpadded": lambda data: base64.urlsafe_b64encode(data).decode().rstrip("="),
    "percent-encoded": lambda data: quote(base64.b64encode(data).decode(), safe=""),
}

secrets = st.text(string.ascii_letters + string.digits + "-._~+/=\"'&<% ", min_size=8, max_size=50).filter(
    lambda text: (
        sum(map(str.isalnum, text)) >= 6 and text == text.strip() and "<" not in text[1:] and not is_plain(text)
    )
)
values = st.text(string.ascii_letters + string.digits + "-._@+ é/", min_size=4, max_size=30).filter(
    lambda text: sum(map(str.isalnum, text)) >= 4 and text == text.strip() and not text.isdigit() and not is_plain(text)
)
surroundings = st.text(string.ascii_letters + string.digits + string.punctuation + " \n\té…", max_size=30)
# A `%`, `\` or `&` right before a value may take its start for an escape: see test_a_percent_sign_before_a_value.
befores = surroundings.filter(lambda text: not re.search(r"(%[0-9a-fA-F]?|\\\w{0,8}|&#?\w*)$", text))
leaves = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=90)
)
members = st.sampled_from(["name", "Message", "value", "code", "from", "list", "DOCUMENT", "x"])
json_values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(members, inner, max_size=4), max_leaves=12
)
fast = settings(
    max_examples=40,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow, HealthCheck.differing_executors],
)


@pytest.fixture
def pen(registry) -> Redactor:
    """A redactor of that registry."""
    return Redactor(registry, FIELDS)


def cost(body):
    """The least time of this process, of three, that a body takes: what else the machine does is left out."""

    def once():
        pen, before = redactor(), time.process_time()
        pen.body(body)
        pen.learn_from(body)
        return time.process_time() - before

    return min(once() for _ in range(3))


@pytest.fixture
def registry() -> Secrets:
    """What the pen knows."""
    return known()


def known(**changes):
    """A registry with a token, a secret header, two accounts, a one-character account, a code and keys."""
    listed = {"account": [ACCOUNT, OTHER_ACCOUNT, "1"], "code": [CODE], "key": [KEY, "+5511987654321"]}
    registry = Secrets(listed | changes)
    registry.learn_secret("token", TOKEN)
    registry.learn_secret("header X-Tenant", "tenant-4711-abc")
    return registry


def redactor(**changes):
    return Redactor(known(**changes), FIELDS)


def only(secret=None, value=None):
    """A redactor that knows one secret or one account and nothing else."""
    registry = Secrets({"account": [value]} if value else {})
    registry.learn_secret("token", *[secret] * bool(secret))
    return Redactor(registry, FIELDS)


def shape(value):
    """The types of a JSON value, to the leaves."""
    if isinstance(value, dict):
        return {name: shape(item) for name, item in value.items()}
    return [shape(item) for item in value] if isinstance(value, list) else type(value)


SHELLS = [name for name in ("bash", "dash") if shutil.which(name)]
TYPED = [("Content-Type", "x")]
CURL = 'curl() { printf "%s\\0" "$@"; case "$*" in *"--data-binary @-"*) cat; esac; }; '
"""In place of curl: its words, and after them the body that is piped to it."""


def sent(line, shell="bash", **variables):
    """The words that a shell gives to curl, without the first three, and the body."""
    environment = {"PATH": os.environ["PATH"], **variables}
    done = subprocess.run([shell, "-c", CURL + line], env=environment, capture_output=True, check=True)
    *words, piped = done.stdout.split(b"\0") if b"--data-binary" not in done.stdout else _piped(done.stdout)
    body = words[words.index(b"--data-raw") + 1] if b"--data-raw" in words else piped
    return words[2:], body


def _piped(output):
    """The words before the body, which may hold anything: the address is the last of them."""
    head, _, rest = output.partition(b"@-\0")
    options, _, address = rest.partition(b"https://")
    url, _, body = address.partition(b"\0")
    return [*head.split(b"\0")[:-1], b"@-", *options.split(b"\0")[:-1], b"https://" + url, body]


class TestSecrets:
    @pytest.mark.parametrize("encoding", {**ENCODINGS, **APART})
    @fast
    @given(secret=secrets, before=befores, after=surroundings)
    def test_no_encoding_of_a_secret_is_shown(self, encoding, secret, before, after):
        """A secret in any encoding, within any text, is not in the output."""
        encoded = {**ENCODINGS, **APART}[encoding](secret)
        assume(encoded not in before + after)

        shown = only(secret=secret).text(before + encoded + after)

        assert encoded not in shown
        assert secret.casefold() not in shown.casefold()

    @pytest.mark.parametrize("parts", [2, 3, 4])
    @fast
    @given(secret=st.text("abcdefghjkmnp23456789", min_size=32, max_size=60))
    def test_no_piece_of_a_split_secret_is_shown(self, parts, secret):
        """In as many header lines as a service likes, pieces of eight characters with a digit are found."""
        size = -(-len(secret) // parts)
        pieces = [secret[at : at + size] for at in range(0, len(secret), size)]
        shown = only(secret=secret).headers([(f"X-{at}", piece) for at, piece in enumerate(pieces)])

        told = [piece for piece in pieces if len(piece) >= 12 or (len(piece) >= 8 and re.search("[0-9]", piece))]
        assert [piece for piece in told for _, value in shown if piece in value] == []

    @pytest.mark.parametrize("line_break", ["\n", "\r\n", "\\n"])
    def test_no_line_of_base64_shows_a_secret(self, pen, line_break):
        """Base64 as in mail, in lines of 76 characters, within JSON too."""
        lines = base64.encodebytes(b"x" * 40 + TOKEN.encode() + b"y" * 40).decode().split()

        assert "<token>" in pen.text(line_break.join(lines))

    @pytest.mark.parametrize("alphabet", BASE64)
    @pytest.mark.parametrize("prefix", ["", "Bearer ", "user:", "u:", "xy"])
    @fast
    @given(secret=secrets, after=st.sampled_from(["", ":", "ab", "\n\n\n"]))
    def test_no_base64_of_a_secret_is_shown(self, alphabet, prefix, secret, after):
        """A secret at any place within base64 is not in the output: six characters of it are nowhere left."""
        encoded = BASE64[alphabet]((prefix + secret + after).encode())

        shown = only(secret=secret).text(f"x {encoded} y")

        assert "token>" in shown
        assert len(shown) <= len("x  y<another token>") + (len(prefix) + len(after)) * 4 // 3 + 12

    @pytest.mark.parametrize(
        ("sent", "shown"),
        [
            (TOKEN[:-1], "<another token>"),
            (TOKEN[: len(TOKEN) * 2 // 3], "<another token>"),
            (TOKEN[9:], "<another token>"),
            ("t4ds4u-U1lfo/xjui+pee=Dibst.0yR", "<another token>"),
            (TOKEN + "x", "<token>x"),
            (TOKEN[:-8] + "pixconf0", "<another token>pixconf0"),
            ("tenant-4711-abc", "<header X-Tenant>"),
        ],
        ids=["cut short", "cut by a third", "without its start", "shifted", "longer", "another ending", "a header"],
    )
    def test_wrong_credentials_near_the_token_are_hidden(self, pen, sent, shown):
        """What the suite sends as a wrong token is hidden and told from the token; a secret header goes by its name."""
        assert pen.text(f"got {sent}, no") == f"got {shown}, no"

    def test_a_learned_wrong_token_is_told_from_the_token(self, pen, registry):
        """It is hidden like the token, whole, in pieces and in base64, also where most of it is the token."""
        registry.learn_secret("another token", "pixconf-9f86d081884c7d65", TOKEN + "x")

        assert pen.text(f"{TOKEN} {TOKEN}x") == "<token> <another token>"
        assert pen.text("cGl4Y29uZi05Zjg2ZDA4MTg4NGM3ZDY1 and 86d081884c7") == "<another token> and <another token>"
        assert pen.text(pen.text("pixconf-9f86d081884c7d65")) == "<another token>"

    def test_a_refreshed_token_is_hidden_like_the_first(self, pen, registry):
        """Old and new tokens are both the token."""
        registry.learn_secret("token", "another-long-access-token")

        assert pen.text(f"{TOKEN} another-long-access-token") == "<token> <token>"

    def test_the_whole_header_goes_by_its_name(self, pen):
        """Each secret has a placeholder of its own."""
        assert pen.text("tenant-4711-abc") == "<header X-Tenant>"

    @fast
    @given(secret=secrets, text=surroundings)
    def test_text_without_the_secret_stays(self, secret, text):
        """A text of words in which no known value stands is shown as it is."""
        words = "".join(character for character in text if character.isalpha() or character == " ")
        assume(not any(words[at : at + 4] in secret for at in range(len(words))))

        assert only(secret=secret).text(words) == words


class TestValues:
    @pytest.mark.parametrize("encoding", ENCODINGS)
    @fast
    @given(value=values, before=befores, after=surroundings)
    def test_no_encoding_of_a_value_is_shown(self, encoding, value, before, after):
        """A value of the profile in any encoding, within any text, is not in the output."""
        encoded = ENCODINGS[encoding](value)
        assume(encoded not in before + after)

        shown = only(value=value).text(before + encoded + after)

        assert encoded not in shown
        assert value.casefold() not in shown.casefold()

    @pytest.mark.parametrize("alphabet", BASE64)
    @pytest.mark.parametrize("prefix", [b"", b"u:", b"x"])
    def test_no_base64_of_a_value_is_shown(self, alphabet, prefix):
        """A value is found in the base64 of a longer text, in both alphabets."""
        encoded = BASE64[alphabet](prefix + b"a?>b~~?>" + b" z")

        assert re.fullmatch(r"\w{0,3}<account>\w{0,4}(=|%3D)*", only(value="a?>b~~?>").text(encoded))

    def test_a_space_may_be_a_plus_sign(self):
        """In a form a space is a plus sign."""
        assert only(value="conta 77 b").text("a=conta+77+b") == "a=<account>"

    def test_kinds_are_kept_and_counted(self, pen):
        """The second account is `<account 2>`."""
        assert pen.text(f"{ACCOUNT} {OTHER_ACCOUNT} {CODE} {KEY}") == "<account> <account 2> <code> <key>"

    def test_learned_values_get_the_next_number(self, pen, registry):
        """A prepared code is the second code."""
        registry.learn("code", "PREPARED-1", CODE.lower(), "")

        assert pen.text("prepared-1, TX0001B") == "<code 2>, <code>"

    def test_a_new_kind_can_be_learned(self, pen, registry):
        """A kind that the profile did not have has a placeholder like the others, and keeps it."""
        registry.learn("device", "device-0815")

        assert pen.text(pen.text("device-0815")) == "<device>"

    def test_short_values_do_not_destroy_text(self, pen):
        """The account `1` is hidden as a whole value and nowhere else."""
        assert pen.text("1 of 11") == "1 of 11"
        assert pen.body(b'{"x": "1", "y": "21", "code": 1}') == '{"x": "<account 3>", "y": "21", "code": 1}'
        assert pen.url("https://host/v1/1?page=11") == "https://host/v1/<account 3>?page=11"
        assert pen.headers([("X-Account", "1")]) == (("X-Account", "<account 3>"),)

    @pytest.mark.parametrize(
        "written", ["5511987654321", "+55 (11) 98765-4321", "55 11 98765.4321", "%2B5511987654321"]
    )
    def test_punctuation_of_a_number_does_not_matter(self, pen, written):
        """A phone key is found in any punctuation."""
        assert pen.text(f"tel {written}.") in ("tel <key 2>.", "tel +<key 2>.")

    def test_a_short_number_is_not_found_within_a_longer_one(self):
        """An account of four digits does not destroy a timestamp."""
        assert only(value="7171").text("7171 1717171717000") == "<account> 1717171717000"

    @pytest.mark.parametrize("text", ["100%0042%2F9", "\\0042\\/9", "%0042\\u002f9"])
    def test_a_percent_sign_before_a_value(self, text):
        """What stands before a value does not take its start for an escape."""
        assert only(value="0042/9").text(text).endswith("<account>")

    def test_empty_values_match_nothing(self):
        """An empty key or token is no value."""
        pen = Redactor(Secrets({"token": [""], "key": ["", " "]}), [])

        assert pen.body(b'{"a": "", "b": " "}') == '{"a": "", "b": " "}'


class TestDetectors:
    @pytest.mark.parametrize(("text", "shown"), CASES["what looks personal"])
    def test_what_looks_personal_is_hidden(self, text, shown):
        """Tax numbers, addresses and phone numbers of people unknown to the profile are hidden."""
        assert only().text(text) == shown

    @pytest.mark.parametrize("text", CASES["what only resembles it"])
    def test_what_only_resembles_it_stays(self, text):
        """Timestamps, identifiers, versions, amounts, addresses of machines and masks stay readable."""
        assert only().text(text) == text


class TestBodies:
    def test_layout_and_other_members_stay(self, pen):
        """A documented answer keeps its layout; personal members keep the shape of their values."""
        body = b"""{
  "code": 0, "data": {"Document" : "***.456.789-**",\t"name":"Maria Silva", "pix_key": "x1", "date": 1717171717000,
  "value": 12.50, "DocumentNumber": 12345678, "digit": "", "Key": null, "status": "DONE", "accountType": 1}}"""

        shown = pen.body(body, "application/json")

        assert (
            shown
            == """{
  "code": 0, "data": {"Document" : "***.999.999-**",\t"name":"Aaaaa Aaaaa", "pix_key": "a9", "date": 1717171717000,
  "value": 12.50, "DocumentNumber": 99999999, "digit": "", "Key": null, "status": "DONE", "accountType": 1}}"""
        )

    @pytest.mark.parametrize(
        ("body", "shown"), [*CASES["bodies"], ('{"name": "' + "a" * 1000 + '"}', '{"name": "aaaa…(1000 characters)"}')]
    )
    def test_personal_members_are_masked(self, pen, body, shown):
        """By name at any depth, in JSON, broken JSON, forms, XML and lines of text."""
        assert pen.body(body.encode("utf-8", "surrogatepass")) == shown

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32-be"])
    def test_every_encoding_of_json_is_read(self, pen, encoding):
        """The characters are found by the first bytes, as RFC 4627 section 3 describes."""
        assert '"Aaa"' in pen.body('{"name": "Ana"}'.encode(encoding))

    def test_bytes_that_are_no_characters_show_as_escapes(self, pen):
        """Invalid UTF-8 and control characters are shown by their numbers."""
        assert pen.body(b'"\xff\x1b\x00"') == '"\\xff\\u001b\\u0000"'

    @fast
    @given(json_values)
    def test_json_keeps_its_shape(self, value):
        """A redacted JSON body is JSON with the same members, lengths and types."""
        body = json.dumps(value).encode()
        assume(len(body) < 3000)

        shown = only(secret=TOKEN).body(body)

        assert shape(json.loads(shown)) == shape(value)

    @fast
    @given(st.binary(max_size=300), st.sampled_from(["", "application/json", "text/html; charset=latin-1", "\ud800"]))
    def test_no_body_raises(self, body, content_type):
        """Any bytes are redacted, learned from, and put into a curl line."""
        pen = redactor()
        pen.learn_from(body)

        shown = pen.body(body, content_type)

        assert pen.text(shown) is not None
        assert pen.curl("POST", "https://host", [("Content-Type", content_type)], body)

    @pytest.mark.parametrize("lead", [3_970, 3_995, 5_440, 5_460, 65_500, 65_530])
    @pytest.mark.parametrize("form", ['["{}"]', "{}"])
    def test_no_half_secret_stands_where_a_body_is_cut(self, form, lead):
        """Redaction comes before the cut."""
        token = "Zq7-" * 10
        body = form.format("." * lead + token + "." * 9000).encode()

        shown = only(secret=token).body(body)

        assert "Zq7" not in shown
        assert shown.endswith(f"… ({len(body)} bytes in all)")
        assert len(shown) < 4_100

    @pytest.mark.parametrize("form", ['["{}"]', "{}", "[{}"])
    def test_no_half_value_stands_where_what_is_looked_at_ends(self, form):
        """A body of nothing but known values shrinks so much that its cut is in sight: it is left off."""
        value = "Zq7-" * 500
        body = form.format(("%" + value) * 40).encode()

        assert "Zq7" not in only(value=value).body(body)

    @pytest.mark.parametrize("seen", [1, 20, 39])
    @pytest.mark.parametrize("member", ['"', "'", "", '"name": "', '"note": '])
    def test_no_half_secret_stands_where_reading_ends(self, member, seen):
        """Long personal texts take little room, so the end of what is looked at is in sight: it is left off."""
        token = "Zq7-" * 10
        start = json.dumps([{"name": "a" * 900}] * 71)[:-1] + f", {member}"
        body = f"{start:-<{65_536 - seen}}{token}".encode()

        assert "Zq7" not in only(secret=token).body(body + b" " * 100)

    def test_a_long_text_shows_its_start(self):
        """So does one whose end was not looked at; of a personal one, four characters."""
        text = "lorem ipsum " * 10_000
        shown = redactor().body(json.dumps({"text": text}).encode())
        personal = redactor().body(json.dumps({"name": text}).encode())

        assert shown == f'{{"text": "{text[:3990]}… (120012 bytes in all)'
        assert personal == '{"name": "aaaa…"… (120012 bytes in all)'

    @pytest.mark.parametrize(
        ("start", "part", "end"),
        [
            (b"", b"[", b""),
            (b"", b'{"from":', b""),
            (b"", b"1", b""),
            (b'{"key": ', b"9", b"}"),
            (b'["', b"\\", b""),
            (b'{"name":"', b"a", b'"}'),
            (b"", b"a@", b""),
            (b"", b'{"name":"Maria Silva","value":1},', b""),
            (b"", b"<name>", b""),
            (b'{"name": ', b"'a\\", b""),
        ],
        ids=repr,
    )
    def test_no_body_takes_long(self, start, part, end):
        """Depth, length and repetition cost time in proportion: eight times the body, not eight times squared."""
        short, long = (start + part * (size // len(part)) + end for size in (50_000, 400_000))

        assert cost(long) < 32 * cost(short)
        assert len(redactor().body(long)) < 4_100


class TestLearning:
    def test_personal_values_are_hidden_elsewhere(self, pen):
        """What a personal member held is masked in free text, whatever its encoding there."""
        pen.learn_from(
            b'{"data": {"name": "Maria Silva", "DocumentNumber": 987654, "key": "Chave-77x", "code": "OK99"}}'
        )

        shown = pen.text("OK99: maria silva, Maria%20Silva, doc 987654, CHAVE-77X")

        assert shown == "OK99: aaaaa aaaaa, Aaaaa Aaaaa, doc 999999, AAAAA-99A"

    @pytest.mark.parametrize(
        "body",
        [b'{"key": "PHONE", "message": "Not Found"}', b'{"name": "account", "to": "ab", "from": "pixconf-1a2b3c4d"}'],
    )
    def test_words_of_the_interface_are_not_learned(self, pen, body):
        """Kinds, statuses, names of members, and what the suite invented stay readable."""
        pen.learn_from(body)

        text = "PHONE 404 Not Found account ab pixconf-1a2b3c4d"
        assert pen.text(text) == text

    def test_numbers_do_not_destroy_dates(self, pen):
        """A branch that looks like a year hides the branch, not the date."""
        pen.learn_from(b'{"branch": "2024"}')

        assert pen.text("branch 2024 on 2024-05-31") == "branch 9999 on 2024-05-31"
        assert pen.body(b'{"value": 2024}') == '{"value": 2024}'

    def test_learned_names_are_found_as_words(self, pen):
        """A name within another word is no find."""
        pen.learn_from(b'{"name": "Prado"}')

        assert pen.text("Prado Pradolino") == "Aaaaa Pradolino"

    def test_long_values_are_found_too(self, pen):
        """Of a text of 500 characters no 64 are shown elsewhere."""
        text = " ".join(f"word{number}" for number in range(60))
        pen.learn_from(json.dumps({"message": text}).encode())

        assert "word" not in pen.text(f"it said: {text}.")

    def test_a_value_of_the_profile_keeps_its_placeholder(self, pen, registry):
        """A code that was first seen in a personal member is a code from when it is known as one."""
        pen.learn_from(b'{"key": "CODE-4711"}')
        registry.learn("code", "CODE-4711")

        assert pen.text("CODE-4711") == "<code 2>"


class TestText:
    @fast
    @given(
        st.lists(
            surroundings | st.sampled_from([TOKEN, ACCOUNT, KEY, "39053344705", "<token>", "'name': 'Ana'", "\x1b"])
        )
    )
    @example([TOKEN, "39053344705", "@example.com"])
    def test_redacting_twice_changes_nothing(self, parts):
        """Placeholders and masks are left alone."""
        pen = redactor()
        once = pen.text("".join(parts))

        assert pen.text(once) == once

    def test_placeholders_survive_values_that_look_like_them(self):
        """An account named like the header of a placeholder does not eat that."""
        registry = Secrets({"account": ["x-zeta"]})
        registry.learn_secret("header X-Zeta", "tenant-4711-abc")
        pen = Redactor(registry, FIELDS)

        assert pen.text(pen.text("x-zeta of tenant-4711-abc")) == "<account> of <header X-Zeta>"

    def test_unsafe_characters_show_as_escapes(self, pen):
        """Control characters, bidi overrides and lone surrogates do not reach a terminal."""
        assert pen.text("a\x00\x1b[0m\x9b\u202e\ud800\n\tb") == "a\\x00\\x1b[0m\\x9b\\u202e\\ud800\n\tb"

    def test_personal_pairs_in_messages_are_masked(self, pen):
        """A message that quotes a body shows no personal member of it."""
        text = """assert {'name': "O'Brien", 'value': 3, "digit": 7} == {}, b'{"key":"x\\\\"y"}'"""

        assert "Brien" not in pen.text(text)
        assert "'value': 3" in pen.text(text)


class TestRefusals:
    """What a service says of its reasons can be read, and whom it names cannot."""

    @pytest.mark.parametrize(
        ("said", "shown"),
        [*CASES["refusals"], ("not supported " * 30, "not supported " * 21 + "not aa…(420 characters)")],
    )
    def test_words_of_the_vocabulary_are_shown(self, pen, said, shown):
        """In the personal members of a refusal, in JSON and in lines, and wherever what is shown is shown once more."""
        body = json.dumps({"code": 1, "data": {"Success": "false", "Message": said}}, ensure_ascii=False).encode()
        pen.learn_from(body)

        once = pen.body(body, "application/json", refusal=True)

        assert json.loads(once)["data"]["Message"] == shown
        assert pen.text(once) == once

    def test_lines_of_text_are_read_alike(self, pen):
        """A refusal need not be JSON."""
        shown = pen.body(b"message: CNPJ of Maria is not supported", "text/plain", refusal=True)

        assert shown == "message: CNPJ of Aaaaa is not supported"

    def test_personal_members_of_results_stay_masked(self, pen):
        """What is no refusal shows no word of a personal member."""
        assert pen.body(b'{"message": "CNPJ is not supported"}') == '{"message": "AAAA aa aaa aaaaaaaaa"}'


class TestOurSentences:
    """No known value changes a sentence of the suite."""

    @pytest.mark.parametrize("row", ledger().values(), ids=lambda row: row.id)
    def test_the_vocabulary_has_the_words_of_the_ledger(self, row):
        """Whatever a service calls people, and whatever the token is, the statement can be read."""
        registry = Secrets()
        pen = Redactor(registry, FIELDS)
        for word in re.findall(r"[^\W\d_]{4,}", row.text):
            registry.learn_secret("token", *[word] * is_word(word))
            pen.learn_from(json.dumps({"name": word}).encode())

        assert pen.text(row.text) == row.text

    @pytest.mark.parametrize("token", ["token", "wrong", "expected", "Bearer"])
    def test_a_token_that_is_a_word_changes_none(self, token):
        """It is hidden where it is a whole value; such a token is no secret to anybody."""
        pen = only(secret=token)
        sentence = "a wrong token was accepted: expected a refusal, got 200; Bearer credentials"

        assert pen.text(sentence) == sentence
        assert pen.body(json.dumps({"said": token}).encode()) == '{"said": "<token>"}'
        assert pen.headers([("Authorization", f"Bearer {token}")]) == (("Authorization", "Bearer <token>"),)

    def test_a_word_that_a_service_says_of_people_changes_none(self, pen):
        """After the answer "removed" the change history is told as before."""
        pen.learn_from(b'{"message": "removed", "name": "Extra Field"}')

        assert pen.text("no removed field; extra field: x") == "no removed field; extra field: x"


class TestAddresses:
    @pytest.mark.parametrize(("url", "shown"), CASES["addresses"])
    def test_known_values_in_addresses_are_hidden(self, pen, url, shown):
        """In path and query, plain and percent-encoded."""
        assert pen.url(url) == shown


class TestHeaders:
    @pytest.mark.parametrize(("name", "value", "shown"), CASES["headers"])
    def test_credentials_are_replaced_whole(self, pen, name, value, shown):
        """The scheme stays, and whether it was the token; other headers are redacted by value."""
        assert pen.headers([(name, value)]) == ((name, shown),)


class TestCurl:
    def test_known_values_become_variables(self, pen):
        """The line runs once the variables are set, each of which says what it is; personal data is a variable too."""
        headers = [("Authorization", f"Bearer {TOKEN}"), ("Content-Type", "application/json"), ("User-Agent", "x")]
        body = json.dumps({"pixKey": KEY, "account": OTHER_ACCOUNT, "name": "Ana", "value": 12.5}).encode()

        line = pen.curl("POST", f"https://host/v1/pix/keys/{ACCOUNT}", headers, body)

        assert line == (
            """curl -sS -i -X POST -H 'Authorization: Bearer '"${PIX_TOKEN:?the access token}" """
            """-H 'Content-Type: application/json' --data-raw '{"pixKey": "'"${KEY:?the first of pix_keys}"'", """
            """"account": "'"${ACCOUNT_2:?the second of accounts}"'", "name": "'"${SENT_NAME:?name as it was sent}"'", """
            """"value": 12.5}' 'https://host/v1/pix/keys/'"${ACCOUNT:?the first of accounts}\""""
        )

    def test_a_key_has_the_number_of_its_place(self):
        """An empty RANDOM key before it counts, so that profile and line agree."""
        pen = redactor(key=[KEY, "+5511987654321", "", "12345678909"])

        line = pen.curl("POST", "https://host/", TYPED, b'{"pixKey": "12345678909"}')

        assert """'{"pixKey": "'"${KEY_4:?the fourth of pix_keys}"'"}'""" in line

    @pytest.mark.parametrize("shell", SHELLS)
    @pytest.mark.parametrize("body", [b'{"pixKey": "KEY"}', b'{"pixKey": "KEY"}\0'])
    def test_a_variable_that_is_not_set_stops_the_line(self, pen, shell, body):
        """Nothing is sent: not with an empty key, and not where the body is piped."""
        line = pen.curl("POST", "https://host/", TYPED, body.replace(b"KEY", KEY.encode()))

        done = subprocess.run([shell, "-c", f"curl() {{ echo SENT; }}; {line}"], capture_output=True, text=True)

        assert done.returncode
        assert "SENT" not in done.stdout
        assert "KEY: the first of pix_keys" in done.stderr

    def test_a_wrong_credential_never_becomes_the_token(self, pen):
        """A line of a refusal probe does not send the good token, and says what was sent."""
        header = [("Authorization", f"Bearer {TOKEN.swapcase()}")]

        line = pen.curl("GET", "https://host/", header, b"", "the token in another letter case")

        shown = "${WRONG_TOKEN:?the token in another letter case}"
        assert line == f"curl -sS -i -X GET -H 'Authorization: Bearer '\"{shown}\" 'https://host/'"

    def test_a_value_with_reserved_characters(self):
        """It is percent-encoded where it stands in the path, and escaped where it stands in JSON, as it was sent."""
        account = 'ac/1 "ã"'
        pen = redactor(account=[account])
        body = json.dumps({"account": account}, ensure_ascii=False).encode()

        line = pen.curl("POST", f"https://host/{quote(account, safe='')}", TYPED, body)

        words, said = sent(line, ACCOUNT=account)
        assert words[-1].decode() == f"https://host/{quote(account, safe='')}"
        assert said == body

    def test_a_large_body_is_named_only(self, pen):
        """Over 2,000 characters the line is a comment: what it would send is not what was sent."""
        line = pen.curl("POST", "https://host/", [("Content-Type", "text/plain")], b"xy" * 1001)

        assert line.startswith("# not the whole request, which has a body of 2002 bytes: curl")

    @pytest.mark.parametrize("shell", SHELLS)
    def test_long_runs_of_one_character_are_short(self, pen, shell):
        """An over-long text is made by the shell."""
        body = b'{"message": "pixconf-' + b"x" * 70_000 + b'"}'

        line = pen.curl("POST", "https://host/" + "y" * 4_000, TYPED, body)

        assert len(line) < 400
        assert sent(line, shell) == ([*sent(line, shell)[0][:-1], b"https://host/" + b"y" * 4_000], body)

    @fast
    @given(st.text(max_size=40), st.binary(max_size=60))
    @example("'; touch /tmp/x; '$(id)`id`\n\\", b"\xff'\\\x1b$HOME!")
    def test_nothing_breaks_out_of_its_quotes(self, text, body):
        """A shell reads the words that were meant, in one line."""
        text = text.replace("\0", "")
        line = only(secret=TOKEN).curl("POST", "https://host/" + text, [("X-A", text)], body)

        assert "\n" not in line
        assert line.isprintable()
        words, _ = sent(line)
        assert words[:3] == [b"-X", b"POST", b"-H"]
        assert words[3].startswith(b"X-A")
        assert words[-1].startswith(b"https://host/")
        assert len(words) - len({b"--globoff", b"--path-as-is"} & set(words)) == (9 if body else 5)

    @pytest.mark.parametrize("shell", SHELLS)
    @pytest.mark.parametrize(
        "body",
        [
            b"it's \x1b \xff\xfe \\ $HOME `id` $(id) !x \n\t %s end",
            "é ‮ \U0001f600".encode(),
            b'{"a": "\xc3\xa9\\n\'"}',
            b"\x7f1",
            b"-n \0\n",
        ],
    )
    def test_a_shell_gets_the_very_bytes(self, pen, shell, body):
        """What needs no redaction arrives as it was sent, whatever bytes it has."""
        line = pen.curl("POST", "https://host/", [("Content-Type", "text/plain")], body)

        assert sent(line, shell)[1] == body


@pytest.mark.parametrize(
    "key", ["pixconf-\0", "pixconf-ação-π", "pixconf-" + "x" * 300, "pixconf-\ud800", "pixconf-'; --"]
)
def test_what_the_suite_invented_stays_as_it_was_sent(key):
    """A synthetic key belongs to no one, and a curl line with a masked one would ask for something else."""
    body = json.dumps({"pixKey": key, "name": "Maria"})
    shown = only(secret=TOKEN).body(body.encode(), "application/json")

    assert json.loads(shown)["pixKey"] == key
    assert "Maria" not in shown

    @pytest.mark.parametrize("said", ["sent: Bearer removed", "token=removed", "?token='removed'"])
    def test_a_word_that_stands_as_a_credential_is_redacted(self, said):
        """After `Bearer` and `=` stands what was sent, and not a word of a sentence."""
        assert only(secret="removed").text(said) == said.replace("removed", "<token>")
