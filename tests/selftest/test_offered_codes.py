"""Which codes are offered with wrong tokens before their execution, in which order codes go, and what goes with them."""

import threading
import time
from difflib import SequenceMatcher

import pytest

from environments.credentials import open_target
from environments.profiles.model import ProfileError
from environments.sandbox import Refusal
from environments.sent_codes import start_journal
from spec.interface import operations_reached
from tests.selftest.services.one_run import BOTH, PREPARE, Bank, Run, bank_profile, notes_of, whole_run
from tests.selftest.services.serving import EXECUTION, Raw, as_documented, is_real, real_codes, served_by
from tests.selftest.services.signed import Signing

CODES = ("SBX-PHONE-1", "SBX-EMAIL-1", "SBX-CPF-1", "SBX-RANDOM-1", "SBX-CNPJ-1")
FUZZ = ["read", "register-keys", "delete-keys", "create-pix", "transfer", "execute", "fuzz"]
DOCUMENTED = ("executePix", "registerPixKey")
SANDBOX = "127.0.0.1"


class ExecutesAndRefuses(Raw):
    """A code is executed by whatever request names it, and refused all the same without the valid token."""

    def __init__(self):
        super().__init__()
        self.service.authorize = lambda request, operation: None
        self.service.finish = lambda request, operation, response: (
            response if self.is_granted(request) else self.service.refusal(Refusal(401, "No."))
        )


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


def profile_with(folder, codes=(), allow=FUZZ, wrong_tokens=20, prepare=None, **changes):
    """A profile of a target that is no sandbox, unless `changes` say so."""
    limits = {"executions": 12, "requests": 3000, "wrong_tokens": wrong_tokens}
    transactions = {"codes": list(codes)} | ({"prepare": prepare} if prepare else {})
    return bank_profile(folder, transactions=transactions, limits=limits, allow=allow, **changes)


def executed(service, folder, codes, **changes):
    """What a run sends to the execution, without the tests."""
    profile = profile_with(folder, codes, **changes)
    limits = {"wrong_tokens": profile.limits.wrong_tokens, "requests": 2000, "executions": 12}
    a_run = Run(service, folder, parallel=8, allow=profile.allow, outlives=not profile.is_sandbox, **limits)
    return a_run.execute_all(profile, pair=True)


def offers(service):
    """By code, the credentials that it came with before the valid token, which came once; the first is asked again."""
    sent, valid = {}, f"Bearer {service.service.token}"
    for code, credential in real_codes(service):
        sent.setdefault(code, []).append(credential)
    assert all(each.count(valid) == 1 for each in sent.values())
    assert all(each[-1] == valid for each in list(sent.values())[1:])
    return {code: each[: each.index(valid)] for code, each in sent.items()}


# -- the order of codes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "offered", "limit", "allow"),
    [
        (1, [0], 20, FUZZ),
        (2, [1], 20, FUZZ[:-1]),
        (5, [1, 3, 4], 20, FUZZ),
        (5, [1, 3, 4], 3, FUZZ[:-1]),
        (5, [1, 3, 4], 0, FUZZ),
    ],
)
def test_the_first_code_is_executed_first_and_the_second_is_offered_before(
    count, offered, limit, allow, service, tmp_path
):
    """The third meets one request, and more go as the second; a single code is offered, too. Each is executed once."""
    executed(service, tmp_path, CODES[:count], allow=allow, wrong_tokens=limit)
    sent = offers(service)
    wrong = [
        each for each in service.seen if each.header("Authorization") not in ("", f"Bearer {service.service.token}")
    ]

    assert service.executions == list(CODES[:count])
    assert [place for place, code in enumerate(CODES[:count]) if sent[code]] == offered
    assert all("" in sent[CODES[place]] for place in offered)
    assert len(wrong) <= limit
    assert any(any(each) for each in sent.values()) is (limit > 4)
    assert [place for place, (code, _) in enumerate(real_codes(service)) if code == CODES[0]][-1] > 0 or not limit


@pytest.mark.parametrize(
    ("sandbox", "allow"), [(None, FUZZ), (None, ["execute"]), (SANDBOX, FUZZ)], ids=["elsewhere", "no read", "sandbox"]
)
@served_by(Overlapping)
def test_a_code_never_meets_another_code(service, sandbox, allow, tmp_path):
    """The third execution meets one request, a read or a synthetic code with a wrong token; elsewhere than on a sandbox
    no other code meets any."""
    executed(service, tmp_path, CODES, sandbox=sandbox, allow=allow)
    company = [(mine[0].path, service.is_granted(mine[0]), mine[1:]) for mine in service.beside]
    others = [each for _, _, rest in company for each in rest if sandbox is None]

    assert not any(
        is_real(each.path) or (each.path.startswith(EXECUTION) and service.is_granted(each)) for each in others
    )
    assert [len(rest) for _, granted, rest in company if granted] == [0, 0, 1, 0, 0]
    assert sandbox or [path for path, _, rest in company if rest] == [EXECUTION + CODES[2]]


@served_by(Overlapping)
def test_on_a_sandbox_two_prepared_transfers_are_executed_at_the_same_time(service, tmp_path):
    """They are prepared besides: no wrong token goes with them, and they have room before all others."""
    executed(service, tmp_path, (), sandbox=SANDBOX, prepare=PREPARE | {"count": 3})
    sent = offers(service)
    twins = [
        mine[0].path.removeprefix(EXECUTION) for mine in service.beside if any(is_real(it.path) for it in mine[1:])
    ]

    assert sorted(twins) == sorted(list(sent)[-2:])
    assert [bool(each) for each in sent.values()] == [False, True, False, False, False]


class SpendsOnAWrongToken(Bank):
    """A code is spent by whatever request names it, and executed only where the token is valid."""

    def respond(self, request):
        if is_real(request.path) and [seen.path for seen in self.seen].count(request.path) > 1:
            return self.refusal(Refusal(409, "The code is spent."))
        return super().respond(request)


def test_a_service_that_spends_codes_on_wrong_tokens_is_said_and_tested(tmp_path):
    """It loses the code that was offered. The others are executed, and nothing is said of the token that was not seen."""
    service, profile = SpendsOnAWrongToken(), profile_with(tmp_path, CODES)
    start_journal(profile)
    model = whole_run(service, profile, "executePix")
    verdicts = {one.id: result.verdict for one, result in model.requirements()}

    asked = {seen.path for seen in service.seen if is_real(seen.path) and not service.is_granted(seen)}
    assert {as_documented(path) for path in asked} == {EXECUTION + code for code in CODES[:2]}
    assert model.result().verdict == "incomplete"
    assert verdicts["executePix.document.masked"] == "pass"
    assert verdicts["executePix.token.required"] == "not-exercised"
    assert model.executions == 4
    assert len([note for note in notes_of(model) if note.endswith("perhaps spent by a wrong token")]) == 1


@pytest.mark.parametrize("count", [1, 3])
@served_by(ExecutesAndRefuses)
def test_a_refusal_that_had_its_effect_is_said(service, count, tmp_path):
    """The code's first valid use says that it was executed; also where it is the only code."""
    found = executed(service, tmp_path, CODES[:count])

    assert [seen.number in found.offered for seen in found.perhaps_spent] == [True]


# -- the limit, and what leaves in a refused credential ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "allow", "limit", "sandbox"),
    [
        pytest.param(Signing, FUZZ, 20, SANDBOX, id="signed, fuzz"),
        pytest.param(Bank, FUZZ, 3, None, id="few"),
        pytest.param(Signing, FUZZ[:-1], 20, None, id="signed, no fuzz"),
        pytest.param(Bank, FUZZ[:-1], 0, None, id="none"),
    ],
)
def test_a_whole_run_keeps_to_limits_wrong_tokens_and_hides_the_token(make, allow, limit, sandbox, tmp_path):
    """For each of the two operations, all that is generated and repeated included. Without fuzz no refused credential
    has all but sixteen characters of the token. Elsewhere than on a sandbox no key of the profile is among them."""
    service = Bank(make().token)
    service.is_token = make().is_token
    profile = profile_with(tmp_path, CODES[:3], allow=allow, wrong_tokens=limit, sandbox=sandbox)
    if sandbox is None:
        start_journal(profile)
    model = whole_run(service, profile, among=BOTH)
    refused = [
        (name, each.header("Authorization"), each.body)
        for each in service.seen
        for name in operations_reached(each.method, each.path)
        if not service.is_granted(each)
    ]
    verdict = next(str(result.message) for one, result in model.requirements() if one.id == "executePix.token.required")

    assert model.result().verdict.exit_status == 0
    assert all(len([sent for name, sent, _ in refused if name == one and sent]) <= limit for one in DOCUMENTED)
    assert "fuzz" in allow or not [
        sent for _, sent, _ in refused if _told(sent, service.token) > len(service.token) - 16
    ]
    assert sandbox or all(b"pixconf-" in body for name, _, body in refused if name == "registerPixKey")
    assert verdict.startswith("credentials tried: ")


def _told(sent, token):
    """How many characters of the token stand in a header, in pieces of four or more."""
    blocks = SequenceMatcher(None, sent, token, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks if block.size > 3)


@pytest.mark.parametrize(
    ("selected", "has_wrong_tokens"),
    [
        ("executePix.digit", False), ("registerPixKey.Key.type", False),
        ("executePix.token.required", True), ("registerPixKey.token", True),
    ],
)  # fmt: skip
def test_a_selection_sends_wrong_tokens_only_where_it_is_about_them(selected, has_wrong_tokens, tmp_path):
    """Fields of the results need executions and registrations, and no request without the token."""
    bank = Bank()
    whole_run(bank, profile_with(tmp_path, CODES[:3], sandbox=SANDBOX), selected)
    refused = [seen for seen in bank.seen if not bank.is_granted(seen)]

    assert (len(refused) > 5, bool(refused)) == (has_wrong_tokens, has_wrong_tokens)


# -- where the token comes from -----------------------------------------------------------------------------------------


def test_a_token_from_a_command_is_fetched_again_once(tmp_path):
    """What it prints elsewhere is not read. A command that fails is said in one line."""
    script = tmp_path / "token.sh"
    script.write_text('echo run >> "$0.log"; wc -l < "$0.log" | tr -d " " | sed s/^/Token-/; echo chatty >&2\n')
    target = open_target(bank_profile(tmp_path, auth={"token_command": ["sh", str(script)]}))
    tokens = [(target.secrets.token(), refresh()) for refresh in [target.refresh] * 2]
    script.write_text("exit 3\n")

    assert tokens == [("Token-1", True), ("Token-2", False)]
    with pytest.raises(ProfileError, match=r"auth\.token_command: failed"):
        open_target(bank_profile(tmp_path, auth={"token_command": ["sh", str(script)]}))
