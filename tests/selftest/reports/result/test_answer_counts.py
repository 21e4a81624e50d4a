"""A run in which no operation succeeded is no verdict, and the token is named first where it may be the cause."""

import pytest

from environments.profiles.model import Auth
from environments.sandbox import Response, Service
from reports.result.answer_counts import AnswersToValidToken
from tests.selftest.exchanges import answer
from tests.selftest.shared_runs import run_with_files

ASKS_TO_CHECK_THE_TOKEN = "the token may be wrong or expired, check auth (PIX_TOKEN)"
ASKS_TO_CHECK_ADDRESS_AND_TOKEN = (
    f"base_url may lead elsewhere, such as to a page to log in, or {ASKS_TO_CHECK_THE_TOKEN}"
)
AS_HTML = (("Content-Type", "text/html"),)


class TakesNoToken(Service):
    """Refuses every token, with a login page and status 200."""

    def respond(self, request):
        """Answer each request with the login page."""
        return Response(200, b"<html><form>", AS_HTML)


def test_a_run_with_a_wrong_token_is_incomplete(tmp_path):
    """If no request with the token succeeds, the run is incomplete, nothing fails, and the first note asks to check the token.

    The service refuses every token, with a login page and status 200. The note, the headline and the line about untested
    requirements give the same reason, `no operation succeeded`. No line asks to supply anything.
    """
    result = run_with_files(tmp_path, TakesNoToken, "-m", "not property", allow=["read", "execute"])
    [line_about_untested] = [line for line in result.output.splitlines() if line.startswith("not exercised: ")]
    first_note = result.document["notes"][0]

    assert result.status == 6, result.output
    assert result.messages_with_verdict("fail") == {}
    assert first_note.startswith("no operation succeeded (200 to ")
    assert ASKS_TO_CHECK_ADDRESS_AND_TOKEN in first_note
    assert line_about_untested.endswith(" more: no operation succeeded")
    assert "only -m not property: no operation succeeded; no failure, " in result.document["headline"]
    assert "\nnext: python -m environments check " in result.output
    assert "supply" not in result.output


def test_a_run_of_selected_operations_needs_a_success_of_one_of_them():
    """If requirements are selected, a run has a verdict only if one of the selected operations succeeded.

    The success of another operation is enough only if the selected ones got no valid request. `why_no_basis_for_a_verdict` gives
    the reason why a run has no verdict, or an empty text.
    """
    refused_entries = answer("listEntries", {}, status=403)
    listed_accounts = answer("listAccounts", {"code": 0})
    invalid_execution = answer("executePix", {}, status=404, valid=False)
    entries_and_accounts = AnswersToValidToken.of_exchanges([refused_entries, listed_accounts])
    execution_and_accounts = AnswersToValidToken.of_exchanges([invalid_execution, listed_accounts])

    reason_if_refused_alone = entries_and_accounts.why_no_basis_for_a_verdict({"listEntries"})
    reason_if_one_succeeded = entries_and_accounts.why_no_basis_for_a_verdict({"listEntries", "listAccounts"})
    reason_if_none_was_valid = execution_and_accounts.why_no_basis_for_a_verdict({"executePix"})

    assert str(reason_if_refused_alone) == "no selected operation succeeded"
    assert reason_if_one_succeeded == ""
    assert reason_if_none_was_valid == ""


def notes_about_token(*exchanges):
    """The notes about the token (of the variable PIX_TOKEN) after these exchanges, in one text; empty without a note."""
    answers = AnswersToValidToken.of_exchanges(exchanges)
    notes = answers.notes(Auth(token_env="PIX_TOKEN"))
    return "; ".join(str(note) for note in notes)


@pytest.mark.parametrize(
    ("statuses", "note"),
    [
        (
            {"listAccounts": 401, "getBalance": 401, "listEntries": 403},
            f"no operation succeeded (401 to 2 requests, 403 to 1 request): {ASKS_TO_CHECK_THE_TOKEN}",
        ),
        ({"listAccounts": 404}, f"no operation succeeded (404 to 1 request): {ASKS_TO_CHECK_ADDRESS_AND_TOKEN}"),
        ({"listAccounts": 500}, "no operation succeeded (500 to 1 request): the service fails, see its log"),
        (
            {"listAccounts": 503},
            "no operation succeeded (503 to 1 request): the service was not ready, run again later",
        ),
        ({"listAccounts": 496}, ""),
        ({"listAccounts": 401, "getBalance": 200}, ""),
        ({}, ""),
    ],
    ids=[
        "refused: check the token",
        "not found: check address and token",
        "server error: the service fails",
        "503: the service was not ready",
        "496: another note names the missing client certificate",
        "one success: no note",
        "nothing sent: no note",
    ],
)
def test_the_token_is_named_if_it_may_be_the_cause(statuses, note):
    """If no operation succeeded, one note counts the refusals by status and names the likely cause: token, address or
    service.
    """
    exchanges = [answer(operation, {"code": 0}, status=status) for operation, status in statuses.items()]

    assert notes_about_token(*exchanges) == note


def test_a_page_is_a_success_if_a_wrong_token_gets_none():
    """An HTML page counts as a success of the valid token only if a wrong token was refused.

    If a wrong token gets a page, too, it may be a login page, which is the same for every token. Without any success
    there is a note.
    """
    wrong_token = {"credential": "a wrong token (of a JWT: another signature)", "valid": False}
    page_for_valid_token = answer("listAccounts", b"<html>", headers=AS_HTML)
    page_for_wrong_token = answer("listAccounts", b"<html>", headers=AS_HTML, **wrong_token)
    refusal_of_wrong_token = answer("listAccounts", b"{}", status=401, **wrong_token)

    notes_if_both_get_a_page = notes_about_token(page_for_valid_token, page_for_wrong_token)
    notes_if_one_was_refused = notes_about_token(page_for_valid_token, page_for_wrong_token, refusal_of_wrong_token)

    assert notes_if_both_get_a_page != ""
    assert notes_if_one_was_refused == ""
