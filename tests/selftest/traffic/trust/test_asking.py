"""What stands in for a token is sent with synthetic identifiers alone, and counts only if it is let in each time."""

import random

import pytest

from environments.sandbox import Refusal, Service
from tests.harness.starting import start_journal
from tests.selftest.proof.directly import try_in_memory
from tests.selftest.services.one_run import FakeBank, profile_of_bank, run_suite_in_memory
from tests.traffic.trust.stand_ins import FAMILIES

TOKEN_REQUIREMENTS = frozenset({"executePix.token.required", "registerPixKey.token.required"})
"""The requirements that an execution and a registration without a valid token are refused."""
HEADERS_OF_GATEWAYS = {name.lower() for headers in FAMILIES.values() for name, _ in headers} - {"user-agent"}
ALL_PERMISSIONS = ["read", "register-keys", "delete-keys", "create-pix", "transfer", "execute", "fuzz"]
WITHOUT_FUZZ = [permission for permission in ALL_PERMISSIONS if permission != "fuzz"]
WITHOUT_READ = [permission for permission in ALL_PERMISSIONS if permission != "read"]


def requests_of_a_run(folder, *, allow=ALL_PERMISSIONS, wrong_tokens=45, **changes):
    """The requests of a run for the two requirements of the token. Its target is no sandbox, unless the changes say so."""
    service = FakeBank()
    limits = {"executions": 12, "requests": 3000, "wrong_tokens": wrong_tokens}
    profile = profile_of_bank(
        folder, transactions={"codes": ["SBX-PHONE-1", "SBX-EMAIL-1"]}, allow=allow, limits=limits, **changes
    )
    start_journal(profile)
    run_suite_in_memory(service, profile, selected=" or ".join(TOKEN_REQUIREMENTS))
    return service.received


def has_a_stand_in(request):
    """True for a request with a header that a gateway sets, with a cookie, or with a word as its bearer token."""
    has_a_header_of_gateways = not HEADERS_OF_GATEWAYS.isdisjoint(request.headers)
    has_a_cookie = request.header("Cookie") != ""
    has_a_word = request.header("Authorization") in ("Bearer test", "Bearer admin")
    return has_a_header_of_gateways or has_a_cookie or has_a_word


def test_what_stands_in_for_a_token_names_nobody(tmp_path):
    """A stand-in is what some services trust in the place of a token, such as `X-Forwarded-For: 127.0.0.1`.

    A request with a stand-in names no code, account or key of the profile (the settings of the run). Codes and accounts
    that the suite made up begin with `pixconf-`, and its keys end with @example.com.
    """
    requests = [request for request in requests_of_a_run(tmp_path) if has_a_stand_in(request)]
    bodies = [request.body for request in requests if request.body]

    assert len(requests) >= 20
    assert [request.path for request in requests if "/pixconf-" not in request.path] == []
    assert [body for body in bodies if b"@example.com" not in body] == []


@pytest.mark.parametrize(
    ("allow", "limit_of_wrong_tokens"),
    [(WITHOUT_FUZZ, 45), (WITHOUT_READ, 45), (ALL_PERMISSIONS, 0)],
    ids=["without fuzz", "without reads", "no wrong token permitted"],
)
def test_nothing_stands_in_for_a_token_that_is_not_permitted(allow, limit_of_wrong_tokens, tmp_path):
    """A stand-in is what some services trust in the place of a token, such as `X-Forwarded-For: 127.0.0.1`.

    A run sends one only if its profile (its settings) allows `fuzz`, reads and wrong tokens. The run needs a read to
    compare the answers with.
    """
    requests = requests_of_a_run(tmp_path, allow=allow, wrong_tokens=limit_of_wrong_tokens)

    assert [request for request in requests if has_a_stand_in(request)] == []


class TrustsAnAddress(Service):
    """The sandbox, which executes without a token if the header CF-Connecting-IP has the address 10.0.0.1."""

    def authorize(self, request, operation):
        """Check the token, except for an execution from the trusted address."""
        is_trusted = operation == "executePix" and request.header("CF-Connecting-IP") == "10.0.0.1"
        if not is_trusted:
            super().authorize(request, operation)


def test_the_finding_names_the_header():
    """If a service lets in whoever sends a certain header, the message of the finding names that one header.

    The run sends sixteen such headers in one request at first, and then fewer and fewer of them.
    """
    trial = try_in_memory(TrustsAnAddress(), ids=TOKEN_REQUIREMENTS)

    assert trial.failing == {"executePix.token.required"}
    assert str(trial.results["executePix.token.required"].message) == (
        "a synthetic identifier is answered as with the valid token, and not as without one, with no header + "
        "CF-Connecting-IP"
    )


class OpensNowAndThen(Service):
    """The sandbox as two nodes, of which one looks up the code before it checks the token.

    It gets a request with this probability. With a wrong token and an unknown code its answer is 404, not 401.
    """

    def __init__(self, seed, probability):
        """`seed` decides which requests go to the node that looks up the code first, and `probability` how many."""
        super().__init__()
        self.dice = random.Random(seed)
        self.probability = probability

    def authorize(self, request, operation):
        """Check the token of a request. Now and then look up the code of an execution before."""
        code = request.path.rsplit("/", 1)[-1]
        looks_up_code_first = operation == "executePix" and self.dice.random() < self.probability
        if looks_up_code_first:
            with self.database.transaction() as ledger:
                if ledger.transfer(code) is None:
                    raise Refusal(404, "There is no such transaction code.")
        super().authorize(request, operation)


@pytest.mark.parametrize("probability", [0.2, 0.5, 0.8])
def test_an_answer_by_chance_is_no_evidence(probability):
    """If it is chance whether a service looks a code up before it checks the token, the requirement does not fail.

    Then no header is the reason of an answer. To find a reason, the suite sends sixteen requests, eight with a header
    and eight without it. The requirement fails only if all sixteen answers fit the header. With twelve seeds this never
    happens by chance.
    """
    failing = set()
    for seed in range(12):
        failing |= try_in_memory(OpensNowAndThen(seed, probability), ids={"executePix.token.required"}).failing

    assert failing == set()


class LetsInAtOneServer(Service):
    """The sandbox as three servers in turn, of which one checks no token of a request without the header Authorization.

    By chance it gets none of the first 15 such requests for a real code or account. `checks_tokens` is true if this
    server looks up the code or account of such a request, and checks the token then.
    """

    def __init__(self, checks_tokens):
        super().__init__()
        self.checks_tokens = checks_tokens
        self.with_made_up_identifier = 0
        self.with_real_identifier = 0

    def authorize(self, request, operation):
        """Check the token, unless the server at fault gets a request without one."""
        is_without_token = operation in ("executePix", "registerPixKey") and not request.header("Authorization")
        if not is_without_token or not self.is_next_at_fault(request):
            super().authorize(request, operation)
        elif self.checks_tokens:
            self.look_up(operation, request.path.rpartition("/")[2])
            super().authorize(request, operation)

    def is_next_at_fault(self, request):
        """True if the server at fault gets this request without a token: one of three, in turn."""
        if "/pixconf-" in request.path:
            self.with_made_up_identifier += 1
            return self.with_made_up_identifier % 3 == 0
        self.with_real_identifier += 1
        return self.with_real_identifier > 15 and self.with_real_identifier % 3 == 0

    def look_up(self, operation, code_or_account):
        """Refuse an unknown code or account."""
        with self.database.transaction() as ledger:
            if operation == "registerPixKey":
                self.own_account(ledger, code_or_account)
            elif ledger.transfer(code_or_account) is None:
                raise Refusal(404, "There is no such transaction code.")


@pytest.mark.parametrize("requirement_id", sorted(TOKEN_REQUIREMENTS))
@pytest.mark.parametrize("checks_tokens", [True, False], ids=["a conforming service", "a faulty service"])
def test_one_server_of_three_is_asked_for_real_identifiers(requirement_id, checks_tokens):
    """If equal requests without a token are answered in different ways, they are sent for real codes and accounts at last.

    One of three servers answers 404 to an unknown code or account without a token, the others 401. If it checks no
    tokens, a real code is executed, and a key is registered, without a token. If it only looks up the code or account
    first, it refuses these requests, too.
    """
    trial = try_in_memory(LetsInAtOneServer(checks_tokens), ids={requirement_id})

    assert trial.failing == (set() if checks_tokens else {requirement_id})
    assert trial.not_exercised == set()


class AnswersOddHeadersLikeAnUnknownCode(Service):
    """The sandbox, which answers an unknown code with 400 "No.", and every request with an odd header in the same way."""

    def respond(self, request):
        """The answer of the sandbox, or the refusal of a request with an odd header."""
        has_odd_header = not HEADERS_OF_GATEWAYS.isdisjoint(request.headers)
        if has_odd_header:
            return self.refusal(Refusal(400, "No."))
        return super().respond(request)

    def refusal(self, refusal):
        """The answer to a refused request. Its text is always "No.", and its status is 400 in the place of 404."""
        status = 400 if refusal.status == 404 else refusal.status
        return super().refusal(Refusal(status, "No."))


def test_a_filter_that_answers_as_to_an_unknown_code_is_no_evidence():
    """If a service answers every request with an odd header like an unknown code, the requirement of the token passes.

    For an execution this looks as if the service accepted the header in the place of a token and did not find the code.
    But a read with the same header, which has no code, gets this answer, too. So the answer is not about the code.
    """
    trial = try_in_memory(AnswersOddHeadersLikeAnUnknownCode(), ids=TOKEN_REQUIREMENTS)

    assert trial.failing == set()
    assert trial.with_verdict("pass") >= TOKEN_REQUIREMENTS
