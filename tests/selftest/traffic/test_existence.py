"""An answer of its own proves an endpoint, unless it is the 404 of a gateway for everything."""

import pytest

from environments.sandbox import Response, Service
from reports.result.verdicts import Verdict
from tests.selftest.proof.directly import sent_in_memory


class NobodyIsBehindTheGateway(Service):
    """A gateway knows the path of OPERATION and checks the token, but no service runs behind it: 404 with a page."""

    OPERATION = "transferP2p"

    def finish(self, request, operation, response):
        """The answer, or the page with 404 for a request to OPERATION whose token was accepted."""
        token_was_refused = response.status in (401, 403)
        if operation == self.OPERATION and not token_was_refused:
            return Response(404, b"<h1>No upstream</h1>", (("Content-Type", "text/html"),))
        return response


class BalanceIsNotBehindTheGateway(NobodyIsBehindTheGateway):
    """The same for an operation whose request has no body."""

    OPERATION = "getBalance"


class KnowsNoPayee(Service):
    """Each payee is unknown, and a body that names none is invalid."""

    def finish(self, request, operation, response):
        """The answer of the sandbox, or 404 to a valid transfer."""
        is_valid_transfer = operation == "transferP2p" and response.status == 200
        if is_valid_transfer:
            return Response(404, b'{"error": "unknown payee"}')
        return response


def verdict_of(service: Service, requirement_id: str) -> Verdict:
    """The verdict on one requirement, selected alone, so that nothing else is sent."""
    return sent_in_memory(service, ids={requirement_id}).judge().results[requirement_id].verdict


@pytest.mark.parametrize("service_class", [NobodyIsBehindTheGateway, BalanceIsNotBehindTheGateway])
def test_a_gateway_that_answers_404_to_everything_proves_no_endpoint(service_class):
    """If a path answers each request with the same 404, the requirement that its operation exists does not pass.

    It is not exercised. The gateway answers unknown paths in another way, so it knows this path. But it never answers
    anything else there, so perhaps no service runs behind it.
    """
    verdict = verdict_of(service_class(token="t" * 40), f"{service_class.OPERATION}.exists")

    assert verdict is Verdict.NOT_EXERCISED


def test_an_endpoint_that_tells_invalid_requests_from_valid_ones_exists():
    """If a valid request gets 404 and an empty body is refused in another way, the operation exists.

    The payee of the valid request is unknown here. The two answers differ, so the service has read the bodies.
    """
    verdict = verdict_of(KnowsNoPayee(token="t" * 40), "transferP2p.exists")

    assert verdict is Verdict.PASS


class RedirectsTheBalance(Service):
    """Redirects a request for a balance to the same path at another address.

    With `redirects_all` it redirects every request.
    """

    def __init__(self, *, redirects_all, **options):
        """`redirects_all` says if other requests are redirected, too. `options` are those of the sandbox."""
        super().__init__(**options)
        self.redirects_all = redirects_all

    def respond(self, request):
        """The redirect, or the answer of the sandbox."""
        is_for_a_balance = request.path.startswith("/v1/accounts/balance/")
        if self.redirects_all or is_for_a_balance:
            return Response(307, b"", (("Location", f"https://bank.example{request.path}"),))
        return super().respond(request)


@pytest.mark.parametrize(
    ("redirects_all", "expected_verdict"),
    [(False, Verdict.PASS), (True, Verdict.NOT_EXERCISED)],
    ids=["one path", "each path"],
)
def test_a_redirect_to_the_same_path_proves_an_endpoint_if_undocumented_paths_are_not_redirected(
    redirects_all, expected_verdict
):
    """If only a documented path is redirected to another address, its operation exists.

    If undocumented paths are redirected, too, a gateway may redirect every request, whether its operation exists or
    not.
    """
    service = RedirectsTheBalance(redirects_all=redirects_all, token="t" * 40)

    assert verdict_of(service, "getBalance.exists") is expected_verdict
