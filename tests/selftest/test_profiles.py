"""Profiles: what they say, and how a wrong one is refused before anything is sent."""

import json
import re
from datetime import date
from pathlib import Path

import jsonschema_rs
import pytest
import yaml

from environments.profiles import checked_yaml
from environments.profiles import profile as profiles
from environments.profiles.addresses import is_loopback
from environments.profiles.explained import editor_schema, example
from environments.profiles.kinds import PERMISSIONS
from environments.profiles.loading import load
from environments.profiles.profile import ProfileError, fill

REPOSITORY = Path(__file__).parents[2]
EXAMPLE = REPOSITORY / "environments/staging.example.yaml"
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


def unreadable(environment):
    """The message about an environment whose file cannot be read."""
    with pytest.raises(ProfileError) as caught:
        load(environment, folder=Path("environments"))
    return str(caught.value)


def switched_on(text):
    """An example with every line that is switched off switched on, except the second and third source of the token."""
    return re.sub(r"(?m)^( *)#(?=\S)(?!token_)", r"\1", text)


def keys():
    """Every key that a profile may have, at any depth but in bodies."""
    schema = editor_schema()
    return {key for each in (schema, *schema["$defs"].values()) for key in each["properties"]}


def refused_profiles():
    """The first lines, the rest and the message of every profile of invalid_profiles.txt."""
    first_lines = {"an address and a token": GOOD, "an address": GOOD.splitlines(keepends=True)[0], "nothing": ""}
    text = Path(__file__).with_name("invalid_profiles.txt").read_text("utf-8")
    for title, section in re.findall(r"(?ms)^=== (.*?)\n(.*?)(?=^===|\Z)", text):
        for rest, message in re.findall(r"((?:(?!=>).+\n)+)=> (.*)\n", section):
            yield pytest.param(first_lines[title], rest.replace("SECRET", SECRET), message, id=rest.replace("\n", " "))


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
        assert profile.limits == profiles.Limits(5, 20, 20, 2000, 900, None, 8, 30.0, 5_000_000, None)
        assert profile.transactions == profiles.Transactions()

    def test_empty_sections(self):
        """A section whose entries are all commented out is as if it were not there."""
        profile = loaded(
            GOOD
            + "allow:\nfail_on:\ninsecure:\naccounts:\npix_keys:\ntransactions:\nrequests:\nlimits:\ntls:\nheaders:\n"
        )

        assert profile == loaded(GOOD)

    def test_every_section(self, here):
        """The staging example, with everything switched on, is read into typed values."""
        certs = here / "environments/certs"
        certs.mkdir()
        for name in ("ca.pem", "client.pem", "client.key"):
            (certs / name).touch()

        profile = loaded(switched_on(EXAMPLE.read_text("utf-8")))

        transfer = {"from": "{account}", "to": "ac-0002-31", "value": 0.01, "date": "2026-12-01"}
        assert profile.allow == set(PERMISSIONS)
        assert profile.accounts == ("ac-0001-77",)
        assert profile.pix_keys == (profiles.PixKey("RANDOM", ""), profiles.PixKey("EMAIL", "qa@example.com", True))
        assert profile.transactions == profiles.Transactions(
            ("TX0001B",),
            profiles.Prepare(
                "transferInternal", transfer | {"description": "conformance suite"}, "/data/transactionId", 3
            ),
        )
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

    def test_the_example_is_made_from_the_model(self):
        """To make it: python -m environments.profiles > environments/staging.example.yaml."""
        assert EXAMPLE.read_text("utf-8") == example()

    def test_the_example_shows_the_defaults(self):
        """What the staging example says of limits and levels is what holds without these lines."""
        shown, default = load(str(EXAMPLE), folder=EXAMPLE.parent), loaded(GOOD)

        assert (shown.limits, shown.fail_on, shown.allow) == (default.limits, default.fail_on, default.allow)

    def test_the_example_names_every_key(self):
        """The staging example has every key that a profile may have."""
        assert [key for key in keys() if not re.search(rf"\b{key}\b", EXAMPLE.read_text("utf-8"))] == []

    @pytest.mark.parametrize("name", ["staging.example", "production.example"])
    def test_examples_only_read(self, name):
        """An example that is copied as it stands can only read."""
        profile = load(name, folder=REPOSITORY / "environments")

        assert (profile.name, profile.allow) == (name, {"read"})
        assert not profile.pix_keys
        assert profile.transactions == profiles.Transactions()
        assert not profile.requests

    def test_sandbox(self):
        """The default environment is a profile of the embedded sandbox, and the files that it names are there."""
        profile = load("sandbox", folder=REPOSITORY / "environments")
        named = re.findall(r"[\w./]+\.(?:yaml|sql|py)\b", profile.path.read_text("utf-8"))

        assert profile.base_url == profiles.EMBEDDED
        assert [name for name in named if not (REPOSITORY / name).exists()] == []

    def test_dates_stay_text(self):
        """A date in a body is sent as it was written."""
        profile = loaded(GOOD + "requests: {transferP2p: {json: {date: 2026-12-01}}}\n")

        assert profile.requests["transferP2p"].json == {"date": "2026-12-01"}

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

        assert unreadable("stagin") == (
            "environments/stagin.yaml: no such file; the environments in environments are: qa, staging.example"
        )

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ("nowhere/x.yaml", "nowhere/x.yaml: no such file; the environments in environments are: none"),
            ("a\nb", "environments/a b.yaml: no such file; the environments in environments are: none"),
            ("folder.yaml", "folder.yaml: cannot be read (Is a directory); expected a YAML file"),
            ("loop.yaml", "loop.yaml: cannot be read (Too many levels of symbolic links); expected a YAML file"),
            ("x" * 300, f"environments/{'x' * 300}.yaml: cannot be read (File name too long); expected a YAML file"),
        ],
        ids=["no environment at all", "two lines", "a directory", "a link to itself", "too long a name"],
    )
    def test_a_file_that_cannot_be_read(self, given, message):
        """It is named in one line, with the reason of the system."""
        Path("folder.yaml").mkdir()
        Path("loop.yaml").symlink_to("loop.yaml")

        assert unreadable(given) == message


NUMBER = "1: a number that YAML would change (as it does 0001, 1_000 and 1:30); write it in quotes"
DEEP = "nested too deeply; write it flatter"
TOP = "expected keys such as base_url and auth at the top"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", f"empty; {TOP}"),
        (b"name: \xff\n", "not UTF-8 at byte 7; save it as UTF-8"),
        ("a: 1\nb: \x07\n", "2: a character that YAML does not allow; remove it"),
        ("a: " + "9" * 5000 + "\n", NUMBER),
        ("a: " + "[" * 500, DEEP),
        ("requests: {createPix: {json: " + "[" * 300 + "]" * 300 + "}}", DEEP),
    ],
    ids=["empty", "not UTF-8", "control", "digits", "open lists", "lists"],
)
def test_text_that_is_no_profile(text, message):
    """What is not YAML, or YAML without an equal in JSON, is refused with its line."""
    assert refusal(text) == message


USER = "an address with a user name or password; secrets are named, never written: leave them out"
ADDRESS = "not an address; expected http(s)://host[:port][/prefix]"
ADDRESSES = yaml.safe_load(Path(__file__).with_name("addresses.yaml").read_text("utf-8"))
REFUSED = [(address, message) for message, addresses in ADDRESSES["refused"].items() for address in addresses]


@pytest.mark.parametrize(("first_lines", "rest", "message"), list(refused_profiles()))
def test_an_invalid_profile(first_lines, rest, message):
    """What is unknown, missing, of another type or out of place is named in one line with what was expected; a secret
    that was written where its name belongs is not shown."""
    assert refusal(first_lines + rest) == message


EVERY_PROBLEM = """
limits: {timeuot: 3, requets: 4, rate: 0}
accounts: [a, a, b, b]
headers: {X-Id: "1"}
correlation_header: x-id
known_failures: [{id: executePix.documnet.masked, reason: a}]
transactions: {prepare: {operation: createPix, json: {to: "{acount}"}, code_at: /a}}
"""
PROBLEMS = [
    'limits.timeuot: unknown key; did you mean "timeout"?',
    'limits.requets: unknown key; did you mean "requests"?',
    "auth: expected exactly one of token_env, token_command and token_file",
    "accounts: one is listed twice; remove one of the two",
    'transactions.prepare.json: unknown placeholder {acount}; did you mean "{account}"?',
    "correlation_header: is in headers too; remove it there",
    "limits.rate: should be greater than or equal to 0.01",
    'known_failures[0].id: no such requirement; did you mean "executePix.document.masked"?',
]


class TestEveryProblem:
    def problems(self, text):
        """The lines about the profile with this text, without the name of its file."""
        with pytest.raises(ProfileError) as caught:
            loaded(text)
        return [re.sub(r"^environments/staging\.yaml:\d+: ", "", line) for line in caught.value.problems]

    def test_every_problem_is_told(self):
        """The message tells the first and counts the others."""
        text = GOOD.splitlines()[0] + EVERY_PROBLEM

        assert self.problems(text) == PROBLEMS
        assert refusal(text) == f"2: {PROBLEMS[0]} (7 more in this file)"

    def test_what_follows_from_a_broken_key_is_no_problem_of_its_own(self):
        """Without an address none is checked, and without permissions none is missed."""
        prepare = "transactions: {prepare: {operation: createPix, json: {}, code_at: /a}}\n"

        assert self.problems("auth: {token_env: x}\nallow: [raed]\n" + prepare) == [
            "base_url: missing; expected an address such as https://staging.example.test, or embedded",
            "auth.token_env: expected the name (never the value) of an environment variable in upper case, such as "
            "PIX_TOKEN",
            'allow[0]: unknown value; did you mean "read"?',
        ]


PUBLISHED = REPOSITORY / "environments/profile.schema.json"
PROFILES = sorted({*REPOSITORY.glob("environments/*.yaml"), *REPOSITORY.glob("tests/selftest/**/profiles/*.yaml")})


class TestTheSchemaForEditors:
    validator = jsonschema_rs.Draft7Validator(json.loads(PUBLISHED.read_text("utf-8")), validate_formats=True)

    def test_it_is_made_from_the_model(self):
        """To make it: python -m environments.profiles --schema > environments/profile.schema.json."""
        assert json.loads(PUBLISHED.read_text("utf-8")) == editor_schema()

    @pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
    def test_it_accepts_every_profile(self, path):
        """Also the example with everything switched on."""
        texts = [text := path.read_text("utf-8"), *([switched_on(text)] if path == EXAMPLE else [])]

        assert all(self.validator.is_valid(yaml.load(text, checked_yaml._Loader)) for text in texts)

    def test_it_refuses_what_a_schema_can(self):
        """Wrong names, types and numbers."""
        texts = ["limits: {timeuot: 3}", "allow: [raed]", "accounts: ac-1", "limits: {rate: 0}", "key_at: id"]

        assert not any(self.validator.is_valid(yaml.safe_load(GOOD + text)) for text in texts)

    @pytest.mark.parametrize("name", ["sandbox", "staging.example", "production.example"])
    def test_profiles_name_it(self, name):
        """An editor finds the schema by the first line."""
        first = (REPOSITORY / f"environments/{name}.yaml").read_text("utf-8").splitlines()[0]

        assert first == f"# yaml-language-server: $schema={PUBLISHED.name}"


class TestAddresses:
    @pytest.mark.parametrize(("address", "message"), REFUSED, ids=str)
    def test_wrong_addresses(self, address, message):
        """A wrong address, of the profile or of --base-url, is described and not repeated: it may hold a password."""
        assert refusal(f'base_url: "{address}"\nauth: {{token_env: PIX_TOKEN}}') == f"1: base_url: {message}"
        assert refusal(GOOD, base_url=address) == f"--base-url: {message}"

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
        assert refusal(f"{GOOD}proxy: {address}") == f"3: proxy: {message}"

    @pytest.mark.parametrize(("given", "kept"), ADDRESSES["taken"].items())
    def test_addresses(self, given, kept):
        """An address has a host and may have a port and a prefix. It ends without a slash, and letter case of scheme and
        host says nothing."""
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
        """What is allowed on the sandbox is not allowed on a service that --base-url names: a run only reads there."""
        profile = loaded("base_url: embedded\nallow: [read, execute]", base_url="https://bank.example")

        assert profile.allow == {"read"}
        assert not profile.is_sandbox

    def test_sandbox_started_alone(self):
        """A sandbox that runs by itself on this machine takes the place of the embedded one."""
        profile = loaded("base_url: embedded", base_url="http://localhost:8080/")

        assert profile.base_url == "http://localhost:8080"

    @pytest.mark.parametrize("address", ["http://localhost:1", "http://127.9.9.9", "https://[::1]/a"])
    def test_loopback(self, address):
        """Loopback is localhost, 127.0.0.0/8 and ::1."""
        assert is_loopback(address)

    @pytest.mark.parametrize(
        "address", ["http://0.0.0.0", "http://10.0.0.1", "https://localhost.example", "https://embedded"]
    )
    def test_not_loopback(self, address):
        """Whatever else may be on another machine."""
        assert not is_loopback(address)


@pytest.mark.parametrize("said", ["ca_bundle: b.pem", "client_cert: b.pem", "client_cert: a.pem, client_key: b.pem"])
def test_files_that_are_not_there(said, here):
    """A file that a profile names is there before the run starts."""
    (here / "environments/a.pem").touch()
    name = said.split(", ")[-1].split(":")[0]

    assert (
        refusal(f"{GOOD}tls: {{{said}}}")
        == f"3: tls.{name}: no such file; a path is relative to the folder of this profile"
    )


def test_a_pasted_token_is_no_file():
    """A token too long for the name of a file is refused as a file that is not there."""
    assert refusal(f"base_url: https://bank.example\nauth: {{token_file: {SECRET * 20}}}") == (
        "2: auth.token_file: no such file; a path is relative to the folder of this profile"
    )


def test_filling_in():
    """The three placeholders are replaced in texts at any depth, and nothing else is."""
    template = {"{key}": ["{account}/{key}", {"t": "{type} {other}"}], "n": 1, "b": None}

    filled = fill(template, account="A", key="K", type="CPF")

    assert filled == {"{key}": ["A/K", {"t": "CPF {other}"}], "n": 1, "b": None}
    assert template["{key}"][0] == "{account}/{key}"
