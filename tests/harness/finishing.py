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
from itertools import chain
from urllib.parse import unquote

from environments.door.door import Door
from environments.door.journal import Outcome
from environments.door.prepared import PERHAPS_PREPARED
from environments.profiles.loading import name_for_commands
from environments.profiles.model import EMBEDDED
from environments.secret_values import ACCOUNT
from reports.result.grants import Grants
from reports.result.run import LeftKey, Note, NoteKind, note_of_unknown_outcome
from reports.result.verdicts import Verdict
from reports.sentences.wording import first_few, listed
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
)
from spec.exchange import VALID, Exchange, Request
from spec.interface import operations
from spec.json_text import read_json
from spec.message import Message, Text, changed, joined, message_of, say, say_many
from spec.rules.reproduction import Reproduction
from spec.rules.robustness import request_in_words
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
    # `door.unsent` has the operations whose requests were kept back, by the reason. If the run reached the time limit
    # after its last request, no request was kept back for this reason, so nothing was cut short.
    was_cut_short = why_nothing_more_is_sent in door.unsent
    run.ended_by = why_nothing_more_is_sent if was_cut_short else ""
    if was_interrupted:
        run.interrupted = True
    door.run_end.stop()


def close_record(session: Session) -> None:
    """Copy the state of the door (the only way by which requests leave) into the record from which reports are made.

    | word | meaning |
    |---|---|
    | guard | the part of the door that decides whether a transaction code may be sent |
    | journal | the file with the codes that runs have sent, so that no code is executed twice |
    | supplied | from the profile, as most transaction codes are |
    | grants | how the operations answered the valid token, and which of them succeeded at least once |
    | outage | a time in which only a gateway answered the valid requests to an operation (502, 503, 504) |
    """
    run = session.run
    door = session.door
    without_known_values = session.display.without_known_values  # hides tokens and codes in texts of other programs

    # What was sent, and why the run ended.
    run.requests = len(door.exchanges)
    run.executions = door.guard.executions
    run.unknown_outcomes = len(door.guard.unknown_outcomes)
    run.grants = Grants.of_exchanges(door.exchanges)
    run.ended_by = run.ended_by or door.token_monitor.line_about_expiry  # empty if the token is still accepted
    run.unreachable = run.unreachable or without_known_values(door.liveness.why_unreachable)
    run.end_of_target = _end_of_target(session.reproduction) if door.liveness.why_unreachable else ""
    run.journal_trouble = bool(door.guard.journal_trouble or door.guard.trouble_with_profile_codes)

    # Notes for people, and what is left at the service.
    run.notes += _notes_of(door, session.reproduction, name_for_commands(run.profile))
    if run.profile.base_url != EMBEDDED:  # the embedded sandbox ends with the run, and nothing is left of it
        for key in door.keys.not_cleaned_up():
            name = changed(key.label, without_known_values)
            run.not_cleaned_up.append(LeftKey(name, key.state.value, key.is_of_profile, tuple(key.exchanges)))
        run.transfers_not_executed += _not_executed(door, session.profile.accounts)

    # Why requests were not sent: by reason, the operations that they were for.
    run.outages = {reason: _in_order(names) for reason, names in door.backoff.outages.items()}
    unsent = {reason: _in_order(names) for reason, names in door.unsent.items()} | run.outages
    # A reason without an operation was only about undocumented paths.
    run.unsent = {reason: names for reason, names in unsent.items() if names}


def _end_of_target(reproduction: Reproduction) -> Text:
    """A sentence about the last request before the service could not be reached any more; empty if it never answered.

    If requests were on their way at that moment, these are named instead, because one of them may have crashed the
    service. `reproduction` knows all requests with their answers.
    """
    in_flight = reproduction.in_flight_at_the_end
    if in_flight:
        requests = dict.fromkeys(f"{exchange.operation}, {request_in_words(exchange)}" for exchange in in_flight)
        return say(
            "the service ended while exchange {numbers} was on its way ({requests}): start it and run again, because "
            "only a request that ends it twice is a failure",
            numbers=first_few([str(exchange.number) for exchange in in_flight]),
            requests=first_few(list(requests)),
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
    exchanges that show a result, or a key that was not deleted. If `with_content` is false, the content is recorded
    only for exchanges that show a failure or such a key.
    """
    run = session.run
    exchanges = session.door.exchanges
    _note_what_comes_first_when_resending(session)
    citing_results = [result for result in run.results if with_content or result.verdict == Verdict.FAIL]
    cited_numbers = set(chain.from_iterable(result.exchanges for result in citing_results))
    cited_numbers.update(chain.from_iterable(key.exchanges for key in run.not_cleaned_up))
    for exchange in exchanges:
        if exchange.number in cited_numbers:
            run.exchanges[exchange.number] = shown_in_full(exchange, session.resending)
        else:
            run.exchanges[exchange.number] = shown_in_outline(exchange)


def _note_what_comes_first_when_resending(session: Session) -> None:
    """Tell the writer of the shell lines which requests a person has to send before another one is sent again.

    - Before an execution, a request that prepares a new transfer, because a transfer is executed only once. It is the
      same as the request that prepared the executed transfer.
    - Before a registration or deletion, the earlier registration and deletion of the same key, because a service
      answers the second registration of a key otherwise than the first one.
    """
    exchanges = session.door.exchanges
    code_by_number = session.door.guard.prepared.codes  # the transaction code, by the number of its preparation
    prepared = [exchange for exchange in exchanges if code_by_number.get(exchange.number)]
    session.resending.preparation_by_code = {code_by_number[exchange.number]: exchange.request for exchange in prepared}
    session.resending.key_changes_before = changes_of_the_same_key_before(exchanges)


def changes_of_the_same_key_before(exchanges: Iterable[Exchange]) -> dict[int, tuple[Request, ...]]:
    """What the run did to a key before each registration and deletion of it, because the answer may depend on that.

    The result has, by the number of an exchange, the request of the last granted registration of the same key, and the
    request of the last deletion after it, if one was granted. If no registration was granted before, the first granted
    deletion takes its place. Exchanges before which nothing was done are left out.
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
        is_change = exchange.credential == VALID and is_granted(exchange)
        if is_change and exchange.operation == "registerPixKey":
            changes_by_key[key] = (exchange.request,)
        elif is_change:
            first_change = changes_by_key.get(key, ())[:1]  # empty if this deletion is the first change of the key
            changes_by_key[key] = (*first_change, exchange.request)
    return changes_before


def _in_order(names: Container[str]) -> list[str]:
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


def _not_executed(door: Door, accounts: Iterable[str]) -> Iterator[Message]:
    """Lines about the transfers that the run prepared and did not execute: a line for each reason.

    For example `2 transfers (exchanges 7 and 9), each not executed: …`. A person may want to look them up.
    """
    code_at = door.budget.code_at  # the JSON pointer to the transaction code in an answer
    transfers_by_reason: defaultdict[Text, list[Exchange]] = defaultdict(list)
    for exchange, reason in door.guard.prepared.outcomes_of_preparations(door.exchanges, code_at):
        transfers_by_reason[_reason_in_words(exchange, reason, accounts)].append(exchange)
    for reason_in_words, transfers in transfers_by_reason.items():
        numbers = [str(exchange.number) for exchange in transfers]
        if reason_in_words:
            yield say_many(
                "{n} transfer (exchange {numbers}), not executed: {why}",
                "{n} transfers (exchanges {numbers}), each not executed: {why}",
                n=len(transfers),
                numbers=first_few(numbers) if reason_in_words in _REASONS_WITH_FEW_NUMBERS else listed(numbers),
                why=message_of(reason_in_words),
            )


# -- notes ------------------------------------------------------------------------------------------------------------


def _notes_of(door: Door, reproduction: Reproduction, name: str) -> Iterator[Note]:
    """Notes for people about what a run found out besides its results, the most important note first.

    `name` is the name of the profile for commands that a note suggests.
    """
    valid = [exchange for exchange in door.exchanges if exchange.expects_success]
    something_succeeded = any(map(is_granted, valid))
    if not something_succeeded:
        # If everything was refused, the cause is not one account or one code, so no note is written about these.
        valid = []
    yield from _unsettled_transfers(door, name)
    yield from _stopped_deletions(door)
    for fault in _faults_of_the_set_up(door, valid):
        yield Note(NoteKind.WRONG_SET_UP, fault)
    yield from _refused_accounts(door, valid)
    yield from _answers_that_say_little(door, reproduction)


def _unsettled_transfers(door: Door, name: str) -> Iterator[Note]:
    """Notes on transfers of which nobody knows yet whether they moved money: of this run, and of earlier runs.

    A person has to look such a transfer up. If there is a journal (the file with the codes that were sent), the note
    has two commands. The first one lists the entries of the journal. The second one marks an entry as looked up, so
    that later reports do not have the note.
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


def _stopped_deletions(door: Door) -> Iterator[Note]:
    """At most one note: why the run stopped to register and delete PIX keys.

    The most serious reason is a missing key that was on the account before the run: perhaps the service deleted the
    wrong key. A reason in `door.unsent` is left out here, because the report lists these reasons elsewhere.
    """
    if door.keys.lists.vanished:
        gone = say("a key that was there before the run is gone: restore it, unless somebody else deleted it")
        yield Note(NoteKind.KEY_GONE, gone)
    elif door.key_changes.why_stopped and door.key_changes.why_stopped not in door.unsent:
        yield Note(NoteKind.REQUESTS_LEFT_OUT, door.key_changes.why_stopped)


def _refused_accounts(door: Door, valid: Iterable[Exchange]) -> Iterator[Note]:
    """A note on each account of the profile that the service refuses everywhere, because it is probably a wrong one.

    At least two operations must have refused the account, and none accepted it. `valid` are the requests that should
    have succeeded. A temporary refusal, such as one that only asks to wait, says nothing about the account.
    """
    accounts = [secret.value for secret in door.secrets.known if secret.name == ACCOUNT]
    for number, account in enumerate(accounts, 1):
        answers = [exchange for exchange in valid if exchange.request.last_segment == account]
        refusing = {
            exchange.operation for exchange in answers if refusal_or_failure(exchange) not in TEMPORARY_REFUSALS
        }
        is_refused_everywhere = len(refusing) > 1 and not any(map(is_granted, answers))
        if is_refused_everywhere:
            refused = say(
                "number {number} of accounts: refused by every operation ({answer}): check accounts",
                number=number,
                answer=answer_in_words(answers[0]),
            )
            yield Note(NoteKind.ACCOUNT_REFUSED, refused)


def _answers_that_say_little(door: Door, reproduction: Reproduction) -> Iterator[Note]:
    """Notes on answers that may say little about the service.

    They were changed by parallel requests, cut short by limits of the suite, or given by gateways. All of these notes
    have one kind, which is named after the first of the three causes.
    """
    for text in (
        *_changed_by_parallel_requests(reproduction),
        *_cut_by_limits(door.exchanges),
        *_answered_by_gateways(door.exchanges),
    ):
        yield Note(NoteKind.DIFFERENT_BESIDE_OTHERS, text)


def _changed_by_parallel_requests(reproduction: Reproduction) -> Iterator[Text]:
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


def _cut_by_limits(exchanges: Iterable[Exchange]) -> Iterator[Text]:
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


def _answered_by_gateways(exchanges: Iterable[Exchange]) -> Iterator[Text]:
    """At most one line: how many answers came from a gateway (502, 503, 504) instead of the service behind it."""
    from_gateways = [exchange for exchange in exchanges if refusal_or_failure(exchange) is RefusalKind.GATEWAY]
    if from_gateways:
        yield say(
            "{number} of the answers are those of a gateway (502, 503, 504): what the service did is not seen",
            number=len(from_gateways),
        )


def _faults_of_the_set_up(door: Door, valid: Iterable[Exchange]) -> Iterator[Text]:
    """Lines about mistakes that the user can correct: in the token, transaction codes, the journal, or a certificate.

    The journal is a file with the codes that runs sent. The guard is the part of the suite that decides whether a
    transaction code may be sent. `valid` are the requests that should have succeeded.
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
    yield from _kept_by_journal(door)
    yield from door.token_monitor.notes
    if any(refusal_or_failure(exchange) is RefusalKind.CERTIFICATE for exchange in door.exchanges):
        yield "the gateway refuses the client certificate: check tls.client_cert and tls.client_key"
    if not guard.notes:  # if there are notes of the guard, they name the cause of the refusals
        yield from _codes_refused(door, valid)


def _kept_by_journal(door: Door) -> Iterator[Text]:
    """Lines about transaction codes that were not sent, because the journal says that an earlier run sent them.

    The journal is a file with the codes that runs sent, so that no code is executed twice. Once it cannot be written,
    no further code is sent. If it cannot be relied on, such as a shortened one, no code of the profile is. One more
    line is about codes that an earlier run sent only with a wrong token.
    """
    guard = door.guard
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


def _codes_refused(door: Door, valid: Iterable[Exchange]) -> Iterator[Text]:
    """At most one line: how many transaction codes the service refused to execute, and with which answers.

    A refusal is not counted if its transfer may have been executed in spite of it. There is no line if each refusal may
    be a conflict with a parallel request.

    If a sandbox refused all codes of the profile, the line ends with a question: did an earlier run execute them? For a
    sandbox has no journal that would prevent a second execution. If codes that this run prepared were refused as well,
    the question is left out, because no earlier run can have executed them.
    """
    executions = [exchange for exchange in valid if exchange.operation == "executePix" and exchange.response]
    with_known_outcome = [exchange for exchange in executions if exchange.number not in door.guard.unknown_outcomes]
    refused = [exchange for exchange in with_known_outcome if _refuses_a_code(exchange)]
    if all(_may_be_a_conflict(exchange) for exchange in refused):  # also if no code was refused
        return
    line = say(
        "{number} of {all} transaction codes were refused: {answers}",
        number=len(refused),
        all=len(executions),
        answers=answers_in_words(refused),
    )
    prepared = [exchange for exchange in executions if door.guard.prepared.has(unquote(exchange.request.last_segment))]
    supplied = [exchange for exchange in executions if exchange not in prepared]
    all_supplied_refused = bool(supplied) and all(exchange in refused for exchange in supplied)
    no_prepared_refused = all(exchange not in refused for exchange in prepared)
    has_no_journal = door.guard.journal is None  # the target is a sandbox
    perhaps_executed_before = all_supplied_refused and no_prepared_refused and has_no_journal
    question: Text = ""
    if perhaps_executed_before:
        question = say("did an earlier run execute these codes? transactions.prepare makes new codes for each run")
    yield joined((line, question))


def _may_be_a_conflict(exchange: Exchange) -> bool:
    """True if the service refused an execution as a conflict (409) while other requests were on their way.

    Then the other requests may be the cause of the refusal, and not the transaction code. `beside` is their number.
    """
    return exchange.beside > 0 and refusal_or_failure(exchange) is RefusalKind.CONFLICT


def _refuses_a_code(exchange: Exchange) -> bool:
    """True if the service refused the transaction code itself, and not the token, for example.

    If the answer nevertheless has an execution result, it is unclear whether money moved, so that the result is False.
    """
    if exchange.response is None:
        return False
    return refusal_or_failure(exchange) in ABOUT_THE_REQUEST and not execution_results(exchange.response)
