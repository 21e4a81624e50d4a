"""Which codes are offered with wrong tokens before their execution, in which order codes go, and what goes with them."""

import threading
import time
from difflib import SequenceMatcher

import pytest

from environments.door.wrong_tokens import ANOTHER, INVALID_CREDENTIALS, forms
from environments.profiles.loading import load
from environments.sandbox import Refusal
from spec.interface import operations_reached
from tests.selftest.services.one_run import Run
from tests.selftest.services.running import run, write_profile
from tests.selftest.services.serving import EXECUTION, Raw, is_real, real_codes, served_by
from tests.selftest.services.signed import Signing

CODES = ("SBX-PHONE-1", "SBX-EMAIL-1", "SBX-CPF-1", "SBX-RANDOM-1", "SBX-CNPJ-1")
FUZZ = ["read", "register-keys", "delete-keys", "create-pix", "transfer", "execute", "fuzz"]
DOCUMENTED = ("executePix", "registerPixKey")
PREPARE = {
    "operation": "createPix",
    "json": {"account": "ac-0001", "pixKey": "+5511955500101", "value": 10.5},
    "code_at": "/data/transactionId",
    "count": 3,
}


class SpendsOnAWrongToken(Raw):
    """A code is spent by whatever request names it, and executed only where the token is valid."""

    def __init__(self):
        super().__init__()
        self.named, whole = set(), self.service.respond

        def respond(request):
            code = request.path.removeprefix(EXECUTION)
            if is_real(request.path) and code in self.named:
                return self.service.refusal(Refusal(409, "The code is spent."))
            self.named |= {code} if is_real(request.path) else set()
            return whole(request)

        self.service.respond = respond


class Overlapping(Raw):
    """Holds executions and reads for a moment. `beside` has, for each in turn, the requests that were inside with it."""

    def __init__(self):
        super().__init__()
        self.inside, self.beside, self.guard = [], [], threading.Lock()

    def answer(self, connection, request):
        mine = [request]
        with self.guard:
            for seen in self.inside:
                seen.append(request)
                mine.append(seen[0])
            self.inside.append(mine)
        if is_real(request.path):
            self.beside.append(mine)
        if request.path.startswith(EXECUTION) or request.path == "/v1/accounts":
            time.sleep(0.1)
        super().answer(connection, request)
        with self.guard:
            self.inside.remove(mine)


def profile_with(folder, base_url="http://127.0.0.1:1", codes=(), **changes):
    """A profile of a target that is no sandbox, unless `changes` say so."""
    limits = {"executions": 12, "requests": 2000, **changes.pop("limits", {})}
    given = {"codes": list(codes), **changes.pop("transactions", {})}
    whole = {"sandbox": None, "allow": FUZZ, **changes}
    journal = str(folder / "journal.jsonl") if whole["sandbox"] is None else None
    return write_profile(folder, base_url, transactions=given, limits=limits, journal=journal, **whole)


def executed(service, folder, codes, parallel=8, **changes):
    """What a run sends to the execution, without the tests."""
    profile = load(str(profile_with(folder, codes=codes, **changes)), folder=folder)
    limits = {"wrong_tokens": profile.limits.wrong_tokens, "requests": 2000, "executions": 12}
    a_run = Run(service, folder, parallel=parallel, allow=profile.allow, **limits)
    return a_run.execute_all(profile, pair=True)


def wrong_ones(service, operation="executePix"):
    """The requests to an operation with something else than the valid token."""
    valid = f"Bearer {service.service.token}"
    return [
        seen
        for seen in service.seen
        if seen.header("Authorization") not in ("", valid) and operation in operations_reached(seen.method, seen.path)
    ]


def offers(service):
    """By code, the credentials that it came with before the valid token."""
    found, valid = {}, f"Bearer {service.service.token}"
    for code, sent in real_codes(service):
        found.setdefault(code, []).append(sent)
    assert all(sent.count(valid) == 1 and sent[-1] == valid for sent in found.values())
    return {code: sent[:-1] for code, sent in found.items()}


# -- the order of codes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("allow", [FUZZ, FUZZ[:-1]], ids=["fuzz", "no fuzz"])
@pytest.mark.parametrize("limit", [0, 1, 3, 20])
@pytest.mark.parametrize(("count", "offered"), [(1, [0]), (2, [1]), (3, [1]), (5, [1, 3, 4])])
def test_the_first_code_is_executed_first_and_the_second_is_offered_before(
    count, offered, limit, allow, service, tmp_path
):
    """The third meets one request, and more go as the second; a single code is offered, too. Each is executed once."""
    executed(service, tmp_path, CODES[:count], allow=allow, limits={"wrong_tokens": limit})
    sent = offers(service)

    assert service.executions == list(CODES[:count])
    assert [place for place, code in enumerate(CODES[:count]) if sent[code]] == offered
    assert all("" in sent[CODES[place]] for place in offered)
    assert len(wrong_ones(service)) <= limit
    assert any(any(each) for each in sent.values()) is (limit > 0)


@pytest.mark.parametrize("sandbox", [None, "127.0.0.1"], ids=["elsewhere", "sandbox"])
@served_by(Overlapping)
def test_a_code_never_meets_another_code(service, sandbox, tmp_path):
    """The third execution meets one request without a real code; elsewhere than on a sandbox no other code meets any."""
    executed(service, tmp_path, CODES, sandbox=sandbox)
    company = [(mine[0].path, mine[0].header("Authorization"), mine[1:]) for mine in service.beside]
    executions = {path: rest for path, sent, rest in company if sent == f"Bearer {service.service.token}"}
    met = [path for path, _, rest in company if rest]

    assert not any(is_real(each.path) for _, _, rest in company for each in rest)
    assert [len(rest) for rest in executions.values()] == [0, 0, 1, 0, 0]
    assert sandbox or met == [EXECUTION + CODES[2]]


def test_without_a_read_an_execution_meets_a_synthetic_code(tmp_path):
    """It has a wrong token."""
    with Overlapping() as service:
        executed(service, tmp_path, CODES[:3], allow=["execute"])
    [(_, other)] = [mine for mine in service.beside if len(mine) > 1]

    assert not is_real(other.path)
    assert other.header("Authorization") not in ("", f"Bearer {service.service.token}")


@served_by(Overlapping)
def test_on_a_sandbox_two_prepared_transfers_are_executed_at_the_same_time(service, tmp_path):
    """They are prepared besides: no wrong token goes with them, and they have room before all others."""
    run(
        profile_with(tmp_path, service.base_url, sandbox="127.0.0.1", transactions={"prepare": PREPARE}),
        "-k",
        "executePix",
    )
    sent = offers(service)
    twins = [
        mine[0].path.removeprefix(EXECUTION) for mine in service.beside if any(is_real(it.path) for it in mine[1:])
    ]

    assert len(sent) == 5
    assert sorted(twins) == sorted(list(sent)[-2:])
    assert [bool(each) for each in sent.values()] == [False, True, False, False, False]


# -- a service that spends a code on a wrong token ----------------------------------------------------------------


def test_a_service_that_spends_codes_on_wrong_tokens_is_said_and_tested(tmp_path):
    """It loses the code that was offered. The others are executed, and nothing is said of the token that was not seen."""
    with SpendsOnAWrongToken() as service:
        result = run(profile_with(tmp_path, service.base_url, CODES), "-k", "executePix", "--new-journal")
    rows = {row["id"]: row for row in result.document["requirements"]}

    assert {code for code, sent in real_codes(service) if sent != f"Bearer {service.service.token}"} == {CODES[1]}
    assert result.status == 6
    assert rows["executePix.document.masked"]["verdict"] == "pass"
    assert rows["executePix.token.required"]["verdict"] == "not-exercised"
    assert result.document["traffic"]["executions"] == 4
    assert len([note for note in result.notes if note.endswith("perhaps spent by a wrong token")]) == 1


# -- the limit, and what leaves in a refused credential --------------------------------------------------------------


def signing_service():
    raw = Raw()
    raw.service = Signing()
    return raw


@pytest.mark.parametrize(
    ("make", "allow", "limit", "sandbox"),
    [
        pytest.param(signing_service, FUZZ, 20, "127.0.0.1", id="signed, fuzz"),
        pytest.param(Raw, FUZZ, 3, None, id="few"),
        pytest.param(signing_service, FUZZ[:-1], 20, None, id="signed, no fuzz"),
        pytest.param(Raw, FUZZ[:-1], 20, "127.0.0.1", id="no fuzz"),
        pytest.param(Raw, FUZZ[:-1], 0, None, id="none"),
    ],
)
def test_a_whole_run_keeps_to_limits_wrong_tokens_and_hides_the_token(make, allow, limit, sandbox, tmp_path):
    """For each of the two operations, all that is generated and repeated included. Without fuzz no refused credential
    has all but sixteen characters of the token. Elsewhere than on a sandbox no key of the profile is among them."""
    with make() as service:
        token = service.service.token
        limits = {"wrong_tokens": limit, "requests": 3000}
        profile = profile_with(tmp_path, service.base_url, CODES[:3], allow=allow, limits=limits, sandbox=sandbox)
        journal = ["--new-journal"] if sandbox is None else []
        result = run(profile, *journal, "-m", "", "--examples=2", PIX_TOKEN=token)
    sent = {seen.header("Authorization") for seen in service.seen} - {f"Bearer {token}"}
    registrations = [each for each in service.seen if "registerPixKey" in operations_reached(each.method, each.path)]
    refused = [each.body for each in registrations if each.header("Authorization") != f"Bearer {token}"]

    assert result.status == 0, result.output
    assert all(len(wrong_ones(service, operation)) <= limit for operation in DOCUMENTED)
    assert "fuzz" in allow or not [each for each in sent if _told(each, token) > len(token) - 16]
    assert refused
    assert sandbox or all(b"pixconf-" in body for body in refused)
    assert f"tried: {ANOTHER}, no header" in result.rows("pass")["executePix.token.required"] or not limit


def _told(sent, token):
    """How many characters of the token stand in a header, in pieces of four or more."""
    blocks = SequenceMatcher(None, sent, token, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks if block.size > 3)


def test_a_selection_sends_wrong_tokens_only_where_it_is_about_them(tmp_path):
    """Fields of the results need executions and registrations, and no wrong token, no request without one, and no pair."""
    seen = {}
    for selected in (
        "executePix.digit",
        "registerPixKey.Key.type",
        "executePix.token.required",
        "registerPixKey.token",
    ):
        with Overlapping() as service:
            (tmp_path / selected).mkdir()
            profile = profile_with(tmp_path / selected, service.base_url, CODES[:3], sandbox="127.0.0.1")
            assert run(profile, "-k", selected).status == 0
            seen[selected] = service

    for selected in ("executePix.digit", "registerPixKey.Key.type"):
        sent = {each.header("Authorization") for each in seen[selected].seen}
        assert sent == {f"Bearer {seen[selected].service.token}"}
    assert all(len(mine) == 1 for mine in seen["executePix.digit"].beside)
    assert len(wrong_ones(seen["executePix.token.required"])) > 5
    assert len(wrong_ones(seen["registerPixKey.token"], "registerPixKey")) > 5


def test_the_table_of_a_profile_has_the_forms_that_it_permits(tmp_path):
    """Those that the token can be restored from need fuzz."""
    with_fuzz, without = (
        forms(load(str(profile_with(tmp_path, allow=allow)), folder=tmp_path)) for allow in (FUZZ, FUZZ[:-1])
    )

    assert [form for form in with_fuzz if not form.restorable] == without
    assert not {form.name for form in with_fuzz} & set(INVALID_CREDENTIALS)
