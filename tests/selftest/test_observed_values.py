"""What is observed tells services apart that differ, and is the same for one service in every run."""

from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import pytest

from environments.profiles.loading import load
from environments.profiles.model import PixKey
from environments.sandbox import Refusal, Service
from reports.behaviour import data_of_behaviour, drifts
from spec.exchange import FailureKind
from spec.facts import text_of
from spec.interface import PREPARING
from spec.rules import Reproduction
from tests.conformance.test_registration import deletions_needed
from tests.selftest.exchanges import EXECUTION, answer, execution, failed, registration
from tests.selftest.proof.directly import run_in_memory
from tests.selftest.proof.variants.lawful_making import page
from tests.selftest.recorded_runs import WHOLE, record, recorded
from tests.selftest.services.unshown import (
    AnswersOtherwise,
    RequiresOtherwise,
    Stumbles,
)
from tests.traffic.described import numeric_values, states_before, values_in_results, word_of
from tests.traffic.observations import (
    answers_to,
    formats_of_identifiers,
    rate_limits_of,
    version_headers_of,
)
from tests.traffic.scenario import Traffic


def observed(service, *ids):
    """What a run observes of a service, by requirement and situation: of these requirements, or of all."""
    profile = load("sandbox")
    alone = replace(
        profile, base_url="http://127.0.0.1", sandbox="127.0.0.1", limits=replace(profile.limits, parallel=1)
    )

    def takes(test):
        return not test.get_closest_marker("property") and (
            not ids or test.get_closest_marker("requirement").args[0] in ids
        )

    run = run_in_memory(service, alone, takes)
    assert run.errors == []
    return run.behaviour


@cache
def sandbox():
    """What is observed of the sandbox."""
    return observed(Service())


def differing(one, other):
    """The requirements of which two runs observed different things in the same situation, or in any place of a shape."""
    told = {
        requirement
        for requirement in stable(one).keys() & other.keys()
        for situation in one[requirement].keys() & other[requirement].keys()
        if one[requirement][situation] != other[requirement][situation]
    }
    return told | drifting(one, other)


def drifting(one, other):
    """The requirements that drift from one run to the other, or back."""
    return {drift["id"] for was, now in ((one, other), (other, one)) for drift in drifts(was, now)}


def stable(seen):
    """All but the shapes of what the run itself changes (keys, balances and entries): the moment decides what they hold.
    How many requests are let in within a second depends on the speed of the run."""
    return {name: seen[name] for name in seen if not name.endswith(".shape") and name != "general.rateLimit"}


@pytest.mark.parametrize("service", [AnswersOtherwise, RequiresOtherwise])
def test_a_service_that_differs_is_seen_to_differ_in_that_alone(service):
    """A lawful service does things otherwise that are not shown: they are observed otherwise, and drift, and no other."""
    seen = observed(service())

    assert drifting(sandbox(), seen) == differing(sandbox(), seen) == service.SEEN_IN


def test_the_same_service_is_observed_alike(tmp_path):
    """From any seed, and however many requests are on the wire. What a profile does not permit does not drift."""
    ended = record(tmp_path, Service, "--seed=7", "--parallel=16", "-m", "not property", **WHOLE)
    one, other = recorded("clean").run.behaviour, ended.run.behaviour
    again = {name: one[name] for name in stable(other)}

    assert data_of_behaviour(again) == data_of_behaviour(stable(other))
    assert drifting(one, other) == drifting(one, recorded("partial").run.behaviour) == set()


def test_what_broke_once_is_observed_as_it_is():
    """A server error, or a gateway that gives up, on a request that is answered the next time."""
    assert stable(observed(Stumbles())) == stable(sandbox())


# -- shapes ---------------------------------------------------------------------------------------------------------

TRANSFER = (
    "/code number, /data/date number, /data/document string, /data/name string, /data/status string, "
    "/data/transactionId string, /data/value number"
)
SHAPES = {
    "listPixKeys.shape": "/code number, /data/keys/*/pixKey string, /data/keys/*/pixKeyType string",
    "listAccounts.shape": (
        "/code number, /data/accounts/*/account string, /data/accounts/*/accountType number, "
        "/data/accounts/*/bank string, /data/accounts/*/branch string, /data/accounts/*/digit string, "
        "/data/accounts/*/document string, /data/accounts/*/id string, /data/accounts/*/name string"
    ),
    "getBalance.shape": "/code number, /data/account string, /data/balance number",
    "listEntries.shape": (
        "/code number, /data/entries/*/date number, /data/entries/*/transactionId string, /data/entries/*/value number"
    ),
    **dict.fromkeys(map("{}.shape".format, PREPARING), TRANSFER),
    "deletePixKey.data": "/code number, /data/message string",
}


def texts_of(seen):
    """The facts of each shape on one line."""
    return {name: text_of(seen[name][""]).removeprefix("200 application/json: ") for name in SHAPES if name in seen}


def test_shapes_of_the_sandbox():
    """Each undescribed answer, with what the registrations and executions of the run brought into it."""
    assert texts_of(sandbox()) == SHAPES


class KeyedBy(Service):
    """The sandbox, which lists keys by themselves, entries by day, accounts by their number and by their holder, shows
    balances on a page, and prepares nothing."""

    def list_pix_keys(self, request, account_id):
        listed = super().list_pix_keys(request, account_id)["keys"]
        return {"keys": {key["pixKey"]: {"pixKeyType": key["pixKeyType"]} for key in listed}}

    def list_accounts(self, request):
        accounts = super().list_accounts(request)["accounts"]
        return {
            "accounts": {each["id"]: {"bank": each["bank"]} for each in accounts},
            "holders": {each["name"].split()[0]: each["digit"] for each in accounts},
        }

    def list_entries(self, request, account_id):
        entries = super().list_entries(request, account_id)["entries"]
        return {f"2026-01-{day:02}": each for day, each in enumerate(entries, 1)}

    def prepare(self, operation, order):
        raise Refusal(422, "No transfer is possible today.")

    def finish(self, request, operation, response):
        return page(200, "Saldo") if operation == "getBalance" and response.status == 200 else response


def test_names_that_are_data():
    """A key, a day, an account and a person are any name. What is no JSON has no facts, and a refusal is none."""
    assert texts_of(observed(KeyedBy(), *SHAPES)) == {
        "listPixKeys.shape": "/code number, /data/keys/*/pixKeyType string",
        "listAccounts.shape": "/code number, /data/accounts/*/bank string, /data/holders/* string",
        "getBalance.shape": "200 text/html",
        "listEntries.shape": "/code number, /data/*/date number, /data/*/transactionId string, /data/*/value number",
        "deletePixKey.data": SHAPES["deletePixKey.data"],
    }


GRANTED = answer("listEntries", {"entries": []})
REFUSED = answer("listEntries", {}, status=400)
OTHERS = {
    "generated": answer("listEntries", {}, part="listEntries.fuzzing"),
    "of another operation": answer("listAccounts", {}),
    "without a token": answer("listEntries", {}, credential="no header", valid=False),
    "over a limit": answer("listEntries", {}, status=429),
    "a gateway's": answer("listEntries", {}, status=503),
    "a token that has expired": answer("listEntries", {}, status=401),
    "no answer": failed(FailureKind.TIMEOUT, "listEntries"),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_what_shows_no_shape(other):
    """Generated traffic, other requests, and answers that may be other ones in a minute."""
    traffic = Traffic.__new__(Traffic)
    traffic.reproduction = Reproduction()
    for sent, shown in (([other], []), ([other, REFUSED], []), ([other, REFUSED, GRANTED], [GRANTED])):
        traffic.client = SimpleNamespace(door=SimpleNamespace(exchanges=sent))

        assert answers_to("listEntries", traffic) == shown


# -- single values --------------------------------------------------------------------------------------------------


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
    codes = ("Xk3_9aQ", "XkpqaQb", "8f14e45f-ceea-467f-9a36-dedd4bea2543", "20260102")
    seen = [formats_of_identifiers([execution(path=f"/v1/execute/pix/{code}")]) for code in codes]

    assert seen[0] == seen[1] == {"transactionId": ["other characters"]}
    assert len(set(map(str, seen))) == 3


def test_what_a_supplied_code_shows_is_no_more_than_seen():
    """Other codes are of other payees. A status before the execution is that of the operation that prepared it."""
    paid = [execution(EXECUTION | {"accountType": number, "status": "CONFIRMED"}) for number in (2, 1)]
    prepared = [
        answer(name, {"code": 0, "data": data})
        for name, data in (("createPix", {"status": "OPEN"}), ("transferP2p", {}))
    ]

    assert values_in_results("accountType", paid, {}) == {f"{n} for a supplied code": ["seen"] for n in (2, 1)}
    assert values_in_results("status", paid[:1], {1: "createPix"}) == {
        "a transfer prepared by createPix": ["CONFIRMED"]
    }
    assert states_before(prepared) == {
        "a transfer prepared by createPix": ["OPEN"],
        "a transfer prepared by transferP2p": ["no status"],
    }


def test_a_status_that_may_name_a_person_is_another_text():
    """A word of fields is told; it names nobody."""
    words = ("ON_HOLD", "PAGAMENTO CONFIRMADO", "MARIA SILVA", "Zuleica", "a1", "conta-da-zuleica")

    assert [word_of(word) for word in words] == [*words[:2], *["another text"] * 4]


@pytest.mark.parametrize(
    ("names", "limits", "versions"),
    [
        ([], "none", "none"),
        (["x-ratelimit-limit", "X-RateLimit-Reset"], "X-RateLimit-Limit, X-RateLimit-Reset", "none"),
        (["RateLimit-Policy", "Deprecation"], "RateLimit-Policy", "Deprecation"),
    ],
)
def test_published_limits_and_versions_are_seen(names, limits, versions):
    """The names of the headers, by operation; a refusal does not count."""
    sent = [answer("listAccounts", {}, headers=[(name, "1") for name in names]), answer("listPixKeys", {}, status=401)]
    by_headers = {name: seen for name, seen in rate_limits_of(sent).items() if name.startswith("headers")}

    assert by_headers == {"headers of a granted listAccounts": [limits]}
    assert version_headers_of(sent) == {"headers of a granted listAccounts": [versions]}


def test_all_that_an_observation_needs_is_said_at_once():
    """The permission of the operation, and what else its test needs."""
    rows = {row.id: str(result.message) for row, result in recorded("partial").run.requirements()}
    said = str(deletions_needed(SimpleNamespace(allow={"register-keys"}, requests={})))

    assert rows["executePix.repeated"].endswith("needs execute and fuzz in allow")
    assert rows["general.otherTokens"].endswith("needs fuzz and one of delete-keys, create-pix and transfer in allow")
    assert said.endswith("deleted: add delete-keys to allow and supply requests.deletePixKey")
