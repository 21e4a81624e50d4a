"""A run in which nothing was granted is no verdict, and the token is named first where it may be the cause."""

import pytest

from environments.profiles.model import Auth
from environments.sandbox import Response
from reports.grants import Grants
from spec.requirements import requirements
from tests.selftest.exchanges import answer
from tests.selftest.services.issuing import ExpiresTheToken
from tests.selftest.services.running import run, write_profile
from tests.selftest.services.serving import Raw, as_bytes

READ_ONLY = {"allow": ["read"], "transactions": None, "requests": None, "pix_keys": None}
TESTABLE = sum(row.level in ("documented", "robustness") and not row.untestable for row in requirements().values())
SCOPE = "read only, only -m not property"
TOKEN = "the token may be wrong or expired, check auth (PIX_TOKEN)"
PAGE = Response(200, b"<html><form>", (("Content-Type", "text/html"),))
REFUSALS = {
    "401": Response(401, b"{}"),
    "403": Response(403, b'{"code": 7}'),
    "404": Response(404, b"{}"),
    "a redirect": Response(302, b"", (("Location", "/login"),)),
    "a page to log in": PAGE,
    "another code": Response(200, b'{"code": 401, "data": {}}'),
}


class RefusesOne(Raw):
    """Refuses every request for the entries, with and without the right token."""

    def answer(self, connection, request):
        entries = request.path.startswith("/v1/accounts/entries/")
        answer = Response(403, b"{}") if entries else self.service.respond(request)
        connection.sendall(as_bytes(answer))


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
def test_a_read_only_run_with_a_wrong_token_is_incomplete(refusal, tmp_path):
    """Exit status 6 in whatever form it is refused; the token is named first, and no requirement fails."""
    with ExpiresTheToken(0, refusal) as service:
        result = run(write_profile(tmp_path, service.base_url, **READ_ONLY))

    assert (result.status, result.document["verdict"], result.rows("fail")) == (6, "incomplete", {}), result.output
    assert result.notes[0].startswith("no operation granted anything (")
    assert TOKEN in result.notes[0]
    assert f"INCOMPLETE, {SCOPE}: no operation granted anything; no failure, " in result.output


@pytest.mark.parametrize("selected", ["listAccounts", "getBalance.exists", "listEntries.serverError"])
def test_a_selection_with_a_wrong_token_is_incomplete(selected, tmp_path):
    """What was selected granted nothing, although the endpoint is told from an unknown path."""
    with ExpiresTheToken(0) as service:
        result = run(write_profile(tmp_path, service.base_url, **READ_ONLY), "-k", selected)

    assert (result.status, result.document["incomplete"]) == (6, "no operation granted anything"), result.output


def test_a_selected_operation_that_grants_nothing_is_incomplete(tmp_path):
    """The token is good, so it is not blamed."""
    with RefusesOne() as service:
        result = run(write_profile(tmp_path, service.base_url, **READ_ONLY), "-k", "listEntries.exists")

    assert (result.status, result.document["incomplete"]) == (6, "no selected operation granted anything")
    assert result.notes == []


def test_a_selection_about_mistakes_needs_no_grant_of_its_own(service, tmp_path):
    """Where no valid request is expected, any operation can show that the token is valid."""
    result = run(write_profile(tmp_path, service.base_url, transactions=None), "-k", "executePix.serverError")

    assert result.status == 0, result.output


def test_what_a_wrong_token_keeps_from_being_tested_is_one_line(service, tmp_path):
    """The first note says why, so that no requirement needs a reason of its own."""
    result = run(write_profile(tmp_path, service.base_url), PIX_TOKEN="0" * 40)
    lines = [line for line in result.output.splitlines() if line.startswith("not exercised: ")]

    assert lines == ["not exercised: 102 requirements, as nothing was granted"]


def test_an_operation_that_granted_nothing_is_named_in_the_headline(tmp_path):
    """The run is partial, and says what it does not rest on."""
    with RefusesOne() as service:
        result = run(write_profile(tmp_path, service.base_url, **READ_ONLY))

    assert (result.status, result.document["granted_nothing"]) == (0, ["listEntries"]), result.output
    assert result.document["headline"] == (
        f"PARTIAL, {SCOPE}: no failure, 17 of {TESTABLE} tested; nothing was granted by listEntries"
    )
    assert result.notes == []


@pytest.mark.parametrize(("least", "status"), [(0.9, 6), (0.01, 0)])
def test_min_coverage_of_the_profile(least, status, service, tmp_path):
    """A run below it is incomplete, and says which share is not reached."""
    result = run(write_profile(tmp_path, service.base_url, min_coverage=least, **READ_ONLY))

    assert result.status == status, result.output
    assert result.document["incomplete"] == ("min_coverage (0.9) is not reached" if status else "")
    assert f"no failure, 17 of {TESTABLE} tested" in result.document["headline"]


class ChecksNoToken(RefusesOne):
    """Looks at no token, and refuses to list the accounts."""

    def __init__(self):
        super().__init__()
        self.service.authorize = lambda request, operation: None

    def answer(self, connection, request):
        refused = request.path == "/v1/accounts"
        connection.sendall(as_bytes(Response(400, b"{}") if refused else self.service.respond(request)))


def test_the_token_of_a_service_that_checks_none_is_not_blamed(tmp_path):
    """The list of accounts answers the right token like a wrong one, and another read is granted."""
    with ChecksNoToken() as service:
        result = run(write_profile(tmp_path, service.base_url, **READ_ONLY))

    assert (result.status, result.notes) == (0, []), result.output


def notes_of(*exchanges):
    grants = Grants.of_exchanges(exchanges)
    return list(map(str, grants.notes(Auth(token_env="PIX_TOKEN"))))


HTML = (("Content-Type", "text/html"),)


@pytest.mark.parametrize(
    ("answers", "notes"),
    [
        (
            [("listAccounts", 401), ("getBalance", 401), ("listEntries", 403)],
            [f"no operation granted anything (401 to 2 requests, 403 to 1 request): {TOKEN}"],
        ),
        (
            [("listAccounts", 404)],
            [f"no operation granted anything (404 to 1 request): {TOKEN}; or base_url leads elsewhere"],
        ),
        (
            [("listAccounts", 503), ("getBalance", 429)],
            [
                "no operation granted anything (503 to 1 request, 429 to 1 request): the service was not ready, "
                "run again later"
            ],
        ),
        ([("listAccounts", 496)], []),
        ([("listAccounts", 401), ("getBalance", 200)], []),
        ([], []),
    ],
    ids=["refused", "not found", "not ready", "certificate", "granted", "nothing sent"],
)
def test_the_token_is_named_where_it_may_be_the_cause(answers, notes):
    """One line for all operations, and none where something was granted."""
    assert notes_of(*(answer(operation, {"code": 0}, status=status) for operation, status in answers)) == notes


def test_a_page_is_a_grant_where_a_bad_credential_gets_none():
    """A service may answer with pages; a login page is the same for every token."""
    page = answer("listAccounts", b"<html>", headers=HTML)
    login = answer("listAccounts", b"<html>", headers=HTML, credential="a wrong token", valid=False)
    refused = answer("listAccounts", b"{}", status=401, credential="a wrong token", valid=False)

    assert notes_of(page, login)
    assert not notes_of(page, login, refused)
