"""Recorded traffic: HAR files of every dialect, rare faults, damaged files, and services whose every answer is known."""

import gzip
import json
import os
from base64 import b64encode
from copy import deepcopy
from dataclasses import replace
from functools import reduce
from random import Random

import pytest

import tests.selftest.proof.mutants
import tests.selftest.proof.variants  # noqa: F401 - registers its services
from reports.outputs.conformance_json import document_of
from reports.recorded.counts import EXCHANGES, UNJUDGED, RecordedCounts, merged_counts
from reports.recorded.entry import exchange_of
from reports.recorded.reading import counts_of_file, judge_files
from reports.recorded.recorded_run import fill_run
from reports.result.run import Recording, Run
from reports.result.run_verdict import result_of_run
from tests.selftest.exchanges import EXECUTION_RESULT, REGISTRATION_RESULT
from tests.selftest.hand_made import SANDBOX_PROFILE
from tests.selftest.proof.directly import sent_in_memory
from tests.selftest.proof.registry import MUTANTS, VARIANTS
from tests.selftest.recordings import har_entry
from tests.selftest.schemas import schema_deviations
from tests.selftest.services.echoing import encodings
from tests.selftest.shared_runs import run_in_this_process

BASE = "https://api.bank.test/pix"
PROFILE = replace(SANDBOX_PROFILE, base_url=BASE)
TOKEN = "Can4ry.t0ken-OF_production"
ONE_SERVICE_OF = 1 if os.environ.get("PIX_PROOF") == "exhaustive" else 60
"""One of this many services of the proof is recorded."""
NEEDS_SEVERAL_EXCHANGES = (
    ".token.required", ".token.scheme", ".token.accepted", ".exists", ".sufficient", ".connection", ".effect",
    ".value.matches", "registerPixKey.status", "registerPixKey.contentType.accepted", "deletePixKey.contentType.accepted",
    "general.versionPrefix", "Key.matches", "id.matches", "body.pixKey", "body.pixKeyType", "body.account",
)  # fmt: skip
"""Ends of the requirements that several exchanges show together, or questions that nobody asks in production."""
MAY_BE_REFUSALS = ("ExecutionIsHtml", "RegistrationIsHtml", "DeletionIsHtml", "DeletionIsXml", "DeletesNothing")
"""Services whose answers a service may give to another token: a page to log in, or a Success that says no."""


def headers(**named):
    """Headers as a HAR file has them. `headers(content_type="x")` is the header content-type with the value x."""
    return [{"name": name.replace("_", "-"), "value": value} for name, value in named.items()]


def entry(
    data=EXECUTION_RESULT, *, path="/v1/execute/pix/TX-1", method="GET", sent=None, token=TOKEN, status=200, **response
):
    """A HAR entry (a recorded request with its answer) as mitmproxy writes it.

    Without arguments it is an execution with a token and the documented answer. `data` is the member `data` of the
    answer. `sent` is the JSON body of the request. `response` are members of the recorded response; its member `text` is
    the whole body of the answer, in the place of one with `data`.
    """
    text = response.pop("text", None) or json.dumps({"code": 0, "data": data})
    request = {"method": method, "url": BASE + path, "headers": headers(authorization=f"Bearer {token}")}
    if sent is not None:
        request["headers"] += headers(content_type="application/json")
        request["postData"] = {"mimeType": "application/json", "text": json.dumps(sent)}
    content = {"size": len(text), "mimeType": "application/json", "text": text}
    answer = {"status": status, "headers": headers(content_type="application/json"), "content": content, **response}
    return {"startedDateTime": "2026-11-24T10:00:00.25Z", "time": 12.5, "request": request, "response": answer}


def registration(**changes):
    """A HAR entry of a registration of an e-mail key, with these changes in the body of the request."""
    body = {"pixKey": "ana@example.com", "account": "ac-1", "pixKeyType": "EMAIL"}
    return entry(REGISTRATION_RESULT, path="/v1/pix/keys/ac-1", method="POST", sent=body | changes)


def har_file(folder, *entries, name="traffic.har"):
    """The path of a new HAR file with these entries."""
    log = {"version": "1.2", "pages": [{"id": "p"}], "entries": entries, "comment": ""}
    file = folder / name
    file.write_text(json.dumps({"log": log}))
    return file


def run_of_counts(counts):
    """A finished run with the results that follow from these counts of recorded traffic."""
    run = Run(PROFILE, BASE, recorded=Recording())
    fill_run(run, counts)
    run.close()
    return run


def run_of_entries(folder, *entries):
    """A finished run that judged a HAR file with these entries."""
    file = har_file(folder, *entries)
    counts = counts_of_file(str(file), PROFILE)
    return run_of_counts(merged_counts(counts, RecordedCounts()))


def entry_with(place, value):
    """A HAR entry of an execution with this value at this place. A place is a path such as `response.content.text`."""
    changed_entry = entry()
    *outer_members, last_member = place.split(".")
    part = changed_entry
    for outer_member in outer_members:
        part = part[outer_member]
    part[last_member] = value
    return changed_entry


def answer_in_base64(raw, **named):
    """A HAR entry of an execution whose answer has these bytes, in base64. `named` are more headers of the answer."""
    return entry_with("response", entry()["response"] | {
        "headers": headers(content_type="application/json", **named),
        "content": {"encoding": "base64", "text": b64encode(raw).decode()},
    })  # fmt: skip


BODY = entry()["response"]["content"]["text"].encode()
FORMS_OF_RECORDERS = {
    "base64": answer_in_base64(BODY),
    "Envoy: still compressed": answer_in_base64(gzip.compress(BODY), content_encoding="gzip"),
    "usual port, capitals": entry_with("request.url", "HTTPS://API.bank.test:443/pix/v1/execute/pix/TX-1"),
    "path alone": entry_with("request.url", "/pix/v1/execute/pix/TX-1"),
    "no date": entry_with("startedDateTime", None),
    "no time": entry_with("time", None),
    "HTTP/2": entry_with(
        "request.headers", headers(**{":authority": "api.bank.test", "Authorization": f"Bearer {TOKEN}"})
    ),
    "media type in the content alone": entry_with("response.headers", []),
    "Chrome": entry() | {"_initiator": {"type": "script"}, "_priority": "High", "connection": "1"},
    "status as text": entry_with("response.status", "200"),
}


@pytest.mark.parametrize("form", FORMS_OF_RECORDERS)
def test_files_of_all_recorders_are_read_alike(form, tmp_path):
    """A conforming execution passes in whichever form a recorder writes it, such as base64 or a path without a host.

    The verdict of the whole recording is partial, because one exchange does not test every requirement.
    """
    recorded_entry = deepcopy(FORMS_OF_RECORDERS[form])

    result = result_of_run(run_of_entries(tmp_path, recorded_entry))
    verdicts = {requirement.id: outcome.verdict for requirement, outcome in result.results}

    assert result.verdict == "partial"
    assert (verdicts["executePix.digit.type"], verdicts["executePix.json.mediaType"]) == ("pass", "pass")


@pytest.mark.parametrize(
    "credential", ["", "Bearer ***", "Bearer [REDACTED]", "Bearer <token>", "Bearer a\u2026", "Basic YTpi"]
)
def test_a_redacted_token_is_unknown(credential):
    """If a recorder replaced the token by a text such as `***`, nobody knows if the token was valid.

    So the credential is "unknown", and the exchange is not `valid`: requirements that need a valid token are not judged.
    """
    entry_with_credential = entry_with("request.headers", headers(authorization=credential))
    entry_with_a_token = entry()

    exchange = exchange_of(entry_with_credential, 1, BASE)
    exchange_with_a_token = exchange_of(entry_with_a_token, 1, BASE)

    assert (exchange.credential, exchange.valid) == ("unknown", False)
    assert exchange_with_a_token.credential == "valid"


def test_a_token_is_valid_once_it_was_granted_something(tmp_path):
    """An empty answer with status 200 fails only if an earlier request with the same token succeeded.

    Before that success the empty answer may be the answer to a wrong token.
    """
    success = entry()
    empty_answer = entry_with("response.content", {"size": 0, "mimeType": "application/json", "text": ""})
    empty_answer["response"]["bodySize"] = 0  # so the service sent no byte, and the recorder did not lose the body

    empty_answer_first = result_of_run(run_of_entries(tmp_path, empty_answer, success))
    success_first = result_of_run(run_of_entries(tmp_path, success, empty_answer))
    failing_if_empty_first = [requirement.id for requirement, result in empty_answer_first.results if result.fails]
    failing_if_success_first = [requirement.id for requirement, result in success_first.results if result.fails]

    assert failing_if_empty_first == []
    assert failing_if_success_first == ["executePix.json"]


ANSWERS_WITH_LOST_BODIES = {
    "absent": entry()["response"] | {"content": {"size": 7, "mimeType": "application/json"}},
    "not UTF-8": entry(text='{"code": 0, "data": {"name": "Jo\ufffdo"}}')["response"],
    "shorter": entry()["response"] | {"headers": headers(content_length="9999")},
    "cut gzip": answer_in_base64(gzip.compress(BODY)[:-9], content_encoding="gzip")["response"],
}


@pytest.mark.parametrize("body", ANSWERS_WITH_LOST_BODIES)
def test_a_body_that_is_not_recorded_is_not_judged(body, tmp_path):
    """If a recorder lost bytes of an answer, the answer is not judged, and a note says so.

    The service may have sent the whole body.
    """
    run = run_of_entries(tmp_path, entry(), entry_with("response", ANSWERS_WITH_LOST_BODIES[body]))

    [note] = result_of_run(run).notes
    assert str(note.text).startswith("not judged, the body is not recorded as it was sent: 1, first at entry 2 of ")
    assert result_of_run(run).verdict == "partial"


NOT_JUDGED = {
    "at another address": entry_with("request.url", "https://api.bank.test.evil.test/pix/v1/accounts"),
    "to no documented operation": entry_with("request.method", "OPTIONS"),
    "without a response": entry_with("response", {"status": -1}),
    "not as in HAR 1.2": entry_with("request", 7),
}


@pytest.mark.parametrize(
    ("reason", "verdict"),
    [
        ("at another address", "partial"),
        ("to no documented operation", "partial"),
        ("without a response", "incomplete"),
        ("not as in HAR 1.2", "incomplete"),
    ],
)
def test_an_entry_that_is_not_judged_has_a_note(reason, verdict, tmp_path):
    """Recorded entries that cannot be judged are counted in one note, which says why and where the first one is.

    If the recording itself is at fault, such as a missing response, the verdict is incomplete.
    """
    unusable_entry = NOT_JUDGED[reason]

    result = result_of_run(run_of_entries(tmp_path, entry(), unusable_entry, unusable_entry))
    notes = [str(note.text) for note in result.notes]

    assert notes == [f"not judged, {reason}: 2, first at entry 2 of {tmp_path}/traffic.har"]
    assert result.verdict == verdict


def only_unjudged_entry(counts):
    """The entry of a recording that was not judged, with its number and the reason. There must be exactly one."""
    [(_, [unjudged_entry])] = counts.keys_with_examples(UNJUDGED)  # the pair is what was counted, and its entries
    return unjudged_entry


def number_of_exchanges(counts):
    """The number of exchanges that were judged, according to these counts of recorded traffic."""
    return counts.times[EXCHANGES]


INTACT_FILE = json.dumps({"log": {"entries": [entry(), entry()]}})
DAMAGED_FILES = {
    "cut": (INTACT_FILE[:-20], "cut short, or not JSON", 2),
    "empty": ("", "cut short, or not JSON", 1),
    "broken": (INTACT_FILE.replace('}, {"started', '}, }{"started') + " " * 2_000, "not the JSON of a HAR file", 2),
    "no JSON": ("hello", "not the JSON of a HAR file", 1),
    "something follows": (INTACT_FILE + "x", "not the JSON of a HAR file", 3),
    "no HAR": ('{"log": {}}', "no HAR: expected log.entries", 1),
    "deep": ('{"log": {"entries": [' + "[" * 200_000, "an entry is too large, or nested too deeply", 1),
}


@pytest.mark.parametrize("damage", DAMAGED_FILES)
def test_a_damaged_file_is_judged_as_far_as_it_can_be_read(damage, tmp_path):
    """The entries of a damaged file are judged up to the damage, and a note has the reason and the number of the entry.

    The counts say what was judged in a file.
    """
    text, reason, number_of_damaged_entry = DAMAGED_FILES[damage]
    file = tmp_path / "damaged.har"
    file.write_text(text)

    counts = counts_of_file(str(file), PROFILE)
    unjudged_entry = only_unjudged_entry(counts)

    assert (str(unjudged_entry.why_unjudged), unjudged_entry.entry) == (reason, number_of_damaged_entry)
    assert number_of_exchanges(counts) == number_of_damaged_entry - 1


# -- rare faults ---------------------------------------------------------------------------------------------------


def execution_without_digit():
    """A HAR entry of an execution whose result lacks the field digit."""
    return entry({name: value for name, value in EXECUTION_RESULT.items() if name != "digit"})


@pytest.mark.slow
def test_three_bad_answers_of_two_thousand_are_one_finding(tmp_path):
    """If 3 of 2,000 recorded answers lack a field, the report has one finding, which counts them and names the first.

    The report shows all three exchanges, and says of each at which entry of the file it was recorded.
    """
    entries = [entry()] * 2_000
    entries[1_233] = entries[1_500] = entries[1_999] = execution_without_digit()

    run = run_of_entries(tmp_path, *entries)
    document = document_of(run)
    [finding] = document.findings

    assert finding.cause == "executePix.digit.present"
    assert str(finding.message) == f"3 of 2,000, first at entry 1,234 of {tmp_path}/traffic.har: digit is missing"
    assert list(finding.exchanges) == [1, 2, 3]
    assert run.exchanges[1].request.headers == (("(recorded)", f"entry 1,234 of {tmp_path}/traffic.har"),)
    assert document.headline.startswith(
        "NON-CONFORMANT, judged from recorded traffic: 2,000 exchanges, "
        "from 2026-11-24 10:00:00 UTC to 2026-11-24 10:00:00 UTC: fails 1 documented requirement"
    )
    assert schema_deviations(document) == []


# -- services of the proof -----------------------------------------------------------------------------------------


def recorded_entries(service, environment="sandbox"):
    """The exchanges of a run against a service, each as a HAR entry."""
    sent_traffic = sent_in_memory(service, environment)
    exchanges = sent_traffic.session.door.exchanges  # the door sends all requests of a run, and remembers the exchanges
    return [har_entry(exchange) for exchange in exchanges]


def failing_and_warning_ids(folder, entries):
    """The ids of the requirements that fail, and the ids of those that warn, if these recorded entries are judged."""
    profile = replace(PROFILE, base_url="http://127.0.0.1")
    file = har_file(folder, *entries)
    counts = counts_of_file(str(file), profile)
    results = result_of_run(run_of_counts(counts)).results
    failing_ids = {requirement.id for requirement, result in results if result.verdict == "fail"}
    warning_ids = {requirement.id for requirement, result in results if result.verdict == "warn"}
    return failing_ids, warning_ids


def services_chosen_at_random(registry):
    """Example services of a registry (MUTANTS or VARIANTS): about one in 60, or all with PIX_PROOF=exhaustive.

    The name of a service decides if it is chosen, so that each run chooses the same ones. Services that differ only on
    sockets, or with parallel requests, are left out, because a recording does not show that.
    """

    def is_chosen(declared_service):
        return ONE_SERVICE_OF == 1 or Random(declared_service.name).random() < 1 / ONE_SERVICE_OF

    recordable_services = [
        declared_service
        for declared_service in registry.declared_services.values()
        if not declared_service.on_the_wire and not declared_service.parallel
    ]
    return [
        pytest.param(declared_service, id=declared_service.name)
        for declared_service in recordable_services
        if is_chosen(declared_service)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("declared_service", services_chosen_at_random(VARIANTS))
def test_a_conforming_service_does_not_fail(declared_service, tmp_path):
    """If the traffic of a run against a conforming service is recorded, no requirement fails in the recording.

    The services are example services (VARIANTS) that conform in unusual ways. The project keeps them to prove the
    suite. A few of them are chosen at random.
    """
    entries = recorded_entries(declared_service.service_class(), declared_service.environment)

    failing_ids, _ = failing_and_warning_ids(tmp_path, entries)

    assert failing_ids == set()


@pytest.mark.slow
@pytest.mark.parametrize("declared_service", services_chosen_at_random(MUTANTS))
def test_a_fault_that_a_single_answer_shows_is_found(declared_service, tmp_path):
    """If the traffic of a run against a faulty service is recorded, the requirements that the service breaks fail or
    warn.

    The services (MUTANTS) are wrong on purpose and declare which requirements they break. Some requirements are left
    out, because they are judged by several answers together, and a recording may not have them. Some faults look like
    the refusal of a wrong token (MAY_BE_REFUSALS): in a recording they cannot be told from one, so nothing needs to be
    found. No other requirement fails.
    """
    entries = recorded_entries(declared_service.service_class(), declared_service.environment)

    failing_ids, warning_ids = failing_and_warning_ids(tmp_path, entries)
    broken_requirements_that_one_answer_shows = {
        id
        for id in declared_service.fails | declared_service.warns
        if not id.endswith(NEEDS_SEVERAL_EXCHANGES)
        and ".pixKeyType." not in id  # a refused key type shows only beside a type that is accepted
    }
    not_found = broken_requirements_that_one_answer_shows - failing_ids - warning_ids
    looks_like_a_refusal = declared_service.name in MAY_BE_REFUSALS

    assert looks_like_a_refusal or not_found == set()
    assert failing_ids <= declared_service.fails


# -- the command ---------------------------------------------------------------------------------------------------


def result_of_recorded_run(folder, *entries, name="run", **options):
    """The result of `pytest --recorded` for a HAR file with these entries, in this process. No token is set.

    The report goes to a folder of this name. `options` are more options: `compare_with=x` is `--compare-with=x`.
    """
    file = har_file(folder, *entries)
    arguments = [f"--{option.replace('_', '-')}={value}" for option, value in options.items()]
    return run_in_this_process(f"--recorded={file}", f"--base-url={BASE}", f"--report-dir={folder / name}", *arguments)


def test_a_recording_is_judged_without_a_token(tmp_path):
    """`pytest --recorded` needs no token, sends no request, and writes the files of a report."""
    result = result_of_recorded_run(tmp_path, entry(), registration())
    files = {file.name for file in result.folder.iterdir()}

    assert result.status == 0
    assert result.document["traffic"]["requests"] == 0
    assert files >= {"report.html", "conformance.json", "junit.xml"}


def test_the_results_of_two_recordings_are_compared(tmp_path):
    """With --compare-with the report of a recording says which requirements newly fail since an earlier recording."""
    earlier = result_of_recorded_run(tmp_path, entry(), registration())

    later = result_of_recorded_run(
        tmp_path, entry(), execution_without_digit(), name="second", compare_with=earlier.folder
    )

    assert later.status == 1
    assert later.document["comparison"]["newly_failing"] == ["executePix.digit.present"]


@pytest.mark.parametrize(
    ("path", "options", "line"),
    [
        (
            "absent/*.har",
            [f"--base-url={BASE}"],
            "--recorded: no file there: absent/*.har; expected HAR files, a folder or a glob",
        ),
        (
            "traffic.har",
            [],
            "--recorded: whose traffic? name the service with --environment=NAME or --base-url=ADDRESS",
        ),
    ],
    ids=["no such file", "no service is named"],
)
def test_a_wrong_command_line_prints_one_line(path, options, line, tmp_path, monkeypatch):
    """`pytest --recorded` ends with one error line and exit status 4 if there is no file or the service is not named."""
    monkeypatch.chdir(tmp_path)
    har_file(tmp_path, name="traffic.har")

    result = run_in_this_process(f"--recorded={path}", "--no-report", *options)
    last_line = result.output.strip().splitlines()[-1]

    assert result.status == 4
    assert last_line == f"ERROR: {line}"


def test_without_a_file_no_run_is_started(capfd):
    """`python -m reports recorded` without a file ends with exit status 4 and an error line, and starts no run."""
    status = judge_files(["--environment=sandbox"])

    assert status == 4
    assert "--recorded: no file there" in capfd.readouterr().err


def test_nothing_of_a_recording_is_copied(tmp_path):
    """No file of a report and no output has a token, code, key, account, cookie or name of the recorded traffic, in any
    encoding.

    The recorded answers repeat all of these values (canaries), also in an error with status 500.
    """
    account, key, cookie = "canary-account-417", "ana.canary@personal.example", "c4n4ry-cookie-77"
    name, document = "Canary Almeida", "390.533.447-05"
    canaries = [TOKEN, account, key, cookie, name, document]
    all_canaries = " ".join(canaries)
    echoing = registration(pixKey=key, account=account)
    echoing["request"]["url"] = f"{BASE}/v1/pix/keys/{account}?trace={cookie}"
    echoing["request"]["headers"] += headers(cookie=f"session={cookie}")
    echo = {"Success": True, "Message": all_canaries, "Key": key, account: canaries, "name": name}
    echoing["response"]["content"]["text"] = json.dumps({"code": 0, "data": echo})
    refused = entry_with("response", entry(text=json.dumps({"error": all_canaries}), status=500)["response"])
    result = result_of_recorded_run(tmp_path, entry(), registration(), echoing, refused)
    texts = {file.name: file.read_text("utf-8") for file in result.folder.iterdir()} | {"output": result.output}
    encoded_canaries = [form for canary in canaries for form in encodings(canary).values()]
    leaked_by_file = {
        file_name: [form for form in encoded_canaries if form in text] for file_name, text in texts.items()
    }

    files_with_leaks = [file_name for file_name, forms in leaked_by_file.items() if forms]

    assert result.status == 1
    assert files_with_leaks == []


@pytest.mark.slow
def test_a_cluster_of_workers_gives_the_same_result(tmp_path):
    """If the workers of a Dask cluster judge the recorded files, the result is the same as without a cluster."""
    import distributed  # only this test needs the cluster, and the import takes a second

    from reports.recorded.reading import counts_of_files, files_of

    for name in ("one.har", "other.har"):
        har_file(tmp_path, entry(), execution_without_digit(), name=name)
    files = files_of([f"file://{tmp_path}/*.har"])
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    ) as cluster:
        counts_of_cluster = counts_of_files(files, PROFILE, cluster.scheduler_address)
    counts_of_each_file = [counts_of_file(file, PROFILE) for file in files]
    counts_of_this_process = reduce(merged_counts, counts_of_each_file, RecordedCounts())

    assert counts_of_cluster == counts_of_this_process
