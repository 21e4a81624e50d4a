"""The end of a run: nothing more is sent, and the record of the run gets the exchanges and the state of the door.

`pytest_sessionfinish` in the conftest.py of the root calls it. The door (`environments/door/`) is the only way by which
requests leave for the service. Its guard knows the transaction codes: which were sent, and which may have moved money.
An exchange is a request with its answer. The notes tell people what the state of the door means: unknown outcomes, keys
that are gone, faults of the set-up, and effects of gateways and of parallel requests.

Self-tests: promises/test_preflight.py, promises/test_reproducing.py.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator

from environments.door.door import Door
from environments.door.journal import Outcome
from environments.door.prepared import PERHAPS_PREPARED
from environments.profiles.loading import name_for_commands
from environments.profiles.model import EMBEDDED
from environments.secret_values import ACCOUNT
from reports.result.answer_counts import AnswersToValidToken
from reports.result.run import LeftKey, Note, NoteKind, note_of_unknown_outcome
from reports.result.verdicts import RequirementResult, Verdict
from reports.sentences.wording import first_few, joined_with_and
from reports.showing.evidence import shown_in_full, shown_in_outline
from spec.answers import (
    ABOUT_THE_REQUEST,
    TEMPORARY_REFUSALS,
    RefusalKind,
    answer_in_words,
    answers_in_words,
    execution_results,
    is_granted,
    refusal_or_failure,
    says_success_false,
    target_of_redirect_in_words,
)
from spec.exchange import VALID, Exchange, Request
from spec.interface import operations
from spec.json_text import read_json
from spec.message import Message, Text, joined, message_of, say, say_many, with_texts_changed
from spec.observed import is_answered_like
from spec.rules.reproduction import Reproduction
from spec.rules.robustness import request_in_words
from spec.success_codes import line_for_success_code, perhaps_success_codes
from tests.harness.session import Session

_SYNTHETIC_ACCOUNT = say("its account is synthetic")
_DECLINED = say('the answer has code 0, and says Success: "false": it was perhaps prepared')
_MADE_BY_THE_SUITE = say("the request was invalid or generated")
_REASONS_WITH_FEW_NUMBERS = (_SYNTHETIC_ACCOUNT, _MADE_BY_THE_SUITE, _DECLINED)
"""Reasons for which the report names only a few exchanges, because nobody looks these transfers up one by one."""
_FEWEST_CHANGED_IN_PARALLEL = 3
"""Fewest requests with a different answer when they were sent again alone, so that a note is written. Fewer may have a
cause that is over soon. A choice."""


def end_sending(session: Session, *, was_interrupted: bool) -> None:
    """Stop the sending of requests for good, and record why the run ended if it ended before everything was sent.

    `was_interrupted` is true if a person or the CI system stopped the run.
    """
    run = session.run
    door = session.door  # the only way by which requests leave
    # A sentence about the time limit, or that the run was stopped; empty if neither ended the sending so far.
    why_nothing_more_is_sent = door.run_end.why_over
    # `door.unsent` has the operations whose requests were not sent, by the reason. If the run reached the time limit
    # after its last request, no request was left out for this reason, so nothing was cut short.
    was_cut_short = why_nothing_more_is_sent in door.unsent
    run.ended_by = why_nothing_more_is_sent if was_cut_short else ""
    if was_interrupted:
        run.interrupted = True
    door.run_end.stop()


def close_record(session: Session) -> None:
    """Copy what the door knows into the record of the run, from which reports are made.

    The door is the part of the suite by which every request leaves for the service. It has the requests with their
    answers, and knows which limits were reached and what the run left at the service.
    """
    _record_requests_and_end(session)
    session.run.notes += _notes_of(session.door, session.reproduction, name_for_commands(session.run.profile))
    _record_what_is_left_at_the_service(session)
    _record_why_requests_were_not_sent(session)


def _record_requests_and_end(session: Session) -> None:
    """Record how many requests were sent, how they were answered, and why the run ended early, if it did.

    All requests go through the door (`session.door`), which knows these facts. A part of the door, the guard, decides
    whether a transaction code may be sent. It asks the journal, a file with the codes that were sent, so that no code
    is executed twice.
    """
    run = session.run
    door = session.door
    run.requests = len(door.exchanges)
    run.executions = door.guard.executions
    run.unknown_outcomes = len(door.guard.unknown_outcomes)  # executions of which no answer says if money moved
    run.answers_to_valid_token = AnswersToValidToken.of_exchanges(door.exchanges)
    if not run.ended_by:
        run.ended_by = door.token_monitor.line_about_expiry  # a sentence; empty if the token is still accepted
    if door.liveness.why_unreachable:
        # `reproduction` knows which request was the last one before the target could not be reached any more.
        run.end_of_target = _sentence_about_the_end_of_the_target(session.reproduction)
    if not run.unreachable:
        # The text may be that of a library, with a token or a code in it.
        run.unreachable = session.display.without_known_values(door.liveness.why_unreachable)
    # Each is a text that says what is wrong with the journal; empty if nothing is.
    run.journal_trouble = bool(door.guard.journal_trouble or door.guard.trouble_with_profile_codes)


def _record_what_is_left_at_the_service(session: Session) -> None:
    """Record the PIX keys that the run registered and did not delete, and the transfers that it did not execute.

    The door, which sends all requests, knows them. Nothing is left of the embedded sandbox, a small service inside the
    suite, because it ends with the run.
    """
    run = session.run
    if run.profile.base_url == EMBEDDED:
        return
    for key in session.door.keys.not_cleaned_up():
        name = with_texts_changed(
            key.label, session.display.without_known_values
        )  # without account numbers, for example
        why = key.state.value
        run.not_cleaned_up.append(LeftKey(name, why, key.is_of_profile, tuple(key.exchanges)))
    run.transfers_not_executed += _lines_about_transfers_not_executed(session.door, session.profile.accounts)


def _record_why_requests_were_not_sent(session: Session) -> None:
    """Record for each reason why requests were not sent, such as a limit, the operations that they were for.

    The door, through which all requests go, noted the reasons. `outages` are the reasons that are about a gateway: for
    some time only a gateway answered (502, 503, 504).
    """
    run = session.run
    door = session.door
    outages = {reason: _in_document_order(names) for reason, names in door.backoff.outages.items()}
    other_reasons = {reason: _in_document_order(names) for reason, names in door.unsent.items()}
    run.outages = outages
    all_reasons = other_reasons | outages
    # A reason without an operation was only about undocumented paths.
    run.unsent = {reason: names for reason, names in all_reasons.items() if names}


def _sentence_about_the_end_of_the_target(reproduction: Reproduction) -> Text:
    """A sentence about the last request before the service could not be reached any more; empty if it never answered.

    If requests were on their way at that moment, these are named instead, because one of them may have crashed the
    service. `reproduction` knows all requests with their answers.
    """
    in_flight = reproduction.in_flight_at_the_end
    if in_flight:
        descriptions = [f"{exchange.operation}, {request_in_words(exchange)}" for exchange in in_flight]
        distinct_descriptions = list(dict.fromkeys(descriptions))
        return say(
            "the service ended while exchange {numbers} was on its way ({requests}): start it and run again, because "
            "only a request that ends it twice is a failure",
            numbers=first_few([str(exchange.number) for exchange in in_flight]),
            requests=first_few(distinct_descriptions),
        )
    answered = [exchange for exchange in reproduction.exchanges if exchange.response]
    if not answered:
        return ""
    last = answered[-1]
    return say(
        "the service ended after exchange {number} ({operation}, {request})",
        number=last.number,
        operation=last.operation,
        request=request_in_words(last),
    )


def keep_exchanges(session: Session, *, with_content: bool) -> None:
    """Record each request with its answer, as the reports may show it.

    The content (headers, bodies, curl command) is recorded only for exchanges that the report refers to, because all of
    it would be too much. Any other exchange gets an outline: its operation, status and times. The report refers to
    exchanges that show a result, or a key that was not deleted. If `with_content` is false, no files are written, so
    the content is recorded only for exchanges that show a failure or such a key.
    """
    run = session.run
    _note_what_comes_first_when_resending(session)
    _note_what_is_not_shown_alone(session, cited_numbers_of_deviations(run.results))
    numbers_with_content: set[int] = set()
    for result in run.results:
        if with_content or result.verdict == Verdict.FAIL:
            numbers_with_content.update(result.exchanges)
    for key in run.not_cleaned_up:
        numbers_with_content.update(key.exchanges)
    for exchange in session.door.exchanges:
        if exchange.number in numbers_with_content:
            run.exchanges[exchange.number] = shown_in_full(exchange, session.resending)
        else:
            run.exchanges[exchange.number] = shown_in_outline(exchange)


def cited_numbers_of_deviations(results: Iterable[RequirementResult]) -> set[int]:
    """The numbers of the exchanges that results with deviations (findings) refer to."""
    numbers: set[int] = set()
    for result in results:
        if result.findings:
            numbers.update(result.exchanges)
    return numbers


def _note_what_is_not_shown_alone(session: Session, numbers: Container[int]) -> None:
    """Tell the writer of the shell lines which of these exchanges deviate although the same request once did not."""
    not_shown_alone = {}
    for exchange in session.door.exchanges:
        if exchange.number in numbers:
            without_deviation = session.reproduction.same_request_without_deviation(exchange)
            if without_deviation is not None:
                not_shown_alone[exchange.number] = without_deviation.number
    session.resending.same_without_deviation = not_shown_alone


def _note_what_comes_first_when_resending(session: Session) -> None:
    """Find out which requests a person must send first before one request of this run is sent again.

    `session.resending`, which writes shell lines for the report, gets to know these requests. The door has all
    requests, and its guard has the transaction codes of the transfers that the run prepared.

    - Before an execution: the request that prepared the transfer, because each transfer can be executed only once.
    - Before a registration or deletion: the earlier registration and deletion of the same key, because a service may
      answer the second registration of a key in another way than the first.
    - Before a step of a sequence: the steps before it.
    """
    exchanges = session.door.exchanges
    code_by_number = session.door.guard.prepared.codes  # the transaction code, by the number of the preparing exchange
    preparation_by_code = {}
    for exchange in exchanges:
        code = code_by_number.get(exchange.number)
        if code:
            preparation_by_code[code] = exchange.request
    session.resending.preparation_by_code = preparation_by_code
    session.resending.key_changes_before = changes_of_the_same_key_before(exchanges)
    session.resending.steps_before = session.reproduction.steps_before
    session.resending.shown_after_steps = session.reproduction.shown_after_steps


def changes_of_the_same_key_before(exchanges: Iterable[Exchange]) -> dict[int, tuple[Request, ...]]:
    """The requests that changed a key earlier, for each registration and deletion of a key, by exchange number.

    There are one or two such requests: the last granted registration of the key, and the last granted deletion after
    that registration. If no registration was granted before, the first granted deletion takes its place. If exchanges
    4, 7 and 9 register, delete and register the same key, the result has the request of 4 for exchange 7, and the
    requests of 4 and 7 for exchange 9. An exchange with nothing before it is left out.
    """
    changes_by_key: dict[str, tuple[Request, ...]] = {}  # the changes so far: one or two requests
    changes_before: dict[int, tuple[Request, ...]] = {}
    for exchange in exchanges:
        if exchange.operation not in ("registerPixKey", "deletePixKey"):
            continue
        body = read_json(exchange.request.body).value
        key = body.get("pixKey") if isinstance(body, dict) else None
        if not isinstance(key, str) or not key:  # an empty text asks for a key that the service makes
            continue
        if key in changes_by_key:
            changes_before[exchange.number] = changes_by_key[key]
        has_changed_the_key = exchange.credential == VALID and is_granted(exchange)
        if not has_changed_the_key:
            continue
        if exchange.operation == "registerPixKey":
            changes_by_key[key] = (exchange.request,)
        else:
            first_change = changes_by_key.get(key, ())[:1]  # empty if this deletion is the first change of the key
            changes_by_key[key] = (*first_change, exchange.request)
    return changes_before


def _in_document_order(names: Container[str]) -> list[str]:
    """A list of these operations in the order of the interface document, in which every report lists operations."""
    return [name for name in operations() if name in names]


def _reason_in_words(exchange: Exchange, reason: str, accounts: Iterable[str]) -> Text:
    """Why a transfer that the run prepared was not executed, in words; empty if it was executed, or may have been.

    `reason` is the reason that was recorded for the transfer, and `accounts` are the accounts of the profile. The
    reasons of many transfers are replaced by a common one, so that the report has one line for all of them:

    - any transfer whose answer has code 0, and says `Success: "false"`
    - transfers that an invalid or generated request prepared, and that name no account of the profile
    - other transfers that such a request prepared
    """
    if not reason:
        return ""
    if _is_declined(exchange):
        return _DECLINED
    # A person has to look up a transfer that a valid request prepared, or that was prepared without a clear answer.
    needs_its_own_reason = exchange.valid or reason == PERHAPS_PREPARED
    if needs_its_own_reason:
        return reason
    names_own_account = any(account.encode() in exchange.request.body for account in accounts)
    return _MADE_BY_THE_SUITE if names_own_account else _SYNTHETIC_ACCOUNT


def _is_declined(exchange: Exchange) -> bool:
    """True for an answer that contradicts itself: it grants the request (code 0), but says Success: "false".

    Then it is not clear whether a transfer was prepared.
    """
    if exchange.response is None or not is_granted(exchange):
        return False
    return says_success_false(exchange.response)


def _lines_about_transfers_not_executed(door: Door, accounts: Iterable[str]) -> Iterator[Message]:
    """Lines about the transfers that the run prepared and did not execute: a line for each reason.

    For example `2 transfers (exchanges 7 and 9), each not executed: …`. A person may want to look them up. `accounts`
    are the accounts of the profile.
    """
    code_at = door.budget.code_at  # the JSON pointer to the transaction code in an answer
    numbers_by_reason: defaultdict[Text, list[str]] = defaultdict(list)
    for exchange, reason in door.guard.prepared.outcomes_of_preparations(door.exchanges, code_at):
        reason_in_words = _reason_in_words(exchange, reason, accounts)  # empty if the transfer was executed
        if reason_in_words:
            numbers_by_reason[reason_in_words].append(str(exchange.number))
    for reason_in_words, numbers in numbers_by_reason.items():
        names_only_a_few = reason_in_words in _REASONS_WITH_FEW_NUMBERS
        yield say_many(
            "{n} transfer (exchange {numbers}), not executed: {why}",
            "{n} transfers (exchanges {numbers}), each not executed: {why}",
            n=len(numbers),
            numbers=first_few(numbers) if names_only_a_few else joined_with_and(numbers),
            why=message_of(reason_in_words),
        )


# -- notes ------------------------------------------------------------------------------------------------------------


def _notes_of(door: Door, reproduction: Reproduction, name: str) -> Iterator[Note]:
    """Notes for people about what a run found out besides its results, the most important note first.

    The door has all requests with their answers, and `reproduction` knows which requests were sent again. `name` is the
    name of the profile for commands that a note suggests.
    """
    valid = [exchange for exchange in door.exchanges if exchange.expects_success]
    something_succeeded = any(map(is_granted, valid))
    if not something_succeeded:
        # If everything was refused, the cause is not one account or one code, so no note is written about these.
        valid = []
    yield from _notes_on_transfers_with_unknown_outcome(door, name)
    yield from _note_on_stopped_deletions(door)
    for fault in _faults_of_the_set_up(door, valid):
        yield Note(NoteKind.WRONG_SET_UP, fault)
    yield from _notes_on_refused_accounts(door, valid)
    yield from _notes_on_codes_that_may_say_success(door)
    yield from _notes_on_answers_that_say_little(door, reproduction, valid)


def _notes_on_transfers_with_unknown_outcome(door: Door, name: str) -> Iterator[Note]:
    """Notes on transfers of which nobody knows yet whether they moved money: of this run, and of earlier runs.

    A person has to look such a transfer up. If there is a journal (the file with the codes that were sent), the note
    has two commands: one lists the entries of the journal, and the other marks an entry as looked up, so that later
    reports do not have the note. `name` is the name of the profile in these commands.
    """
    command_to_settle: Text = ""
    if door.guard.journal:
        command_to_settle = say(
            "python -m environments journal {name} lists the entries, and with --settle ENTRY this line does not "
            "appear again",
            name=name,
        )
    for number in door.guard.unknown_outcomes:  # executions of this run without a clear answer
        remedy = say(
            "it may have moved money, as no answer settles that; the code is not sent again: look the transfer up"
        )
        yield note_of_unknown_outcome(say("exchange {number}", number=number), joined((remedy, command_to_settle)))
    for entry in door.guard.unknown_of_earlier_runs:  # executions of earlier runs without a clear answer
        yield note_of_unknown_outcome(
            say("an execution of an earlier run (sent at {at}, entry {name})", at=entry.at, name=entry.name),
            joined((say("look the transfer up"), command_to_settle)),
        )
    for entry in door.guard.perhaps_prepared:
        perhaps = say(
            "an earlier run ended while it prepared a transfer, which was perhaps prepared (at {at}, entry {name})",
            at=entry.at,
            name=entry.name,
        )
        yield Note(NoteKind.NOT_CLEANED_UP, joined((perhaps, say("look the transfer up"), command_to_settle)))


def _note_on_stopped_deletions(door: Door) -> Iterator[Note]:
    """At most one note: why the run no longer registers and deletes PIX keys.

    The most serious reason is a missing key that was on the account before the run: perhaps the service deleted the
    wrong key. A reason in `door.unsent` is left out here, because the report lists these reasons elsewhere.
    """
    if door.keys.lists.vanished:  # the keys of before the run that a later list of keys lacks
        gone = say("a key that was there before the run is gone: restore it, unless somebody else deleted it")
        yield Note(NoteKind.KEY_GONE, gone)
        return
    why_stopped = door.key_changes.why_stopped  # empty if registrations and deletions go on
    if why_stopped and why_stopped not in door.unsent:
        yield Note(NoteKind.REQUESTS_LEFT_OUT, why_stopped)


def _notes_on_refused_accounts(door: Door, valid: Iterable[Exchange]) -> Iterator[Note]:
    """A note on each account of the profile that the service refuses everywhere, because it is probably a wrong one.

    At least two operations must have refused the account, and none accepted it. `valid` are the requests that should
    have succeeded. Three sorts of refusals say nothing about the account:

    - a temporary one, such as one that only asks to wait
    - a redirect, because it is about the path
    - one that the same operation also gives for an account which the service accepts elsewhere

    If each refusal is a 200 with the same code, that code may say success. Then the note names the line of the profile
    for it, too.
    """
    success_codes = perhaps_success_codes(door.exchanges)
    accounts = [secret.value for secret in door.secrets.known if secret.name == ACCOUNT]
    valid = list(valid)
    accepted_accounts = {exchange.request.last_segment for exchange in filter(is_granted, valid)} & set(accounts)
    for_accepted_accounts = [exchange for exchange in valid if exchange.request.last_segment in accepted_accounts]
    not_about_the_account = (*TEMPORARY_REFUSALS, RefusalKind.REDIRECT)
    for number, account in enumerate(accounts, 1):
        exchanges = [exchange for exchange in valid if exchange.request.last_segment == account]
        if account in accepted_accounts:
            continue
        refused = []
        for exchange in exchanges:
            is_about_the_account = refusal_or_failure(exchange) not in not_about_the_account
            if is_about_the_account and not _is_answered_alike(exchange, for_accepted_accounts):
                refused.append(exchange)
        refusing_operations = {exchange.operation for exchange in refused}
        if len(refusing_operations) >= 2:
            line = say(
                "number {number} of accounts: refused by every operation ({answer}): check accounts",
                number=number,
                answer=answer_in_words(refused[0]),
            )
            code = success_codes.get(refused[0].operation)
            if code is not None:
                line = say("{refused}; or {line}", refused=line, line=line_for_success_code(code))
            yield Note(NoteKind.ACCOUNT_REFUSED, line)


def _is_answered_alike(exchange: Exchange, others: Iterable[Exchange]) -> bool:
    """True if another request to the same operation, among these, got the same answer."""
    to_same_operation = [other for other in others if other.operation == exchange.operation]
    return any(is_answered_like(exchange, other) for other in to_same_operation)


def _notes_on_codes_that_may_say_success(door: Door) -> Iterator[Note]:
    """A note for each code other than 0 with which the service perhaps says that a request succeeded.

    The suite takes such an answer for a refusal, so it did not test the operation. The note names the line of the
    profile that cures it, and the operations.
    """
    operations_by_code: dict[int, list[str]] = {}
    for operation, code in perhaps_success_codes(door.exchanges).items():
        operations_by_code.setdefault(code, []).append(operation)
    for code, names in operations_by_code.items():
        text = say(
            "{operations}: 200 with code {code} counts as a refusal: {line}",
            operations=joined_with_and(_in_document_order(names)),
            code=str(code),
            line=line_for_success_code(code),
        )
        yield Note(NoteKind.WRONG_SET_UP, text)


def _notes_on_answers_that_say_little(
    door: Door, reproduction: Reproduction, valid: Iterable[Exchange]
) -> Iterator[Note]:
    """Notes on answers that may say little about the service.

    Such answers were changed by parallel requests, cut short by limits of the suite, given by gateways, or redirects.
    All of these notes have one kind, which is named after the first of the four causes. `reproduction` knows which
    requests got a different answer when they were sent again. `valid` are the requests that should have succeeded.
    """
    for text in (
        *_line_about_parallel_requests(reproduction),
        *_lines_about_cut_answers(door.exchanges),
        *_line_about_gateways(door.exchanges),
        *_lines_about_redirects(valid),
    ):
        yield Note(NoteKind.DIFFERENT_BESIDE_OTHERS, text)


def _line_about_parallel_requests(reproduction: Reproduction) -> Iterator[Text]:
    """At most one line: how many requests got a different answer when they were sent again, without others in parallel.

    Fewer than three are not mentioned, because a short fault of the service may be the cause.
    """
    number = len(reproduction.answered_differently_alone)
    if number >= _FEWEST_CHANGED_IN_PARALLEL:
        yield say(
            "{number} requests were refused or got no answer while other requests were in flight, and got a different "
            "answer when sent alone: the service limits requests at the same time, mixes up their answers, or one of "
            "its nodes is at fault",
            number=number,
        )


def _lines_about_cut_answers(exchanges: Iterable[Exchange]) -> Iterator[Text]:
    """A line for each limit of the suite (size, time) that cut answers short, with the number of these answers.

    Their JSON is incomplete, so that no requirement about their fields could be judged.
    """
    responses = [exchange.response for exchange in exchanges if exchange.response]
    number_by_limit = Counter(response.cut for response in responses if response.cut)
    for limit, number in number_by_limit.items():
        yield say_many(
            "{n} answer is {why}: its JSON is not judged",
            "{n} answers are {why}: their JSON is not judged",
            n=number,
            why=say(limit),
        )


def _line_about_gateways(exchanges: Iterable[Exchange]) -> Iterator[Text]:
    """At most one line: how many answers came from a gateway (502, 503, 504) instead of the service behind it."""
    from_gateways = [exchange for exchange in exchanges if refusal_or_failure(exchange) is RefusalKind.GATEWAY]
    if from_gateways:
        yield say(
            "{number} of the answers are those of a gateway (502, 503, 504): what the service did is not seen",
            number=len(from_gateways),
        )


def _lines_about_redirects(valid: Iterable[Exchange]) -> Iterator[Text]:
    """A line for each way in which operations redirect every valid request: their answers are not tested.

    `valid` are the requests that should have succeeded.
    """
    answered_by_operation: dict[str, list[Exchange]] = defaultdict(list)
    for exchange in valid:
        if exchange.response:
            answered_by_operation[exchange.operation].append(exchange)
    operations_by_target: dict[Text, list[str]] = defaultdict(list)
    for operation, answered in answered_by_operation.items():
        if all(refusal_or_failure(exchange) is RefusalKind.REDIRECT for exchange in answered):
            operations_by_target[target_of_redirect_in_words(answered[0])].append(operation)
    for target, names in operations_by_target.items():
        yield say(
            "{operations}: every valid request is redirected, and no redirect is followed, because it would take the "
            "token along: it leads to {target}",
            operations=joined_with_and(_in_document_order(names)),
            target=target,
        )


def _faults_of_the_set_up(door: Door, valid: Iterable[Exchange]) -> Iterator[Text]:
    """Lines about mistakes that the user can correct: in the token, transaction codes, the journal, or a certificate.

    The journal is a file with the codes that runs sent. The guard is the part of the suite that decides whether a
    transaction code may be sent, and its `notes` say why it kept codes back. `valid` are the requests that should have
    succeeded.
    """
    guard = door.guard
    if guard.token_refused:
        number = guard.token_refused[0]  # the number of the first execution that was refused so
        refused = say(
            "an execution was refused with 401 (exchange {number}), and no further transaction code was sent with this "
            "token: check auth",
            number=number,
        )
        # --resend-code needs a journal, and is refused for a code that may have moved money in spite of its 401.
        may_be_sent_again = guard.journal is not None and number not in guard.unknown_outcomes
        resend = say("then name this one code in --resend-code") if may_be_sent_again else ""
        yield joined((refused, resend))
    yield from guard.notes
    yield from _lines_about_codes_not_sent(door)
    yield from door.token_monitor.notes  # such as that the token expired
    kinds_of_refusals = [refusal_or_failure(exchange) for exchange in door.exchanges]
    if RefusalKind.CERTIFICATE in kinds_of_refusals:
        yield "the gateway refuses the client certificate: check tls.client_cert and tls.client_key"
    if not guard.notes:  # if there are notes of the guard, they name the cause of the refusals
        yield from _line_about_refused_codes(door, valid)


def _lines_about_codes_not_sent(door: Door) -> Iterator[Text]:
    """Lines about transaction codes that were not sent, because the journal says that an earlier run sent them.

    The journal is a file with the codes that runs sent, so that no code is executed twice. Once it cannot be written,
    no further code is sent. If it is incomplete, for example because somebody shortened it, no code of the profile is
    sent. One more line is about codes that an earlier run sent only with a wrong token.
    """
    guard = door.guard  # the part of the suite that decides whether a transaction code may be sent
    number_of_supplied = len(door.secrets.codes)
    if guard.journal_trouble:
        yield say("executions were stopped: {why}", why=guard.journal_trouble)
    elif guard.trouble_with_profile_codes:
        yield guard.trouble_with_profile_codes
    entries = guard.codes_sent_before.values()  # the journal's entries of the codes that an earlier run sent
    if entries:
        statuses_of_refused = [entry.status for entry in entries if entry.outcome is Outcome.REFUSED]
        sent_before_in_words = say(
            "{number} of {supplied} transaction codes were sent by an earlier run according to the journal, and not by "
            "this one: prepare new ones",
            number=len(entries),
            supplied=number_of_supplied,
        )
        resend = say("or name one that was refused in --resend-code") if statuses_of_refused else ""
        about_the_token: Text = ""
        number_of_401 = statuses_of_refused.count("401")
        if number_of_401:
            about_the_token = say("{number} of these codes got 401, so the token was at fault", number=number_of_401)
        yield joined((sent_before_in_words, resend, about_the_token))
    if guard.sent_with_wrong_token:
        yield say(
            "{number} of {supplied} transaction codes were offered with a wrong token by an earlier run, which did not "
            "execute them",
            number=len(guard.sent_with_wrong_token),
            supplied=number_of_supplied,
        )


def _line_about_refused_codes(door: Door, valid: Iterable[Exchange]) -> Iterator[Text]:
    """At most one line: how many transaction codes the service refused to execute, and with which answers.

    A refusal is not counted if its transfer may have been executed in spite of it. There is no line if each refusal may
    be a conflict with a parallel request. `valid` are the requests that should have succeeded.

    If a sandbox refused all codes of the profile, the line ends with a question: did an earlier run execute them? On a
    sandbox no journal (a file of the codes that were sent) prevents a second execution. If codes that this run prepared
    were refused as well, the question is left out, because no earlier run can have executed these.
    """
    executions = [exchange for exchange in valid if exchange.operation == "executePix" and exchange.response]
    with_known_outcome = [exchange for exchange in executions if exchange.number not in door.guard.unknown_outcomes]
    refused = [exchange for exchange in with_known_outcome if _refuses_a_code(exchange)]
    each_may_be_a_conflict = all(map(_may_be_a_conflict, refused))  # also true if no code was refused
    if each_may_be_a_conflict:
        return
    line = say(
        "{number} of {all} transaction codes were refused: {answers}",
        number=len(refused),
        all=len(executions),
        answers=answers_in_words(refused),
    )
    question: Text = ""
    if door.guard.journal is None and _only_codes_of_the_profile_were_refused(door, executions, refused):
        question = say("did an earlier run execute these codes? transactions.prepare makes new codes for each run")
    yield joined((line, question))


def _only_codes_of_the_profile_were_refused(door: Door, executions: list[Exchange], refused: list[Exchange]) -> bool:
    """True if the service refused every transaction code of the profile, and no code that this run prepared itself.

    False if no code of the profile was sent. `executions` are all executions with an answer, and `refused` those of
    them that the service refused. The door knows which codes the run prepared.
    """
    with_profile_code = [exchange for exchange in executions if not _has_code_of_this_run(door, exchange)]
    refused_with_profile_code = [exchange for exchange in refused if not _has_code_of_this_run(door, exchange)]
    every_profile_code_was_refused = len(refused_with_profile_code) == len(with_profile_code)
    no_other_code_was_refused = len(refused_with_profile_code) == len(refused)
    return bool(with_profile_code) and every_profile_code_was_refused and no_other_code_was_refused


def _has_code_of_this_run(door: Door, execution: Exchange) -> bool:
    """True if the transaction code of an execution was prepared by this run; false if it is one of the profile."""
    code = execution.request.last_segment  # the end of the path, percent-decoded
    return door.guard.prepared.has(code)


def _may_be_a_conflict(exchange: Exchange) -> bool:
    """True if the service refused an execution as a conflict (409) while other requests were on their way.

    Then the other requests may be the cause of the refusal, and not the transaction code. `beside` is their number.
    """
    return exchange.beside > 0 and refusal_or_failure(exchange) is RefusalKind.CONFLICT


def _refuses_a_code(exchange: Exchange) -> bool:
    """True if the service refused the transaction code itself, and not the token, for example.

    False if the answer nevertheless has an execution result, because then it is unclear whether money moved.
    """
    if exchange.response is None:
        return False
    return refusal_or_failure(exchange) in ABOUT_THE_REQUEST and not execution_results(exchange.response)
