"""What a limit cut is one line, stands in the headline, and explains every requirement that it left untested."""

from dataclasses import replace

import pytest

from environments.profiles.loading import load
from environments.sandbox import Response, Service
from reports.run import NoteKind
from tests.selftest.proof.directly import run_in_memory


class AsksForAnHour(Service):
    """Answers no request for the entries in time."""

    def finish(self, request, operation, response):
        return Response(429, b"", (("Retry-After", "3600"),)) if operation == "listEntries" else response


LATER = (
    "the service asks to come back later: the suite waits three times for a request, and sends an execution once "
    "(set limits.rate or parallel: 1, or lower limits.wrong_tokens)"
)


@pytest.mark.parametrize(
    ("service", "requests", "why", "cut"),
    [
        (Service, 60, "limits.requests (60) is spent", "executePix, registerPixKey, deletePixKey and 8 more"),
        (AsksForAnHour, 2_000, LATER, "listEntries"),
    ],
    ids=["a limit", "a wait that is too long"],
)
def test_what_was_cut_is_one_line(service, requests, why, cut):
    """It names what was cut, and every requirement that was left untested names the limit."""
    profile = load("sandbox")
    limits = replace(profile.limits, requests=requests, parallel=1)
    profile = replace(profile, base_url="http://127.0.0.1", sandbox="127.0.0.1", limits=limits)
    run = run_in_memory(service(), profile, lambda test: not test.get_closest_marker("property"))
    rows = {row.id: str(result.message) for row, result in run.requirements() if result.verdict == "not-exercised"}
    untested = [message for id, message in rows.items() if not id.endswith(".refusal")]

    assert [str(note.text) for note in run.notes() if note.kind == NoteKind.CUT] == [
        f"{why}: not all requests to {cut} were sent"
    ]
    assert untested
    assert [message for message in untested if not message.endswith(why)] == []
