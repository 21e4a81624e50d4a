"""`python -m environments new` asks for what a profile needs, and writes no secret."""

import io
import os
import pty
import subprocess
import sys
from itertools import pairwise

import jsonschema_rs
import pytest
import yaml

from environments.__main__ import main
from environments.commands.new_profile import NewProfile
from environments.commands.questions import QUESTIONS
from environments.profiles.checked_yaml import SCHEMA
from environments.profiles.explained import editor_schema
from environments.profiles.loading import load
from environments.profiles.profile import PixKey, Prepare
from environments.sandbox import Server, Service
from tests.selftest.services.racing import HANGS_S
from tests.selftest.services.running import ROOT, TOKEN, environment, run

JWT = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJxYSJ9.c2lnbmF0dXJlLW9mLXFh"
RANDOM_TEXT = "q7Zr2KxV9mB4tLw8NcY1sHd6JfPg3RkTq5XvMb0Z"
BODY = '{"account": "{account}", "pixKey": "+5511955500101", "value": 10.5}'
P2P = '{"from": "{account}", "to": "24681357928", "value": 0.01, "date": 1767225600000, "description": "QA"}'
EVERYTHING = [
    "--base-url=https://bank.example", "--account=ac-0001", "--account=0002", "--pix-key=EMAIL=qa@pix-conformance.example",
    "--pix-key=RANDOM", '--delete-body={"pixKey": "{key}"}', f"--create-pix-body={BODY}", f"--transfer-p2p-body={P2P}",
    "--code-at=/data/transactionId", "--execute", "--fuzz",
]  # fmt: skip


@pytest.fixture
def path(tmp_path):
    """Where the profile goes."""
    return tmp_path / "staging.yaml"


@pytest.fixture
def new(path, capsys, monkeypatch):
    """The command without a terminal: its exit status and lines."""
    monkeypatch.setattr("sys.stdin", io.StringIO())
    monkeypatch.setenv("PIX_TOKEN", TOKEN["PIX_TOKEN"])

    def call(*options):
        status = main(["new", str(path), *options])
        printed = capsys.readouterr()
        return status, (printed.out + printed.err).replace(str(path), "PATH").splitlines()

    return call


def asked(path, *answers, options=()):
    """The command on a terminal where somebody answers: its exit status and output."""
    terminal, stdin = pty.openpty()
    os.write(terminal, "".join(f"{answer}\n" for answer in answers).encode())
    process = subprocess.run(
        [sys.executable, "-m", "environments", "new", str(path), *options],
        cwd=ROOT, env=environment(**TOKEN), stdin=stdin, capture_output=True, text=True, check=False, timeout=HANGS_S,
    )  # fmt: skip
    os.close(terminal)
    os.close(stdin)
    return process.returncode, process.stdout + process.stderr


class TestWithoutATerminal:
    def test_everything_is_said_by_options(self, new, path):
        """Nothing is asked; the next steps are told."""
        assert new(*EVERYTHING) == (
            0,
            [
                "wrote PATH, which allows read, register-keys, delete-keys, create-pix, transfer, execute, fuzz",
                "  export PIX_TOKEN=…",
                "  python -m environments check PATH",
                "  pytest --environment=PATH --plan",
            ],
        )
        profile = load(str(path), folder=path.parent)
        body = {"account": "{account}", "pixKey": "+5511955500101", "value": 10.5}
        assert profile.allow == set(SCHEMA["properties"]["allow"]["items"]["enum"])
        assert profile.accounts == ("ac-0001", "0002")
        assert profile.pix_keys == (PixKey("EMAIL", "qa@pix-conformance.example"), PixKey("RANDOM", ""))
        assert profile.requests["deletePixKey"].json == {"pixKey": "{key}"}
        assert profile.transactions.prepare == Prepare("createPix", body, "/data/transactionId")

    def test_a_path_with_a_space(self, tmp_path):
        """The next steps can be typed as they stand."""
        path = tmp_path / "our staging.yaml"
        profile = NewProfile(path)

        assert profile.summary[-1] == f"  pytest --environment='{path}' --plan"

    def test_the_address_is_enough(self, new, path):
        """A run only reads then; what could be allowed is explained and switched off."""
        assert new("--base-url=https://bank.example")[0] == 0
        text = path.read_text("utf-8")

        assert load(str(path), folder=path.parent).allow == {"read"}
        assert "  # GET /v1/execute/pix/{transactionId}: confirms a prepared transfer. THIS MOVES MONEY" in text
        assert "  #- execute\n" in text

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

    @pytest.mark.parametrize("name", ["../x", "x/", "..", ".", "", "a\nb", "folder/.yaml", "x.txt/y"])
    def test_what_is_no_name_of_a_profile(self, name, tmp_path, capsys, monkeypatch):
        """One line; nothing is written anywhere."""
        (tmp_path / "here").mkdir()
        monkeypatch.chdir(tmp_path / "here")
        before = sorted((ROOT / "environments").iterdir())
        status = main(["new", name, "--base-url=https://bank.example"])
        told = capsys.readouterr().err.splitlines()

        assert (status, len(told)) == (4, 1)
        assert told[0].endswith(": expected a name such as staging, or a path that ends in .yaml")
        assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
        assert sorted((ROOT / "environments").iterdir()) == before

    @pytest.mark.parametrize(
        ("options", "lines"),
        [
            ([], ["error: --base-url: missing, and standard input is not a terminal to ask on"]),
            (
                ["--base-url=http://bank.example"],
                [
                    "error: --base-url: base_url: http:// sends the token in clear text; use https://, or set insecure: "
                    "true in the profile"
                ],
            ),
            (
                ["--base-url=https://bank.example", "--create-pix-body=no", "--pix-key=CFP=1", "--code-at=/a"],
                [
                    'error: --pix-key: pix_keys[0].type: unknown value; did you mean "CPF"?',
                    'error: --create-pix-body: expected a body as JSON, such as {"account": "{account}", "value": 0.01}',
                    "error: --code-at: needs the body of an operation that prepares transfers, such as --create-pix-body",
                ],
            ),
        ],
        ids=["no address", "clear text", "several"],
    )
    def test_every_problem_is_told(self, options, lines, new, path):
        """One line each, and nothing is written."""
        assert new(*options) == (4, lines)
        assert not path.exists()

    def test_a_folder_that_is_not_there(self, new, path):
        """One line."""
        path.parent.rmdir()

        assert new("--base-url=https://bank.example") == (
            4,
            ["error: PATH: cannot be written (No such file or directory)"],
        )


class TestSecrets:
    @pytest.mark.parametrize(
        "option",
        [
            f"--account={JWT}",
            f"--account=Bearer {RANDOM_TEXT[:12]}",
            f"--account={RANDOM_TEXT}",
            f"--account={TOKEN['PIX_TOKEN']}",
            f"--pix-key=RANDOM={JWT}",
            f'--create-pix-body={{"to": "{JWT}"}}',
            f"--code={JWT}",
            f"--token-command=curl -H {JWT}",
        ],
        ids=["signed", "behind its scheme", "random", "the token", "key", "body", "code", "command"],
    )
    def test_what_looks_like_a_token_is_refused(self, option, new, path):
        """In one line that does not repeat it."""
        name = option.partition("=")[0]
        refused = f"error: {name}: looks like an access token, and a profile never holds a secret: leave it out"

        assert new("--base-url=https://bank.example", option) == (4, [refused])
        assert not path.exists()

    @pytest.mark.parametrize("option", [f"--token-env={JWT}", f"--token-env={RANDOM_TEXT}", "--token-env=s3cr3t"])
    def test_a_token_in_place_of_its_name_is_refused(self, option, new, path):
        """It is not repeated either."""
        status, lines = new("--base-url=https://bank.example", option)

        assert (status, len(lines)) == (4, 1)
        assert option.partition("=")[2] not in lines[0]
        assert not path.exists()

    def test_what_is_no_option_is_not_repeated(self, new, capsys):
        """A pasted token may stand there."""
        with pytest.raises(SystemExit) as ended:
            new("--base-url=https://bank.example", JWT)

        told = "error: unrecognized arguments; see python -m environments --help\n"
        assert (ended.value.code, capsys.readouterr().err) == (4, told)

    @pytest.mark.parametrize(
        "option",
        [
            "--account=8f14e45f-ceea-467f-a0e6-d1a2b3c4d5e6",
            "--code=E1234567820261122063012345678901q7Zr2KxV9mB4tLw8NcY1sHd6JfPg",
            "--pix-key=EMAIL=quality.assurance.of.the.payments.team@pix-conformance.example",
            "--base-url=https://pix-api-gateway-staging.internal-cluster.payments.bank.example/instant-payments",
        ],
        ids=["UUID", "code", "e-mail", "address"],
    )
    def test_what_a_profile_holds_is_taken(self, option, new):
        """Identifiers are no secrets."""
        assert new("--base-url=https://bank.example", option)[0] == 0


class TestOnATerminal:
    def test_questions_come_in_the_order_of_permissions(self):
        """As the profile lists them."""
        order = dict.fromkeys(question.permission for question in QUESTIONS if question.permission)

        assert list(order) == SCHEMA["properties"]["allow"]["items"]["enum"]

    def test_answers_make_a_profile(self, path):
        """A wrong one is asked for again; Enter takes what is in brackets."""
        wrong, enter = "https://bank.example/v1", ""
        answers = [
            wrong, "https://bank.example", JWT, enter, "ac-0001, 0002", "RANDOM", '{"pixKey": "{key}"}', BODY, P2P,
            enter, "y", "yes",
        ]  # fmt: skip
        status, output = asked(path, *answers)
        profile = load(str(path), folder=path.parent)

        assert status == 0, output
        assert "--base-url: base_url: ends in /v1, and every path of the interface starts with /v1 already" in output
        assert JWT not in output + path.read_text()
        assert profile.allow == set(SCHEMA["properties"]["allow"]["items"]["enum"])
        assert (profile.auth.token_env, profile.accounts) == ("PIX_TOKEN", ("ac-0001", "0002"))

    def test_nothing_more_is_asked_than_what_options_leave_open(self, path):
        """Without keys no deletion is asked for, and codes only where none can be prepared."""
        options = ["--base-url=https://bank.example", "--token-command=vault read pix", "--account=ac-0001"]
        status, output = asked(path, "", "", "", "y", "TX1, TX2", "n", options=options)
        profile = load(str(path), folder=path.parent)

        assert status == 0, output
        assert profile.allow == {"read", "execute"}
        assert (profile.auth.token_command, profile.transactions.codes) == (("vault", "read", "pix"), ("TX1", "TX2"))

    def test_one_body_is_for_the_three_transfers(self, new, path):
        """Each gets the members that are documented for it, unless an option names a body of its own."""
        own = '{"from": "{account}"}'
        status, _ = new("--base-url=https://bank.example", f"--transfer-body={P2P}", f"--transfer-internal-body={own}")
        profile = load(str(path), folder=path.parent)
        bodies = {operation: sorted(request.json) for operation, request in profile.requests.items()}

        assert (status, profile.allow) == (0, {"read", "transfer"})
        assert bodies == {
            "transferExternal": ["date", "from", "to", "value"],
            "transferInternal": ["from"],
            "transferP2p": ["date", "description", "from", "to", "value"],
        }

    def test_the_end_of_input_writes_nothing(self, path):
        """Ctrl-D."""
        status, output = asked(path, "https://bank.example", "\x04")

        assert (status, output.splitlines()[-1]) == (4, "error: nothing was written")
        assert not path.exists()


def test_a_fully_permitted_run_is_green(path):
    """From nothing to a profile in ten answers, a check that prepares a transfer, and a run that executes one."""
    answers = [
        "", "ac-0001", "EMAIL=qa@pix-conformance.example, RANDOM", '{"pixKey": "{key}"}', BODY, P2P, "", "y", "y",
    ]  # fmt: skip
    with Server(Service(token=TOKEN["PIX_TOKEN"])) as server:
        written, output = asked(path, server.base_url, *answers)
        check = [sys.executable, "-m", "environments", "check", str(path), "--prepare"]
        checked = subprocess.run(check, cwd=ROOT, env=environment(**TOKEN), stdin=subprocess.DEVNULL, check=False)
        result = run(path, "--no-report")

    assert (written, checked.returncode, result.status) == (0, 0, 0), output + result.output
    assert output.count("]: ") + output.count("v1: ") == 10
    assert load(str(path), folder=path.parent).allow == set(SCHEMA["properties"]["allow"]["items"]["enum"])
    assert "CONFORMANT, everything permitted" in result.output
