"""Profiles: what they say, and how a wrong one is refused before anything is sent."""

import json
import re
from datetime import date
from pathlib import Path

import jsonschema_rs
import pytest

from environments.profiles import model as profiles
from environments.profiles.loading import (
    NO_ACCOUNT,
    NO_CODE,
    NO_DELETION,
    NO_KEY_AT,
    NO_LIST,
    NO_REGISTRATION,
    NOTHING_TO_REGISTER,
    SENT_BEFORE,
    editor_schema,
    gaps,
    load,
    parse_yaml,
)
from environments.profiles.model import ProfileError
from spec.requirements import read_yaml

REPOSITORY = Path(__file__).parents[4]
EXAMPLE = REPOSITORY / "environments/staging.example.yaml"
PUBLISHED = REPOSITORY / "environments/profile.schema.json"
PROFILES = sorted(
    {*REPOSITORY.glob("environments/*.yaml"), *REPOSITORY.glob("tests/selftest/proof/**/profiles/*.yaml")}
)
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
    """The line and the message about the profile with this text."""
    with pytest.raises(ProfileError) as caught:
        loaded(text, base_url)
    return str(caught.value).removeprefix("environments/staging.yaml:").strip()


def switched_on(text):
    """An example with every line that is switched off switched on, except the second and third source of the token."""
    return re.sub(r"(?m)^( *)#(?=\S)(?!token_)", r"\1", text)


def refused_profiles():
    """The first lines, the rest and the message of every profile of invalid_profiles.txt."""
    first_lines = {"an address and a token": GOOD, "an address": GOOD.splitlines(keepends=True)[0], "nothing": ""}
    text = Path(__file__).with_name("invalid_profiles.txt").read_text("utf-8")
    for title, section in re.findall(r"(?ms)^=== (.*?)\n(.*?)(?=^===|\Z)", text):
        for rest, message in re.findall(r"((?:(?!=>).+\n)+)=> (.*)\n", section):
            yield pytest.param(first_lines[title], rest.replace("SECRET", SECRET), message, id=rest.replace("\n", " "))


class TestWhatAProfileSays:
    def test_defaults(self):
        """A profile that permits nothing reads, and what fails is what is documented, or not robust."""
        profile = loaded(GOOD)

        assert (profile.name, profile.path) == ("staging", Path("environments/staging.yaml"))
        assert (profile.allow, profile.fail_on) == ({"read"}, {"documented", "robustness"})
        assert profile.limits == profiles.Limits(5, 20, 20, 2000, 900, None, 8, 30, 5_000_000, None)

    def test_what_is_listed_twice_counts_once(self):
        """An account, and a code: it is executed once."""
        profile = loaded(f"{GOOD}accounts: [a, b, a]\ntransactions: {{codes: [TX, TX]}}\n")

        assert (profile.accounts, profile.transactions.codes) == (("a", "b"), ("TX",))

    def test_empty_sections(self):
        """A section whose entries are all commented out is as if it were not there."""
        assert loaded(f"{GOOD}allow:\ninsecure:\naccounts:\ntransactions:\nlimits:\ntls:\nheaders:\n") == loaded(GOOD)

    def test_every_section(self):
        """The staging example, with everything switched on, is read into typed values."""
        profile = loaded(switched_on(EXAMPLE.read_text("utf-8")).replace("[read]", "[read, transfer]"))

        assert profile.pix_keys == (profiles.PixKey("RANDOM", ""), profiles.PixKey("EMAIL", "qa@example.com", True))
        assert profile.known_failures[0].until == date(2027, 1, 31)

    def test_what_yaml_would_change_is_text(self):
        """A date, a number with zeros before it or colons in it, and NO are sent as they are written."""
        body = "{json: {date: 2026-12-01, account: 0001, time: 10:30, state: NO, value: 1.50, paid: true}}"
        profile = loaded(f"{GOOD}requests: {{transferP2p: {body}}}\n")

        assert profile.requests["transferP2p"].json == {
            "date": "2026-12-01", "account": "0001", "time": "10:30", "state": "NO", "value": 1.5, "paid": True,
        }  # fmt: skip

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

        assert "owned" not in repr(loaded(text))


class TestFindingTheFile:
    def test_a_file_that_cannot_be_read(self):
        """It is named in one line, with the reason of the system and the environments that are there."""
        Path("environments/qa.yaml").touch()

        with pytest.raises(ProfileError) as caught:
            load("a\nb", folder=Path("environments"))
        assert str(caught.value) == (
            "environments/a b.yaml: cannot be read (No such file or directory); the environments in environments are: qa"
        )


class TestAnInvalidProfile:
    @pytest.mark.parametrize(("first_lines", "rest", "message"), list(refused_profiles()))
    def test_one_problem(self, first_lines, rest, message):
        """What is unknown, missing, of another type or out of place is named in one line with what was expected; a
        secret that was written where its name belongs is not shown."""
        assert refusal(first_lines + rest) == message

    @pytest.mark.parametrize(
        "text",
        [b"name: \xff\n", "b: \x07\n", "a: " + "9" * 5000, "a: " + "[" * 500, 'a: "\\uD83D"', "a: 1.0e+400", "a: {[1]: 2}"],
        ids=["not UTF-8", "control", "digits", "open lists", "half a character", "too large", "a key that is a list"],
    )  # fmt: skip
    def test_text_that_is_no_profile(self, text):
        """What is not YAML, or YAML without an equal in JSON, is refused in one line."""
        assert refusal(text)

    def test_every_problem_is_told(self):
        """The message tells the first, which is an unknown key, and counts the others."""
        with pytest.raises(ProfileError) as caught:
            loaded(f"{GOOD}limits: {{timeuot: 3, rate: 0}}\naccounts: [..]\nallow: [raed]\n")

        problems = [
            'environments/staging.yaml:3: limits.timeuot: unknown key; did you mean "timeout"?',
            "environments/staging.yaml:5: allow.0: Input should be 'read', 'register-keys', 'delete-keys', 'create-pix', 'transfer', "
            "'execute' or 'fuzz'",
            "environments/staging.yaml:4: accounts.0: expected text, in quotes if it is made of digits",
            "environments/staging.yaml:3: limits.rate: Input should be greater than or equal to 0.01",
        ]
        assert caught.value.problems == problems
        assert str(caught.value) == f"{problems[0]} (3 more in this file)"


class TestTheExampleAndTheSchema:
    validator = jsonschema_rs.Draft7Validator(json.loads(PUBLISHED.read_text("utf-8")), validate_formats=True)

    def test_the_example_explains_in_the_words_of_the_model(self):
        """It has every key; each stands below its description, as a comment."""
        schema, text = editor_schema(), EXAMPLE.read_text("utf-8")
        written = "\n".join(line.strip().lstrip("# ") for line in text.splitlines())
        parts = [schema, *(schema["$defs"][name] for name in ("Auth", "Limits", "Prepare", "Tls", "Transactions"))]
        told = {key: rule.get("description", "") for part in parts for key, rule in part["properties"].items()}
        keys = {key for each in (schema, *schema["$defs"].values()) for key in each["properties"]}

        assert schema["description"] in written
        assert [key for key, words in told.items() if not re.search(rf"(?m)^{re.escape(words)}\n{key}:", written)] == []
        assert [key for key in keys if not re.search(rf"\b{key}\b", text)] == []

    def test_the_schema_is_made_from_the_model(self):
        """To make it: python -m environments.profiles.loading > environments/profile.schema.json. It accepts every profile
        of the project, also the example with everything switched on."""
        texts = [*(path.read_text("utf-8") for path in PROFILES), switched_on(EXAMPLE.read_text("utf-8"))]

        assert json.loads(PUBLISHED.read_text("utf-8")) == editor_schema()
        assert [text for text in texts if not self.validator.is_valid(parse_yaml(text, "profile").data)] == []


ADDRESSES = read_yaml(Path(__file__).with_name("addresses.yaml"))
REFUSED = [(address, message) for message, addresses in ADDRESSES["refused"].items() for address in addresses]


class TestAddresses:
    def test_wrong_addresses(self):
        """A wrong address, of the profile or of --base-url, is described and not repeated: it may hold a password."""
        said = {
            (refusal(f'base_url: "{one}"\nauth: {{token_env: A}}'), refusal(GOOD, one)): message
            for one, message in REFUSED
        }

        assert {
            pair: message
            for pair, message in said.items()
            if pair != (f"1: base_url: {message}", f"--base-url: {message}")
        } == {}

    def test_addresses(self):
        """An address has a host and may have a port and a prefix. It ends without a slash, and letter case of scheme and
        host says nothing."""
        kept = {one: loaded(f'base_url: "{one}"\nauth: {{token_env: A}}').base_url for one in ADDRESSES["taken"]}

        assert kept == {one: loaded(GOOD, one).base_url for one in kept} == ADDRESSES["taken"]

    def test_an_exact_address(self):
        """The profile may say that the paths of its service start with /v1/v1. A proxy is an address too, and may end in
        the version."""
        exact = "auth: {token_env: A}\nbase_url_is_exact: true\nbase_url: https://bank.example/pix/V1\n"

        assert loaded(exact).base_url == "https://bank.example/pix/V1"
        assert loaded(exact, "https://bank.example/v1/").base_url == "https://bank.example/v1"
        assert loaded(f"{GOOD}proxy: http://proxy.example/v1").proxy == "http://proxy.example/v1"
        assert refusal(f"{GOOD}proxy: http://me:s3cr3t@proxy.example").startswith(
            "3: proxy: an address with a user name"
        )

    def test_further_addresses(self):
        """Those that a pipeline may be given are addresses like base_url, in the same form."""
        profile = loaded(f"{GOOD}also_at: [HTTPS://Preview.bank.example/a/]")

        assert profile.also_at == ("https://preview.bank.example/a",)
        assert refusal(f"{GOOD}also_at: [http://preview.bank.example]").startswith(
            "3: also_at: http:// sends the token"
        )
        assert refusal(f"{GOOD}also_at: [embedded]").startswith("3: also_at: not an address")

    def test_insecure(self):
        """Clear text to another machine is the operator's word."""
        assert loaded("base_url: http://bank.example\nauth: {token_env: PIX_TOKEN}\ninsecure: true").insecure

    def test_sandbox_permissions_stay_local(self):
        """What is allowed on the sandbox is not allowed on a service that --base-url names: a run only reads there."""
        profile = loaded(
            "base_url: embedded\nauth: {token_env: A}\nallow: [read, execute]", base_url="https://bank.example"
        )

        assert (profile.allow, profile.is_sandbox) == ({"read"}, False)


@pytest.mark.parametrize(
    "address",
    [
        "https://bank.example/prod",
        "https://bank.example:8443/hml",
        "http://bank.example/hml",
        "https://other.example/hml",
    ],
)
def test_an_edited_address_is_no_sandbox(address):
    """`sandbox` repeats scheme, host, port and path. A copy in which base_url alone was edited is refused, and the
    line says what to write; --base-url clears it. A slash at the end and capitals in the host say nothing."""
    text = "base_url: {}\ninsecure: true\nsandbox: {}\nauth: {{token_env: A}}\n"
    of_sandbox = text.format("https://bank.example/hml", "https://BANK.example/hml/")

    assert loaded(of_sandbox).is_sandbox
    assert not loaded(of_sandbox, address).is_sandbox
    assert refusal(text.format(address, "https://bank.example/hml")) == (
        f"3: sandbox: expected the whole base_url again, {address}, if nothing there is worth anything; or null"
    )


@pytest.mark.parametrize("address", ["https://aaa.example", "https://zzz.example", "https://bank.example/pix"])
def test_another_address_than_that_of_the_profile_is_told(address):
    """The same address in another form is no other address."""
    assert loaded(GOOD, address).redirected == ""
    assert loaded(GOOD, "HTTPS://BANK.example/").redirected is None
    assert loaded(GOOD).redirected is None


@pytest.mark.parametrize("line", ["accounts: 7", "allow: [fly]", "insecure: perhaps"])
def test_a_problem_elsewhere_is_none_of_the_option(line):
    """The message names the line of the profile, although --base-url was given."""
    assert refusal(f"{GOOD}{line}", "https://other.example").startswith(f"3: {line.partition(':')[0]}")


WHOLE = {
    "base_url": "https://bank.example",
    "auth": {"token_env": "PIX_TOKEN"},
    "accounts": ["ac-0001"],
    "pix_keys": [{"type": "EMAIL", "key": "qa@bank.example"}],
    "requests": {"deletePixKey": {"json": {"pixKey": "{key}"}}},
    "key_at": "/data/keys/*/pixKey",
    "transactions": {"codes": ["TX-1", "TX-2"]},
    "allow": ["read", "register-keys", "delete-keys", "execute"],
}


@pytest.mark.parametrize(
    ("changes", "sent_before", "reasons"),
    [
        ({}, (), []),
        ({"accounts": []}, (), [NO_ACCOUNT]),
        ({"accounts": [], "allow": ["read"]}, (), [NO_ACCOUNT]),
        ({"accounts": [], "allow": ["execute"]}, (), []),
        ({"pix_keys": []}, (), [NOTHING_TO_REGISTER.format("pix_keys")]),
        ({"allow": ["read", "delete-keys"]}, (), [NO_REGISTRATION]),
        ({"requests": None}, (), [NO_DELETION]),
        ({"key_at": None}, (), [NO_KEY_AT]),
        ({"allow": ["register-keys", "delete-keys"]}, (), [NO_LIST]),
        ({"key_at": None, "sandbox": "https://bank.example"}, (), []),
        ({"transactions": None}, (), [NO_CODE]),
        ({"transactions": None, "allow": ["read"]}, (), []),
        ({}, ["TX-1"], []),
        ({}, ["TX-1", "TX-2"], [SENT_BEFORE]),
        ({"allow": ["read"]}, ["TX-1", "TX-2"], []),
    ],
)
def test_what_makes_a_run_of_everything_incomplete(changes, sent_before, reasons):
    """A permission needs something that the profile does not have."""
    profile = loaded(json.dumps(WHOLE | changes))

    assert list(gaps(profile, sent_before)) == reasons
