"""What a limit cut is one line, stands in the headline, and explains every requirement that it left untested."""

from environments.sandbox import Response
from tests.selftest.services.running import run, write_profile
from tests.selftest.services.serving import Raw, as_bytes

SPENT = "limits.requests (60) is spent"
WHOLE = ("-m", "property or not property", "--examples=5")


def limited(folder, service, requests):
    """A whole run with a limit of the requests."""
    limits = {"executions": 2, "requests": requests, "parallel": 1}
    with service:
        return run(write_profile(folder, service.base_url, limits=limits), *WHOLE)


def test_a_spent_limit_is_one_line(tmp_path):
    """It names what was cut, and every requirement that was left untested names the limit."""
    result = limited(tmp_path, Raw(), 60)
    untested = {message for row, message in result.rows("not-exercised").items() if not row.endswith(".refusal")}

    assert result.status == 6
    assert result.notes == [
        f"{SPENT}: not all requests to executePix, registerPixKey, deletePixKey and 8 more were sent"
    ]
    assert untested
    assert all(message.endswith(SPENT) for message in untested)


def test_a_conformant_headline_says_what_was_cut(tmp_path):
    """The generated requests that were not sent are part of what the verdict rests on."""
    result = limited(tmp_path, Raw(), 500)
    (cut,) = result.document["cut"]

    assert (result.status, cut["why"]) == (0, "limits.requests (500) is spent"), result.output
    assert "; cut short, as limits.requests (500) is spent (" in result.document["headline"]
    assert f"{cut['operations'][0]}, {cut['operations'][1]}" in result.document["headline"]


class AsksForAnHour(Raw):
    """Answers no request for the entries in time."""

    def answer(self, connection, request):
        if request.path.startswith("/v1/accounts/entries/"):
            connection.sendall(as_bytes(Response(429, b"", (("Retry-After", "3600"),))))
        else:
            super().answer(connection, request)


def test_a_wait_that_is_too_long_is_one_line(tmp_path):
    """The request does not go again, and the headline says so."""
    with AsksForAnHour() as service:
        result = run(write_profile(tmp_path, service.base_url, allow=["read"]))
    why = (
        "the service asks to come back later: the suite waits three times for a request, and sends an execution once "
        "(set limits.rate or parallel: 1, or lower limits.wrong_tokens)"
    )

    assert result.notes == [f"{why}: not all requests to listEntries were sent"]
    assert f"; cut short, as {why} (listEntries)" in result.document["headline"]


class NeverAnswersTheBalance(Raw):
    """Does not answer a request for a balance."""

    def answer(self, connection, request):
        if request.path.startswith("/v1/accounts/balance/"):
            self._stopped.wait()
        super().answer(connection, request)


def test_an_operation_that_is_not_asked_again_is_one_line(tmp_path):
    """It gave no answer twice; that explains its requirements, and no others."""
    with NeverAnswersTheBalance() as service:
        profile = write_profile(
            tmp_path, service.base_url, allow=["read", "fuzz"], limits={"timeout": 3, "parallel": 1}
        )
        result = run(profile, *WHOLE)
    why = "getBalance did not answer twice, so it gets no more requests"

    assert [note for note in result.notes if "getBalance" in note] == [
        f"{why}: not all requests to getBalance were sent"
    ]
    assert {row.split(".")[0] for row, message in result.rows("not-exercised").items() if why in message} <= {
        "getBalance"
    }
    assert f"; cut short, as {why} (getBalance)" in result.document["headline"]
