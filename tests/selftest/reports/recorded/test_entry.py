"""What recorders leave out, cut and write otherwise: no fault of the service, and no reason to miss one.

The files of har/ were recorded against the sandbox with mitmproxy, Playwright and axios-har-tracker.
"""

import gzip
import json
import zlib
from base64 import b64encode
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports.recorded.content import body_of_request, body_of_response
from reports.recorded.counts import FileCounter
from reports.recorded.entry import RecordedExchange, exchange_of
from reports.result.run_verdict import result_of_run
from spec.message import Message
from tests.selftest.exchanges import EXECUTION_RESULT
from tests.selftest.reports.recorded.test_reading import (
    BASE,
    BODY,
    PROFILE,
    TOKEN,
    answer_in_base64,
    entry,
    entry_with,
    har_file,
    headers,
    number_of_exchanges,
    registration,
    run_of_entries,
)
from tests.selftest.shared_runs import run_in_this_process

RECORDED = Path(__file__).with_name("har")
SANDBOX = "http://127.0.0.1:8080"
NOTE_NO_BODY_OF_ANSWER = "not judged, the body is not recorded as it was sent"
NOTE_NO_VALID_TOKEN = "judged in part, without a token that was granted something before"
NOTE_NO_BODY_OF_REQUEST = "judged in part, without the body of the request"
NOTE_NO_MEDIA_TYPE = "judged in part, without the Content-Type of the answer"


def failing_ids(run):
    """The ids of the requirements that fail."""
    return [row.id for row, result in result_of_run(run).results if result.fails]


def note_texts(run):
    """The texts of the notes of a run. Of each the end is left out, which is a number and a place: ": 2, first at …"."""
    return [str(note.text).rpartition(": ")[0] for note in result_of_run(run).notes]


# -- files of real recorders ------------------------------------------------------------------------------------------


def entries_of(recorder):
    """The entries with an answer in the HAR file of a recorder, such as mitmproxy.

    The last request of Playwright and of axios-har-tracker has no answer. They record its status as -1 or empty.
    """
    har = json.loads((RECORDED / f"{recorder}.har").read_text())
    return [recorded for recorded in har["log"]["entries"] if recorded["response"]["status"] not in (-1, "")]


def first_deletion(entries):
    """The first of these HAR entries whose request has the method DELETE."""
    deletions = [recorded for recorded in entries if recorded["request"]["method"].upper() == "DELETE"]
    return deletions[0]


def result_of_recorder(folder, recorder, entries):
    """The result of `pytest --recorded` for these entries of a recorder."""
    file = har_file(folder, *entries, name=f"{recorder}.har")
    return run_in_this_process(f"--recorded={file}", f"--base-url={SANDBOX}", "--no-report")


@pytest.mark.parametrize("recorder", ["mitmproxy", "playwright-embed", "axios-har-tracker"])
def test_a_recording_of_a_conforming_service_passes(recorder, tmp_path):
    """A recording of the sandbox, which conforms, passes for each recorder.

    `pytest --recorded` judges a HAR file, which is a recording of HTTP traffic, and sends nothing. The answers to
    executions, registrations and deletions are judged.
    """
    result = result_of_recorder(tmp_path, recorder, entries_of(recorder))

    assert result.status == 0
    assert failing_ids(result.run) == []
    verdicts = {requirement.id: outcome.verdict for requirement, outcome in result_of_run(result.run).results}
    assert verdicts["executePix.json"] == "pass"
    assert verdicts["registerPixKey.json"] == "pass"
    assert verdicts["deletePixKey.json"] == "pass"


@pytest.mark.parametrize("recorder", ["mitmproxy", "playwright-embed", "axios-har-tracker"])
def test_an_answer_to_a_deletion_without_an_envelope_is_found(recorder, tmp_path):
    """A recorded answer to a deletion fails if it lacks the documented fields `code` and `data`, for each recorder.

    mitmproxy records no body of a DELETE request. The answer is judged nevertheless, and a note says so.
    """
    entries = entries_of(recorder)
    deletion = first_deletion(entries)
    text = '{"deleted": true}'
    deletion["response"]["content"] |= {"text": text, "size": len(text)}
    deletion["response"]["headers"] = headers(content_type="application/json", content_length=str(len(text)))
    result = result_of_recorder(tmp_path, recorder, entries)
    has_note_about_body = NOTE_NO_BODY_OF_REQUEST in note_texts(result.run)

    assert result.status == 1
    assert failing_ids(result.run) == ["deletePixKey.envelope.code.present", "deletePixKey.envelope.data.present"]
    assert has_note_about_body is (recorder == "mitmproxy")


@pytest.mark.parametrize("recorder", ["playwright-omit", "playwright-attach"])
def test_a_recording_without_any_body_is_incomplete(recorder, tmp_path):
    """A recording without the bodies of answers is incomplete, which is exit status 6: no answer in it can be judged as
    a success.

    Playwright leaves the bodies out with the options `omit` and `attach`.
    """
    result = result_of_recorder(tmp_path, recorder, entries_of(recorder))

    assert result.status == 6
    assert failing_ids(result.run) == []
    assert str(result_of_run(result.run).why).startswith("no recorded answer could be judged as a success")
    assert NOTE_NO_BODY_OF_ANSWER in note_texts(result.run)


# -- bodies of requests -----------------------------------------------------------------------------------------------

SUCCESS_WITHOUT_ENVELOPE = '{"deleted": true}'
"""A success without the envelope."""


def deletion(text=SUCCESS_WITHOUT_ENVELOPE, *, posted=None, **request):
    """A HAR entry of the deletion of a key. Its answer lacks the documented fields `code` and `data`.

    `posted` is the recorded body of the request; without it there is none. `request` are other members of the request.
    """
    recorded_deletion = entry(path="/v1/pix/keys/ac-1", method="DELETE", text=text)
    recorded_deletion["request"] |= {
        "headers": headers(authorization=f"Bearer {TOKEN}", content_type="application/json"),
        **request,
    }
    if posted is not None:
        recorded_deletion["request"]["postData"] = posted
    return recorded_deletion


KEY_TO_DELETE = '{"pixKey": "ana@example.com"}'
REQUESTS_WITHOUT_RECORDED_BODY = {
    "no postData": deletion(bodySize=40),
    "no postData, no size": deletion(),
    "an empty text": deletion(posted={"mimeType": "application/json", "text": ""}, bodySize=40),
    "no text": deletion(posted={"mimeType": "application/json", "text": None}),
    "params": deletion(posted={"mimeType": "application/json", "params": [{"name": KEY_TO_DELETE, "value": ""}]}),
    "_file": deletion(posted={"mimeType": "application/json", "text": "", "_file": "5f0c.json"}),
    "postData is no object": deletion(posted="?"),
    "cut": deletion(
        posted={"text": KEY_TO_DELETE[:9]}, headers=headers(authorization=f"Bearer {TOKEN}", content_length="29")
    ),
}


@pytest.mark.parametrize("recording", REQUESTS_WITHOUT_RECORDED_BODY)
def test_a_request_body_that_is_not_recorded_counts_as_sent(recording, tmp_path):
    """If the body of a request is not recorded, its answer is judged as if the body had been sent, and a note counts
    the request.

    Here the answer to a deletion lacks the fields `code` and `data`, which fails.
    """
    successful_execution = entry()  # shows that the token is valid
    run = run_of_entries(tmp_path, successful_execution, REQUESTS_WITHOUT_RECORDED_BODY[recording])

    assert failing_ids(run) == ["deletePixKey.envelope.code.present", "deletePixKey.envelope.data.present"]
    assert note_texts(run) == [NOTE_NO_BODY_OF_REQUEST]


HEADERS_WITHOUT_MEDIA_TYPE = headers(authorization=f"Bearer {TOKEN}")
REQUESTS_IN_UNUSUAL_FORMS = {
    "request.content": deletion(content={"mimeType": "text/html", "text": KEY_TO_DELETE, "size": 29}),
    "the media type in postData alone": deletion(
        posted={"mimeType": "application/json; charset=utf-8", "text": KEY_TO_DELETE},
        headers=HEADERS_WITHOUT_MEDIA_TYPE,
    ),
    "method in small letters": deletion(posted={"text": KEY_TO_DELETE}, method="delete"),
    "a header without a value": deletion(
        posted={"text": KEY_TO_DELETE},
        headers=[*headers(content_type="application/json"), {"name": "X-A"}, *HEADERS_WITHOUT_MEDIA_TYPE],
    ),
    "base64": deletion(posted={"encoding": "base64", "text": b64encode(KEY_TO_DELETE.encode()).decode()}),
}


@pytest.mark.parametrize("recording", REQUESTS_IN_UNUSUAL_FORMS)
def test_a_request_in_an_unusual_form_is_judged(recording, tmp_path):
    """If a recorder wrote a request in an unusual form, such as its method in small letters, its answer is judged.

    Here the answer to a deletion lacks the fields `code` and `data`, which fails.
    """
    successful_execution = entry()  # shows that the token is valid
    run = run_of_entries(tmp_path, successful_execution, REQUESTS_IN_UNUSUAL_FORMS[recording])

    assert failing_ids(run) == ["deletePixKey.envelope.code.present", "deletePixKey.envelope.data.present"]
    assert note_texts(run) == []


REQUESTS_NOT_AS_DOCUMENTED = {
    "no body, as the header says": deletion(
        headers=headers(authorization=f"Bearer {TOKEN}", content_type="application/json", content_length="0")
    ),
    "no body, as the size says": deletion(bodySize=0),
    "a form": deletion(
        posted={"mimeType": "application/x-www-form-urlencoded", "params": [{"name": "pixKey", "value": "a"}]},
        headers=HEADERS_WITHOUT_MEDIA_TYPE,
    ),
    "another media type": deletion(posted={"text": KEY_TO_DELETE}, headers=headers(content_type="text/plain")),
}


@pytest.mark.parametrize("recording", REQUESTS_NOT_AS_DOCUMENTED)
def test_a_request_that_is_not_as_documented_promises_no_success(recording, tmp_path):
    """Nothing fails because of the answer to a request that was not sent as documented, such as a deletion without a
    body.

    The interface document does not say how a service answers such a request.
    """
    successful_execution = entry()  # shows that the token is valid
    run = run_of_entries(tmp_path, successful_execution, REQUESTS_NOT_AS_DOCUMENTED[recording])

    assert failing_ids(run) == []


# -- tokens -----------------------------------------------------------------------------------------------------------


def empty_execution(**changes):
    """A HAR entry of an execution that is answered with 200 and an empty body. `changes` are arguments of `entry`."""
    execution = entry(**changes)
    execution["response"] |= {"content": {"size": 0, "mimeType": "application/json", "text": ""}, "bodySize": 0}
    return execution


TOKENS = [
    "12|AbCdEfGhIjKlMnOp",
    "secret-token-of-production",
    "00000000-0000-0000-0000-000000000000",
    "eyJhbGciOi.xxxMaskRedact...aaaaaaaaaa.b-_",
]


@pytest.mark.parametrize("token", TOKENS)
def test_a_token_that_was_granted_something_is_valid(token, tmp_path):
    """A recorded token counts as valid once a request with it got the documented result, whatever the token looks like.

    So a later answer with status 200 and an empty body, which is not the documented one, fails.
    """
    successful_execution = entry(token=token)

    run = run_of_entries(tmp_path, successful_execution, empty_execution(token=token))

    assert failing_ids(run) == ["executePix.json"]


@pytest.mark.parametrize("token", [*TOKENS, "***", "[REDACTED]", "<token>", ""])
def test_a_token_that_was_granted_nothing_may_be_invalid(token, tmp_path):
    """A token counts as valid only if a request with it got the documented result. Here no request with it did.

    The two executions with this token got status 200 and an empty body. If the token is invalid, a service may refuse it
    in this way. So nothing fails, and a note counts the two requests. The result of another token does not help.
    """
    execution_with_this_token = empty_execution(token=token)
    successful_execution_with_another_token = entry()

    run = run_of_entries(
        tmp_path, execution_with_this_token, successful_execution_with_another_token, execution_with_this_token
    )
    notes = [str(note.text) for note in result_of_run(run).notes]

    assert failing_ids(run) == []
    assert notes == [f"{NOTE_NO_VALID_TOKEN}: 2, first at entry 1 of {tmp_path}/traffic.har"]


def test_a_recording_without_tokens_says_so(tmp_path):
    """A recording in which no request has a token is incomplete, and a note says that the tokens are missing.

    Chrome leaves the header Authorization out. Without it nobody knows if a request was permitted.
    """
    list_of_accounts = entry({"accounts": []}, path="/v1/accounts")
    list_of_accounts["request"]["headers"] = []

    run = run_of_entries(tmp_path, list_of_accounts)

    assert result_of_run(run).verdict == "incomplete"
    assert note_texts(run) == [NOTE_NO_VALID_TOKEN]


# -- bodies of answers ------------------------------------------------------------------------------------------------


def execution_with_content(content, **changes):
    """A HAR entry of an execution with a token, whose answer has this `content`: its text, its size and its encoding.

    `changes` are other members of the response, such as `bodySize`.
    """
    execution = entry()
    execution["response"] |= {"content": {"mimeType": "application/json"} | content, **changes}
    return execution


BODY_SIZE = len(BODY)
GZIP, DEFLATE = gzip.compress(BODY), zlib.compress(BODY)
ANSWERS_NOT_RECORDED = {
    "Chrome 51: no text": execution_with_content({"size": BODY_SIZE}),
    "Firefox 47: an empty text": execution_with_content({"size": BODY_SIZE, "text": ""}),
    "null": execution_with_content({"size": BODY_SIZE, "text": None}),
    "size of the wire alone": execution_with_content({"text": ""}, bodySize=BODY_SIZE),
    "nothing said": execution_with_content({}),
    "cut": execution_with_content({"size": BODY_SIZE, "text": BODY.decode()[:-9]}),
    "cut base64": execution_with_content({"text": b64encode(BODY).decode()[:-3], "encoding": "base64"}),
    "cut base64, at a whole byte": execution_with_content(
        {"size": BODY_SIZE, "text": b64encode(BODY[:99]).decode(), "encoding": "base64"}
    ),
    "an empty text alone": execution_with_content({"text": ""}),
    "an empty text, and no size of the wire": execution_with_content({"size": 0, "text": ""}, bodySize=-1),
    "a file beside sizes of 0": execution_with_content({"size": 0, "_file": "body.json"}, bodySize=0),
    "broke off": execution_with_content({"size": 0, "text": ""}, bodySize=0, _error="net::ERR_ABORTED"),
    "text is an object": execution_with_content({"size": BODY_SIZE, "text": {"code": 0}}),
    "content is no object": entry() | {"response": entry()["response"] | {"content": "?"}},
    "br": answer_in_base64(b"\x8b\x01\x80{}\x03", content_encoding="br"),
    "zstd": answer_in_base64(b"\x28\xb5\x2f\xfd\x04\x00\x01", content_encoding="zstd"),
    "a coding as text": execution_with_content(
        {"text": GZIP.decode("latin-1")}, headers=headers(content_type="application/json", content_encoding="gzip")
    ),
    "cut deflate": answer_in_base64(DEFLATE[:-9], content_encoding="deflate"),
    "damaged gzip, and cut": answer_in_base64(
        GZIP[:20] + b"\xff" + GZIP[21:], content_encoding="gzip", content_length=str(len(GZIP) + 9)
    ),
}


@pytest.mark.parametrize("recording", ANSWERS_NOT_RECORDED)
def test_an_answer_that_is_not_recorded_is_no_fault_of_the_service(recording, tmp_path):
    """If the body of an answer is not recorded as it was sent, nothing fails, and a note counts the answer.

    A recorder may leave a body out, cut it, or keep it compressed in a form that cannot be read.
    """
    successful_execution = entry()  # shows that the token is valid
    run = run_of_entries(tmp_path, successful_execution, ANSWERS_NOT_RECORDED[recording])

    assert failing_ids(run) == []
    assert note_texts(run) == [NOTE_NO_BODY_OF_ANSWER]


ANSWERS_THAT_WERE_EMPTY = {
    "Chrome: no text, and no bytes": execution_with_content({"size": 0}, bodySize=0),
    "an empty text": execution_with_content({"size": 0, "text": ""}, bodySize=0),
    "the header says so": execution_with_content(
        {}, headers=headers(content_type="application/json", content_length="0")
    ),
}


@pytest.mark.parametrize("recording", ANSWERS_THAT_WERE_EMPTY)
def test_an_answer_that_was_empty_fails(recording, tmp_path):
    """If the recording says that the answer to an execution had no bytes, the answer fails, because it must be JSON."""
    successful_execution = entry()  # shows that the token is valid
    run = run_of_entries(tmp_path, successful_execution, ANSWERS_THAT_WERE_EMPTY[recording])

    assert failing_ids(run) == ["executePix.json"]
    assert note_texts(run) == []


def base64_in_lines(raw):
    """These bytes in base64, in lines of 76 characters."""
    text = b64encode(raw).decode()
    lines = [text[start : start + 76] for start in range(0, len(text), 76)]
    return "\r\n".join(lines)


BODY_AS_TEXT = BODY.decode()
BODIES_IN_OTHER_FORMS = {
    "plain JSON beside base64": lambda text: execution_with_content({"text": text, "encoding": "base64"}),
    "base64 in lines": lambda text: execution_with_content({"text": base64_in_lines(text.encode()), "encoding": "BASE64"}),
    "base64, counted as such": lambda text: execution_with_content(
        {"text": b64encode(text.encode()).decode(), "encoding": "base64", "size": len(b64encode(text.encode()))}
    ),
    "deflate": lambda text: answer_in_base64(zlib.compress(text.encode()), content_encoding="deflate"),
    "deflate without its header": lambda text: answer_in_base64(zlib.compress(text.encode())[2:-4], content_encoding="deflate"),
    "gzip twice": lambda text: answer_in_base64(gzip.compress(gzip.compress(text.encode())), content_encoding="gzip, gzip"),
    "undone already": lambda text: answer_in_base64(text.encode(), content_encoding="br", content_length="7"),
    "a byte order mark that is gone": lambda text: execution_with_content({"text": text, "size": len(text) + 3}),
    "written anew": lambda text: execution_with_content(
        {"text": text, "size": len(text)}, bodySize=len(text),
        headers=headers(content_type="application/json", content_length=str(len(text) + 40)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", BODIES_IN_OTHER_FORMS)
def test_a_body_in_another_form_is_judged(form, tmp_path):
    """A body that is recorded in base64, compressed, or with another length is judged.

    A conforming body has no failure. A body without the field `digit` fails. `record` makes a HAR entry with the body.
    """
    record = BODIES_IN_OTHER_FORMS[form]
    successful_execution = entry()  # shows that the token is valid
    result_without_digit = {name: value for name, value in EXECUTION_RESULT.items() if name != "digit"}
    body_without_digit = json.dumps({"code": 0, "data": result_without_digit})

    conforming_run = run_of_entries(tmp_path, successful_execution, record(BODY_AS_TEXT))
    deviating_run = run_of_entries(tmp_path, successful_execution, record(body_without_digit))

    assert (failing_ids(conforming_run), note_texts(conforming_run)) == ([], [])
    assert failing_ids(deviating_run) == ["executePix.digit.present"]


def with_damaged_middle(raw):
    """These bytes, of which nine in the middle are overwritten."""
    return raw[:20] + b"\xff" * 9 + raw[29:]


@pytest.mark.parametrize(
    ("coding", "has_length"),
    [("gzip", False), ("deflate", True)],  # gzip has its length at its end; without one deflate might have been cut
    ids=["gzip", "deflate, with Content-Length"],
)
def test_a_broken_content_coding_is_a_fault_of_the_service(coding, has_length, tmp_path):
    """A compressed answer that cannot be decompressed fails if all of its bytes are recorded. The message names the coding.

    The recorder did not cut the body, so the service must have sent it broken.
    """
    compressed_body = {"gzip": GZIP, "deflate": DEFLATE}[coding]
    damaged_body = with_damaged_middle(compressed_body)
    header_of_length = {"content_length": str(len(damaged_body))} if has_length else {}
    damaged_answer = answer_in_base64(damaged_body, content_encoding=coding, **header_of_length)
    successful_execution = entry()  # shows that the token is valid
    run = run_of_entries(tmp_path, successful_execution, damaged_answer)
    [message] = [str(result.message) for _, result in result_of_run(run).results if result.fails]

    assert failing_ids(run) == ["executePix.json"]
    assert message.endswith(f"not JSON: the content coding is {coding}, the body is not")


# -- other fields -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "moment",
    ["0001-01-01T00:00:00+01:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-01:00", "yesterday", 7, None, ["?"]],
    ids=str,
)
def test_an_entry_with_an_unreadable_time_is_judged(moment, tmp_path):
    """A recorded entry whose time cannot be read is judged, and the time of the recording is taken from the other
    entries.
    """
    run = run_of_entries(tmp_path, entry(), entry_with("startedDateTime", moment))

    assert result_of_run(run).verdict == "partial"
    assert str(run.recorded.in_words).endswith("2 exchanges, from 2026-11-24 10:00:00 UTC to 2026-11-24 10:00:00 UTC")


def test_a_moment_without_a_time_zone_is_utc(tmp_path):
    """A recorded time without a time zone is taken as UTC, so that a report says the same on every machine."""
    run = run_of_entries(tmp_path, entry_with("startedDateTime", "2026-11-24T12:30:00"))

    assert str(run.recorded.in_words).endswith("from 2026-11-24 12:30:00 UTC to 2026-11-24 12:30:00 UTC")


@pytest.mark.parametrize("field", ["time", "response.statusText", "response.redirectURL", "response.bodySize", "cache"])
@pytest.mark.parametrize("value", ["?", float("nan"), {}, [1], None], ids=str)
def test_a_field_that_har_does_not_permit_is_ignored(field, value, tmp_path):
    """A field of a recorded entry that has a value of a wrong type is ignored, and the entry is judged without a note."""
    run = run_of_entries(tmp_path, entry_with(field, value))

    assert result_of_run(run).verdict == "partial"
    assert note_texts(run) == []


@pytest.mark.parametrize("status", [0, -1, "", None, "?", 7, 1_000], ids=str)
def test_an_entry_without_a_status_has_no_response(status):
    """A recorded entry whose status is no HTTP status, such as 0, -1 or null, counts as a request without a response.

    Browsers write 0 or -1 for a request that was aborted.
    """
    why_not_judged = exchange_of(entry_with("response.status", status), 1, BASE)

    assert str(why_not_judged) == "without a response"


def execution_with_headers(listed, **content):
    """A HAR entry of an execution whose answer has these headers. `content` are other members of its `content`."""
    execution = entry()
    execution["response"] |= {"headers": listed, "content": {"text": BODY_AS_TEXT, "size": BODY_SIZE} | content}
    return execution


def deviating_ids(run):
    """The ids of the requirements that fail or warn."""
    return [requirement.id for requirement, result in result_of_run(run).results if result.verdict in ("fail", "warn")]


@pytest.mark.parametrize(
    "recorded_headers",
    [[], [{"name": "Content-Type"}]],
    ids=["no header is recorded", "the value of the header is lost"],
)
def test_a_media_type_that_is_not_recorded_is_not_judged(recorded_headers, tmp_path):
    """If the Content-Type of an answer is not recorded, no requirement deviates, and a note says that it is missing."""
    run = run_of_entries(tmp_path, execution_with_headers(recorded_headers))

    assert deviating_ids(run) == []
    assert note_texts(run) == [NOTE_NO_MEDIA_TYPE]


ANOTHER_HEADER = headers(date="x")


@pytest.mark.parametrize(
    ("recorded_headers", "recorded_media_type", "deviations"),
    [
        (ANOTHER_HEADER, "application/json", []),
        (ANOTHER_HEADER, "x-unknown", ["executePix.json.mediaType"]),
        ([], "text/plain", ["executePix.json.mediaType"]),
    ],
    ids=["JSON, recorded in the content alone", "none was sent", "not JSON"],
)
def test_a_recorded_media_type_must_be_json(recorded_headers, recorded_media_type, deviations, tmp_path):
    """An answer whose recorded media type is not JSON deviates, and so does one that was sent without a media type.

    Recorders write `x-unknown` for an answer without a media type. If they recorded another header, they recorded all
    headers, so the service sent no Content-Type.
    """
    run = run_of_entries(tmp_path, execution_with_headers(recorded_headers, mimeType=recorded_media_type))

    assert deviating_ids(run) == deviations
    assert note_texts(run) == []


def test_a_registration_without_its_body_names_no_key_type(tmp_path):
    """A recorded registration without its body is judged, but not for the requirements of one key type.

    Without the body nobody knows which type of key was registered.
    """
    without_body = registration()
    del without_body["request"]["postData"]
    run = run_of_entries(tmp_path, without_body)
    verdicts = {requirement.id: result.verdict for requirement, result in result_of_run(run).results}

    assert note_texts(run) == [NOTE_NO_BODY_OF_REQUEST]
    assert verdicts["registerPixKey.Success.text"] == "pass"
    assert verdicts["registerPixKey.pixKeyType.EMAIL"] == "not-exercised"


def registration_of_undocumented_type(status):
    """A HAR entry of a registration of an undocumented key type, IBAN, which was refused with this status."""
    body = {"pixKey": "ana@example.com", "account": "ac-1", "pixKeyType": "IBAN"}
    refusal = json.dumps({"code": status, "message": "refused"})
    return entry(path="/v1/pix/keys/ac-1", method="POST", sent=body, status=status, text=refusal)


def test_a_recording_with_refusals_alone_is_incomplete(tmp_path):
    """A recording without a success is incomplete, even if a refusal shows that a documented requirement is met.

    Here it shows that a key of an undocumented type is not registered.
    """
    result = result_of_run(run_of_entries(tmp_path, registration_of_undocumented_type(422)))
    passing_ids = [requirement.id for requirement, outcome in result.results if outcome.verdict == "pass"]

    assert "registerPixKey.pixKeyType.undocumented" in passing_ids
    assert result.verdict == "incomplete"
    assert str(result.why).startswith("no recorded answer could be judged as a success")


@pytest.mark.parametrize(("status", "verdict"), [(422, "pass"), (401, "not-exercised"), (503, "not-exercised")])
def test_only_a_refusal_of_the_request_shows_that_a_key_type_is_not_registered(status, verdict, tmp_path):
    """A recorded refusal shows that a key of an undocumented type is not registered, but only if the type may be its
    reason.

    With 401 the token was refused, and with 503 every request would have been refused.
    """
    run = run_of_entries(tmp_path, registration(), registration_of_undocumented_type(status))
    verdicts = {requirement.id: result.verdict for requirement, result in result_of_run(run).results}

    assert verdicts["registerPixKey.pixKeyType.undocumented"] == verdict


@pytest.mark.parametrize("part", [{}, {"postData": []}, {"postData": {"text": 7}}, {"content": None}], ids=str)
def test_a_part_without_a_readable_body_counts_as_not_recorded(part):
    """A part of a recorded entry without a readable body counts as not recorded, in a request and in an answer."""
    request_body = body_of_request(part, {})
    response_body = body_of_response({"content": part}, 200, {})

    assert not request_body.is_recorded
    assert not response_body.is_recorded


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["base64", "0", "gzip", "{}"]),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.sampled_from(["name", "value", "text", "x"]), part),
    max_leaves=4,
)
PLACES = [
    *("startedDateTime", "time", "request", "request.method", "request.url", "request.headers", "request.postData"),
    *("request.bodySize", "response", "response.status", "response.headers", "response.content", "response.bodySize"),
    *("response.content.size", "response.content.text", "response.content.encoding", "response.content.mimeType"),
]


def counts_of_exchanges(*exchanges):
    """The counts of recorded traffic (how many exchanges show what) after these exchanges were judged."""
    counter = FileCounter("traffic.har", PROFILE)
    for exchange in exchanges:
        counter.judge(exchange)
    return counter.finished()


@given(st.sampled_from(PLACES), ANYTHING)
@settings(deadline=None)
def test_no_value_in_an_entry_ends_a_run(place, value):
    """Whatever value stands at a place of a recorded entry, the entry is judged or left out with a reason, and no error
    is raised.

    The test draws places and values at random.
    """
    exchange_or_reason = exchange_of(entry_with(place, value), 1, BASE)
    is_reason = isinstance(exchange_or_reason, Message)
    exchanges_to_judge = [] if is_reason else [exchange_or_reason]
    counts = counts_of_exchanges(*exchanges_to_judge)

    assert is_reason or isinstance(exchange_or_reason, RecordedExchange)
    assert number_of_exchanges(counts) == len(exchanges_to_judge)


# -- the command line -------------------------------------------------------------------------------------------------


def test_each_path_that_leads_to_nothing_is_named(tmp_path):
    """If some paths of --recorded lead to no file, the error line names each of them, and the exit status is 4.

    This holds even if another path leads to a file.
    """
    file = har_file(tmp_path, entry())
    absent_file = tmp_path / "absent.har"
    empty_glob = tmp_path / "none-*.har"
    options = [f"--recorded={path}" for path in (file, absent_file, empty_glob)]

    result = run_in_this_process(*options, f"--base-url={BASE}", "--no-report")
    last_line = result.output.strip().splitlines()[-1]

    assert result.status == 4
    assert last_line == (
        f"ERROR: --recorded: no file there: {absent_file}, {empty_glob}; expected HAR files, a folder or a glob"
    )


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_path_that_exists_is_no_pattern(scheme, tmp_path):
    """A path of --recorded that exists is read as it is, even if it has brackets like a pattern for many files.

    Firefox writes names such as `Archive [26-11-24 10-20-30].har`.
    """
    file = har_file(tmp_path, entry(), name="api.bank.example_Archive [26-11-24 10-20-30].har")
    result = run_in_this_process(f"--recorded={scheme}{file}", f"--base-url={BASE}", "--no-report")

    assert result.status == 0


def test_an_address_that_leads_to_nothing_is_named(tmp_path):
    """A file:// address of --recorded that leads to no file ends with exit status 4 and is named, like a path."""
    result = run_in_this_process(f"--recorded=file://{tmp_path}/absent.har", f"--base-url={BASE}", "--no-report")

    assert result.status == 4
    assert "no file there: file://" in result.output
