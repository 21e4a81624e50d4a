"""Profiles: what they say, and how a wrong one is refused before anything is sent."""

import json
import re
from dataclasses import asdict
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
PUBLISHED_SCHEMA = REPOSITORY / "environments/profile.schema.json"
PROFILES = sorted(
    {*REPOSITORY.glob("environments/*.yaml"), *REPOSITORY.glob("tests/selftest/proof/**/profiles/*.yaml")}
)
ADDRESS_AND_TOKEN = "base_url: https://bank.example\nauth: {token_env: PIX_TOKEN}\n"
SECRET = "eyJhbGciOiJIUzI1NiJ9.e30.s3cr3t"


@pytest.fixture(autouse=True)
def working_folder(tmp_path, monkeypatch):
    """The working directory of each test. It has an empty folder `environments`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "environments").mkdir()
    return tmp_path


def loaded_profile(text, base_url=None):
    """The profile that the file environments/staging.yaml gives with this text. `base_url` is the option --base-url."""
    content = text if isinstance(text, bytes) else text.encode()
    Path("environments/staging.yaml").write_bytes(content)
    return load("staging", folder=Path("environments"), base_url=base_url)


def refusal_message(text, base_url=None):
    """The line number and the message with which a profile with this text is refused, such as "3: accounts: …"."""
    with pytest.raises(ProfileError) as caught:
        loaded_profile(text, base_url)
    return str(caught.value).removeprefix("environments/staging.yaml:").strip()


def with_lines_switched_on(text):
    """The example of a profile with its commented settings switched on: "#rate: 5" becomes "rate: 5".

    The second and third source of the token stay comments, because a profile has one. So do explanations ("# …").
    """
    return re.sub(r"(?m)^( *)#(?=\S)(?!token_)", r"\1", text)


def refused_profiles():
    """The parameters of a test for each profile in invalid_profiles.txt: its first lines, its other lines and the
    message.

    In that file a line "=== …" names the first lines of all profiles below it. The other lines of a profile follow, and
    then a line "=> …" with the message.
    """
    first_lines = {
        "an address and a token": ADDRESS_AND_TOKEN,
        "an address": ADDRESS_AND_TOKEN.splitlines(keepends=True)[0],
        "nothing": "",
    }
    text = Path(__file__).with_name("invalid_profiles.txt").read_text("utf-8")
    for title, section in re.findall(r"(?ms)^=== (.*?)\n(.*?)(?=^===|\Z)", text):
        for other_lines, message in re.findall(r"((?:(?!=>).+\n)+)=> (.*)\n", section):
            name_of_case = other_lines.replace("\n", " ")
            lines_with_secret = other_lines.replace("SECRET", SECRET)
            yield pytest.param(first_lines[title], lines_with_secret, message, id=name_of_case)


class TestWhatAProfileSays:
    def test_a_profile_has_defaults(self):
        """The profile (the settings of a run) has only an address and the source of the token.

        It permits only reads. Deviations from documented and robustness requirements fail the run.
        """
        profile = loaded_profile(ADDRESS_AND_TOKEN)

        assert profile.name == "staging"
        assert profile.path == Path("environments/staging.yaml")
        assert profile.allow == {"read"}
        assert profile.fail_on == {"documented", "robustness"}
        assert asdict(profile.limits) == {
            "executions": 5, "transfers": 20, "wrong_tokens": 20, "requests": 2000, "duration": 900, "rate": None,
            "parallel": 8, "timeout": 30, "response_bytes": 5_000_000, "examples": None,
        }  # fmt: skip

    def test_an_account_or_code_that_is_listed_twice_counts_once(self):
        """The profile (the settings of a run) has an account and a transaction code twice. So the code is executed
        once.
        """
        profile = loaded_profile(f"{ADDRESS_AND_TOKEN}accounts: [a, b, a]\ntransactions: {{codes: [TX, TX]}}\n")

        assert profile.accounts == ("a", "b")
        assert profile.transactions.codes == ("TX",)

    def test_an_empty_section_is_as_if_absent(self):
        """In a profile (the settings of a run) all entries of a section may be commented out. That changes nothing."""
        empty_sections = "allow:\ninsecure:\naccounts:\ntransactions:\nlimits:\ntls:\nheaders:\n"

        assert loaded_profile(ADDRESS_AND_TOKEN + empty_sections) == loaded_profile(ADDRESS_AND_TOKEN)

    def test_every_section_is_read_into_typed_values(self):
        """The example of a profile (the settings of a run) is loaded with every commented line switched on.

        For example an entry of `pix_keys` becomes a PixKey, and a date becomes a date of Python.
        """
        text = with_lines_switched_on(EXAMPLE.read_text("utf-8"))
        # The example prepares transfers if its lines are switched on, which needs the permission.
        profile = loaded_profile(text.replace("[read]", "[read, transfer]"))

        assert profile.pix_keys == (profiles.PixKey("RANDOM", ""), profiles.PixKey("EMAIL", "qa@example.com", True))
        assert profile.known_failures[0].until == date(2027, 1, 31)

    def test_yaml_values_stay_as_they_are_written(self):
        """YAML would change some values in the body of a transfer: a date, a number with leading zeros or colons, and
        NO.

        They are kept as texts, because the service gets them as they are written.
        """
        body = "{json: {date: 2026-12-01, account: 0001, time: 10:30, state: NO, value: 1.50, paid: true}}"
        profile = loaded_profile(f"{ADDRESS_AND_TOKEN}requests: {{transferP2p: {body}}}\n")

        assert profile.requests["transferP2p"].json == {
            "date": "2026-12-01", "account": "0001", "time": "10:30", "state": "NO", "value": 1.5, "paid": True,
        }  # fmt: skip

    def test_paths_start_at_the_profile(self, working_folder):
        """A relative path in a profile (the settings of a run) starts at the folder of the profile; ~ is the home
        folder.
        """
        (working_folder / "environments/token").touch()

        profile = loaded_profile("base_url: https://bank.example\nauth: {token_file: token}\njournal: ~/pix.journal\n")

        assert profile.auth.token_file == working_folder / "environments/token"
        assert profile.journal == Path.home() / "pix.journal"

    def test_repr_shows_nothing_personal(self):
        """The repr of a profile (the settings of a run) may appear in a traceback.

        It has no account, key, transaction code, body, header value or token command. Here all of them have the word
        owned.
        """
        text = (
            "base_url: https://bank.example\nauth: {token_command: [echo, owned0]}\nallow: [transfer]\n"
            "accounts: [owned1]\npix_keys: [{type: CPF, key: owned2}]\nheaders: {X-Tenant: owned3}\n"
            "requests: {createPix: {json: {a: owned4}}}\ntransactions:\n  codes: [owned5]\n"
            "  prepare: {operation: transferP2p, json: [owned6], code_at: /id}\n"
        )

        assert "owned" not in repr(loaded_profile(text))


class TestFindingTheFile:
    def test_the_message_about_a_missing_profile_names_those_that_exist(self):
        """A run is started with `--environment` and the name of its profile (its settings), here a name with a line
        end. There is only a profile named qa.

        The message is one line, with the name of the file and the reason of the system.
        """
        Path("environments/qa.yaml").touch()

        with pytest.raises(ProfileError) as caught:
            load("a\nb", folder=Path("environments"))

        assert str(caught.value) == (
            "environments/a b.yaml: cannot be read (No such file or directory); the environments in environments are: qa"
        )


class TestAnInvalidProfile:
    @pytest.mark.parametrize(("first_lines", "other_lines", "message"), list(refused_profiles()))
    def test_a_problem_of_a_profile_is_one_line(self, first_lines, other_lines, message):
        """Each profile (the settings of a run) has a mistake. The message names the line, the place and what was
        expected.

        For example the third line `limits: {timeuot: 3}` gives `3: limits.timeuot: unknown key; did you mean
        "timeout"?`. A secret in the place of a name is not shown.
        """
        assert refusal_message(first_lines + other_lines) == message

    @pytest.mark.parametrize(
        "text",
        [b"name: \xff\n", "b: \x07\n", "a: " + "9" * 5000, "a: " + "[" * 500, 'a: "\\uD83D"', "a: 1.0e+400", "a: {[1]: 2}"],
        ids=[
            "not UTF-8", "a control character", "5000 digits", "500 brackets without an end", "half a surrogate pair",
            "a number that no float can hold", "a key that is a list",
        ],
    )  # fmt: skip
    def test_a_text_that_is_no_yaml_is_refused(self, text):
        """The file of a profile (the settings of a run) is not YAML, or it is YAML that JSON cannot express. It is
        refused with a message.
        """
        message = refusal_message(text)

        assert message != ""

    def test_the_message_shows_the_first_problem_of_a_profile_and_counts_the_others(self):
        """The profile (the settings of a run) has four mistakes. The message has the first one and the number of the
        others.

        An unknown key comes first, because it may cause the others. These come in the order in which the example of a
        profile has its keys: allow, accounts, limits.
        """
        with pytest.raises(ProfileError) as caught:
            loaded_profile(f"{ADDRESS_AND_TOKEN}limits: {{timeuot: 3, rate: 0}}\naccounts: [..]\nallow: [raed]\n")

        first_problem, *other_problems = caught.value.problems
        assert first_problem == 'environments/staging.yaml:3: limits.timeuot: unknown key; did you mean "timeout"?'
        assert other_problems == [
            "environments/staging.yaml:5: allow.0: Input should be 'read', 'register-keys', 'delete-keys', 'create-pix', 'transfer', "
            "'execute' or 'fuzz'",
            "environments/staging.yaml:4: accounts.0: expected text, in quotes if it is made of digits",
            "environments/staging.yaml:3: limits.rate: Input should be greater than or equal to 0.01",
        ]
        assert str(caught.value) == f"{first_problem} (3 more in this file)"


class TestTheExampleAndTheSchema:
    validator = jsonschema_rs.Draft7Validator(json.loads(PUBLISHED_SCHEMA.read_text("utf-8")), validate_formats=True)

    def test_the_example_has_each_key_below_its_description(self):
        """The example of a profile (the settings of a run) explains each key in a comment, in the words of the JSON
        schema of profiles.

        Below the comment is a line that begins with the key. Keys of parts that stand in one line have no line of their
        own. Such a part is `{type: EMAIL, key: qa@example.com}`.
        """
        schema = editor_schema()
        lines = [line.strip().lstrip("# ") for line in EXAMPLE.read_text("utf-8").splitlines()]
        example_without_comment_signs = "\n".join(lines)
        parts_with_a_line_for_each_key = ("Auth", "Limits", "Prepare", "Tls", "Transactions")
        parts = [schema, *(schema["$defs"][name] for name in parts_with_a_line_for_each_key)]
        keys_without_description = []
        for part in parts:
            for key, rule in part["properties"].items():
                description_and_key = f"\n{rule.get('description', '')}\n{key}:"
                if description_and_key not in example_without_comment_signs:
                    keys_without_description.append(key)

        assert schema["description"] in example_without_comment_signs
        assert keys_without_description == []

    def test_the_example_has_every_key(self):
        """Each key that a profile (the settings of a run) may have, in any of its parts, stands in the example as a
        whole word.
        """
        schema, text = editor_schema(), EXAMPLE.read_text("utf-8")
        keys = set(schema["properties"])
        for part in schema["$defs"].values():
            keys |= set(part["properties"])
        missing_keys = [key for key in keys if not re.search(rf"\b{key}\b", text)]

        assert missing_keys == []

    def test_the_published_schema_is_up_to_date(self):
        """Editors use the JSON schema of profiles (the settings of runs) in environments/profile.schema.json.

        `python -m environments.profiles.loading > environments/profile.schema.json` makes it anew.
        """
        assert json.loads(PUBLISHED_SCHEMA.read_text("utf-8")) == editor_schema()

    def test_the_published_schema_accepts_every_profile_of_the_project(self):
        """Each profile (the settings of a run) in the project is valid by the published JSON schema.

        So is the example of a profile with every commented line switched on.
        """
        texts = [*(path.read_text("utf-8") for path in PROFILES), with_lines_switched_on(EXAMPLE.read_text("utf-8"))]
        refused_texts = [text for text in texts if not self.validator.is_valid(parse_yaml(text, "profile").data)]

        assert len(texts) > 1
        assert refused_texts == []


ADDRESSES = read_yaml(Path(__file__).with_name("addresses.yaml"))
REFUSED_ADDRESSES = [(address, message) for message, addresses in ADDRESSES["refused"].items() for address in addresses]


class TestAddresses:
    @pytest.mark.parametrize(("address", "message"), REFUSED_ADDRESSES)
    def test_a_wrong_address_is_described_and_not_repeated(self, address, message):
        """The address of the service is `base_url` in the profile (the settings of the run), or the option --base-url.
        It may hold a password, as in https://me:s3cr3t@bank.example.

        So the message says what is wrong with it ("an address with a user name or password"), and does not show it.
        """
        message_about_profile = refusal_message(f'base_url: "{address}"\nauth: {{token_env: A}}')
        message_about_option = refusal_message(ADDRESS_AND_TOKEN, base_url=address)

        assert message_about_profile == f"1: base_url: {message}"
        assert message_about_option == f"--base-url: {message}"

    @pytest.mark.parametrize(("address", "usual_form"), ADDRESSES["taken"].items())
    def test_an_address_is_kept_in_its_usual_form(self, address, usual_form):
        """The address of the service is `base_url` in the profile (the settings of the run), or the option --base-url.

        It is kept without a slash at the end, with scheme and host in small letters. It may have a port and a path. For
        example HTTPS://BANK.example/a/ becomes https://bank.example/a.
        """
        of_profile = loaded_profile(f'base_url: "{address}"\nauth: {{token_env: A}}').base_url
        of_option = loaded_profile(ADDRESS_AND_TOKEN, base_url=address).base_url

        assert of_profile == usual_form
        assert of_option == usual_form

    def test_an_address_may_end_in_v1_if_the_profile_says_that_it_is_exact(self):
        """Usually an address that ends in /v1 is a mistake, because every path begins with /v1.

        With `base_url_is_exact` it is taken as it is, also from the option --base-url.
        """
        exact = "auth: {token_env: A}\nbase_url_is_exact: true\nbase_url: https://bank.example/pix/V1\n"

        assert loaded_profile(exact).base_url == "https://bank.example/pix/V1"
        assert loaded_profile(exact, base_url="https://bank.example/v1/").base_url == "https://bank.example/v1"

    def test_the_address_of_a_proxy_may_end_in_v1(self):
        """An address of a service that ends in /v1 is a mistake, because paths that begin with /v1 follow it. No path
        follows the address of a proxy, so it may end in /v1.
        """
        profile = loaded_profile(f"{ADDRESS_AND_TOKEN}proxy: http://proxy.example/v1")

        assert profile.proxy == "http://proxy.example/v1"

    def test_the_address_of_a_proxy_has_no_password(self):
        """A profile (the settings of a run) names the variables of secrets, and never has a secret itself. So the
        address of a proxy with a password is refused.
        """
        message = refusal_message(f"{ADDRESS_AND_TOKEN}proxy: http://me:s3cr3t@proxy.example")

        assert message.startswith("3: proxy: an address with a user name")

    def test_further_addresses_are_kept_in_their_usual_form(self):
        """`also_at` in a profile (the settings of a run) has the other addresses that a pipeline may give as
        --base-url.
        """
        profile = loaded_profile(f"{ADDRESS_AND_TOKEN}also_at: [HTTPS://Preview.bank.example/a/]")

        assert profile.also_at == ("https://preview.bank.example/a",)

    @pytest.mark.parametrize(
        ("address", "message"),
        [("http://preview.bank.example", "3: also_at: http:// sends the token"), ("embedded", "3: also_at: not an address")],
        ids=["without TLS", "no address"],
    )  # fmt: skip
    def test_a_wrong_further_address_is_refused(self, address, message):
        """`also_at` in a profile (the settings of a run) has the other addresses that a pipeline may give as
        --base-url.

        Each of them must be an address with https://, as `base_url` must be. The message says what is wrong.
        """
        assert refusal_message(f"{ADDRESS_AND_TOKEN}also_at: [{address}]").startswith(message)

    def test_clear_text_to_another_machine_needs_insecure(self):
        """An address with http:// sends the token in clear text. It is taken only if the profile (the settings of the
        run) says `insecure: true`.
        """
        profile = loaded_profile("base_url: http://bank.example\nauth: {token_env: PIX_TOKEN}\ninsecure: true")

        assert profile.insecure

    def test_the_permissions_for_the_embedded_sandbox_do_not_hold_at_another_address(self):
        """The profile (the settings of the run) is for the sandbox (the test service inside the run), where it may
        execute transfers.

        At the address of the option --base-url it only reads, and that target does not count as a sandbox.
        """
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
    ids=["another path", "another port", "another scheme", "another host"],
)
def test_an_edited_address_is_no_sandbox(address):
    """A sandbox is a test system without real money. Its profile (the settings of the run) repeats the whole base_url
    in `sandbox`.

    If somebody copies the profile and edits base_url alone, the copy is refused, and the line says what to write. With
    another address in --base-url the target is no sandbox.
    """
    text = "base_url: {}\ninsecure: true\nsandbox: {}\nauth: {{token_env: A}}\n"
    sandbox_profile = text.format("https://bank.example/hml", "https://bank.example/hml")
    message_about_edited_copy = refusal_message(text.format(address, "https://bank.example/hml"))

    assert not loaded_profile(sandbox_profile, base_url=address).is_sandbox
    assert message_about_edited_copy == (
        f"3: sandbox: expected the whole base_url again, {address}, if nothing there is worth anything; or null"
    )


def test_an_address_in_another_form_is_the_same_sandbox():
    """A sandbox is a test system. Its profile (the settings of the run) repeats base_url in `sandbox`, here with
    capitals and a slash at the end.
    """
    text = (
        "base_url: https://bank.example/hml\nsandbox: https://BANK.example/hml/\ninsecure: true\nauth: {token_env: A}\n"
    )

    assert loaded_profile(text).is_sandbox


@pytest.mark.parametrize(
    "address",
    ["https://aaa.example", "https://zzz.example", "https://bank.example/pix"],
    ids=["sorts before that of the profile", "sorts after that of the profile", "another path"],
)
def test_a_run_is_redirected_if_base_url_gives_another_address_than_the_profile(address):
    """The address of the profile (the settings of the run) is https://bank.example, and --base-url gives another one.

    `redirection_note` names the settings that do not hold at the other address. It is empty here, because all of them
    hold. Without redirection it is None.
    """
    assert loaded_profile(ADDRESS_AND_TOKEN, base_url=address).redirection_note == ""


@pytest.mark.parametrize("address", ["HTTPS://BANK.example/", None], ids=["in another form", "without --base-url"])
def test_a_run_is_not_redirected_by_the_address_of_its_profile(address):
    """The address of the profile (the settings of the run) is https://bank.example, and --base-url gives the same one,
    or is not there.

    So the run is not redirected: `redirection_note` is None.
    """
    assert loaded_profile(ADDRESS_AND_TOKEN, base_url=address).redirection_note is None


@pytest.mark.parametrize("line", ["accounts: 7", "allow: [fly]", "insecure: perhaps"])
def test_a_problem_of_another_line_is_not_blamed_on_base_url(line):
    """The third line of the profile (the settings of the run) is wrong. The message names it, although --base-url was
    given and takes effect.
    """
    setting, _, _ = line.partition(":")
    message = refusal_message(f"{ADDRESS_AND_TOKEN}{line}", base_url="https://other.example")

    assert message.startswith(f"3: {setting}")


PROFILE_FOR_EVERYTHING = {
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
    ("changes", "codes_sent_before", "reasons"),
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
    ids=[
        "nothing is missing",
        "no account",
        "no account, only reads",
        "no account, which an execution does not need",
        "no keys",
        "deletions without registrations",
        "no body for deletions",
        "no place of the keys in a list",
        "no permission to read a list",
        "no place of the keys in a list, on a sandbox",
        "no codes",
        "no codes, which reads do not need",
        "one of two codes was sent before",
        "all codes were sent before",
        "all codes were sent before, which reads do not need",
    ],
)
def test_the_reasons_why_a_run_will_be_incomplete_are_known_before_it(changes, codes_sent_before, reasons):
    """A profile (the settings of a run) permits something, but lacks what is needed for it.

    PROFILE_FOR_EVERYTHING lacks nothing; `changes` take something away. A transaction code that an earlier run sent is
    of no use.
    """
    profile = loaded_profile(json.dumps(PROFILE_FOR_EVERYTHING | changes))

    assert list(reasons_for_incomplete_run(profile, codes_sent_before)) == reasons
