"""Notes that follow from the state of the door: unknown outcomes, faults of the set-up, and what others caused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from urllib.parse import unquote

from environments.door.door import Door
from environments.door.journal import Outcome
from environments.secret_values import ACCOUNT
from reports.run import Note, NoteKind, outcome_unknown
from spec.answers import (
    ABOUT_THE_REQUEST,
    PASSING,
    RefusalKind,
    answer_in_words,
    answers_in_words,
    execution_results,
    is_granted,
    refused_or_lost,
)
from spec.exchange import Exchange
from spec.message import Text, joined, say, say_many
from spec.rules import Reproduction


def notes_of(door: Door, reproduction: Reproduction, name: str) -> Iterator[Note]:
    """The notes of a run with the profile of this name, the most important one first."""
    settle = (
        say("python -m environments journal {name} prints its name, and with --settle NAME ends this line", name=name)
        if door.guard.journal
        else ""
    )
    for number in door.guard.unknown:
        told = say(
            "it may have moved money, as no answer settles that; the code is not sent again: look the transfer up"
        )
        yield outcome_unknown(say("exchange {number}", number=number), joined((told, settle)))
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
    if door.keys.lists.gone:
        gone = say("a key that was there before the run is gone: restore it, unless somebody else deleted it")
        yield Note(NoteKind.KEY_GONE, gone)
    elif door.key_changes.stopped and door.key_changes.stopped not in door.unsent:
        yield Note(NoteKind.CUT, door.key_changes.stopped)
    valid = [seen for seen in door.exchanges if seen.expects_success]
    if not any(map(is_granted, valid)):  # the first cause is another one
        valid = []
    yield from (Note(NoteKind.SET_UP, line) for line in _faults_of_the_set_up(door, valid))
    for number, account in enumerate((known.value for known in door.secrets.known if known.name == ACCOUNT), 1):
        sent = [seen for seen in valid if seen.request.last_segment == account]
        lasting = {seen.operation for seen in sent if refused_or_lost(seen) not in PASSING}
        if len(lasting) > 1 and not any(map(is_granted, sent)):
            yield Note(
                NoteKind.ACCOUNT,
                say(
                    "number {number} of accounts: refused by every operation ({answer}): check accounts",
                    number=number,
                    answer=answer_in_words(sent[0]),
                ),
            )
    if len(seen := reproduction.otherwise_alone) >= 3:  # fewer may be passing trouble
        yield Note(
            NoteKind.IN_COMPANY,
            say(
                "{number} requests were refused or not answered with other requests in flight, and answered otherwise "
                "alone: the service limits requests at the same time, or mixes up their answers",
                number=len(seen),
            ),
        )
    cuts = Counter(exchange.response.cut for exchange in door.exchanges if exchange.response and exchange.response.cut)
    for why, number in cuts.items():
        yield Note(
            NoteKind.IN_COMPANY,
            say_many(
                "{n} answer is {why}: its JSON is not judged",
                "{n} answers are {why}: their JSON is not judged",
                n=number,
                why=say(why),
            ),
        )
    if unseen := [one for one in door.exchanges if refused_or_lost(one) is RefusalKind.GATEWAY]:
        yield Note(
            NoteKind.IN_COMPANY,
            say(
                "{number} of the answers are those of a gateway (502, 503, 504): what the service did is not seen",
                number=len(unseen),
            ),
        )


def _faults_of_the_set_up(door: Door, valid: Iterable[Exchange]) -> Iterator[Text]:
    guard = door.guard
    if guard.token_refused:
        told = say(
            "an execution was refused with 401 (exchange {number}), and no further transaction code was sent with this "
            "token: check auth",
            number=guard.token_refused[0],
        )
        is_refused = guard.token_refused[0] not in guard.unknown
        again = say("then name this one code in --resend-code") if guard.journal and is_refused else ""
        yield joined((told, again))
    yield from guard.notes
    yield from _kept_by_journal(door)
    yield from door.token_monitor.notes
    if any(refused_or_lost(seen) is RefusalKind.CERTIFICATE for seen in door.exchanges):
        yield "the gateway refuses the client certificate: check tls.client_cert and tls.client_key"
    if not guard.notes:  # they say the first cause
        yield from _codes_refused(door, valid)


def _kept_by_journal(door: Door) -> Iterator[Text]:
    """The codes that the journal kept from being sent, and those that it does not."""
    guard, supplied = door.guard, len(door.secrets.codes)
    if guard.journal_trouble:
        yield say("executions were stopped: {why}", why=guard.journal_trouble)
    elif guard.supplied_trouble:
        yield guard.supplied_trouble
    entries = guard.barred.values()
    refused = [entry.status for entry in entries if entry.outcome is Outcome.REFUSED]
    if entries:
        told = say(
            "{number} of {supplied} transaction codes were sent by an earlier run according to the journal, and not by "
            "this one: prepare new ones",
            number=len(entries),
            supplied=supplied,
        )
        token = say("{number} of them got 401: the token was at fault", number=refused.count("401"))
        yield joined(
            (
                told,
                say("or name one that was refused in --resend-code") if refused else "",
                token if "401" in refused else "",
            )
        )
    if guard.offered:
        yield say(
            "{number} of {supplied} transaction codes were offered with a wrong token by an earlier run, which did not "
            "execute them",
            number=len(guard.offered),
            supplied=supplied,
        )


def _codes_refused(door: Door, valid: Iterable[Exchange]) -> Iterator[Text]:
    """The codes that were refused, and by which answers; nothing if all that refused one may be a conflict with what
    was beside it. A refusal that carries a result, or may carry one, is none: its transfer may have been executed.

    If all supplied codes of a sandbox were refused, an earlier run may have executed them: a sandbox has no journal.
    """
    executions = [exchange for exchange in valid if exchange.operation == "executePix" and exchange.response]
    settled = [exchange for exchange in executions if exchange.number not in door.guard.unknown]
    refused = [exchange for exchange in settled if _refuses_a_code(exchange)]
    if all(exchange.beside and refused_or_lost(exchange) is RefusalKind.CONFLICT for exchange in refused):
        return
    line = say(
        "{number} of {all} transaction codes were refused: {answers}",
        number=len(refused),
        all=len(executions),
        answers=answers_in_words(refused),
    )
    supplied = [
        exchange for exchange in executions if not door.guard.prepared.has(unquote(exchange.request.last_segment))
    ]
    all_supplied_refused = bool(supplied) and all(exchange in refused for exchange in supplied)
    question = say("did an earlier run execute them? transactions.prepare makes new ones for each run")
    is_asked = all_supplied_refused and door.guard.journal is None
    yield joined((line, question if is_asked else ""))


def _refuses_a_code(exchange: Exchange) -> bool:
    is_refusal = refused_or_lost(exchange) in ABOUT_THE_REQUEST
    return is_refusal and exchange.response is not None and not execution_results(exchange.response)
