"""If a limit of the profile ends the traffic of a run, one note names it, and so does each requirement left untested."""

from dataclasses import replace

from environments.profiles.loading import load
from environments.sandbox import Service
from reports.result.run import NoteKind
from reports.result.run_verdict import result_of_run
from spec.interface import operations
from tests.selftest.proof.directly import run_tests_in_memory


def test_one_note_names_the_operations_cut_short_by_the_limit_of_requests():
    """If limits.requests of the profile ends the traffic of a run, one note names the limit and the operations.

    Each requirement that was not tested for that reason names the limit, too. The limit is 60 requests here.
    """
    profile = load("sandbox")
    limits = replace(profile.limits, requests=60, parallel=1)
    profile = replace(profile, base_url="http://127.0.0.1", sandbox="http://127.0.0.1", limits=limits)
    run = run_tests_in_memory(Service(), profile, lambda test: not test.get_closest_marker("property"))
    limit_in_words = "limits.requests (60) is spent"
    operations_in_words = f"executePix, registerPixKey, deletePixKey and {len(operations()) - 3} more"
    message_by_untested_id = {
        requirement.id: str(result.message)
        for requirement, result in result_of_run(run).results
        if result.verdict == "not-exercised"
    }
    # requirements that end with .refusal were not tested for another reason: this service refuses no valid request
    messages = [message for id, message in message_by_untested_id.items() if not id.endswith(".refusal")]
    notes_on_limits = [str(note.text) for note in result_of_run(run).notes if note.kind == NoteKind.REQUESTS_LEFT_OUT]

    assert notes_on_limits == [f"{limit_in_words}: not all requests to {operations_in_words} were sent"]
    assert messages != []
    assert [message for message in messages if limit_in_words not in message] == []
