"""What a reader must know before the verdict: unknown outcomes, and faults of the set-up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from environments.authorization import VALID
from environments.door import Door
from environments.probe import asks_for_a_certificate
from spec.exchange import Exchange, Response
from spec.reading import is_refusal

UNKNOWN = "OUTCOME UNKNOWN"


def said_first(door: Door) -> Iterator[str]:
    """The lines of one process, the most important one first."""
    for number in door.unknown_outcomes:
        yield (
            f"{UNKNOWN} of exchange {number}: an execution was sent and not answered; "
            "it is never sent again, look the transfer up"
        )
    if known := len(door.guard.refused_by_journal):
        yield (
            f"{known} of {len(door.codes)} transaction codes were sent by an earlier run, as the journal says, and not "
            "again: prepare new ones, or use --resend-code"
        )
    yield from door.token_trouble.notes
    yield from _certificate_refused(door.exchanges)
    yield from _token_refused([seen for seen in door.exchanges if seen.operation and seen.credential == VALID])
    yield from _codes_refused([seen for seen in door.exchanges if seen.operation == "executePix" and seen.good])


def ordered(lines: Iterable[str]) -> list[str]:
    """Unknown outcomes before everything else."""
    return sorted(lines, key=lambda line: not line.startswith(UNKNOWN))


def unknown_to_all(unanswered: int, said: Sequence[str]) -> Iterator[str]:
    """Executions of workers that ended before they could say what became of them."""
    missing = unanswered - sum(line.startswith(UNKNOWN) for line in said)
    if missing > 0:
        yield (
            f"{UNKNOWN} of {missing} executions: the journal says that they were sent, and not how they were answered; "
            "they are never sent again, look the transfers up"
        )


def _certificate_refused(exchanges: Sequence[Exchange]) -> Iterator[str]:
    """From the second exchange on: the first one is the preflight's, which says it in more words."""
    refused = [bool(seen.response and asks_for_a_certificate(seen.response)) for seen in exchanges]
    if any(refused) and not refused[0]:
        yield "the gateway refuses the client certificate: check tls.client_cert and tls.client_key"


def _token_refused(exchanges: Sequence[Exchange]) -> Iterator[str]:
    statuses = {seen.response.status for seen in exchanges if seen.response}
    if statuses and all(status in (401, 403) or 300 <= status < 400 for status in statuses):
        shown = ", ".join(str(status) for status in sorted(statuses))
        yield f"the token was refused by every operation ({shown}): the set-up is at fault, check auth"


def _codes_refused(executed: Sequence[Exchange]) -> Iterator[str]:
    answered = [seen.response for seen in executed if seen.response]
    refused = [response for response in answered if _refuses_the_code(response)]
    if refused:
        yield f"{len(refused)} of {len(answered)} transaction codes were refused; they may have expired"


def _refuses_the_code(response: Response) -> bool:
    return is_refusal(response) and response.status not in (401, 403, 429) and response.status < 500
