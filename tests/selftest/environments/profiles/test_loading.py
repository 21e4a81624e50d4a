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
    load,
    parse_yaml,
    reasons_for_incomplete_run,
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
    """A working directory with an empty folder `environments`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "environments").mkdir()
    return tmp_path


def loaded_profile(text, base_url=None):
    """The profile with this text, as `environments/staging.yaml`."""
    file = Path("environments/staging.yaml")
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load("staging", folder=Path("environments"), base_url=base_url)


def refusal_message(text, base_url=None):
    """The line number and the message about the profile with this text."""
    with pytest.raises(ProfileError) as caught:
        loaded_profile(text, base_url)
    return str(caught.value).removeprefix("environments/staging.yaml:").strip()


def with_lines_switched_on(text):
    """The example with every commented line switched on, except for the second and third source of the token."""
    return re.sub(r"(?m)^( *)#(?=\S)(?!token_)", r"\1", text)


def refused_profiles():
    """The first lines, the other lines and the message of every profile in invalid_profiles.txt."""
    first_lines = {"an address and a token": GOOD, "an address": GOOD.splitlines(keepends=True)[0], "nothing": ""}
    text = Path(__file__).with_name("invalid_profiles.txt").read_text("utf-8")
    for title, section in re.findall(r"(?ms)^=== (.*?)\n(.*?)(?=^===|\Z)", text):
        for rest, message in re.findall(r"((?:(?!=>).+\n)+)=> (.*)\n", section):
            yield pytest.param(first_lines[title], rest.replace("SECRET", SECRET), message, id=rest.replace("\n", " "))


class TestWhatAProfileSays:
    def test_a_profile_has_defaults(self):
        """A profile without permissions only reads. Deviations from documented and robustness requirements fail."""
        profile = loaded_profile(GOOD)

        assert profile.name == "staging"
        assert profile.path == Path("environments/staging.yaml")
        assert profile.allow == {"read"}
        assert profile.fail_on == {"documented", "robustness"}
        assert profile.limits == profiles.Limits(5, 20, 20, 2000, 900, None, 8, 30, 5_000_000, None)

    def test_an_account_or_code_that_is_listed_twice_counts_once(self):
        """A code that stands twice in the profile is executed once."""
        profile = loaded_profile(f"{GOOD}accounts: [a, b, a]\ntransactions: {{codes: [TX, TX]}}\n")

        assert profile.accounts == ("a", "b")
        assert profile.transactions.codes == ("TX",)

    def test_an_empty_section_is_as_if_absent(self):
        """A section whose entries are all commented out changes nothing."""
        assert loaded_profile(
            f"{GOOD}allow:\ninsecure:\naccounts:\ntransactions:\nlimits:\ntls:\nheaders:\n"
        ) == loaded_profile(GOOD)

    def test_every_section_is_read_into_typed_values(self):
        """The staging example is loaded with every line switched on."""
        profile = loaded_profile(
            with_lines_switched_on(EXAMPLE.read_text("utf-8")).replace("[read]", "[read, transfer]")
        )

        assert profile.pix_keys == (profiles.PixKey("RANDOM", ""), profiles.PixKey("EMAIL", "qa@example.com", True))
        assert profile.known_failures[0].until == date(2027, 1, 31)

    def test_yaml_values_stay_as_they_are_written(self):
        """A date, a number with leading zeros or colons, and NO are kept as they are written."""
        body = "{json: {date: 2026-12-01, account: 0001, time: 10:30, state: NO, value: 1.50, paid: true}}"
        profile = loaded_profile(f"{GOOD}requests: {{transferP2p: {body}}}\n")

        assert profile.requests["transferP2p"].json == {
            "date": "2026-12-01", "account": "0001", "time": "10:30", "state": "NO", "value": 1.5, "paid": True,
        }  # fmt: skip

    def test_paths_start_at_the_profile(self, here):
        """A relative path starts at the folder of the profile; ~ is the home folder."""
        (here / "environments/token").touch()

        profile = loaded_profile("base_url: https://bank.example\nauth: {token_file: token}\njournal: ~/pix.journal\n")

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

        assert "owned" not in repr(loaded_profile(text))


class TestFindingTheFile:
    def test_a_file_that_cannot_be_read(self):
        """One line names the file, the reason of the system, and the environments that exist."""
        Path("environments/qa.yaml").touch()

        with pytest.raises(ProfileError) as caught:
            load("a\nb", folder=Path("environments"))
        assert str(caught.value) == (
            "environments/a b.yaml: cannot be read (No such file or directory); the environments in environments are: qa"
        )


class TestAnInvalidProfile:
    @pytest.mark.parametrize(("first_lines", "rest", "message"), list(refused_profiles()))
    def test_a_problem_of_a_profile_is_one_line(self, first_lines, rest, message):
        """The line names the place and what was expected. A secret in the place of a name is not shown."""
        assert refusal_message(first_lines + rest) == message

    @pytest.mark.parametrize(
        "text",
        [b"name: \xff\n", "b: \x07\n", "a: " + "9" * 5000, "a: " + "[" * 500, 'a: "\\uD83D"', "a: 1.0e+400", "a: {[1]: 2}"],
        ids=["not UTF-8", "control", "digits", "open lists", "half a character", "too large", "a key that is a list"],
    )  # fmt: skip
    def test_text_that_is_no_profile(self, text):
        """Text that is not YAML, or YAML that JSON cannot express, is refused with a message."""
        assert refusal_message(text)

    def test_the_message_has_all_problems_of_a_profile(self):
        """The first problem and an unknown key are named, and the others are counted."""
        with pytest.raises(ProfileError) as caught:
            loaded_profile(f"{GOOD}limits: {{timeuot: 3, rate: 0}}\naccounts: [..]\nallow: [raed]\n")

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
        """The example has every key, below a comment with its description."""
        schema = editor_schema()
        text = EXAMPLE.read_text("utf-8")
        text_without_comment_signs = "\n".join(line.strip().lstrip("# ") for line in text.splitlines())
        parts = [schema, *(schema["$defs"][name] for name in ("Auth", "Limits", "Prepare", "Tls", "Transactions"))]
        descriptions = {key: rule.get("description", "") for part in parts for key, rule in part["properties"].items()}
        keys = set().union(*(part["properties"] for part in (schema, *schema["$defs"].values())))

        assert schema["description"] in text_without_comment_signs
        assert [
            key
            for key, words in descriptions.items()
            if not re.search(rf"(?m)^{re.escape(words)}\n{key}:", text_without_comment_signs)
        ] == []
        assert [key for key in keys if not re.search(rf"\b{key}\b", text)] == []

    def test_the_schema_is_made_from_the_model(self):
        """`python -m environments.profiles.loading > environments/profile.schema.json` makes it.

        It accepts every profile of the project, and the example with every line switched on.
        """
        texts = [*(path.read_text("utf-8") for path in PROFILES), with_lines_switched_on(EXAMPLE.read_text("utf-8"))]

        assert json.loads(PUBLISHED.read_text("utf-8")) == editor_schema()
        assert [text for text in texts if not self.validator.is_valid(parse_yaml(text, "profile").data)] == []


ADDRESSES = read_yaml(Path(__file__).with_name("addresses.yaml"))
REFUSED = [(address, message) for message, addresses in ADDRESSES["refused"].items() for address in addresses]


class TestAddresses:
    def test_a_wrong_address_is_described_and_not_repeated(self):
        """An address of the profile or of --base-url may hold a password."""
        messages = {
            (refusal_message(f'base_url: "{address}"\nauth: {{token_env: A}}'), refusal_message(GOOD, address)): message
            for address, message in REFUSED
        }

        assert {
            pair: message
            for pair, message in messages.items()
            if pair != (f"1: base_url: {message}", f"--base-url: {message}")
        } == {}

    def test_an_address_is_kept_in_its_usual_form(self):
        """An address has a host, and may have a port and a path.

        It is kept without a slash at the end, with scheme and host in small letters.
        """
        of_profile = {
            address: loaded_profile(f'base_url: "{address}"\nauth: {{token_env: A}}').base_url
            for address in ADDRESSES["taken"]
        }

        assert of_profile == ADDRESSES["taken"]
        assert {address: loaded_profile(GOOD, address).base_url for address in of_profile} == ADDRESSES["taken"]

    def test_an_exact_address(self):
        """With `base_url_is_exact` the address may end in /v1. A proxy may end in it, too."""
        exact = "auth: {token_env: A}\nbase_url_is_exact: true\nbase_url: https://bank.example/pix/V1\n"

        assert loaded_profile(exact).base_url == "https://bank.example/pix/V1"
        assert loaded_profile(exact, "https://bank.example/v1/").base_url == "https://bank.example/v1"
        assert loaded_profile(f"{GOOD}proxy: http://proxy.example/v1").proxy == "http://proxy.example/v1"
        assert refusal_message(f"{GOOD}proxy: http://me:s3cr3t@proxy.example").startswith(
            "3: proxy: an address with a user name"
        )

    def test_further_addresses(self):
        """`also_at` has addresses that a pipeline may be given. They have the form of base_url."""
        profile = loaded_profile(f"{GOOD}also_at: [HTTPS://Preview.bank.example/a/]")

        assert profile.also_at == ("https://preview.bank.example/a",)
        assert refusal_message(f"{GOOD}also_at: [http://preview.bank.example]").startswith(
            "3: also_at: http:// sends the token"
        )
        assert refusal_message(f"{GOOD}also_at: [embedded]").startswith("3: also_at: not an address")

    def test_clear_text_to_another_machine_needs_insecure(self):
        """Only the operator can say that the token may be sent in clear text."""
        assert loaded_profile("base_url: http://bank.example\nauth: {token_env: PIX_TOKEN}\ninsecure: true").insecure

    def test_sandbox_permissions_stay_local(self):
        """At the address of --base-url the profile of the embedded sandbox only reads."""
        profile = loaded_profile(
            "base_url: embedded\nauth: {token_env: A}\nallow: [read, execute]", base_url="https://bank.example"
        )

        assert profile.allow == {"read"}
        assert not profile.is_sandbox


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
    """`sandbox` repeats the whole base_url.

    A copy of a profile with another base_url is refused, and the line says what to write. With --base-url the target is
    no sandbox. A slash at the end and capitals in the host change nothing.
    """
    text = "base_url: {}\ninsecure: true\nsandbox: {}\nauth: {{token_env: A}}\n"
    sandbox_profile = text.format("https://bank.example/hml", "https://BANK.example/hml/")

    assert loaded_profile(sandbox_profile).is_sandbox
    assert not loaded_profile(sandbox_profile, address).is_sandbox
    assert refusal_message(text.format(address, "https://bank.example/hml")) == (
        f"3: sandbox: expected the whole base_url again, {address}, if nothing there is worth anything; or null"
    )


@pytest.mark.parametrize("address", ["https://aaa.example", "https://zzz.example", "https://bank.example/pix"])
def test_redirected_is_the_address_of_base_url_option(address):
    """`redirected` is None if --base-url gives the address of the profile, perhaps in another form."""
    assert loaded_profile(GOOD, address).redirected == ""
    assert loaded_profile(GOOD, "HTTPS://BANK.example/").redirected is None
    assert loaded_profile(GOOD).redirected is None


@pytest.mark.parametrize("line", ["accounts: 7", "allow: [fly]", "insecure: perhaps"])
def test_a_problem_of_another_line_is_not_blamed_on_base_url(line):
    """The message names the line of the profile, although --base-url was given."""
    assert refusal_message(f"{GOOD}{line}", "https://other.example").startswith(f"3: {line.partition(':')[0]}")


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
def test_permissions_without_what_they_need_are_listed(changes, sent_before, reasons):
    """A permission needs something that the profile does not have, or codes that no earlier run sent."""
    profile = loaded_profile(json.dumps(WHOLE | changes))

    assert list(reasons_for_incomplete_run(profile, sent_before)) == reasons
