"""What is wrong with the set-up is said first, in one line with what to do, and no row fails for it."""

import pytest

from environments.sandbox import Response
from tests.selftest.proof.trial import try_target
from tests.selftest.services.issuing import AnswersAll, ExpiresTheToken, ForgetsTheTokenOnce
from tests.selftest.services.running import write_profile
from tests.selftest.services.serving import Raw, as_bytes, is_real

PART = ("-k", "executePix.document.type or registerPixKey.token or listAccounts.json")
CERTIFICATE = "the gateway refuses the client certificate: check tls.client_cert and tls.client_key"
NO_CERTIFICATE = b"<html><center>No required SSL certificate was sent</center></html>"


def notes_of(service, folder, options=PART, **changes):
    """The first lines of a run against the service, and the requirements that fail."""
    with service:
        profile = write_profile(folder, service.base_url, **changes)
        trial = try_target(service.base_url, service.service.token, *options, environment=str(profile))
    return list(trial.notes), trial.failing


@pytest.mark.parametrize(
    ("service", "note"),
    [
        (lambda: AnswersAll(401), "no operation granted anything (401 to "),
        (lambda: AnswersAll(495), CERTIFICATE),
        (lambda: AnswersAll(496), CERTIFICATE),
        (lambda: AnswersAll(400, NO_CERTIFICATE), CERTIFICATE),
    ],
    ids=["401", "495", "496", "400"],
)
def test_a_fault_of_the_set_up_is_said_first(service, note, tmp_path):
    """One line with what to do; the run goes on, and blames no row."""
    notes, failing = notes_of(service(), tmp_path)

    assert notes[0].startswith(note)
    assert not failing


WITHOUT_A_READ = {"allow": ["register-keys", "delete-keys", "execute"]}
WHOLE = ()


@pytest.mark.parametrize(
    ("service", "note"),
    [
        (lambda: AnswersAll(496), "the gateway refuses the client certificate: check tls.client_cert and"),
    ],
    ids=["496"],
)
def test_a_fault_of_the_set_up_is_said_where_no_read_is_allowed(service, note, tmp_path):
    """What the requests of the run show is said, too, and no code is called expired for it. Keys that no list shows
    stay in the key record."""
    notes, failing = notes_of(service(), tmp_path, WHOLE, **WITHOUT_A_READ)
    first, *others = notes

    assert first.startswith(note)
    assert all("not cleaned up" in line for line in others)
    assert not failing


class RefusesCodes(Raw):
    """Answers each execution of a supplied code with one status."""

    def __init__(self, status):
        super().__init__()
        self.status = status

    def answer(self, connection, request):
        refused = Response(self.status, b"{}", (("Location", "/elsewhere"),))
        connection.sendall(as_bytes(refused if is_real(request.path) else self.service.respond(request)))


@pytest.mark.parametrize("status", [302, 307, 404, 422])
def test_codes_that_are_refused_are_noted(status, tmp_path):
    """A supplied code that is refused may have expired, in whatever form a service refuses it."""
    notes, _ = notes_of(RefusesCodes(status), tmp_path, ("-k", "executePix.document.type"))

    assert [note for note in notes if "transaction codes" in note] == [
        "1 of 1 transaction codes were refused; they may have expired"
    ]


@pytest.mark.parametrize("status", [495, 496])
def test_no_row_of_a_whole_run_fails_for_a_missing_certificate(status, tmp_path):
    """A gateway answers every path alike, which says nothing about the endpoints behind it."""
    notes, failing = notes_of(AnswersAll(status), tmp_path, WHOLE)

    assert notes[0].startswith(CERTIFICATE)
    assert not failing


@pytest.mark.parametrize("after", [2, 20, 50, 80])
def test_no_row_fails_for_a_token_that_expires(after, tmp_path):
    """That it has expired is said, and what it was needed for was not exercised."""
    notes, failing = notes_of(ExpiresTheToken(after), tmp_path, ["--exitfirst"])

    assert any(note.startswith("the token expired in the middle of the run (exchange ") for note in notes)
    assert not failing


REFUSALS = {
    "403": Response(403, b'{"code": 7}'),
    "login page": Response(302, b"", (("Location", "/login"),)),
    "another code": Response(200, b'{"code": 401, "data": {}}'),
    "400": Response(400, b'{"error": "invalid_token"}'),
    "404": Response(404, b"{}"),
    "a page to log in": Response(200, b"<html><form>", (("Content-Type", "text/html"),)),
}


@pytest.mark.parametrize("after", [12, 30, 70])
@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
def test_a_token_that_expires_is_said_in_whatever_form_it_is_refused(refusal, after, tmp_path):
    """What was granted is refused, and so is a read that was granted: no 401 is needed to see it."""
    notes, failing = notes_of(ExpiresTheToken(after, refusal), tmp_path, WHOLE)

    assert any(note.startswith("the token expired in the middle of the run (exchange ") for note in notes)
    assert not failing


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_token_that_is_wrong_from_the_start_is_said_in_whatever_form_it_is_refused(refusal, tmp_path):
    """It is answered like any wrong token, which says nothing about the endpoints. Whether an execution that was
    redirected moved money comes first."""
    notes, failing = notes_of(ExpiresTheToken(0, REFUSALS[refusal]), tmp_path, WHOLE)
    said = next(note for note in notes if not note.startswith("OUTCOME UNKNOWN"))

    assert said.startswith("no operation granted anything (")
    assert "the token may be wrong or expired, check auth (PIX_TOKEN)" in said
    assert not failing


def test_a_token_that_is_refused_for_a_while_has_not_expired(tmp_path):
    """It is accepted again, so nothing is excused for it."""
    notes, _ = notes_of(ForgetsTheTokenOnce(30, 4), tmp_path, WHOLE)

    assert not any("expired" in note for note in notes)
