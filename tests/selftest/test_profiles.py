"""Profiles: what they say, and how a wrong one is refused before anything is sent."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

from environments.profiles import profile as profiles
from environments.profiles.loading import SCHEMA
from environments.profiles.profile import ProfileError, fill, is_loopback, load

REPOSITORY = Path(__file__).parents[2]
GOOD = "base_url: https://bank.example\nauth: {token_env: PIX_TOKEN}\n"
SECRET = "eyJhbGciOiJIUzI1NiJ9.e30.s3cr3t"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A working directory with an empty ``environments`` folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "environments").mkdir()
    return tmp_path


def loaded(text, base_url=None):
    """The profile with this text, as ``environments/staging.yaml``."""
    file = Path("environments/staging.yaml")
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load("staging", folder=Path("environments"), base_url=base_url)


def refusal(text, base_url=None):
    """The message about the profile with this text, without the name of its file."""
    with pytest.raises(ProfileError) as caught:
        loaded(text, base_url)
    return str(caught.value).removeprefix("environments/staging.yaml: ")


def switched_on(text):
    """An example with every line that is switched off switched on."""
    return re.sub(r"(?m)^( *)#(?=\S)", r"\1", text)


def keys_of(schema):
    """Every key that a profile may have, at any depth but in bodies."""
    inner = [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]
    return set(schema.get("properties", {})).union(*map(keys_of, inner))


def cases(table):
    """Lines of YAML, then the message that they earn after ``=>``, over and over."""
    pairs = re.findall(r"((?:(?!=>).*\n)+)=> (.*)\n", table.strip("\n") + "\n")
    return [pytest.param(text, message, id=text.replace("\n", " ")) for text, message in pairs]


class TestWhatAProfileSays:
    def test_name_and_path(self):
        """A profile is named for its file."""
        profile = loaded(GOOD)

        assert profile.name == "staging"
        assert profile.path == Path("environments/staging.yaml")

    def test_defaults(self):
        """A profile that permits nothing reads, and what fails is what is documented, or not robust."""
        profile = loaded(GOOD)

        assert profile.allow == {"read"}
        assert profile.fail_on == {"documented", "robustness"}
        assert profile.limits == profiles.Limits(5, 2000, None, 30.0, 5_000_000, None)
        assert profile.transactions == profiles.Transactions()

    def test_empty_sections(self):
        """A section whose entries are all commented out is an empty one."""
        profile = loaded(GOOD + "accounts:\npix_keys:\ntransactions:\nrequests:\nlimits:\ntls:\nheaders:\n")

        assert profile == loaded(GOOD)

    def test_every_section(self, here):
        """The staging example, with everything switched on, is read into typed values."""
        (here / "environments/certs").mkdir()
        for name in ("ca.pem", "client.pem", "client.key"):
            (here / "environments/certs" / name).touch()
        example = (REPOSITORY / "environments/staging.example.yaml").read_text("utf-8")

        profile = loaded(switched_on(example))

        certs = here / "environments/certs"
        assert profile.allow == set(SCHEMA["properties"]["allow"]["items"]["enum"])
        assert profile.accounts == ("ac-0001-77",)
        assert profile.pix_keys == (
            profiles.PixKey("RANDOM", ""),
            profiles.PixKey("EMAIL", "qa@example.com"),
        )
        assert profile.transactions.codes == ("TX0001B",)
        assert profile.transactions.prepare.operation == "transferInternal"
        assert profile.transactions.prepare.json["date"] == "2026-12-01"
        assert profile.transactions.prepare.code_at == "/data/transactionId"
        assert profile.transactions.prepare.count == 3
        assert profile.requests["deletePixKey"].json == {"pixKey": "{key}", "pixKeyType": "{type}"}
        assert profile.headers == (
            profiles.Header("X-Tenant", text="qa"),
            profiles.Header("X-Api-Key", env="PIX_API_KEY"),
        )
        assert profile.tls == profiles.Tls(
            certs / "ca.pem", certs / "client.pem", certs / "client.key", "PIX_KEY_PASSPHRASE"
        )
        assert profile.journal == Path("/var/lib/pix-conformance/staging.journal")
        assert profile.known_failures == (
            profiles.KnownFailure("executePix.digit.type", "fixed in 2.4", date(2027, 1, 31)),
        )

    def test_the_example_names_every_key(self):
        """The staging example has every key that a profile may have."""
        example = (REPOSITORY / "environments/staging.example.yaml").read_text("utf-8")

        missing = {key for key in keys_of(SCHEMA) if not re.search(rf"\b{key}\b:?", example)}

        assert missing == set()

    @pytest.mark.parametrize("name", ["staging.example", "production.example"])
    def test_examples_only_read(self, name):
        """An example that is copied as it stands can only read."""
        profile = load(name, folder=REPOSITORY / "environments")

        assert profile.name == name
        assert profile.allow == {"read"}
        assert not profile.pix_keys
        assert profile.transactions == profiles.Transactions()
        assert not profile.requests

    def test_sandbox(self):
        """The default environment is a profile of the embedded sandbox."""
        assert load("sandbox", folder=REPOSITORY / "environments").base_url == profiles.EMBEDDED

    def test_dates_stay_text(self):
        """A date in a body is sent as it was written."""
        profile = loaded(GOOD + "requests: {transferP2p: {json: {date: 2026-12-01}}}\n")

        assert profile.requests["transferP2p"].json == {"date": "2026-12-01"}

    def test_whole_numbers(self):
        """5.0 executions are 5, and half a second stays half a second."""
        limits = loaded(GOOD + "limits: {executions: 5.0, timeout: 0.5}\n").limits

        assert isinstance(limits.executions, int)
        assert limits.timeout == 0.5

    def test_merge_keys(self):
        """YAML's anchors and merge keys serve bodies that have much in common."""
        bodies = "  transferP2p: {json: &b {to: a, value: 1}}\n  transferInternal: {json: {<<: *b, to: c}}\n"

        assert loaded(GOOD + "requests:\n" + bodies).requests["transferInternal"].json == {
            "to": "c",
            "value": 1,
        }

    def test_paths_start_at_the_profile(self, here):
        """A relative path starts at the folder of the profile; ~ is the home folder."""
        (here / "environments/token").touch()

        profile = loaded("base_url: https://bank.example\nauth: {token_file: token}\njournal: ~/pix.journal\n")

        assert profile.auth.token_file == here / "environments/token"
        assert profile.journal == Path.home() / "pix.journal"

    def test_repr_shows_nothing_personal(self):
        """The repr of a profile has no account, key, code, body, header value or token command."""
        text = (
            "base_url: https://bank.example\nauth: {token_command: [echo, owned0]}\nallow: [transfer]\n"
            "accounts: [owned1]\npix_keys: [{type: CPF, key: owned2}]\nheaders: {X-Tenant: owned3}\n"
            "requests: {createPix: {json: {a: owned4}}}\ntransactions:\n  codes: [owned5]\n"
            "  prepare: {operation: transferP2p, json: [owned6], code_at: /id}\n"
        )

        shown = repr(loaded(text))

        assert "owned" not in shown


class TestFindingTheFile:
    def test_short_ending(self):
        """A file may end in .yml."""
        Path("environments/qa.yml").write_text(GOOD)

        assert load("qa", folder=Path("environments")).name == "qa"

    @pytest.mark.parametrize("given", ["./mine.yaml", "mine.yaml"])
    def test_path(self, given):
        """What has a path separator or a YAML ending is a path."""
        Path("mine.yaml").write_text(GOOD)

        assert load(given, folder=Path("environments")).name == "mine"

    def test_absolute_paths_are_shown_short(self, here):
        """A message names a file as seen from the working directory."""
        with pytest.raises(ProfileError, match=r"^environments/x\.yaml: no such file"):
            load("x", folder=here / "environments")

    def test_not_there(self):
        """Where a file is not there, the environments that are there are named."""
        Path("environments/qa.yml").touch()
        Path("environments/staging.example.yaml").touch()

        with pytest.raises(ProfileError) as caught:
            load("stagin", folder=Path("environments"))

        assert str(caught.value) == (
            "environments/stagin.yaml: no such file; the environments in environments are: qa, staging.example"
        )

    def test_none_there(self):
        """An empty folder has no environments to name."""
        with pytest.raises(ProfileError) as caught:
            load("nowhere/x.yaml", folder=Path("environments"))

        assert str(caught.value) == "nowhere/x.yaml: no such file; the environments in environments are: none"

    def test_directory(self):
        """A directory is no profile."""
        Path("environments/qa.yaml").mkdir()

        with pytest.raises(ProfileError) as caught:
            load("qa", folder=Path("environments"))

        assert str(caught.value) == ("environments/qa.yaml: cannot be read (Is a directory); expected a YAML file")

    def test_unreadable(self):
        """A file that the system does not hand out is said with the system's reason."""
        Path("loop.yaml").symlink_to("loop.yaml")

        with pytest.raises(ProfileError) as caught:
            load("loop.yaml", folder=Path("environments"))

        assert str(caught.value) == (
            "loop.yaml: cannot be read (Too many levels of symbolic links); expected a YAML file"
        )

    def test_long_name(self):
        """A name that the system cannot look for is refused like any other."""
        with pytest.raises(ProfileError, match=r"x\.yaml: cannot be read \(File name too long\)"):
            load("x" * 300, folder=Path("environments"))

    def test_line_breaks_in_a_name(self):
        """A message is one line, also where a file name has two."""
        with pytest.raises(ProfileError, match=r"^environments/a b\.yaml: no such file"):
            load("a\nb", folder=Path("environments"))


NUMBER = "line 1: a number that YAML would change (as it does 0001, 1_000 and 1:30); write it in quotes"
NOT_TEXT = "a key that YAML does not read as text; write it in quotes"
NO_TAG = "line 1: could not determine a constructor for the tag …"
DEEP = "nested too deeply; write it flatter"
TOP = "expected keys such as base_url and auth at the top"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", f"nothing in it; {TOP}"),
        ("# a comment\n", f"nothing in it; {TOP}"),
        ("- base_url: x\n", f"{TOP}, not a list"),
        ("staging\n", f"{TOP}, not text"),
        (b"name: \xff\n", "not UTF-8 at byte 7; save it as UTF-8"),
        ("a: 1\nb: c: d\n", "line 2: mapping values are not allowed here"),
        ("a: [1\n", "line 2: expected ',' or ']', but got '<stream end>'"),
        ("a: 1\n\tb: 2\n", "line 2: found character '\\t' that cannot start any token"),
        ("a: 1\n---\nb: 2\n", "line 2: but found another document"),
        ("a: 1\nb: 2\na: 3\n", "line 3: duplicate key a; keep one of the two"),
        ("a:\n  json: {x: 1, x: 2}\n", "line 2: duplicate key x; keep one of the two"),
        ("a: 1\n2: b\n", f"line 2: {NOT_TEXT}"),
        ("on: b\n", f"line 1: {NOT_TEXT}"),
        ("a: !!python/name:os.system x\n", NO_TAG),
        ("a: !!binary aGk=\n", NO_TAG),
        ("a: *eyJhbGciOiJIUzI1NiJ9\n", "line 1: found undefined alias …"),
        ('a: "\\uD83D\\uDE00"\n', "line 1: a value that cannot be read; write it in quotes"),
        ("a: 1\nb: \x07\n", "line 2: a character that YAML does not allow; remove it"),
        ("a: 0001\n", NUMBER),
        ("a: 1_000\n", NUMBER),
        ("a: 10:30\n", NUMBER),
        ("a: 0x1F\n", NUMBER),
        ("a: .nan\n", NUMBER),
        ("a: 1.0e+400\n", NUMBER),
        ("a: " + "9" * 5000 + "\n", NUMBER),
        ("a: " + "[" * 500, DEEP),
        ("a: &a [*a]\n", "line 1: found unconstructable recursive node"),
        ("a: !!bool perhaps\n", "line 1: a value that cannot be read; write it in quotes"),
        ("requests: {createPix: {json: " + "[" * 300 + "]" * 300 + "}}", DEEP),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "bytes",
)
def test_text_that_is_no_profile(text, message):
    """What is not YAML, or YAML without an equal in JSON, is refused with its line."""
    assert refusal(text) == message


UNKNOWN_NAMES = r"""
limits: {timeuot: 3}
=> limits.timeuot: unknown key; did you mean "timeout"?
acounts: []
=> acounts: unknown key; did you mean "accounts"?
Accounts: []
=> Accounts: unknown key; did you mean "accounts"?
tls: {verify: x}
=> tls.verify: unknown key; expected one of ca_bundle, client_cert, client_key, client_key_passphrase_env
pix_keys: [{typ: CPF, key: a}]
=> pix_keys[0].typ: unknown key; did you mean "type"? (1 more in this file)
pix_keys: [{type: CPF, key: a, note: b}]
=> pix_keys[0].note: unknown key; expected one of type, key
transactions: {code: []}
=> transactions.code: unknown key; did you mean "codes"?
transactions: {prepare: {operation: createPix, json: {}, code_at: /a, counts: 1}}
=> transactions.prepare.counts: unknown key; did you mean "count"?
requests: {registerPixKey: {json: {}}}
=> requests.registerPixKey: unknown key; the document shows this body; it is made from accounts and pix_keys
requests: {createPix: {body: {}}}
=> requests.createPix.body: unknown key; expected one of json (1 more in this file)
known_failures: [{id: a.b, reason: c, untl: 2027-01-01}]
=> known_failures[0].untl: unknown key; did you mean "until"?
allow: [raed]
=> allow[0]: unknown value; did you mean "read"?
allow: [read, EXECUTE]
=> allow[1]: unknown value; did you mean "execute"?
allow: [yes]
=> allow[0]: unknown value; expected one of read, register-keys, delete-keys, create-pix, transfer, execute, fuzz
pix_keys: [{type: email, key: a}]
=> pix_keys[0].type: unknown value; did you mean "EMAIL"?
transactions: {prepare: {operation: transfer, json: {}, code_at: /a}}
=> transactions.prepare.operation: unknown value; did you mean "transferP2p"?
fail_on: [not-shown]
=> fail_on[0]: unknown value; what the document does not show (not-shown) is observed and can never fail
"""


@pytest.mark.parametrize(("text", "message"), cases(UNKNOWN_NAMES))
def test_unknown_names(text, message):
    """An unknown key or value is refused, and the nearest known one is named."""
    assert refusal(GOOD + text) == message


WRONG_VALUES = r"""
accounts: [1234]
=> accounts[0]: expected an identifier as text, in quotes where it is made of digits, not a number; YAML reads 0001 as a number and NO as false: write it in quotes
accounts: [a, NO]
=> accounts[1]: expected an identifier as text, in quotes where it is made of digits, not true or false; YAML reads 0001 as a number and NO as false: write it in quotes
accounts: [null]
=> accounts[0]: expected an identifier as text, in quotes where it is made of digits, not nothing
accounts: [""]
=> accounts[0]: expected an identifier as text, in quotes where it is made of digits
accounts: [..]
=> accounts[0]: expected an identifier as text, in quotes where it is made of digits
accounts: ["a\tb"]
=> accounts[0]: expected an identifier as text, in quotes where it is made of digits
accounts: ["a "]
=> accounts[0]: expected an identifier as text, in quotes where it is made of digits
accounts: ac-1
=> accounts: expected a list of account identifiers, not text
accounts: [a, b, a]
=> accounts[2]: stands twice; remove one of the two
transactions: {codes: [TX, TX]}
=> transactions.codes[1]: stands twice; remove one of the two
transactions: {codes: [12.5]}
=> transactions.codes[0]: expected an identifier as text, in quotes where it is made of digits, not a number; YAML reads 0001 as a number and NO as false: write it in quotes
transactions: [TX]
=> transactions: expected codes, or prepare, or both, not a list
transactions: {prepare: [TX]}
=> transactions.prepare: expected operation, json, code_at and count, not a list
pix_keys: [{type: CPF, key: 12345678909}]
=> pix_keys[0].key: expected the key as text in quotes, not a number; YAML reads 0001 as a number and NO as false: write it in quotes
pix_keys: [{type: CPF, key: ""}]
=> pix_keys[0].key: expected the key itself; only a RANDOM key may be empty
pix_keys: [{type: CPF}]
=> pix_keys[0].key: missing; expected the key as text in quotes
pix_keys: [{key: a}]
=> pix_keys[0].type: missing; expected one of PHONE, EMAIL, RANDOM, CNPJ, CPF
pix_keys: [CPF]
=> pix_keys[0]: expected a key such as {type: EMAIL, key: qa@example.com}, not text
pix_keys: CPF
=> pix_keys: expected a list of keys such as {type: EMAIL, key: qa@example.com}, not text
allow: read
=> allow: expected a list of permissions, such as [read], not text
allow:
=> allow: expected a list of permissions, such as [read], not nothing
allow: []
=> allow: expected a list of permissions, such as [read]
fail_on: []
=> fail_on: expected a list of levels, such as [documented, robustness]
requests: {createPix: {}}
=> requests.createPix.json: missing; expected a body written as YAML (a mapping or a list)
requests: {createPix: x}
=> requests.createPix: expected a body under the key json, not text
requests: x
=> requests: expected bodies by operation, not text
requests: {createPix: {json: '{}'}}
=> requests.createPix.json: expected a body written as YAML (a mapping or a list), not text
limits: 5
=> limits: expected any of executions, requests, rate, timeout, response_bytes and examples, not a number
limits: {executions: 0}
=> limits.executions: expected a whole number of executions from 1
limits: {executions: true}
=> limits.executions: expected a whole number of executions from 1, not true or false
limits: {requests: 1.5}
=> limits.requests: expected a whole number of requests from 1, not a number
limits: {rate: 0}
=> limits.rate: expected a number of requests a second from 0.01
limits: {timeout: 0}
=> limits.timeout: expected a number of seconds above 0 and up to 3600
limits: {timeout: 30s}
=> limits.timeout: expected a number of seconds above 0 and up to 3600, not text
limits: {response_bytes: -1}
=> limits.response_bytes: expected a whole number of bytes from 1
limits: {examples: 0}
=> limits.examples: expected a whole number of examples from 1
insecure: please
=> insecure: expected true or false, not text
base_url_is_exact: 1
=> base_url_is_exact: expected true or false, not a number
base_url_is_exact:
=> base_url_is_exact: expected true or false, not nothing
correlation_header: X Id
=> correlation_header: expected the name of a header, such as X-Request-Id
journal: [a]
=> journal: expected the path of a file, relative to the folder of this profile, not a list
tls: {ca_bundle: false}
=> tls.ca_bundle: expected the path of a PEM file (certificates are always checked), not true or false
tls: {client_key: a}
=> tls: expected any of ca_bundle, client_cert, client_key and client_key_passphrase_env, the last two only beside client_cert
tls: {client_key_passphrase_env: A}
=> tls: expected any of ca_bundle, client_cert, client_key and client_key_passphrase_env, the last two only beside client_cert
headers: {X-Tenant: 7}
=> headers.X-Tenant: expected a value as text in quotes, or {env: NAME} for the name of an environment variable in upper case, not a number; YAML reads 0001 as a number and NO as false: write it in quotes
headers: {X-Tenant: {env: my-tenant}}
=> headers.X-Tenant: expected a value as text in quotes, or {env: NAME} for the name of an environment variable in upper case
headers: {X-Tenant: "a\nb"}
=> headers.X-Tenant: expected a value as text in quotes, or {env: NAME} for the name of an environment variable in upper case
headers: {Authorization: a}
=> headers: expected names of headers that the suite does not set itself (Authorization comes from auth)
headers: {content-length: "1"}
=> headers: expected names of headers that the suite does not set itself (Authorization comes from auth)
headers: {X Tenant: a}
=> headers: expected names of headers that the suite does not set itself (Authorization comes from auth)
headers: {X-Api-Key: {value: a}}
=> headers.X-Api-Key.value: unknown key; use {env: NAME} for the name of an environment variable (1 more in this file)
known_failures: [{id: executePix, reason: a}]
=> known_failures[0].id: expected the id of a row of the ledger, such as executePix.digit.text
known_failures: [{id: a.b, reason: c, strict: "yes"}]
=> known_failures[0].strict: expected true or false, not text
min_coverage: 90
=> min_coverage: expected a share from 0 to 1, such as 0.9, of the testable documented requirements
known_failures: [{id: a.b}]
=> known_failures[0].reason: missing; expected the reason as text
known_failures: [{id: a.b, reason: c, until: 2027-02-30}]
=> known_failures[0].until: expected a date, such as 2027-01-31
known_failures: [{id: a.b, reason: c, until: 2027}]
=> known_failures[0].until: expected a date, such as 2027-01-31, not a number
transactions: {prepare: {operation: createPix, json: {}, code_at: id}}
=> transactions.prepare.code_at: expected a JSON pointer to the code in the answer, such as /data/transactionId
transactions: {prepare: {operation: createPix, json: {}, code_at: /id, count: 0}}
=> transactions.prepare.count: expected a whole number from 1
transactions: {prepare: {json: {}, code_at: /id}}
=> transactions.prepare.operation: missing; expected one of createPix, transferExternal, transferInternal, transferP2p
"""


@pytest.mark.parametrize(("text", "message"), cases(WRONG_VALUES))
def test_wrong_values(text, message):
    """A value of another type or shape is refused, and the right one is described."""
    assert refusal(GOOD + text) == message


WRONG_SOURCES = r"""
auth: {token_env: A}
=> base_url: missing; expected an address such as https://staging.example.test, or embedded
base_url: 8080
auth: {token_env: PIX_TOKEN}
=> base_url: expected an address such as https://staging.example.test, or embedded, not a number
base_ulr: https://bank.example
=> base_ulr: unknown key; did you mean "base_url"? (1 more in this file)
base_url: https://bank.example
=> auth: missing; expected one of token_env, token_command and token_file
base_url: https://bank.example
auth:
=> auth: expected exactly one of token_env, token_command and token_file, not nothing
base_url: https://bank.example
auth: {}
=> auth: expected exactly one of token_env, token_command and token_file
base_url: https://bank.example
auth: {token_env: A, token_file: b}
=> auth: expected exactly one of token_env, token_command and token_file
base_url: https://bank.example
auth: {token_command: vault read}
=> auth.token_command: expected a command as a list of words, such as [vault, read, -field=token, pix], not text
base_url: https://bank.example
auth: {token_command: [head, 1]}
=> auth.token_command[1]: expected a word of the command as text in quotes, not a number; YAML reads 0001 as a number and NO as false: write it in quotes
base_url: https://bank.example
auth: {token_file: secrets/token}
=> auth.token_file: no such file; a path is relative to environments
"""


@pytest.mark.parametrize(("text", "message"), cases(WRONG_SOURCES))
def test_wrong_address_or_token(text, message):
    """A profile has an address and exactly one source of the token."""
    assert refusal(text) == message


USER = "an address with a user name or password; secrets are named, never written: leave them out"
QUERY = "an address with a query or a fragment; leave out what follows ? or #"
ADDRESS = "not an address; expected http(s)://host[:port][/prefix]"
CLEAR = "http:// sends the token in clear text; use https://, or say insecure: true in the profile"
WRONG_ADDRESSES = [
    ("https://me:s3cr3t@bank.example", USER),
    ("https://bank.example?tenant=1", QUERY),
    ("https://bank.example/#top", QUERY),
    ("bank.example", ADDRESS),
    ("", ADDRESS),
    ("ftp://bank.example", ADDRESS),
    ("https://", ADDRESS),
    ("https:///v1", ADDRESS),
    ("https://bank.example/a b/v1", ADDRESS),
    ("https://bank.example:0", ADDRESS),
    ("https://bank.example:99999", ADDRESS),
    ("https://bank.example:port", ADDRESS),
    ("https://[::g]", ADDRESS),
    ("https://[1:2]", ADDRESS),
    ("https://bank.example/a/../b", ADDRESS),
    ("https://bank.example//a", ADDRESS),
    ("https://bank.example/a b", ADDRESS),
    ("https://b\u00e4nk.example", ADDRESS),
    ("https://bank.example\\\\evil", ADDRESS),
    ("Embedded", ADDRESS),
    ("http://bank.example", CLEAR),
    ("http://127.0.0.1.bank.example", CLEAR),
]

TWICE = (
    "ends in /v1, with which every path of the interface document starts already: write {}, "
    "or say base_url_is_exact: true in the profile if the paths start with /v1/v1"
)
WITH_THE_VERSION = [
    ("https://bank.example/v1", "https://bank.example"),
    ("https://bank.example/v1/", "https://bank.example"),
    ("https://bank.example/v1//", "https://bank.example"),
    ("HTTPS://Bank.example/Pix/V1", "https://bank.example/Pix"),
    ("https://bank.example:8443/pix/v1/v1/", "https://bank.example:8443/pix"),
    ("http://bank.example/v1", "http://bank.example"),
    ("http://[::1]:8080/v1", "http://[::1]:8080"),
]


class TestAddresses:
    @pytest.mark.parametrize(("address", "message"), WRONG_ADDRESSES, ids=str)
    def test_base_url(self, address, message):
        """A wrong address is described and not repeated: it may hold a password."""
        assert refusal(f'base_url: "{address}"\nauth: {{token_env: PIX_TOKEN}}') == f"base_url: {message}"

    @pytest.mark.parametrize(("address", "message"), WRONG_ADDRESSES, ids=str)
    def test_override(self, address, message):
        """The address of --base-url is checked as the profile's own is."""
        assert refusal(GOOD, base_url=address) == f"--base-url: {message}"

    @pytest.mark.parametrize(("given", "corrected"), WITH_THE_VERSION)
    def test_the_version_at_the_end(self, given, corrected):
        """An address that ends in /v1 is refused with the one that is meant, in the profile and in --base-url."""
        message = TWICE.format(corrected)

        assert refusal(f'base_url: "{given}"\nauth: {{token_env: PIX_TOKEN}}') == f"base_url: {message}"
        assert refusal(GOOD, base_url=given) == f"--base-url: {message}"

    @pytest.mark.parametrize("address", ["https://bank.example/v1", "https://bank.example/pix/V1"])
    def test_an_exact_address(self, address):
        """The profile may say that the paths of its service start with /v1/v1."""
        exact = "auth: {token_env: PIX_TOKEN}\nbase_url_is_exact: true\nbase_url: "

        assert loaded(exact + address).base_url == address
        assert loaded(exact + "https://bank.example", base_url=f"{address}/").base_url == address

    def test_a_proxy_that_ends_in_the_version(self):
        """The paths of the interface document do not go below the address of a proxy."""
        assert loaded(f"{GOOD}proxy: http://proxy.example/v1").proxy == "http://proxy.example/v1"

    @pytest.mark.parametrize(
        ("address", "message"), [("http://me:s3cr3t@proxy.example", USER), ("proxy.example:3128", ADDRESS)]
    )
    def test_proxy(self, address, message):
        """A proxy is an address too."""
        assert refusal(f"{GOOD}proxy: {address}") == f"proxy: {message}"

    @pytest.mark.parametrize(
        ("given", "kept"),
        [
            ("https://bank.example/", "https://bank.example"),
            ("https://bank.example/pix/sandbox/", "https://bank.example/pix/sandbox"),
            ("https://bank.example/v1/pix", "https://bank.example/v1/pix"),
            ("https://bank.example/v10", "https://bank.example/v10"),
            ("https://bank.example/api-v1", "https://bank.example/api-v1"),
            ("https://v1", "https://v1"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("http://[::1]:8080", "http://[::1]:8080"),
            ("http://localhost", "http://localhost"),
        ],
    )
    def test_lawful(self, given, kept):
        """An address has a host and may have a port and a prefix; it ends without a slash."""
        assert loaded(f'base_url: "{given}"\nauth: {{token_env: PIX_TOKEN}}').base_url == kept
        assert loaded(GOOD, base_url=given).base_url == kept

    def test_insecure(self):
        """Clear text to another machine is the operator's word."""
        profile = loaded("base_url: http://bank.example\nauth: {token_env: PIX_TOKEN}\ninsecure: true")

        assert profile.base_url == "http://bank.example"

    def test_embedded_needs_no_token(self):
        """The embedded sandbox gives its own token."""
        assert loaded("base_url: embedded").auth == profiles.Auth()

    def test_sandbox_permissions_stay_local(self):
        """What is allowed on the sandbox is not allowed on a service that --base-url names."""
        assert refusal("base_url: embedded", base_url="https://bank.example") == (
            "--base-url: environments/staging.yaml is for the embedded sandbox, and its permissions and data "
            "stay there; name the profile of this target with --environment"
        )

    def test_sandbox_started_alone(self):
        """A sandbox that runs by itself on this machine takes the place of the embedded one."""
        profile = loaded("base_url: embedded", base_url="http://localhost:8080/")

        assert profile.base_url == "http://localhost:8080"

    @pytest.mark.parametrize("address", ["embedded", "http://localhost:1", "http://127.9.9.9", "https://[::1]/a"])
    def test_loopback(self, address):
        """Loopback is embedded, localhost, 127.0.0.0/8 and ::1."""
        assert is_loopback(address)

    @pytest.mark.parametrize(
        "address", ["http://0.0.0.0", "http://10.0.0.1", "https://localhost.example", "https://embedded"]
    )
    def test_not_loopback(self, address):
        """Whatever else may be on another machine."""
        assert not is_loopback(address)


@pytest.mark.parametrize("name", ["ca_bundle", "client_cert"])
def test_files_that_are_not_there(name):
    """A file that a profile names is there before the run starts."""
    assert refusal(f"{GOOD}tls: {{{name}: a.pem}}") == (f"tls.{name}: no such file; a path is relative to environments")


def test_a_key_file_that_is_not_there(here):
    """The client's key is looked for as its certificate is."""
    (here / "environments/a.pem").touch()

    assert refusal(f"{GOOD}tls: {{client_cert: a.pem, client_key: b.pem}}") == (
        "tls.client_key: no such file; a path is relative to environments"
    )


TOGETHER = r"""
headers: {X-Id: a, x-id: b}
=> headers: one header stands twice, in other letters; remove one of the two
headers: {X-Id: a}
correlation_header: x-id
=> correlation_header: stands among headers too; remove it there
transactions: {prepare: {operation: transferP2p, json: {}, code_at: /a}}
=> transactions.prepare: transferP2p is not permitted; add transfer to allow, or remove prepare
allow: [transfer]
transactions: {prepare: {operation: createPix, json: {}, code_at: /a}}
=> transactions.prepare: createPix is not permitted; add create-pix to allow, or remove prepare
requests: {createPix: {json: {a: ["{accountId}"]}}}
=> requests.createPix.json: unknown placeholder {accountId}; did you mean "{account}"?
allow: [transfer]
transactions: {prepare: {operation: transferP2p, json: {a: "{Key}"}, code_at: /a}}
=> transactions.prepare.json: unknown placeholder {Key}; did you mean "{key}"?
known_failures: [{id: executePix.json, reason: a}, {id: executePix.json, reason: b}]
=> known_failures: executePix.json: stands 2 times; keep one
"""


@pytest.mark.parametrize(("text", "message"), cases(TOGETHER))
def test_keys_that_do_not_go_together(text, message):
    """What two keys say together is checked too."""
    assert refusal(GOOD + text) == message


@pytest.mark.parametrize(
    ("given", "address"),
    [("HTTP://LocalHost:8080/Api/", "http://localhost:8080/Api"), ("https://[::A]/x", "https://[::a]/x")],
)
def test_an_address_has_one_form(given, address, tmp_path):
    """Letter case of scheme and host says nothing; that of the path does."""
    path = tmp_path / "x.yaml"
    path.write_text(f"{{base_url: '{given}', auth: {{token_env: A}}, allow: [read]}}")

    assert load(str(path), folder=tmp_path).base_url == address


WRITTEN_SECRETS = r"""
auth: {token: SECRET}
=> auth.token: unknown key; secrets are named, never written: use token_env, token_command or token_file
auth: {token:SECRET: }
=> auth.token: unknown key; secrets are named, never written: use token_env, token_command or token_file
auth: {SECRET}
=> auth.…: unknown key; secrets are named, never written: use token_env, token_command or token_file
auth: SECRET
=> auth: expected exactly one of token_env, token_command and token_file, not text
auth: {token_env: SECRET}
=> auth.token_env: expected the name of an environment variable in upper case, such as PIX_TOKEN, and never the secret itself
auth: {token_env: $PIX_TOKEN}
=> auth.token_env: expected the name of an environment variable in upper case, such as PIX_TOKEN, and never the secret itself
auth: {token_file: SECRET}
=> auth.token_file: no such file; a path is relative to environments
auth: {token_env: A}
headers: {X-Api-Key: SECRET}
=> headers.X-Api-Key: expected {env: NAME} (secrets are named, never written), not text
auth: {token_env: A}
headers: {Cookie: SECRET}
=> headers.Cookie: expected {env: NAME} (secrets are named, never written), not text
auth: {token_env: A}
pix_keys: [{type: SECRET, key: CPF}]
=> pix_keys[0].type: unknown value; expected one of PHONE, EMAIL, RANDOM, CNPJ, CPF
auth: {token_env: A}
tls: {client_cert: a, client_key_passphrase_env: SECRET}
=> tls.client_key_passphrase_env: expected the name of an environment variable in upper case, such as PIX_KEY_PASSPHRASE, and never the secret itself
"""


@pytest.mark.parametrize(("text", "message"), cases(WRITTEN_SECRETS))
def test_secrets_are_not_repeated(text, message):
    """A secret that was written where its name belongs is refused without being shown."""
    assert refusal("base_url: https://bank.example\n" + text.replace("SECRET", SECRET)) == message


def test_a_pasted_token_is_no_file():
    """A token too long for the name of a file is refused as a file that is not there."""
    assert refusal(f"base_url: https://bank.example\nauth: {{token_file: {SECRET * 20}}}") == (
        "auth.token_file: no such file; a path is relative to environments"
    )


def test_filling_in():
    """The three placeholders are replaced in texts at any depth, and nothing else is."""
    template = {"{key}": ["{account}/{key}", {"t": "{type} {other}"}], "n": 1, "b": None}

    filled = fill(template, account="A", key="K", type="CPF")

    assert filled == {"{key}": ["A/K", {"t": "CPF {other}"}], "n": 1, "b": None}
    assert template["{key}"][0] == "{account}/{key}"
