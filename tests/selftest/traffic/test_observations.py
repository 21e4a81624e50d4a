"""What is observed tells services apart that differ, and is the same for one service in every run."""

from dataclasses import replace
from decimal import Decimal
from functools import cache
from itertools import chain

import pytest

from environments.door.wrong_tokens import NO_HEADER
from environments.profiles.loading import load
from environments.sandbox import Service
from reports.observed.behaviour import data_of_behaviour, drifts
from reports.result.run_verdict import result_of_run
from spec.exchange import FailureKind
from spec.interface import SYNTHETIC_PREFIX
from spec.log import Log
from spec.observed import answer_of
from spec.requirements import requirements
from tests.selftest.exchanges import EXECUTION_RESULT, answer, execution, registration, unanswered
from tests.selftest.proof.directly import run_tests_in_memory, sent_to_the_sandbox
from tests.selftest.services.unshown import DoesOtherwise
from tests.selftest.shared_runs import TARGETED_PROFILE, run_with_files, shared_run
from tests.traffic.money.executions import Execution, Preparation
from tests.traffic.observations import IN_SEQUENCES, OBSERVATIONS, Observed
from tests.traffic.observations import observed as observed_in_log
from tests.traffic.observed_values import format_of, need_of_the_token, number_as_shown, status_as_shown
from tests.traffic.robustness import Invalid
from tests.traffic.undescribed import Reading


def behaviour_of_service(service):
    """What a run observes of a service, by requirement and situation."""
    profile = load("sandbox")
    alone = replace(
        profile,
        base_url="http://127.0.0.1",
        sandbox="http://127.0.0.1",
        limits=replace(profile.limits, parallel=1),
    )

    run = run_tests_in_memory(service, alone, lambda test: not test.get_closest_marker("property"))
    assert run.errors == []
    return result_of_run(run).behaviour


@cache
def behaviour_of_sandbox():
    """What a run observes of the sandbox."""
    return behaviour_of_service(Service())


def drifting_requirements(behaviour, other_behaviour):
    """The requirements that drift from one run to the other, or back."""
    pair = (behaviour, other_behaviour)
    return {drift.id for was, now in (pair, pair[::-1]) for drift in drifts(was, now)}


def stable_behaviour(behaviour):
    """The behaviour that is the same in every run.

    Keys, balances and entries change while a run lasts, so their shapes do. How many requests a service lets in within a
    second depends on the speed of the run.
    """
    stable_ids = (name for name in behaviour if not name.endswith(".shape") and name != "general.rateLimit")
    return {requirement_id: behaviour[requirement_id] for requirement_id in stable_ids}


@pytest.mark.slow
def test_exactly_the_requirements_of_a_difference_drift():
    """The service conforms, and differs from the sandbox in things that the document does not show."""
    behaviour = behaviour_of_service(DoesOtherwise())

    assert drifting_requirements(behaviour_of_sandbox(), behaviour) == DoesOtherwise.SEEN_IN


def test_the_same_service_is_observed_alike(tmp_path):
    """Seed, transport and parallel requests make no difference.

    A requirement that the profile does not permit does not drift.
    """
    result = run_with_files(tmp_path, Service, "--seed=7", "--parallel=16", **TARGETED_PROFILE)
    in_parallel = result_of_run(result.run).behaviour
    clean, partial = (result_of_run(shared_run(name).run).behaviour for name in ("clean", "partial"))

    assert data_of_behaviour(stable_behaviour(clean)) == data_of_behaviour(stable_behaviour(in_parallel))
    assert drifting_requirements(behaviour_of_sandbox(), in_parallel) == set()
    assert drifting_requirements(clean, in_parallel) == drifting_requirements(clean, partial) == set()


# -- shapes ---------------------------------------------------------------------------------------------------------

GRANTED = answer("listEntries", {"entries": []})
REFUSED = answer("listEntries", {}, status=400)
SHOW_NO_SHAPE = {
    "generated": answer("listEntries", {}, part="listEntries.fuzzing"),
    "of another operation": answer("listAccounts", {}),
    "without a token": answer("listEntries", {}, credential="no header", valid=False),
    "over a limit": answer("listEntries", {}, status=429),
    "a gateway's": answer("listEntries", {}, status=503),
    "a token that has expired": answer("listEntries", {}, status=401),
    "no answer": unanswered(FailureKind.TIMEOUT, "listEntries"),
}


@pytest.mark.parametrize("exchange", SHOW_NO_SHAPE.values(), ids=SHOW_NO_SHAPE)
def test_an_exchange_that_shows_no_shape_is_not_observed(exchange):
    """Generated traffic, other requests, and answers that may differ in a minute show no shape."""
    for exchanges, shown in (([exchange], []), ([exchange, REFUSED], []), ([exchange, REFUSED, GRANTED], [GRANTED])):
        assert observed_in_log("listEntries.shape", Log(exchanges)).exchanges == shown


# -- the table ------------------------------------------------------------------------------------------------------

NOT_SHOWN = [requirement for requirement in requirements().values() if requirement.level == "not-shown"]


def test_each_requirement_at_level_not_shown_has_an_observation():
    """OBSERVATIONS and IN_SEQUENCES have each once, unless no exchange can show it."""
    can_be_seen = {requirement.id for requirement in NOT_SHOWN if not requirement.untestable}

    assert {*OBSERVATIONS, *IN_SEQUENCES} == can_be_seen
    assert OBSERVATIONS.keys().isdisjoint(IN_SEQUENCES)


def test_each_purpose_of_the_table_is_that_of_a_request():
    """A run on the sandbox sends requests with each purpose, except for the one that is tried if executions are
    refused.
    """
    situations = chain.from_iterable(OBSERVATIONS.values())
    purposes = set(chain.from_iterable(situation.purposes for situation in situations))
    purposes_sent = {exchange.purpose for exchange in sent_to_the_sandbox("sandbox").session.door.log}

    assert purposes - purposes_sent == {Execution.PREPARED_WITH_EXTRA_PARTS}


@pytest.mark.parametrize("requirement", OBSERVATIONS)
def test_each_row_shows_something_of_the_sandbox(requirement):
    """A row has a value in a situation, and an exchange that shows it."""
    shown = observed_in_log(requirement, sent_to_the_sandbox("sandbox").session.door.log)

    assert shown.values
    assert shown.exchanges


def test_a_row_that_shows_nothing_has_no_values():
    """A row may have a value for the case that nothing is observed, such as "no code"."""
    assert observed_in_log("listEntries.shape", Log()) == Observed({}, [])
    assert observed_in_log("general.codeValues", Log()) == Observed({"": ["no code"]}, [])


def test_after_a_503_the_repetition_is_observed():
    """If the request was not repeated, nothing is observed."""
    unknown = replace(execution(EXECUTION_RESULT, status=404), purpose=Execution.UNKNOWN_CODE, number=1, valid=False)
    broken = replace(unknown, response=replace(unknown.response, status=503))
    once_more = replace(unknown, number=2, repeats=1, purpose=None)

    assert observed_in_log("executePix.unknownCode", Log([broken])).values == {}
    assert observed_in_log("executePix.unknownCode", Log([broken, once_more])).exchanges == [once_more]
    assert observed_in_log("executePix.unknownCode", Log([unknown, once_more])).exchanges == [unknown]


def test_a_deletion_for_a_synthetic_account_stands_for_its_class():
    """On a sandbox some bodies go to two accounts. An unreadable body shows more at the account that exists."""

    def deletion(what, account, status, number):
        path = f"/v1/pix/keys/{account}"
        exchange = answer("deletePixKey", {}, status=status, valid=False, path=path, method="DELETE")
        return replace(exchange, unusual=("body", what), purpose=Invalid.IS_OBSERVED, number=number)

    own, nobody = "ac-0001", f"{SYNTHETIC_PREFIX}account"
    deletions = [
        deletion(what, account, status, number)
        for number, (what, account, status) in enumerate(
            [("empty", nobody, 404), ("empty", own, 400), ("cut short", own, 400), ("cut short", nobody, 404)], 1
        )
    ]
    shown = observed_in_log("deletePixKey.refusal", Log(deletions)).exchanges

    assert [exchange.number for exchange in shown] == [1, 3]


def test_a_code_that_is_refused_like_an_unknown_one_shows_nothing():
    """Another requirement shows how an unknown code is answered."""
    unknown = replace(execution({}, status=404, valid=False), purpose=Execution.UNKNOWN_CODE, number=1)
    with_quotes = replace(unknown, purpose=Invalid.IS_OBSERVED, unusual=("transactionId", "with quotes"), number=2)

    assert observed_texts("executePix.refusal", [unknown, with_quotes]) == {
        "transactionId: with quotes": ["like an unknown code"]
    }
    assert observed_texts("executePix.refusal", [with_quotes]) == {
        "transactionId: with quotes": [answer_of(with_quotes)]
    }
    of_a_read = replace(with_quotes, operation="getBalance")
    assert observed_texts("getBalance.refusal", [unknown, of_a_read]) == {
        "transactionId: with quotes": [answer_of(of_a_read)]
    }


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ({"pixKeyType": "RANDOM"}, {"RANDOM": ["left out"]}),
        ({"pixKeyType": "RANDOM", "pixKey": "1"}, {"RANDOM": ["digits"]}),
        ({"pixKeyType": "CPF", "pixKey": "1"}, {"CPF, digits": ["accepted"]}),
    ],
)
def test_the_format_of_a_random_key_is_the_choice_of_the_service(body, shown):
    """Keys of other types may be accepted in several formats."""
    assert observed_texts("registerPixKey.pixKey.format", [registration(sent=body)]) == shown
    assert observed_texts("registerPixKey.pixKey.format", [registration(sent=body, valid=False)]) == {}
    assert observed_texts("registerPixKey.pixKey.format", [registration(sent=body, status=400)]) == {}


# -- single values --------------------------------------------------------------------------------------------------


def test_a_supplied_code_shows_only_its_own_transfer():
    """The account type has no meaning that holds for other supplied codes, because they have other payees.

    A status before the execution comes from the operation that prepared the transfer.
    """
    paid = [execution(EXECUTION_RESULT | {"accountType": number, "status": "CONFIRMED"}) for number in (2, 1)]
    supplied = [replace(exchange, purpose=Execution.SUPPLIED, number=number) for number, exchange in enumerate(paid, 1)]
    prepared = [
        replace(answer(name, {"code": 0, "data": data}), purpose=Preparation.TO_EXECUTE, number=number)
        for number, (name, data) in enumerate((("createPix", {"status": "OPEN"}), ("transferP2p", {})), 3)
    ]
    of_a_prepared_code = replace(paid[0], purpose=Execution.PREPARED, number=5)

    assert observed_texts("executePix.accountType.meaning", supplied) == {
        f"{n} for a supplied code": ["seen"] for n in (2, 1)
    }
    assert observed_texts("executePix.status.values", [*prepared, of_a_prepared_code]) == {"createPix": ["CONFIRMED"]}
    assert observed_texts("executePix.status.transitions", prepared) == {
        "createPix": ["OPEN"],
        "transferP2p": ["no status"],
    }


def observed_texts(requirement_id, exchanges):
    """What these exchanges show for a requirement, by situation as text."""
    shown = observed_in_log(requirement_id, Log(exchanges)).values
    return {str(situation): observed_values for situation, observed_values in shown.items()}


@pytest.mark.parametrize(
    ("date", "unit"),
    [
        (1767225600, "seconds since 1970"),
        (1767225600000, "milliseconds since 1970"),
        (1767225600000000, "microseconds since 1970"),
        (1767225600000000000, "nanoseconds since 1970"),
        (20260101, "10^7"),
    ],
)
def test_the_size_of_a_date_suggests_its_unit(date, unit):
    """A number of another size is told by its power of ten."""
    result = replace(execution(EXECUTION_RESULT | {"date": date}), purpose=Execution.PREPARED)

    assert observed_texts("executePix.date.unit", [result]) == {"": [unit]}


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("123e4567-e89b-12d3-a456-426614174000", "the form of a UUID"),
        ("0001", "digits"),
        ("+5511955500101", "+ and digits"),
        ("111.222.333-44", "digits and punctuation"),
        ("qa@bank.example", "an e-mail address"),
        ("ac-0001", "other characters"),
        ("", "other characters"),
    ],
)
def test_the_format_of_an_identifier_follows_from_its_characters(text, form):
    """The observation has the format, and not the identifier."""
    assert format_of(text) == form


@pytest.mark.parametrize(
    ("number", "text"),
    [("0", "0"), ("-9999", "-9999"), ("9999", "9999"), ("10000", "10^4"), ("-10000", "10^4"), ("1.5", "no integer")],
)
def test_a_number_of_few_digits_is_observed_as_it_is(number, text):
    """Of a larger number only the power of ten is observed, because it may be the number of an account."""
    assert number_as_shown(Decimal(number)) == text


def test_a_status_that_may_name_a_person_is_another_text():
    """A status is observed as it is only if it is one word in capitals or a documented word."""
    words = ("PENDING", "done", "ON_HOLD", "MARIA SILVA", "Zuleica", "zuleica", "a1", "conta-da-zuleica")

    assert [status_as_shown(word) for word in words] == [*words[:2], *["another text"] * 6]


def test_published_limits_and_versions_are_seen():
    """The names of the headers are observed by operation. A refusal does not count."""
    headers = [(name, "1") for name in ("x-ratelimit-limit", "RateLimit-Policy", "Deprecation")]
    exchanges = [answer("listAccounts", {}, headers=headers), answer("listPixKeys", {}, status=401)]

    assert observed_texts("general.rateLimit", exchanges)["listAccounts"] == ["RateLimit-Policy, X-RateLimit-Limit"]
    assert observed_texts("general.deprecation", exchanges) == {"listAccounts": ["Deprecation"]}


def test_a_429_is_seen_also_if_the_request_was_sent_again():
    """Without a 429 the observation says so."""
    limited = replace(answer("listAccounts", {}, status=429), number=1)
    granted = replace(answer("listAccounts", {}), number=2, supersedes=1)

    assert observed_texts("general.rateLimit", [limited, granted]).keys() == {"a 429", "listAccounts"}
    assert observed_texts("general.rateLimit", [granted]) == {"": ["no 429"], "listAccounts": ["none"]}


READ = replace(answer("getBalance", {"code": 0, "data": {}}), purpose=Reading.WITH_TOKEN, number=1)


@pytest.mark.parametrize(
    ("status", "body", "read", "need"),
    [
        (401, {}, READ, "required"),
        (200, {"code": 0, "data": {}}, READ, "not required"),
        (404, {}, READ, "required"),
        (503, {}, READ, ""),
        (404, {}, replace(READ, response=replace(READ.response, status=503)), ""),
        (404, {}, answer("getBalance", {}, status=404), ""),
        (404, {}, answer("getBalance", {}, status=400), "required"),
    ],
    ids=["401", "granted", "refused", "passing", "passing with it", "refused alike", "refused otherwise"],
)
def test_an_operation_needs_the_token_if_its_answer_differs_without_it(status, body, read, need):
    """A 401 shows the need alone. Any other refusal must differ from the answer to the same request with the token."""
    without_token = answer("getBalance", body, status=status, credential=NO_HEADER, valid=False)

    assert need_of_the_token(without_token, read) == need
