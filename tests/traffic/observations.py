"""What the interface document does not show, read from the answers of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from environments.door.authorization import VALID
from spec.answers import RefusalKind, code_of, data_of, is_judged_as_success, refusal_kind, registered
from spec.exchange import Exchange
from spec.json_text import is_number
from tests.harness.judging import supplied


def values_of(field: str, answers: list[Exchange]) -> str:
    """The values of a field in the execution results. NotExercised where there are none."""
    seen = {str(data[field])[:40] for data in _results(answers) if field in data}
    supplied(seen, "no execution result was given")
    return ", ".join(sorted(seen))


def units_of_dates(answers: list[Exchange]) -> str:
    """The units that the sizes of the dates suggest. NotExercised where there are none."""
    dates = [data["date"] for data in _results(answers) if is_number(data.get("date"))]
    supplied(dates, "no execution result with a number as date was given")
    return ", ".join(sorted({_unit_of(date) for date in dates}))


def _unit_of(date: object) -> str:
    if not isinstance(date, Decimal):
        return "a number of very many digits"
    units = {9: "seconds since 1970", 12: "milliseconds since 1970", 15: "microseconds since 1970"}
    return units.get(date.adjusted(), f"a number of the order of 1e{date.adjusted()}")


def _results(answers: list[Exchange]) -> list[Mapping[str, Any]]:
    return [data_of(seen.response) or {} for seen in answers if seen.response and is_judged_as_success(seen)]


def summaries_of(exchanges: list[Exchange]) -> str:
    """How registrations are answered, and what is granted by that."""
    return ", ".join(sorted({f"{seen.summary}{_effect(seen)}" for seen in exchanges}))


def _effect(seen: Exchange) -> str:
    if registered(seen) or seen.response is None:
        return " (registered)" if registered(seen) else ""
    success = (data_of(seen.response) or {}).get("Success")
    code = code_of(seen.response)
    said = f" Success {success!r}" if isinstance(success, str) else ""
    return said if code is None else f"{said} code {code}"


def refused_with(exchanges: list[Exchange], *kinds: RefusalKind) -> list[Exchange]:
    """The requests that were refused in one of these ways, or in any."""
    refused = [(seen, refusal_kind(seen.response)) for seen in exchanges if seen.response is not None]
    return [seen for seen, kind in refused if kind in (kinds or list(RefusalKind))]


def tally_of(refused: list[Exchange]) -> str:
    """How often requests were refused in which way, with and without the valid token."""
    with_token = {True: "with the valid token", False: "without a valid token"}
    tally = Counter(f"{with_token[seen.credential == VALID]}: {seen.summary}" for seen in refused)
    return "; ".join(f"{what} ({_times(count)})" for what, count in sorted(tally.items()))


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def codes_of_envelopes(exchanges: list[Exchange]) -> list[int]:
    """The values of code that are seen."""
    codes = (code_of(seen.response) for seen in exchanges if seen.response is not None)
    return sorted({code for code in codes if code is not None})


def members_of(exchange: Exchange) -> str:
    """The members of an answer."""
    value = exchange.response.json.value if exchange.response else None
    return ", ".join(sorted(value)) if isinstance(value, dict) else "no object"
