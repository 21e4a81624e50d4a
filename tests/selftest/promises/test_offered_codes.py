"""Which codes are offered with wrong tokens before their execution, in which order codes go, and what goes with them."""

import threading
import time
from collections import Counter
from urllib.parse import unquote

import pytest

from environments.door.wrong_tokens import FORMS, authorization
from environments.sandbox import Refusal
from reports.result.run_verdict import result_of_run
from spec.interface import operations_reached
from tests.harness.starting import start_journal
from tests.selftest.services.one_run import ADDRESS, BOTH, EVERYTHING, Bank, Run, bank_profile, notes_of, whole_run
from tests.selftest.services.serving import EXECUTION, Raw, is_real, real_codes, served_by
from tests.selftest.services.signed import Signing

CODES = ("SBX-PHONE-1", "SBX-EMAIL-1", "SBX-CPF-1", "SBX-RANDOM-1", "SBX-CNPJ-1")
FUZZ, NO_FUZZ = sorted(EVERYTHING), sorted(EVERYTHING - {"fuzz"})
DOCUMENTED = ("executePix", "registerPixKey")


class ExecutesAndRefuses(Bank):
    """A code is executed by whatever request names it, and refused all the same without the valid token."""

    def authorize(self, request, operation):
        """Anybody may."""

    def finish(self, request, operation, response):
        return response if self.is_granted(request) else self.refusal(Refusal(401, "No."))


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


def profile_with(folder, codes=(), allow=FUZZ, wrong_tokens=20, **changes):
    """A profile of a target that is no sandbox, unless `changes` say so."""
    limits = {"executions": 12, "requests": 3000, "wrong_tokens": wrong_tokens}
    return bank_profile(folder, transactions={"codes": list(codes)}, limits=limits, allow=allow, **changes)


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
        (2, [1], 20, NO_FUZZ),
        (5, [1, 3, 4], 20, FUZZ),
        (5, [1, 3, 4], 3, NO_FUZZ),
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
    ("sandbox", "allow"), [(None, FUZZ), (None, ["execute"]), (ADDRESS, FUZZ)], ids=["elsewhere", "no read", "sandbox"]
)
@served_by(Overlapping)
def test_a_code_never_meets_another_code(service, sandbox, allow, tmp_path):
    """The third execution meets one request, a read or a synthetic code with a wrong token; elsewhere than on a sandbox
    no other code meets any."""
    executed(service, tmp_path, CODES, sandbox=sandbox, allow=allow, wrong_tokens=6)
    company = [(mine[0].path, service.is_granted(mine[0]), mine[1:]) for mine in service.beside]
    others = [each for _, _, rest in company for each in rest if sandbox is None]

    assert not any(
        is_real(each.path) or (each.path.startswith(EXECUTION) and service.is_granted(each)) for each in others
    )
    assert [len(rest) for _, granted, rest in company if granted] == [0, 0, 1, 0, 0]
    assert sandbox or [path for path, _, rest in company if rest] == [EXECUTION + CODES[2]]


@pytest.mark.parametrize("count", [1, 3])
def test_a_refusal_that_had_its_effect_is_said(count, tmp_path):
    """The code's first valid use says that it was executed; also where it is the only code. That it may have expired is
    not said beside it."""
    profile = profile_with(tmp_path, CODES[:count])
    start_journal(profile)
    notes = notes_of(whole_run(ExecutesAndRefuses(), profile, "executePix.token.required"))

    assert ["perhaps spent by a wrong token" in note for note in notes if "refused" in note] == [True]


# -- the limit, and what leaves in a refused credential ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "allow", "limit"),
    [
        pytest.param(Bank, FUZZ, 3, id="few"),
        pytest.param(Signing, NO_FUZZ, 20, id="signed, no fuzz"),
        pytest.param(Bank, FUZZ, 0, id="none"),
    ],
)
def test_a_whole_run_keeps_to_limits_wrong_tokens_and_hides_the_token(make, allow, limit, tmp_path):
    """For each of the two operations, all that is generated and repeated included; twice as many may name nobody. A
    limit of 0 is one for all others, too. Without fuzz no refused credential tells the token. Elsewhere than on a sandbox no key of the profile is among
    them."""
    service = Bank(make().token)
    service.is_token = make().is_token
    profile = profile_with(tmp_path, CODES[:3], allow=allow, wrong_tokens=limit)
    start_journal(profile)
    model = whole_run(service, profile, "executePix or registerPixKey or listAccounts or deletePixKey", among=BOTH)
    refused = [
        (name, each.header("Authorization"), each.body)
        for each in service.seen
        for name in operations_reached(each.method, each.path)
        if not service.is_granted(each)
    ]
    with_a_wrong_token = [
        (name, each.path)
        for each in service.seen
        for name in operations_reached(each.method, each.path)
        if each.header("Authorization") and not service.is_granted(each)
    ]
    holding_one = [name for name, sent, _ in refused if sent]
    naming_nobody = Counter(name for name, path in with_a_wrong_token if "/pixconf-" in path)
    naming_somebody = Counter(name for name, path in with_a_wrong_token if "/pixconf-" not in path)
    hiding = {str(authorization(form.name, service.token)).split(" ")[-1] for form in FORMS if not form.restorable}
    verdict = next(
        str(result.message) for one, result in result_of_run(model).results if one.id == "executePix.token.required"
    )

    assert result_of_run(model).verdict.exit_status == 0
    assert limit or not holding_one
    assert all(naming_somebody[name] <= limit and naming_nobody[name] <= 2 * limit for name in DOCUMENTED)
    assert "fuzz" in allow or {sent.split()[-1] for _, sent, _ in refused if sent} <= hiding | {"bearer", "BEARER"}
    assert all(b"pixconf-" in body for name, _, body in refused if name == "registerPixKey")
    assert verdict.startswith("credentials tried: ")


@pytest.mark.parametrize("limit", [0, 3, 20])
@pytest.mark.parametrize(
    ("sandbox", "begin_journal"),
    [(None, start_journal), (ADDRESS, lambda profile: None)],  # a sandbox has none
    ids=["no sandbox", "a sandbox"],
)
def test_a_real_code_is_offered_as_often_as_the_limit_says(sandbox, begin_journal, limit, tmp_path):
    """Requests without any token count, too, and those at an account of the profile; but for a plain one for each code and
    each key type."""
    bank = Bank()
    profile = profile_with(tmp_path, CODES[:3], wrong_tokens=limit, sandbox=sandbox)
    begin_journal(profile)
    whole_run(bank, profile, "executePix.token.required or registerPixKey.token.required")
    refused = [seen for seen in bank.seen if not bank.is_granted(seen)]
    offers = [seen for seen in refused if any(code in unquote(seen.path) for code in CODES)]
    plain_codes = {
        seen.path for seen in offers if not seen.header("Authorization") and seen.path[len(EXECUTION) :] in CODES
    }
    reached = [(seen, operations_reached(seen.method, seen.path)) for seen in refused]
    registrations = [seen for seen, names in reached if "registerPixKey" in names and "ac-0001" in seen.path]

    assert len(offers) - len(plain_codes) <= limit
    assert len(registrations) <= limit + (5 if sandbox else 1)
    assert bool(offers)


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
    whole_run(bank, profile_with(tmp_path, CODES[:3], sandbox=ADDRESS), selected)
    refused = [seen for seen in bank.seen if not bank.is_granted(seen)]

    assert (len(refused) > 5, bool(refused)) == (has_wrong_tokens, has_wrong_tokens)
