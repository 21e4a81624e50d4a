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
    """Where the profile goes."""
    return tmp_path / "our staging.yaml"


@pytest.fixture
def new(path, capsys):
    """The command: its exit status and lines."""

    def call(*options, name=path):
        status = main(["new", str(name), *options])
        printed = capsys.readouterr()
        return status, (printed.out + printed.err).replace(str(path), "PATH").splitlines()

    return call


def test_options_are_filled_in(new, path):
    """The next steps can be typed as they stand. Its owner alone reads the file, and editors find its schema."""
    assert new(*EVERYTHING) == (
        0,
        [
            "wrote PATH: allow is [read]; the rest is explained and switched off",
            "  export PIX_TOKEN=…",
            "  python -m environments check 'PATH'",
            "  pytest --environment='PATH' --plan",
        ],
    )
    profile, text = load(str(path)), path.read_text("utf-8")
    named = text.splitlines()[0].removeprefix("# yaml-language-server: $schema=")
    assert (profile.allow, profile.accounts) == ({"read"}, ("ac-0001", "0002"))
    assert path.stat().st_mode & 0o777 == 0o600
    assert (path.parent / named).resolve() == ROOT / "environments/profile.schema.json"
    assert jsonschema_rs.Draft7Validator(editor_schema()).is_valid(yaml.safe_load(text))


@pytest.mark.parametrize("count", [1, 2, 4, 5, 8])
def test_prepared_transfers_have_room_in_the_limit(count, new, path):
    """The limit of executions is the number of prepared transfers and four, unless an option gives it."""
    new(ADDRESS, "--prepare-with=createPix", f"--count={count}")
    executions = load(str(path)).limits.executions
    new(ADDRESS, "--prepare-with=createPix", f"--count={count}", "--limit=executions=3", "--force")

    assert (executions, load(str(path)).limits.executions) == (count + 4, 3)


def test_a_profile_is_not_overwritten(new, path, tmp_path):
    """A symbolic link is not followed either."""
    path.symlink_to(tmp_path / "target")

    refused = "error: PATH: exists already; choose another name, or use --force, which replaces all of it but tls"
    assert new(*EVERYTHING) == (4, [refused])
    assert not (tmp_path / "target").exists()


def test_a_profile_with_a_certificate_limits_and_preparation(new, path, tmp_path, monkeypatch):
    """Each line stands where the example explains it. --force keeps the certificates of the replaced profile."""
    monkeypatch.chdir(tmp_path)
    for name in ("ca.pem", "cert.pem"):
        (tmp_path / name).touch()
    new(ADDRESS, "--ca-bundle=ca.pem", "--limit=rate=5", "--prepare-with=transferP2p", "--count=3")
    made = load(str(path))
    path.write_text(path.read_text("utf-8").replace("tls: {", 'tls: {"client_cert": "cert.pem", '), "utf-8")
    new(ADDRESS, "--force")
    kept, prepare = load(str(path)), made.transactions.prepare

    assert (made.allow, made.limits.rate, made.limits.executions) == ({"read", "transfer"}, 5, 7)
    assert (prepare.operation, prepare.count, prepare.code_at) == ("transferP2p", 3, "/data/transactionId")
    assert (kept.tls.ca_bundle, kept.tls.client_cert) == (tmp_path / "ca.pem", tmp_path / "cert.pem")
    assert (kept.allow, kept.limits.rate) == ({"read"}, None)


@pytest.mark.parametrize("name", ["../x", "", "a\nb", "x.txt/y"])
def test_a_wrong_name_of_a_profile_is_refused(name, new, tmp_path, monkeypatch):
    """The command prints one line, and writes nothing."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    status, (line,) = new(ADDRESS, name=name)

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
def test_wrong_options_are_refused(options, problem, new, path):
    """The command prints one line that repeats no value, and writes nothing."""
    status, lines = new(ADDRESS, *options)

    assert (status, len(lines), path.exists()) == (4, 1, False)
    assert lines[0].endswith(problem)


def test_a_wrong_command_line_is_one_line(new, capsys):
    """An unknown argument is not repeated, because a pasted token may stand there."""
    with pytest.raises(SystemExit) as ended:
        new(ADDRESS, JWT)

    said = "error: unrecognized arguments; see python -m environments --help\n"
    assert (ended.value.code, capsys.readouterr().err) == (4, said)
