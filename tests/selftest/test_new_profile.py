"""`python -m environments new` writes the commented example with the options filled in, and no secret."""

import subprocess
import sys
from itertools import pairwise

import jsonschema_rs
import pytest
import yaml

from environments.__main__ import main
from environments.commands.new_profile import OPTIONS, next_steps
from environments.profiles.explained import editor_schema, example
from environments.profiles.kinds import PERMISSIONS
from environments.profiles.loading import load
from environments.profiles.profile import PixKey
from environments.sandbox import Server, Service
from tests.selftest.services.running import ROOT, TOKEN, environment, run

JWT = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJxYSJ9.c2lnbmF0dXJlLW9mLXFh"
ADDRESS = "--base-url=https://bank.example"
EVERYTHING = [
    ADDRESS, "--account=ac-0001", "--account=0002", "--pix-key=EMAIL=qa@pix-conformance.example", "--pix-key=RANDOM",
    "--code=TX0001B", *(f"--allow={name}" for name in PERMISSIONS),
]  # fmt: skip


@pytest.fixture
def path(tmp_path):
    """Where the profile goes."""
    return tmp_path / "staging.yaml"


@pytest.fixture
def new(path, capsys, monkeypatch):
    """The command: its exit status and lines."""
    monkeypatch.setenv("PIX_TOKEN", TOKEN["PIX_TOKEN"])

    def call(*options):
        status = main(["new", str(path), *options])
        printed = capsys.readouterr()
        return status, (printed.out + printed.err).replace(str(path), "PATH").splitlines()

    return call


class TestTheFile:
    def test_options_are_filled_in(self, new, path):
        """The next steps are told."""
        assert new(*EVERYTHING) == (
            0,
            [
                "wrote PATH: what it does not allow is explained in it and switched off",
                "  export PIX_TOKEN=…",
                "  python -m environments check PATH",
                "  pytest --environment=PATH --plan",
            ],
        )
        profile = load(str(path), folder=path.parent)
        assert profile.allow == set(PERMISSIONS)
        assert profile.accounts == ("ac-0001", "0002")
        assert profile.pix_keys == (PixKey("EMAIL", "qa@pix-conformance.example"), PixKey("RANDOM", ""))
        assert profile.transactions.codes == ("TX0001B",)

    def test_the_rest_is_the_example(self, new, path):
        """With the address alone, only its line differs, and that of the schema beside it."""
        new(ADDRESS)
        written = path.read_text("utf-8").splitlines()
        differing = [line for line, other in zip(written, example().splitlines(), strict=True) if line != other]

        assert differing[1:] == ["base_url: https://bank.example"]
        assert load(str(path), folder=path.parent).allow == {"read"}

    def test_what_stands_beside_an_option_is_switched_off(self, new, path):
        """The other sources of the token, and how codes are prepared."""
        new(ADDRESS, "--token-command=vault read 'a b'", "--code=TX0001B")
        lines = path.read_text("utf-8").splitlines()

        assert load(str(path), folder=path.parent).auth.token_command == ("vault", "read", "a b")
        assert {"  #token_env: PIX_TOKEN", "  #prepare:", "    #count: 3"} <= set(lines)

    def test_every_key_is_explained(self, new, path):
        """A comment stands above each key that has a meaning of its own."""
        new(*EVERYTHING)
        lines = path.read_text("utf-8").splitlines()
        bare = [line for above, line in pairwise(lines) if line[:1].isalpha() and above[:1] != "#"]

        assert bare == []

    def test_editors_and_owners_alone_read_it(self, new, path):
        """It names the schema for editors, which accepts it."""
        new(*EVERYTHING)
        text = path.read_text("utf-8")
        named = text.splitlines()[0].removeprefix("# yaml-language-server: $schema=")

        assert path.stat().st_mode & 0o777 == 0o600
        assert (path.parent / named).resolve() == ROOT / "environments/profile.schema.json"
        assert jsonschema_rs.Draft7Validator(editor_schema()).is_valid(yaml.safe_load(text))

    def test_a_profile_is_not_overwritten(self, new, path):
        """Unless that is asked for."""
        path.write_text("mine")
        path.chmod(0o644)

        assert new(*EVERYTHING) == (4, ["error: PATH: exists already; --force replaces it"])
        assert path.read_text() == "mine"
        assert new(*EVERYTHING, "--force")[0] == 0
        assert path.stat().st_mode & 0o777 == 0o600

    def test_a_symbolic_link_is_replaced_and_not_followed(self, new, path, tmp_path):
        """With --force; what it led to keeps its content and its mode."""
        target = tmp_path / "target"
        target.write_text("mine")
        target.chmod(0o644)
        path.symlink_to(target)

        assert new(ADDRESS)[0] == 4
        assert new(ADDRESS, "--force")[0] == 0
        assert (target.read_text(), target.stat().st_mode & 0o777) == ("mine", 0o644)
        assert not path.is_symlink()


class TestRefusals:
    @pytest.mark.parametrize("name", ["../x", "x/", "..", ".", "", "a\nb", "folder/.yaml", "x.txt/y"])
    def test_what_is_no_name_of_a_profile(self, name, tmp_path, capsys, monkeypatch):
        """One line; nothing is written anywhere."""
        (tmp_path / "here").mkdir()
        monkeypatch.chdir(tmp_path / "here")
        before = sorted((ROOT / "environments").iterdir())
        status = main(["new", name, ADDRESS])
        told = capsys.readouterr().err.splitlines()

        assert (status, len(told)) == (4, 1)
        assert told[0].endswith(": expected a name such as staging, or a path that ends in .yaml")
        assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
        assert sorted((ROOT / "environments").iterdir()) == before

    @pytest.mark.parametrize(
        ("options", "lines"),
        [
            (
                ["--base-url=http://bank.example", "--pix-key=CFP=1"],
                [
                    "error: PATH: base_url: http:// sends the token in clear text; use https://, or set insecure: true in "
                    "the profile",
                    'error: PATH: pix_keys[0].type: unknown value; did you mean "CPF"?',
                ],
            ),
            (
                [ADDRESS, "--token-command=vault 'read"],
                ["error: --token-command: expected a command with its arguments, its quotes in pairs"],
            ),
        ],
        ids=["several", "quotes"],
    )
    def test_every_problem_is_told(self, options, lines, new, path):
        """One line each, and nothing is written."""
        assert new(*options) == (4, lines)
        assert not path.exists()

    @pytest.mark.parametrize(
        ("options", "line"),
        [
            ([], "error: the following arguments are required: --base-url"),
            ([ADDRESS, JWT], "error: unrecognized arguments"),
        ],
        ids=["no address", "no option"],
    )
    def test_a_wrong_command_line(self, options, line, new, capsys):
        """One line; what is no option is not repeated, because a pasted token may stand there."""
        with pytest.raises(SystemExit) as ended:
            new(*options)

        told = f"{line}; see python -m environments{' new' if not options else ''} --help\n"
        assert (ended.value.code, capsys.readouterr().err) == (4, told)

    def test_a_folder_that_is_not_there(self, new, path):
        """One line."""
        path.parent.rmdir()

        assert new(ADDRESS) == (4, ["error: PATH: cannot be written (No such file or directory)"])

    @pytest.mark.parametrize(
        "option",
        [
            f"--account={JWT}", "--account=Bearer q7Zr2KxV9mB4", f"--account={TOKEN['PIX_TOKEN']}",
            f"--pix-key=RANDOM={JWT}", f"--code={JWT}", f"--token-command=curl -H {JWT}",
        ],
        ids=["signed", "behind its scheme", "the token", "key", "code", "command"],
    )  # fmt: skip
    def test_what_looks_like_a_token_is_refused(self, option, new, path):
        """In one line that does not repeat it."""
        refused = "error: PATH: an option looks like an access token; leave it out: a profile holds none"

        assert new(ADDRESS, option) == (4, [refused])
        assert not path.exists()

    @pytest.mark.parametrize("option", [f"--token-env={JWT}", "--token-env=s3cr3t"])
    def test_a_token_in_place_of_its_name_is_refused(self, option, new, path):
        """It is not repeated either."""
        status, lines = new(ADDRESS, option)

        assert (status, len(lines)) == (4, 1)
        assert option.partition("=")[2] not in lines[0]
        assert not path.exists()


def test_a_path_with_a_space(tmp_path):
    """The next steps can be typed as they stand."""
    path = tmp_path / "our staging.yaml"
    options = dict.fromkeys(name.removeprefix("--").replace("-", "_") for name in OPTIONS)

    assert next_steps(path, options)[-1] == f"  pytest --environment='{path}' --plan"


def test_a_new_profile_is_checked_and_run(path):
    """From nothing to a run that reads."""
    with Server(Service(token=TOKEN["PIX_TOKEN"])) as server:
        commands = (["new", str(path), f"--base-url={server.base_url}", "--account=ac-0001"], ["check", str(path)])
        ended = [
            subprocess.run(
                [sys.executable, "-m", "environments", *each], cwd=ROOT, env=environment(**TOKEN), check=False
            )
            for each in commands
        ]
        result = run(path, "--no-report")

    assert [one.returncode for one in ended] + [result.status] == [0, 0, 0], result.output
