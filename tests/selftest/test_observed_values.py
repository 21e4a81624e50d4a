"""What is observed tells services apart that differ in one thing, and is the same for one service in every run."""

import json
import os
import tempfile
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

from environments.profiles.model import PixKey
from environments.sandbox import Server, Service
from reports.behaviour import data_of_behaviour, drifts
from tests.conformance.test_registration import deletions_needed
from tests.selftest.exchanges import EXECUTION, answer, execution, registration
from tests.selftest.proof.trial import run_of
from tests.selftest.proof.variants.lawful_making import profile
from tests.selftest.proof.variants.profiles import INCONCLUSIVE
from tests.selftest.services.running import sandbox_at
from tests.selftest.services.unshown import (
    SEEN_OTHERWISE,
    LimitsTheRate,
    ReadsTheBodyFirst,
    RefusesAllWith400,
    Stumbles,
    TakesAnyText,
)
from tests.traffic.described import formats_of_granted, numeric_values, states_before, values_in_results, word_of
from tests.traffic.observations import (
    formats_of_identifiers,
    rate_limits_of,
    version_headers_of,
)

EXHAUSTIVE = os.environ.get("PIX_PROOF") == "exhaustive"
QUICK = (
    "executePix.refusal", "createPix.refusal", "listAccounts.token", "executePix.unknownCode", "registerPixKey.repeated",
    "registerPixKey.pixKeyType.numeric", "general.codeValues",
)  # fmt: skip
"""Requirements that a quick run tries."""
OTHERWISE = [
    pytest.param(requirement, service, id=service.__name__)
    for requirement, services in SEEN_OTHERWISE.items()
    for service in services
    if EXHAUSTIVE or requirement in QUICK
]
TARGETED = ("-m", "not property")


def observed(service, *options, asked_as="sandbox", statuses=(0,)):
    """What a run observes of a service, by requirement and situation."""
    with Server(service) as server:
        os.environ |= {"PIX_SANDBOX_TOKEN": service.token, "PIX_TOKEN": service.token}
        with tempfile.TemporaryDirectory() as folder:
            target = sandbox_at(server.base_url, Path(folder), asked_as)
            status, run = run_of("--no-report", f"--environment={target}", *options)
    assert (status in statuses, run.errors) == (True, [])
    return run.behaviour


@cache
def sandbox(*options):
    """What is observed of the sandbox."""
    return observed(Service(), *options)


def differing(one, other):
    """The requirements of which two runs observed different things in the same situation, or in any place of a shape."""
    told = {
        requirement
        for requirement in _stable(one).keys() & other.keys()
        for situation in one[requirement].keys() & other[requirement].keys()
        if one[requirement][situation] != other[requirement][situation]
    }
    return told | drifting(one, other)


def drifting(one, other):
    """The requirements that drift from one run to the other, or back."""
    return {drift["id"] for was, now in ((one, other), (other, one)) for drift in drifts(was, now)}


def _stable(seen):
    """All but the shapes of what the run itself changes (keys, balances and entries): the moment decides what they hold."""
    return {name: situations for name, situations in seen.items() if not name.endswith(".shape")}


def as_text(seen):
    """To be the same, byte for byte. How many requests are let in within a second depends on the speed of the run."""
    told = {name: situations for name, situations in _stable(seen).items() if name != "general.rateLimit"}
    return json.dumps(data_of_behaviour(told), indent=1)


@pytest.mark.parametrize(("requirement", "service"), OTHERWISE)
def test_a_service_that_differs_in_one_thing_is_seen_to_differ_in_that_alone(requirement, service):
    """A lawful service does one thing otherwise that is not shown: that requirement is observed otherwise, and no other."""
    seen = observed(service(), *TARGETED)

    assert differing(sandbox(*TARGETED), seen) == drifting(sandbox(*TARGETED), seen) == {requirement}


def test_a_token_is_wanted_where_the_same_request_is_answered_otherwise_with_it():
    """No status says so where everything is refused with 400."""
    first, last = observed(RefusesAllWith400(), *TARGETED), observed(ReadsTheBodyFirst(), *TARGETED)

    assert set(told(first["general.otherTokens"])) == {"required"}
    assert set(told(last["general.otherTokens"])) == {"the body is refused first"}
    assert "without a token" in first["createPix.refusal"]
    assert "without a token" not in last["createPix.refusal"]


def told(situations):
    """The phrases that were observed, in any situation."""
    return [what for facts in situations.values() for place, what in facts if not place]


def test_a_service_that_takes_any_text_is_observed_alike():
    """No registration of a synthetic key meets another one, at any speed and in any order."""
    fast, slow = (observed(TakesAnyText(), *TARGETED, *more) for more in ((), ("--parallel=1", *BACKWARDS)))

    assert as_text(fast) == as_text(slow)


BACKWARDS = ("-p", "tests.selftest.services.backwards")
in_the_whole_proof = pytest.mark.skipif(not EXHAUSTIVE, reason="PIX_PROOF=exhaustive")


@pytest.mark.parametrize(
    "options",
    [
        (*BACKWARDS, "--seed=7", "--parallel=1"),
        *(
            pytest.param(options, marks=in_the_whole_proof)
            for options in [("--seed=8",), BACKWARDS, ("--parallel=1",), ("--parallel=2",), ("--parallel=16",), ()]
        ),
    ],
    ids=lambda options: " ".join(options) or "again",
)
def test_the_same_service_is_observed_alike(options):
    """In any order, from any seed, and however many requests are on the wire."""
    one, other = sandbox("--seed=1"), observed(Service(), "--seed=1", *options)

    assert as_text(one) == as_text(other)
    assert drifting(one, other) == set()


def test_what_broke_once_is_observed_as_it_is():
    """A server error, or a gateway that gives up, on a request that is answered the next time."""
    assert differing(sandbox(*TARGETED), observed(Stumbles(), *TARGETED, statuses=(0, 1, 6))) == set()


@pytest.mark.parametrize(
    "name",
    ["read_only", *(pytest.param(name, marks=in_the_whole_proof) for name in INCONCLUSIVE if name != "read_only")],
)
def test_a_profile_that_permits_less_sees_the_same(name):
    """What it does not exercise does not drift, and neither does what it sees a part of."""
    narrow = observed(Service(), *TARGETED, asked_as=profile(name), statuses=(0, 1, 6))

    assert drifting(sandbox(*TARGETED), narrow) == set()


def test_a_digit_is_seen_in_place_of_a_key_type():
    """A service that looks whether the key fits is seen to do the same from a profile with another key."""
    keys = [PixKey("PHONE", "+5511955500777"), PixKey("EMAIL", "qa@example.com")]
    phone, email = ({"pixKeyType": "3", "pixKey": key.key} for key in keys)
    sent = [registration(sent=phone), answer("registerPixKey", {}, status=400, sent=email)]

    assert numeric_values(sent, keys) == {
        "digit 3 in place of PHONE": ["accepted"],
        "digit 3 in place of EMAIL": ["refused"],
    }


def test_random_codes_of_one_alphabet_are_of_one_kind():
    """What characters a random code has by chance is no difference; whether it is a UUID or a number is one."""
    codes = ("Xk3_9aQ", "Xk39aQb", "XkpqaQb", "8f14e45f-ceea-467f-9a36-dedd4bea2543", "20260102")
    seen = [formats_of_identifiers([execution(path=f"/v1/execute/pix/{code}")]) for code in codes]

    assert seen[0] == seen[1] == seen[2] == {"transactionId": ["other characters"]}
    assert len({str(one) for one in seen}) == 3


def test_what_a_supplied_code_shows_is_no_more_than_seen():
    """Other codes are of other payees: their status and accountType need not be those of the last run."""
    paid = [
        execution(EXECUTION | {"accountType": number, "status": status})
        for number, status in ((2, "CONFIRMED"), (1, "DONE"))
    ]

    assert values_in_results("accountType", paid, {}) == {
        "2 for a supplied code": ["seen"],
        "1 for a supplied code": ["seen"],
    }
    assert values_in_results("status", paid[:1], {1: "createPix"}) == {
        "a transfer prepared by createPix": ["CONFIRMED"]
    }


def test_what_another_operation_prepares_is_another_situation():
    """A status before the execution is that of the operation that prepared the transfer."""
    prepared = [
        answer(name, {"code": 0, "data": data})
        for name, data in (("createPix", {"status": "OPEN"}), ("transferP2p", {}))
    ]

    assert states_before(prepared) == {
        "a transfer prepared by createPix": ["OPEN"],
        "a transfer prepared by transferP2p": ["no status"],
    }


@pytest.mark.parametrize("word", ["SUCCESS", "ON_HOLD", "PAGAMENTO CONFIRMADO"])
def test_a_word_of_fields_is_a_status_that_is_told(word):
    """It names nobody."""
    assert word_of(word) == word


@pytest.mark.parametrize("text", ["MARIA SILVA", "Zuleica", "a1", "conta-da-zuleica"])
def test_a_status_that_may_name_a_person_is_another_text(text):
    """It is not told."""
    assert word_of(text) == "another text"


def test_a_429_is_seen_and_changes_nothing_else():
    """What is over a limit is sent again: nothing else is observed otherwise."""
    seen = observed(LimitsTheRate(), *TARGETED)

    assert "a 429" in seen["general.rateLimit"]
    assert differing(sandbox(*TARGETED), seen) - {"general.rateLimit"} == set()


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ([], "none"),
        ([("x-ratelimit-limit", "20"), ("X-RateLimit-Reset", "1")], "X-RateLimit-Limit, X-RateLimit-Reset"),
        ([("RateLimit-Policy", '"default";q=20')], "RateLimit-Policy"),
    ],
)
def test_published_limits_are_seen_without_a_429(headers, said):
    """The names of the headers, by operation; a refusal does not count."""
    sent = [answer("listAccounts", {}, headers=headers), answer("listPixKeys", {}, status=401)]

    found = rate_limits_of(sent)

    assert {name: values for name, values in found.items() if name.startswith("headers")} == {
        "headers of a granted listAccounts": [said]
    }


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (("Deprecation", "@1735689600"), "Deprecation"),
        (("X-Other", "1"), "none"),
    ],
)
def test_headers_about_versions_are_known(header, said):
    """Those of RFC 8594 and RFC 9745, and common ones."""
    seen = version_headers_of([answer("listAccounts", {}, headers=[header])])

    assert seen == {"headers of a granted listAccounts": [said]}


@pytest.mark.parametrize(
    ("allow", "requests", "says"),
    [
        ({"register-keys"}, {"deletePixKey"}, "add delete-keys to allow"),
        ({"register-keys"}, {}, "add delete-keys to allow and supply requests.deletePixKey"),
        ({"register-keys", "delete-keys"}, {}, "supply requests.deletePixKey"),
    ],
)
def test_what_a_trial_with_a_key_needs_is_said_at_once(allow, requests, says):
    """The permission, the body, or both."""
    said = deletions_needed(SimpleNamespace(allow=allow, requests=requests))

    assert str(said).endswith(f"deleted: {says}")


def test_all_that_an_observation_needs_in_allow_is_said_at_once():
    """The permission of the operation, and what else its test needs."""
    ids = ("executePix.repeated", "general.otherTokens", "registerPixKey.body.required")
    with Server(Service()) as server:
        os.environ |= {"PIX_SANDBOX_TOKEN": server.service.token, "PIX_TOKEN": server.service.token}
        target = (f"--base-url={server.base_url}", f"--environment={profile('read_only')}")
        run = run_of("--no-report", *target, "-k", " or ".join(ids))[1]
    needed = {one.id: str(one.message).removesuffix(" in allow").rpartition("needs ")[2] for one in run.results}

    assert {name: needed[name] for name in ids} == {
        "executePix.repeated": "execute and fuzz",
        "general.otherTokens": "fuzz and one of delete-keys, create-pix and transfer",
        "registerPixKey.body.required": "register-keys and fuzz",
    }


def test_other_spellings_of_the_keys_of_the_profile_are_no_contradiction():
    """They are accepted as well. How a RANDOM key is asked for is the service's choice."""
    sent = [("PHONE", "+5511987650001"), ("PHONE", "5511987650001"), ("CPF", "529.982.247-25"), ("RANDOM", None)]
    bodies = [{"pixKeyType": name} | ({"pixKey": key} if key else {}) for name, key in sent]
    granted = [registration(sent=body) for body in bodies]

    assert formats_of_granted(SimpleNamespace(accepted=granted)) == {
        "PHONE, + and digits": ["accepted"],
        "PHONE, digits": ["accepted"],
        "CPF, digits and punctuation": ["accepted"],
        "RANDOM": ["left out"],
    }
