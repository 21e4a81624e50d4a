"""A run in which nothing was granted is no verdict, and the token is named first where it may be the cause."""

import pytest

from environments.profiles.model import Auth
from environments.sandbox import Response, Service
from reports.result.grants import Grants
from tests.selftest.exchanges import answer
from tests.selftest.shared_runs import run_with_files

TOKEN = "the token may be wrong or expired, check auth (PIX_TOKEN)"
ELSEWHERE = f"base_url may lead elsewhere, such as to a page to log in, or {TOKEN}"
HTML = (("Content-Type", "text/html"),)


class TakesNoToken(Service):
    """Refuses every token, with a login page and status 200."""

    def respond(self, request):
        return Response(200, b"<html><form>", HTML)


def test_a_run_with_a_wrong_token_is_incomplete(tmp_path):
    """The first note names the address and the token. No requirement fails, and one line gives the reason for all."""
    result = run_with_files(tmp_path, TakesNoToken, "-m", "not property", allow=["read", "execute"])
    (line,) = (line for line in result.output.splitlines() if line.startswith("not exercised: "))

    assert result.status == 6, result.output
    assert result.messages_with_verdict("fail") == {}
    assert result.document["notes"][0].startswith("no operation succeeded (200 to ")
    assert ELSEWHERE in result.document["notes"][0]
    assert line.endswith(" more: no operation succeeded")
    assert "supply" not in result.output
    assert "\nnext: python -m environments check " in result.output
    assert "only -m not property: no operation succeeded; no failure, " in result.document["headline"]


def test_a_selection_rests_on_its_own_operations():
    """If a selected operation got a valid request, one of the selected operations must succeed.

    Without such a request any success shows that the token is valid.
    """
    exchanges = [answer("listEntries", {}, status=403), answer("listAccounts", {"code": 0})]
    invalid = [answer("executePix", {}, status=404, valid=False), exchanges[1]]

    assert str(Grants.of_exchanges(exchanges).missing_basis({"listEntries"})) == "no selected operation succeeded"
    assert Grants.of_exchanges(exchanges).missing_basis({"listEntries", "listAccounts"}) == ""
    assert Grants.of_exchanges(invalid).missing_basis({"executePix"}) == ""


def notes_about(*exchanges):
    """The notes about the token after these exchanges, in one text."""
    return "; ".join(map(str, Grants.of_exchanges(exchanges).notes(Auth(token_env="PIX_TOKEN"))))


@pytest.mark.parametrize(
    ("statuses", "reason"),
    [
        (
            {"listAccounts": 401, "getBalance": 401, "listEntries": 403},
            f"401 to 2 requests, 403 to 1 request): {TOKEN}",
        ),
        ({"listAccounts": 404}, f"404 to 1 request): {ELSEWHERE}"),
        ({"listAccounts": 500}, "500 to 1 request): the service fails, see its log"),
        ({"listAccounts": 503}, "503 to 1 request): the service was not ready, run again later"),
        ({"listAccounts": 496}, ""),
        ({"listAccounts": 401, "getBalance": 200}, ""),
        ({}, ""),
    ],
    ids=["refused", "not found", "failing", "not ready", "certificate", "granted", "nothing sent"],
)
def test_the_token_is_named_if_it_may_be_the_cause(statuses, reason):
    """If no operation succeeded, one note about the token covers all of them."""
    notes = notes_about(*(answer(operation, {"code": 0}, status=status) for operation, status in statuses.items()))

    assert notes == (f"no operation succeeded ({reason}" if reason else "")


def test_a_page_is_a_success_if_a_wrong_token_gets_none():
    """A service may answer with pages. A login page is the same for every token."""
    page = answer("listAccounts", b"<html>", headers=HTML)
    login = answer(
        "listAccounts", b"<html>", headers=HTML, credential="a wrong token (of a JWT: another signature)", valid=False
    )
    refused = answer(
        "listAccounts", b"{}", status=401, credential="a wrong token (of a JWT: another signature)", valid=False
    )

    assert notes_about(page, login)
    assert not notes_about(page, login, refused)
