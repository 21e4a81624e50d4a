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
from spec.observed import facts_of_answer
from spec.requirements import requirements
from tests.selftest.exchanges import EXECUTION_RESULT, answer, execution, registration, unanswered
from tests.selftest.proof.directly import run_tests_in_memory, sent_to_the_sandbox
from tests.selftest.services.unshown import ChoosesOtherwiseIfUndocumented
from tests.selftest.shared_runs import TARGETED_PROFILE, run_with_files, shared_run
from tests.traffic.money.executions import Execution, Preparation
from tests.traffic.observations import IN_SEQUENCES, OBSERVATIONS, Observed, observation_of
from tests.traffic.observed_values import format_of, need_of_the_token, number_as_shown, status_as_shown
from tests.traffic.robustness import Invalid
from tests.traffic.undescribed import Reading


def behaviour_of_service(service):
    """What a run observes of a service, by requirement and situation. The run has no generated traffic."""
    profile = load("sandbox")
    profile_of_service = replace(
        profile,
        base_url="http://127.0.0.1",
        sandbox="http://127.0.0.1",
        limits=replace(profile.limits, parallel=1),
    )

    def has_targeted_requests(test):
        """True if a test judges requests that are written by hand, and no generated traffic."""
        return test.get_closest_marker("property") is None

    run = run_tests_in_memory(service, profile_of_service, has_targeted_requests)
    assert run.errors == []
    return result_of_run(run).behaviour


@cache
def behaviour_of_sandbox():
    """What a run observes of the sandbox."""
    return behaviour_of_service(Service())


def drifting_requirements(behaviour, other_behaviour):
    """The ids of the requirements whose observed behaviour differs in two runs, whichever of them was the earlier one."""
    all_drifts = [*drifts(behaviour, other_behaviour), *drifts(other_behaviour, behaviour)]
    return {drift.id for drift in all_drifts}


def stable_behaviour(behaviour):
    """The behaviour that is the same in every run.

    Keys, balances and entries change during a run, so the shapes of their answers do, too. How many requests a service
    permits in a second depends on the speed of the run. So both are left out.
    """
    stable = {}
    for requirement_id, situations in behaviour.items():
        if not requirement_id.endswith(".shape") and requirement_id != "general.rateLimit":
            stable[requirement_id] = situations
    return stable


@pytest.mark.slow
def test_exactly_the_requirements_of_a_difference_drift():
    """If a service behaves otherwise than the sandbox (the test service of the suite) where the document shows nothing,
    exactly the requirements about these differences drift.

    A requirement drifts if two runs observe different behaviour. Both services conform.
    """
    behaviour = behaviour_of_service(ChoosesOtherwiseIfUndocumented())

    assert drifting_requirements(behaviour_of_sandbox(), behaviour) == ChoosesOtherwiseIfUndocumented.SEEN_IN


def test_the_same_service_is_observed_alike(tmp_path):
    """Two runs against the same service observe the same, whatever the seed, the transport and the parallel requests
    are.

    A requirement drifts if two runs observe different behaviour. None does here, not even if the settings of one run do
    not permit the requests for it.
    """
    result = run_with_files(tmp_path, Service, "--seed=7", "--parallel=16", **TARGETED_PROFILE)
    parallel_behaviour = result_of_run(result.run).behaviour
    usual_behaviour = result_of_run(shared_run("clean").run).behaviour
    behaviour_with_reads_alone = result_of_run(shared_run("partial").run).behaviour

    usual_data = data_of_behaviour(stable_behaviour(usual_behaviour))
    parallel_data = data_of_behaviour(stable_behaviour(parallel_behaviour))

    assert parallel_data == usual_data
    assert drifting_requirements(behaviour_of_sandbox(), parallel_behaviour) == set()
    assert drifting_requirements(usual_behaviour, parallel_behaviour) == set()
    assert drifting_requirements(usual_behaviour, behaviour_with_reads_alone) == set()


# -- shapes ---------------------------------------------------------------------------------------------------------

GRANTED = answer("listEntries", {"entries": []})
REFUSED = answer("listEntries", {}, status=400)
SHOW_NO_SHAPE = {
    "a generated request": answer("listEntries", {}, generator="listEntries.fuzzing"),
    "of another operation": answer("listAccounts", {}),
    "without a token": answer("listEntries", {}, credential="no header", valid=False),
    "429: too many requests": answer("listEntries", {}, status=429),
    "503 of a gateway": answer("listEntries", {}, status=503),
    "401: the token may have expired": answer("listEntries", {}, status=401),
    "no answer": unanswered(FailureKind.TIMEOUT, "listEntries"),
}


@pytest.mark.parametrize("exchange", SHOW_NO_SHAPE.values(), ids=SHOW_NO_SHAPE)
def test_an_exchange_that_shows_no_shape_is_not_observed(exchange):
    """The shape of an answer is observed only in successes of valid requests that are written by hand.

    The shape is which members an answer has, and their types. It is not observed in generated traffic, in other
    requests, or in answers that may be different a minute later. A refusal beside them shows no shape, either.
    """
    alone = observation_of("listEntries.shape", Log([exchange]))
    with_a_refusal = observation_of("listEntries.shape", Log([exchange, REFUSED]))
    with_a_success = observation_of("listEntries.shape", Log([exchange, REFUSED, GRANTED]))

    assert alone.exchanges == []
    assert with_a_refusal.exchanges == []
    assert with_a_success.exchanges == [GRANTED]


# -- the table ------------------------------------------------------------------------------------------------------

NOT_SHOWN = [requirement for requirement in requirements().values() if requirement.level == "not-shown"]


def test_each_requirement_at_level_not_shown_has_an_observation():
    """Each requirement about something that the document does not show is in one table of observations, and in one
    only.

    The table OBSERVATIONS is about single requests, and IN_SEQUENCES about sequences of requests. Requirements that no
    request can show are left out.
    """
    can_be_seen = {requirement.id for requirement in NOT_SHOWN if not requirement.untestable}

    assert {*OBSERVATIONS, *IN_SEQUENCES} == can_be_seen
    assert OBSERVATIONS.keys() & IN_SEQUENCES == set()


def test_each_purpose_of_the_table_is_that_of_a_request():
    """A run on the sandbox (the test service of the suite) sends requests with each purpose that the table OBSERVATIONS
    names.

    A purpose says why a request is sent. The only exception is a request that is tried if executions are refused.
    """
    purposes = set()
    for situation in chain.from_iterable(OBSERVATIONS.values()):
        purposes |= set(situation.purposes)
    purposes_sent = {exchange.purpose for exchange in sent_to_the_sandbox("sandbox").log}

    assert purposes - purposes_sent == {Execution.PREPARED_WITH_EXTRA_PARTS}


@pytest.mark.parametrize("requirement", OBSERVATIONS)
def test_each_row_shows_something_of_the_sandbox(requirement):
    """A run on the sandbox (the test service of the suite) observes something for each requirement in the table
    OBSERVATIONS: a value, and a request with its answer (an exchange) that shows it.
    """
    log_of_run = sent_to_the_sandbox("sandbox").log
    observed = observation_of(requirement, log_of_run)

    assert observed.values
    assert observed.exchanges


def test_an_empty_log_shows_no_values():
    """If nothing was sent, nothing is observed about the shape of the answer of listEntries (its members and their
    types).
    """
    assert observation_of("listEntries.shape", Log()) == Observed({}, [])


def test_an_empty_log_may_show_that_there_is_no_value():
    """If nothing was sent, the observation about other values of the envelope field `code` says "no code"."""
    assert observation_of("general.codeValues", Log()) == Observed({"": ["no code"]}, [])


UNKNOWN_CODE = replace(execution({}, status=404, valid=False), purpose=Execution.UNKNOWN_CODE, number=1)
"""The execution of a code that nobody has, and its refusal."""
ANSWERED_503 = replace(UNKNOWN_CODE, response=replace(UNKNOWN_CODE.response, status=503))
REPETITION = replace(UNKNOWN_CODE, number=2, repeats=1, purpose=None)
"""The same request, sent again."""


@pytest.mark.parametrize(
    ("exchanges", "observed_exchanges"),
    [([ANSWERED_503], []), ([ANSWERED_503, REPETITION], [REPETITION]), ([UNKNOWN_CODE, REPETITION], [UNKNOWN_CODE])],
    ids=["503 and no repetition", "503 and a repetition", "404 and a repetition"],
)
def test_after_a_503_the_repetition_is_observed(exchanges, observed_exchanges):
    """A request that is answered 503 is not observed, but its repetition is, because a gateway answers 503.

    The requirement is how a service answers a code that nobody has.
    """
    assert observation_of("executePix.unknownCode", Log(exchanges)).exchanges == observed_exchanges


def test_of_two_deletions_with_the_same_unusual_body_one_is_observed():
    """Of two deletions with the same unusual body, only one is observed, so that runs can be compared.

    On a sandbox (a test system) such a body goes to the account of the profile (the settings of the run), and to an
    account that nobody has. Outside a sandbox an empty body goes only to the account that nobody has, because a service
    might delete all keys. So this one is observed. A body that is cut short goes to the account of the profile
    everywhere, and an existing account shows more.
    """

    def deletion(number, *, body_in_words, account, status):
        """A deletion with an unusual body, such as an empty one, and its answer with this status."""
        path = f"/v1/pix/keys/{account}"
        exchange = answer("deletePixKey", {}, status=status, valid=False, path=path, method="DELETE")
        return replace(exchange, unusual=("body", body_in_words), purpose=Invalid.IS_OBSERVED, number=number)

    of_profile, of_nobody = "ac-0001", f"{SYNTHETIC_PREFIX}account"
    empty_for_nobody = deletion(1, body_in_words="empty", account=of_nobody, status=404)
    empty_for_profile = deletion(2, body_in_words="empty", account=of_profile, status=400)
    cut_for_profile = deletion(3, body_in_words="cut short", account=of_profile, status=400)
    cut_for_nobody = deletion(4, body_in_words="cut short", account=of_nobody, status=404)
    log = Log([empty_for_nobody, empty_for_profile, cut_for_profile, cut_for_nobody])

    assert observation_of("deletePixKey.refusal", log).exchanges == [empty_for_nobody, cut_for_profile]


CODE_WITH_QUOTES = replace(
    UNKNOWN_CODE, purpose=Invalid.IS_OBSERVED, unusual=("transactionId", "with quotes"), number=2
)
"""The execution of a code with quotes, which is refused like the code that nobody has."""


def test_a_code_that_is_refused_like_an_unknown_one_shows_nothing():
    """If an unusual code is refused like a code that nobody has, only that is observed, and not the answer itself.

    Another requirement shows how a code that nobody has is answered.
    """
    observed = observed_texts("executePix.refusal", [UNKNOWN_CODE, CODE_WITH_QUOTES])

    assert observed == {"transactionId: with quotes": ["like an unknown code"]}


def test_an_unusual_code_is_observed_if_there_is_no_unknown_one_to_compare_with():
    """Without an execution of a code that nobody has, the answer to an unusual code is observed."""
    observed = observed_texts("executePix.refusal", [CODE_WITH_QUOTES])

    assert observed == {"transactionId: with quotes": [facts_of_answer(CODE_WITH_QUOTES)]}


def test_an_unusual_account_is_not_compared_with_an_unknown_code():
    """The answer to a read of an unusual account is observed, even if a code that nobody has is answered alike."""
    read_with_quotes = replace(CODE_WITH_QUOTES, operation="getBalance", unusual=("accountId", "with quotes"))
    observed = observed_texts("getBalance.refusal", [UNKNOWN_CODE, read_with_quotes])

    assert observed == {"accountId: with quotes": [facts_of_answer(read_with_quotes)]}


@pytest.mark.parametrize(
    ("body", "observed"),
    [
        ({"pixKeyType": "RANDOM"}, {"RANDOM": ["left out"]}),
        ({"pixKeyType": "RANDOM", "pixKey": "1"}, {"RANDOM": ["digits"]}),
        ({"pixKeyType": "CPF", "pixKey": "1"}, {"CPF, digits": ["accepted"]}),
    ],
    ids=["RANDOM without a key", "RANDOM with digits", "CPF with digits"],
)
def test_the_format_of_a_random_key_is_the_choice_of_the_service(body, observed):
    """What is observed of an accepted registration has a situation (what was asked) and a value (what the service did).

    A RANDOM key has one format, so the situation is the type, and the value is the format. Keys of another type may be
    accepted in several formats. So the situation is the type with the format, and the value is "accepted".
    """
    assert observed_texts("registerPixKey.pixKey.format", [registration(sent=body)]) == observed


@pytest.mark.parametrize("changes", [{"valid": False}, {"status": 400}], ids=["an invalid request", "a refusal"])
@pytest.mark.parametrize(
    "body",
    [{"pixKeyType": "RANDOM"}, {"pixKeyType": "RANDOM", "pixKey": "1"}, {"pixKeyType": "CPF", "pixKey": "1"}],
    ids=["RANDOM without a key", "RANDOM with digits", "CPF with digits"],
)
def test_only_a_valid_registration_that_is_accepted_shows_a_format(body, changes):
    """An invalid registration shows no format of a key. A refused registration shows none, either."""
    exchange = registration(sent=body, **changes)

    assert observed_texts("registerPixKey.pixKey.format", [exchange]) == {}


# -- single values --------------------------------------------------------------------------------------------------


def execution_with(purpose, number, **members):
    """A successful execution for this purpose, whose result has these members."""
    return replace(execution(EXECUTION_RESULT | members), purpose=purpose, number=number)


def preparation(operation, number, **data):
    """A request that prepared a transfer, which the run then executes. The answer has this data."""
    return replace(answer(operation, {"code": 0, "data": data}), purpose=Preparation.TO_EXECUTE, number=number)


def test_a_supplied_code_shows_only_its_own_transfer():
    """The account types in the results of two codes of the profile (the settings of the run) are observed apart, not as
    different answers to one situation.

    Each code that the user supplied has its own payee, so the meaning of an account type cannot be compared.
    """
    executions = [
        execution_with(Execution.SUPPLIED, number=1, accountType=2),
        execution_with(Execution.SUPPLIED, number=2, accountType=1),
    ]

    assert observed_texts("executePix.accountType.meaning", executions) == {
        "2 for a supplied code": ["seen"],
        "1 for a supplied code": ["seen"],
    }


PREPARATIONS = [preparation("createPix", 3, status="OPEN"), preparation("transferP2p", 4)]


def test_the_status_after_an_execution_is_observed_by_the_operation_that_prepared_it():
    """The status in an execution result is observed for the operation that prepared the transfer.

    Here createPix prepared the transfer that is executed, and transferP2p prepared another one.
    """
    prepared_by_create_pix, prepared_by_transfer_p2p = PREPARATIONS
    execution_of_first = execution_with(Execution.PREPARED, number=5, status="CONFIRMED")
    exchanges = [prepared_by_create_pix, prepared_by_transfer_p2p, execution_of_first]

    assert observed_texts("executePix.status.values", exchanges) == {"createPix": ["CONFIRMED"]}


def test_the_status_before_an_execution_is_that_of_the_answer_that_prepared_it():
    """The status of a transfer before its execution is observed in the answer that prepared it, by operation.

    Here the answer of createPix has the status OPEN, and the answer of transferP2p has none, which the observation
    says.
    """
    assert observed_texts("executePix.status.transitions", PREPARATIONS) == {
        "createPix": ["OPEN"],
        "transferP2p": ["no status"],
    }


def observed_texts(requirement_id, exchanges):
    """What these exchanges show for a requirement: the observed values, by the situation in words.

    For example {"CPF, digits": ["accepted"]}.
    """
    values_by_situation = observation_of(requirement_id, Log(exchanges)).values
    return {str(situation): observed_values for situation, observed_values in values_by_situation.items()}


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
    """The unit of `date` in an execution result is observed by the size of the number, which the document does not
    show.

    A number that fits no unit is observed by its power of ten, so that the report shows no value.
    """
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
    """Of an identifier only the format is observed, which follows from its characters, because reports show no
    identifier.
    """
    assert format_of(text) == form


@pytest.mark.parametrize(
    ("number", "text"),
    [("0", "0"), ("-9999", "-9999"), ("9999", "9999"), ("10000", "10^4"), ("-10000", "10^4"), ("1.5", "no integer")],
)
def test_a_number_of_few_digits_is_observed_as_it_is(number, text):
    """An integer of up to four digits is observed as it is, and of a larger number only the power of ten.

    A larger number may be the number of an account, and reports show none.
    """
    assert number_as_shown(Decimal(number)) == text


@pytest.mark.parametrize("status", ["PENDING", "done"], ids=["one word in capitals", "a documented word"])
def test_a_status_of_one_word_in_capitals_is_observed_as_it_is(status):
    """A value of `status` is observed as it is if it is one word in capitals, or the documented DONE in any letter
    case.
    """
    assert status_as_shown(status) == status


@pytest.mark.parametrize(
    "status",
    ["ON_HOLD", "MARIA SILVA", "Zuleica", "zuleica", "a1", "conta-da-zuleica"],
    ids=["an underscore", "two words", "a capital at first", "small letters", "a digit", "hyphens"],
)
def test_a_status_that_may_name_a_person_is_another_text(status):
    """A value of `status` that is not one word in capitals may name a person, and is observed as "another text".

    Reports show no names.
    """
    assert status_as_shown(status) == "another text"


def test_published_limits_and_versions_are_seen():
    """The names of headers about limits and deprecation are observed in successes, by operation.

    A refusal does not count: listPixKeys answers 401 here, and has no such header.
    """
    headers = [(name, "1") for name in ("x-ratelimit-limit", "RateLimit-Policy", "Deprecation")]
    exchanges = [answer("listAccounts", {}, headers=headers), answer("listPixKeys", {}, status=401)]
    observed_limits = observed_texts("general.rateLimit", exchanges)

    assert observed_limits["listAccounts"] == ["RateLimit-Policy, X-RateLimit-Limit"]
    assert observed_texts("general.deprecation", exchanges) == {"listAccounts": ["Deprecation"]}


def test_a_429_is_seen_also_if_the_request_was_sent_again():
    """A 429 is observed even if the request was sent again with success, and that answer takes its place elsewhere."""
    limited = replace(answer("listAccounts", {}, status=429), number=1)
    granted = replace(answer("listAccounts", {}), number=2, supersedes=1)

    assert observed_texts("general.rateLimit", [limited, granted]).keys() == {"a 429", "listAccounts"}


def test_without_a_429_the_observation_says_so():
    """If no request was answered 429, the observation about rate limits says "no 429", and "none" of each operation."""
    granted = answer("listAccounts", {}, number=1)

    assert observed_texts("general.rateLimit", [granted]) == {"": ["no 429"], "listAccounts": ["none"]}


SUCCESS = answer("getBalance", {"code": 0, "data": {}}, number=1, purpose=Reading.WITH_TOKEN)
TEMPORARY = replace(SUCCESS, response=replace(SUCCESS.response, status=503))
NOT_FOUND = answer("getBalance", {}, status=404)
BAD_REQUEST = answer("getBalance", {}, status=400)


@pytest.mark.parametrize(
    ("status_without_token", "body_without_token", "read_with_token", "need"),
    [
        (401, {}, SUCCESS, "required"),
        (200, {"code": 0, "data": {}}, SUCCESS, "not required"),
        (404, {}, SUCCESS, "required"),
        (503, {}, SUCCESS, ""),
        (404, {}, TEMPORARY, ""),
        (404, {}, NOT_FOUND, ""),
        (404, {}, BAD_REQUEST, "required"),
    ],
    ids=[
        "401 without the token",
        "granted without the token",
        "refused without it, granted with it",
        "503 without the token",
        "503 with the token",
        "refused alike with and without it",
        "refused otherwise with it",
    ],
)
def test_an_operation_needs_the_token_if_its_answer_differs_without_it(
    status_without_token, body_without_token, read_with_token, need
):
    """The observation says "required" if an operation answers a request without the token 401, or refuses it in another
    way than the same request with the token.

    It is empty if nobody can say, because both are refused alike, or one of them with 503, which may pass.
    """
    without_token = answer(
        "getBalance", body_without_token, status=status_without_token, credential=NO_HEADER, valid=False
    )

    assert need_of_the_token(without_token, read_with_token) == need
