"""`python -m environments new` writes the commented example with the options filled in, and no secret."""

import jsonschema_rs
import pytest
import yaml

from environments.__main__ import main
from environments.profiles.loading import editor_schema, load
from tests.selftest.services.running import ROOT

JWT = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJxYSJ9.c2lnbmF0dXJlLW9mLXFh"
ADDRESS = "--base-url=https://bank.example"


@pytest.fixture
def path(tmp_path):
    """The path of the new profile."""
    return tmp_path / "our staging.yaml"


@pytest.fixture
def new_command(path, capsys):
    """A function that runs `python -m environments new`. It returns the exit status and the lines printed, with PATH
    for the path of the new profile.
    """

    def run_new(*options, name=path):
        """Run the command for a profile of this name, and return its exit status and the lines that it printed."""
        status = main(["new", str(name), *options])
        printed = capsys.readouterr()
        return status, (printed.out + printed.err).replace(str(path), "PATH").splitlines()

    return run_new


def test_the_command_prints_the_next_steps(new_command):
    """`environments new` writes a profile (the settings of a run), and prints what to do next, to be typed as it is."""
    status, lines = new_command(ADDRESS)

    assert status == 0
    assert lines == [
        "wrote PATH: allow is [read]; the rest is explained and switched off",
        "  export PIX_TOKEN=…",
        "  python -m environments check 'PATH'",
        "  pytest --environment='PATH' --plan",
    ]


def test_options_are_filled_in_the_new_profile(new_command, path):
    """The options give an address and two accounts. The new profile (the settings of a run) permits only reads."""
    new_command(ADDRESS, "--account=ac-0001", "--account=0002")
    profile = load(str(path))

    assert profile.allow == {"read"}
    assert profile.accounts == ("ac-0001", "0002")


def test_only_the_owner_can_read_a_new_profile(new_command, path):
    """Only the owner can read a new profile (the settings of a run), because it has accounts and keys of people."""
    new_command(ADDRESS)
    permissions = path.stat().st_mode & 0o777

    assert permissions == 0o600


def test_a_new_profile_names_its_schema_for_editors(new_command, path):
    """A new profile (the settings of a run) names the JSON schema of profiles in its first line, and is valid by it."""
    new_command(ADDRESS, "--account=ac-0001")
    text = path.read_text("utf-8")
    first_line, *_ = text.splitlines()
    path_of_schema = path.parent / first_line.removeprefix("# yaml-language-server: $schema=")

    assert path_of_schema.resolve() == ROOT / "environments/profile.schema.json"
    assert jsonschema_rs.Draft7Validator(editor_schema()).is_valid(yaml.safe_load(text))


@pytest.mark.parametrize("number_of_transfers", [1, 2, 4, 5, 8])
def test_a_new_profile_permits_four_executions_more_than_it_prepares_transfers(number_of_transfers, new_command, path):
    """The option --count says how many transfers a run prepares. limits.executions has room for one execution of each.

    It has room for four executions more, because on a sandbox (a test system) a run prepares three transfers besides:
    it executes one of them twice, and two at the same moment.
    """
    new_command(ADDRESS, "--prepare-with=createPix", f"--count={number_of_transfers}")

    assert load(str(path)).limits.executions == number_of_transfers + 4


def test_an_option_gives_the_limit_of_executions(new_command, path):
    """The option --limit=executions=3 counts, although a run prepares eight transfers (--count=8)."""
    new_command(ADDRESS, "--prepare-with=createPix", "--count=8", "--limit=executions=3")

    assert load(str(path)).limits.executions == 3


def test_one_option_gives_several_limits(new_command, path):
    """The option --limit=rate=5,executions=3 gives two limits, so the limit of executions is not given a second time."""
    new_command(ADDRESS, "--prepare-with=createPix", "--count=8", "--limit=rate=5,executions=3")

    limits = load(str(path)).limits
    assert (limits.rate, limits.executions) == (5, 3)


def test_a_profile_is_not_overwritten(new_command, path, tmp_path):
    """At the path of the new profile (the settings of a run) is a symbolic link. The command does not follow it, and
    says that the name is taken.
    """
    path.symlink_to(tmp_path / "target")
    status, lines = new_command(ADDRESS)

    assert status == 4
    assert lines == [
        "error: PATH: exists already; choose another name, or use --force, which replaces all of it but tls"
    ]
    assert not (tmp_path / "target").exists()


def test_options_for_a_limit_and_for_prepared_transfers_are_filled_in(new_command, path):
    """Options of `environments new` become lines of the new profile (the settings of a run).

    A run with this profile sends at most five requests a second. It prepares three transfers with transferP2p, so
    `allow` has the permission `transfer`. It executes none until somebody adds `execute`, because an execution moves
    money.
    """
    new_command(ADDRESS, "--limit=rate=5", "--prepare-with=transferP2p", "--count=3")
    profile = load(str(path))
    prepare = profile.transactions.prepare

    assert profile.limits.rate == 5
    assert profile.allow == {"read", "transfer"}
    assert prepare.operation == "transferP2p"
    assert prepare.count == 3
    assert prepare.code_at == "/data/transactionId"  # as in the example of a profile


def test_force_replaces_a_profile_and_keeps_its_certificates(new_command, path, tmp_path, monkeypatch):
    """The old profile (the settings of a run) has an authority, a client certificate, a limit and prepared transfers.
    Only the first two stay.
    """
    monkeypatch.chdir(tmp_path)
    for name in ("ca.pem", "cert.pem"):
        (tmp_path / name).touch()
    new_command(ADDRESS, "--ca-bundle=ca.pem", "--limit=rate=5", "--prepare-with=transferP2p", "--count=3")
    text_with_client_certificate = path.read_text("utf-8").replace("tls: {", 'tls: {"client_cert": "cert.pem", ')
    path.write_text(text_with_client_certificate, "utf-8")
    new_command(ADDRESS, "--force")
    profile = load(str(path))

    assert profile.tls.ca_bundle == tmp_path / "ca.pem"
    assert profile.tls.client_cert == tmp_path / "cert.pem"
    assert profile.allow == {"read"}
    assert profile.limits.rate is None


@pytest.mark.parametrize("name", ["../x", "", "a\nb", "x.txt/y"])
def test_a_wrong_name_of_a_profile_is_refused(name, new_command, tmp_path, monkeypatch):
    """The name of the new profile (the settings of a run) is empty, leads to another folder, has a line end, or is no
    name of a YAML file.

    The command writes no file.
    """
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    status, (line,) = new_command(ADDRESS, name=name)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]

    assert status == 4
    assert line.endswith(": expected a name such as staging, or a path that ends in .yaml")
    assert files == []


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--account=.."], "accounts.0: expected text, in quotes if it is made of digits"),
        (["--limit=rat=5"], 'limits.rat: unknown key; did you mean "rate"?'),
        (["--ca-bundle=absent"], "tls.ca_bundle: no such file; in a profile, a path is relative to its folder"),
        (["--count=2"], "--count needs --prepare-with=OPERATION"),
    ],
    ids=[
        "an account that would change the path of a request",
        "a misspelled limit",
        "a file that does not exist",
        "an option that needs another one",
    ],
)
def test_wrong_options_are_refused(options, problem, new_command, path):
    """`environments new` with a wrong option writes no profile, and prints one line that says what is wrong.

    A profile (the settings of a run) with the same wrong value would get the same message.
    """
    status, [line] = new_command(ADDRESS, *options)

    assert status == 4
    assert line.endswith(problem)
    assert not path.exists()


def test_a_wrong_command_line_prints_one_line(new_command, capsys):
    """Somebody gives the command a token (a JWT), which it does not know. The line does not repeat it."""
    with pytest.raises(SystemExit) as exit_info:
        new_command(ADDRESS, JWT)
    errors = capsys.readouterr().err

    assert exit_info.value.code == 4
    assert errors == "error: unrecognized arguments; see python -m environments --help\n"
