"""The end of a run: nothing more is sent, and the record takes over the exchanges and the state of the door.

`pytest_sessionfinish` in the conftest.py of the root calls it. The door (`environments/door/`) is what every request
passes. Its guard knows the transaction codes: which were sent, and which may have moved money. The notes tell people
what the state of the door means: unknown outcomes, keys that are gone, faults of the set-up, and effects of gateways
and of parallel requests.

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
from reports.result.run import LeftKey, Note, NoteKind, outcome_unknown
from reports.result.verdicts import Verdict
from reports.sentences.wording import first_few, listed
from reports.showing.evidence import evidence, outline
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
from spec.exchange import Exchange
from spec.interface import operations
from spec.message import Message, Text, changed, joined, message_of, say, say_many
from spec.rules import Reproduction
from spec.rules.robustness import request_in_words
from tests.harness.session import Session

_SYNTHETIC_ACCOUNT = say("its account is synthetic")
_DECLINED = say('the answer has code 0, and says Success: "false": it was perhaps prepared')
_MADE_BY_THE_SUITE = say("the request was invalid or generated")
_COUNTED = (_SYNTHETIC_ACCOUNT, _MADE_BY_THE_SUITE, _DECLINED)
"""Reasons for which the report names a few exchanges alone, because nobody looks these transfers up one by one."""
_FEWEST_OTHERWISE_ALONE = 3
"""A note is written from this number of requests on whose answer was another one when they were sent again alone.
Fewer may have a cause that is over soon."""


def end_sending(session: Session, *, was_interrupted: bool) -> None:
    """Have the door send nothing more, and note the reason if the run ended before everything was sent."""
    run = session.run
    door = session.door
    limit = door.ending.why_over
    # The run may reach the time limit after its last request. Then no request was kept back, so nothing was cut short.
    run.ended_by = limit if limit in door.unsent else ""
    if was_interrupted:
        run.interrupted = True
    door.ending.stop()


def close_record(session: Session) -> None:
    """Take over from the door the number of requests, the keys and transfers that are left behind, and the notes."""
    run = session.run
    door = session.door
    without_known_values = (
        session.display.without_known_values
    )  # hides known values in a text that is not the suite's own
    run.requests = len(door.exchanges)
    run.executions = door.guard.executions
    run.unknown_outcomes = len(door.guard.unknown)
    run.ended_by = run.ended_by or door.token_monitor.expired
    run.unreachable = run.unreachable or without_known_values(door.liveness.unreachable)
    run.last_seen = _last_seen(session.reproduction) if door.liveness.unreachable else ""
    run.journal_trouble = bool(door.guard.journal_trouble or door.guard.supplied_trouble)
    run.notes += _notes_of(door, session.reproduction, name_for_commands(run.profile))
    if run.profile.base_url != EMBEDDED:  # the embedded sandbox ends with the run, and nothing is left of it
        for key in door.keys.not_cleaned_up():
            name = changed(key.name, without_known_values)
            run.not_cleaned_up.append(LeftKey(name, key.state.value, key.is_of_profile, tuple(key.exchanges)))
        run.not_executed += _not_executed(door, session.profile.accounts)
    run.grants = Grants.of_exchanges(door.exchanges)
    run.outages = {reason: _in_order(names) for reason, names in door.backoff.outages.items()}
    unsent = {reason: _in_order(names) for reason, names in door.unsent.items()} | run.outages
    # A reason without an operation was about undocumented paths alone.
    run.unsent = {reason: names for reason, names in unsent.items() if names}


def _last_seen(reproduction: Reproduction) -> Text:
    """A sentence about the last exchange before the service could not be reached any more; empty if it answered none.

    If requests were on their way then, they are named, because one of them may have ended the service.
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
    """Take over an outline of each exchange, and the whole content of the exchanges that the report cites.

    An exchange is cited by a result, or by a key that is left behind. Without `with_content` only failures count.
    """
    run = session.run
    exchanges = session.door.exchanges
    code_by_number = session.door.guard.prepared.codes
    prepared = [exchange for exchange in exchanges if code_by_number.get(exchange.number)]
    session.resending.preparations = {code_by_number[exchange.number]: exchange.request for exchange in prepared}
    citing_results = [result for result in run.results if with_content or result.verdict == Verdict.FAIL]
    cited_numbers = set(chain.from_iterable(result.exchanges for result in citing_results))
    cited_numbers.update(chain.from_iterable(key.exchanges for key in run.not_cleaned_up))
    for exchange in exchanges:
        if exchange.number in cited_numbers:
            run.exchanges[exchange.number] = evidence(exchange, session.resending)
        else:
            run.exchanges[exchange.number] = outline(exchange)


def _in_order(names: Container[str]) -> list[str]:
    """These operations, sorted by their order in the interface document."""
    return [name for name in operations() if name in names]


def _reason_in_words(exchange: Exchange, reason: str, accounts: Iterable[str]) -> Text:
    """Reason for the report why a prepared transfer was not executed; empty if it was executed, or may have been.

    `reason` is the reason that the door noted, and `accounts` are those of the profile. Transfers by invalid or
    generated requests get one common reason, and so do transfers of synthetic accounts, so that the report has one line
    for each of both.
    """
    if reason and _is_declined(exchange):
        return _DECLINED
    may_be_of_profile = exchange.valid or reason == PERHAPS_PREPARED
    if may_be_of_profile:
        return reason
    names_own_account = any(account.encode() in exchange.request.body for account in accounts)
    return _MADE_BY_THE_SUITE if names_own_account else _SYNTHETIC_ACCOUNT


def _is_declined(exchange: Exchange) -> bool:
    """True for an answer with code 0 that says Success: "false"."""
    if exchange.response is None or not is_granted(exchange):
        return False
    return says_success_false(exchange.response)


def _not_executed(door: Door, accounts: Iterable[str]) -> Iterator[Message]:
    """Lines about the transfers that were prepared and not executed, one line for each reason."""
    _, code_at = door.budget.prepares
    transfers_by_reason: defaultdict[Text, list[Exchange]] = defaultdict(list)
    for exchange, reason in door.guard.prepared.not_executed(door.exchanges, code_at):
        transfers_by_reason[_reason_in_words(exchange, reason, accounts)].append(exchange)
    for reason_in_words, transfers in transfers_by_reason.items():
        numbers = [str(exchange.number) for exchange in transfers]
        if reason_in_words:
            yield say_many(
                "{n} transfer (exchange {numbers}), not executed: {why}",
                "{n} transfers (exchanges {numbers}), each not executed: {why}",
                n=len(transfers),
                numbers=first_few(numbers) if reason_in_words in _COUNTED else listed(numbers),
                why=message_of(reason_in_words),
            )


# -- notes ------------------------------------------------------------------------------------------------------------


def _notes_of(door: Door, reproduction: Reproduction, name: str) -> Iterator[Note]:
    """The notes of a run, the most important one first. `name` is the profile in commands that a note names."""
    valid = [exchange for exchange in door.exchanges if exchange.expects_success]
    something_succeeded = any(map(is_granted, valid))
    if not something_succeeded:
        # If everything was refused, the cause is not one account or one code, so no note is written about these.
        valid = []
    yield from _unsettled_transfers(door, name)
    yield from _stopped_deletions(door)
    for fault in _faults_of_the_set_up(door, valid):
        yield Note(NoteKind.SET_UP, fault)
    yield from _refused_accounts(door, valid)
    yield from _effects_of_others(door, reproduction)


def _unsettled_transfers(door: Door, name: str) -> Iterator[Note]:
    """Notes on transfers that this run or an earlier one may have executed or prepared."""
    settle: Text = ""
    if door.guard.journal:
        settle = say(
            "python -m environments journal {name} prints its name, and with --settle NAME ends this line", name=name
        )
    for number in door.guard.unknown:
        remedy = say(
            "it may have moved money, as no answer settles that; the code is not sent again: look the transfer up"
        )
        yield outcome_unknown(say("exchange {number}", number=number), joined((remedy, settle)))
    for entry in door.guard.earlier:
        yield outcome_unknown(
            say("an execution of an earlier run (sent at {at}, entry {name})", at=entry.at, name=entry.name),
            joined((say("look the transfer up"), settle)),
        )
    for entry in door.guard.perhaps_prepared:
        perhaps = say(
            "an earlier run ended while it prepared a transfer, which was perhaps prepared (at {at}, entry {name})",
            at=entry.at,
            name=entry.name,
        )
        yield Note(NoteKind.LEFT, joined((perhaps, say("look the transfer up"), settle)))


def _stopped_deletions(door: Door) -> Iterator[Note]:
    """A note with the reason why no further key was registered or deleted, if there is one."""
    if door.keys.lists.vanished:
        gone = say("a key that was there before the run is gone: restore it, unless somebody else deleted it")
        yield Note(NoteKind.KEY_GONE, gone)
    elif door.key_changes.stopped and door.key_changes.stopped not in door.unsent:
        yield Note(NoteKind.CUT, door.key_changes.stopped)


def _refused_accounts(door: Door, valid: Iterable[Exchange]) -> Iterator[Note]:
    """Notes on the accounts of the profile that every operation refuses."""
    accounts = [secret.value for secret in door.secrets.known if secret.name == ACCOUNT]
    for number, account in enumerate(accounts, 1):
        answers = [exchange for exchange in valid if exchange.request.last_segment == account]
        refusing = {
            exchange.operation for exchange in answers if refusal_or_failure(exchange) not in TEMPORARY_REFUSALS
        }
        if len(refusing) > 1 and not any(map(is_granted, answers)):
            refused = say(
                "number {number} of accounts: refused by every operation ({answer}): check accounts",
                number=number,
                answer=answer_in_words(answers[0]),
            )
            yield Note(NoteKind.ACCOUNT, refused)


def _effects_of_others(door: Door, reproduction: Reproduction) -> Iterator[Note]:
    """Notes on answers that were changed by parallel requests, by limits of the suite, or by gateways."""
    for text in (
        *_changed_by_parallel_requests(reproduction),
        *_cut_by_limits(door.exchanges),
        *_answered_by_gateways(door.exchanges),
    ):
        yield Note(NoteKind.IN_COMPANY, text)


def _changed_by_parallel_requests(reproduction: Reproduction) -> Iterator[Text]:
    """A line about requests that failed beside other requests, and were answered in another way when they were sent
    again alone."""
    number = len(reproduction.answered_otherwise_alone)
    if number >= _FEWEST_OTHERWISE_ALONE:
        yield say(
            "{number} requests were refused or not answered with other requests in flight, and answered otherwise "
            "alone: the service limits requests at the same time, or mixes up their answers",
            number=number,
        )


def _cut_by_limits(exchanges: Iterable[Exchange]) -> Iterator[Text]:
    """A line for each limit of the suite that cut answers short."""
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
    """A line with the number of answers that a gateway gave in the place of the service; none if there are none."""
    of_gateways = [exchange for exchange in exchanges if refusal_or_failure(exchange) is RefusalKind.GATEWAY]
    if of_gateways:
        yield say(
            "{number} of the answers are those of a gateway (502, 503, 504): what the service did is not seen",
            number=len(of_gateways),
        )


def _faults_of_the_set_up(door: Door, valid: Iterable[Exchange]) -> Iterator[Text]:
    """Lines about faults of the token, the codes, the journal or the client certificate."""
    guard = door.guard
    if guard.token_refused:
        number = guard.token_refused[0]  # of the first such exchange
        refused = say(
            "an execution was refused with 401 (exchange {number}), and no further transaction code was sent with this "
            "token: check auth",
            number=number,
        )
        may_be_sent_again = guard.journal is not None and number not in guard.unknown
        resend = say("then name this one code in --resend-code") if may_be_sent_again else ""
        yield joined((refused, resend))
    yield from guard.notes
    yield from _kept_by_journal(door)
    yield from door.token_monitor.notes
    if any(refusal_or_failure(exchange) is RefusalKind.CERTIFICATE for exchange in door.exchanges):
        yield "the gateway refuses the client certificate: check tls.client_cert and tls.client_key"
    if not guard.notes:  # else the notes of the guard tell the first cause of the refusals
        yield from _codes_refused(door, valid)


def _kept_by_journal(door: Door) -> Iterator[Text]:
    """Lines about the codes that were not sent because of the journal, and about offers of earlier runs."""
    guard = door.guard
    supplied = len(door.secrets.codes)
    if guard.journal_trouble:
        yield say("executions were stopped: {why}", why=guard.journal_trouble)
    elif guard.supplied_trouble:
        yield guard.supplied_trouble
    entries = guard.barred.values()  # of the codes that an earlier run sent
    if entries:
        statuses_of_refused = [entry.status for entry in entries if entry.outcome is Outcome.REFUSED]
        barred = say(
            "{number} of {supplied} transaction codes were sent by an earlier run according to the journal, and not by "
            "this one: prepare new ones",
            number=len(entries),
            supplied=supplied,
        )
        resend = say("or name one that was refused in --resend-code") if statuses_of_refused else ""
        token: Text = ""
        number_of_401 = statuses_of_refused.count("401")
        if number_of_401:
            token = say("{number} of these codes got 401, so the token was at fault", number=number_of_401)
        yield joined((barred, resend, token))
    if guard.offered:
        yield say(
            "{number} of {supplied} transaction codes were offered with a wrong token by an earlier run, which did not "
            "execute them",
            number=len(guard.offered),
            supplied=supplied,
        )


def _codes_refused(door: Door, valid: Iterable[Exchange]) -> Iterator[Text]:
    """A line about the codes that were refused, and by which answers.

    There is no line if each refusal may be a conflict with a parallel request. A refusal does not count if its transfer
    may have been executed. If all supplied codes of a sandbox were refused, an earlier run may have executed them,
    because a sandbox has no journal; but not if codes that this run prepared were refused, too.
    """
    executions = [exchange for exchange in valid if exchange.operation == "executePix" and exchange.response]
    with_known_outcome = [exchange for exchange in executions if exchange.number not in door.guard.unknown]
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
    """True if an execution was refused with a conflict while another request was on the wire."""
    return exchange.beside > 0 and refusal_or_failure(exchange) is RefusalKind.CONFLICT


def _refuses_a_code(exchange: Exchange) -> bool:
    """True if an answer refuses the code and carries no execution result, which would contradict the refusal."""
    if exchange.response is None:
        return False
    return refusal_or_failure(exchange) in ABOUT_THE_REQUEST and not execution_results(exchange.response)
