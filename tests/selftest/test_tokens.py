"""A token from a command is fetched again once when it is refused in the middle of a run; from a file it is not."""

import pytest

from tests.selftest.services.issuing import ExpiresTheToken
from tests.selftest.services.running import run, write_profile

LATER = "Lat3r.Tok-en_of-the-service"


@pytest.fixture
def command(tmp_path):
    """A command that prints the first token, and another one each time after; it counts how often it ran."""
    script = tmp_path / "token.sh"
    script.write_text(
        'echo run >> "$0.log"\n'
        f'[ $(wc -l < "$0.log") = 1 ] && echo Tok-3n.Of-The_Service || echo {LATER}\n'
        'echo "warning: $0 is chatty" >&2\n'
    )
    return script


def test_a_refused_token_is_fetched_again_once(command, tmp_path):
    """The run goes on with the new one and is conformant; that it was fetched is said, and neither token is shown."""
    with ExpiresTheToken(30) as service:
        profile = write_profile(tmp_path, service.base_url, auth={"token_command": ["sh", str(command)]})
        result = run(profile)
    left = result.output + "".join(path.read_text() for path in result.folder.iterdir())

    assert (result.status, result.rows("fail")) == (0, {}), result.output
    assert command.with_name("token.sh.log").read_text() == "run\nrun\n"
    assert [note for note in result.notes if "refused in the middle of the run" in note and "fetched again" in note]
    assert not [secret for secret in (LATER, "Tok-3n.Of-The_Service", "chatty") if secret in left]


def test_a_command_that_fails_later_is_said(command, tmp_path):
    """The run goes on without, and no row fails for it."""
    command.write_text(command.read_text().replace(f"echo {LATER}", "exit 3"))
    with ExpiresTheToken(30) as service:
        profile = write_profile(tmp_path, service.base_url, auth={"token_command": ["sh", str(command)]})
        result = run(profile)

    assert not result.rows("fail")
    assert [note for note in result.notes if "auth.token_command: failed" in note]


def test_a_token_from_a_file_is_read_once(tmp_path):
    """The file holds the token alone."""
    token = tmp_path / "token"
    token.write_text("Tok-3n.Of-The_Service\n")
    with ExpiresTheToken(1000) as service:
        profile = write_profile(tmp_path, service.base_url, auth={"token_file": str(token)})
        result = run(profile, "-k", "executePix.document.type")

    assert result.status == 0, result.output
