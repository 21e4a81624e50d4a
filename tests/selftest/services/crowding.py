"""A plugin of pytest: the run has 5,000 exchanges, which are those that it had, over and over, and all of them fail."""

from itertools import count, cycle

from reports.run import Run
from reports.verdicts import RequirementResult, Verdict

EXCHANGES = 5_000
FAILS = "executePix.serverError"


def pytest_configure() -> None:
    """Close the run with more than it had. The process is the run's own."""
    close = Run.close
    Run.close = lambda run: (crowd(run), close(run))[1]


def crowd(run: Run) -> None:
    """Add the exchanges that are missing, and a requirement that cites them all."""
    shown = cycle([one for one in run.exchanges.values() if one["curl"]])
    for number in count(max(run.exchanges) + 1):
        if len(run.exchanges) == EXCHANGES:
            break
        run.exchanges[number] = next(shown) | {"number": number}
    run.results.append(RequirementResult(FAILS, Verdict.FAIL, "status 500", tuple(run.exchanges)))
