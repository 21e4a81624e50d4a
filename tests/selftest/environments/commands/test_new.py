"""`python -m environments new` writes the commented example with the options filled in, and no secret."""

import jsonschema_rs
import pytest
import yaml

from environments.__main__ import main
from environments.profiles.loading import editor_schema, load
from tests.selftest.services.running import ROOT

JWT = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJxYSJ9.c2lnbmF0dXJlLW9mLXFh"
ADDRESS = "--base-url=https://bank.example"
EVERYTHING = [ADDRESS, "--account=ac-0001", "--account=0002"]


@pytest.fixture
def path(tmp_path):
    """The path of the new profile."""
    return tmp_path / "our staging.yaml"


@pytest.fixture
def new_command(path, capsys):
    """Runs the command: its exit status and lines."""

    def run_new(*options, name=path):
        status = main(["new", str(name), *options])
        printed = capsys.readouterr()
        return status, (printed.out + printed.err).replace(str(path), "PATH").splitlines()

    return run_new


def test_options_are_filled_in(new_command, path):
    """The printed steps can be typed as they are. Only the owner can read the file, and editors find its schema."""
    assert new_command(*EVERYTHING) == (
        0,
        [
            "wrote PATH: allow is [read]; the rest is explained and switched off",
            "  export PIX_TOKEN=…",
            "  python -m environments check 'PATH'",
            "  pytest --environment='PATH' --plan",
        ],
    )
    profile = load(str(path))
    text = path.read_text("utf-8")
    schema_path = text.splitlines()[0].removeprefix("# yaml-language-server: $schema=")
    assert (profile.allow, profile.accounts) == ({"read"}, ("ac-0001", "0002"))
    assert path.stat().st_mode & 0o777 == 0o600
    assert (path.parent / schema_path).resolve() == ROOT / "environments/profile.schema.json"
    assert jsonschema_rs.Draft7Validator(editor_schema()).is_valid(yaml.safe_load(text))


@pytest.mark.parametrize("count", [1, 2, 4, 5, 8])
def test_prepared_transfers_have_room_in_the_limit(count, new_command, path):
    """limits.executions is four more than the prepared transfers, unless an option gives it."""
    new_command(ADDRESS, "--prepare-with=createPix", f"--count={count}")
    executions = load(str(path)).limits.executions
    new_command(ADDRESS, "--prepare-with=createPix", f"--count={count}", "--limit=executions=3", "--force")

    assert (executions, load(str(path)).limits.executions) == (count + 4, 3)


def test_a_profile_is_not_overwritten(new_command, path, tmp_path):
    """A symbolic link at the path is not followed."""
    path.symlink_to(tmp_path / "target")

    line = "error: PATH: exists already; choose another name, or use --force, which replaces all of it but tls"
    assert new_command(*EVERYTHING) == (4, [line])
    assert not (tmp_path / "target").exists()


def test_a_profile_with_a_certificate_limits_and_preparation(new_command, path, tmp_path, monkeypatch):
    """Each option stands at the line that explains it. --force keeps the certificates of the replaced profile."""
    monkeypatch.chdir(tmp_path)
    for name in ("ca.pem", "cert.pem"):
        (tmp_path / name).touch()
    new_command(ADDRESS, "--ca-bundle=ca.pem", "--limit=rate=5", "--prepare-with=transferP2p", "--count=3")
    profile = load(str(path))
    path.write_text(path.read_text("utf-8").replace("tls: {", 'tls: {"client_cert": "cert.pem", '), "utf-8")
    new_command(ADDRESS, "--force")
    replaced_profile = load(str(path))
    prepare = profile.transactions.prepare

    assert (profile.allow, profile.limits.rate, profile.limits.executions) == ({"read", "transfer"}, 5, 7)
    assert (prepare.operation, prepare.count, prepare.code_at) == ("transferP2p", 3, "/data/transactionId")
    assert (replaced_profile.tls.ca_bundle, replaced_profile.tls.client_cert) == (
        tmp_path / "ca.pem",
        tmp_path / "cert.pem",
    )
    assert (replaced_profile.allow, replaced_profile.limits.rate) == ({"read"}, None)


@pytest.mark.parametrize("name", ["../x", "", "a\nb", "x.txt/y"])
def test_a_wrong_name_of_a_profile_is_refused(name, new_command, tmp_path, monkeypatch):
    """The command prints one line and writes nothing."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    status, (line,) = new_command(ADDRESS, name=name)

    assert status == 4
    assert line.endswith(": expected a name such as staging, or a path that ends in .yaml")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--account=.."], "accounts.0: expected text, in quotes if it is made of digits"),
        (["--limit=rat=5"], 'limits.rat: unknown key; did you mean "rate"?'),
        (["--ca-bundle=absent"], "tls.ca_bundle: no such file; in a profile, a path is relative to its folder"),
        (["--count=2"], "--count needs --prepare-with=OPERATION"),
    ],
)
def test_wrong_options_are_refused(options, problem, new_command, path):
    """The command prints one line, which repeats no value, and writes nothing."""
    status, lines = new_command(ADDRESS, *options)

    assert status == 4
    assert len(lines) == 1
    assert not path.exists()
    assert lines[0].endswith(problem)


def test_a_wrong_command_line_prints_one_line(new_command, capsys):
    """An unknown argument is not repeated, because it may be a token."""
    with pytest.raises(SystemExit) as exit_info:
        new_command(ADDRESS, JWT)

    line = "error: unrecognized arguments; see python -m environments --help\n"
    assert exit_info.value.code == 4
    assert capsys.readouterr().err == line
