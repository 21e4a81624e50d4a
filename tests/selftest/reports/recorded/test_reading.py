"""Recorded traffic: HAR files of every dialect, rare faults, damaged files, and services whose every answer is known."""

import gzip
import json
import os
from base64 import b64encode
from dataclasses import replace
from functools import reduce
from random import Random

import pytest

import tests.selftest.proof.mutants
import tests.selftest.proof.variants  # noqa: F401 - registers its services
from reports.outputs.conformance_json import document_of
from reports.recorded.entry import exchange_of
from reports.recorded.reading import judge_files, tally_of
from reports.recorded.recorded_run import take_tally
from reports.recorded.tally import GAP, Tally, merge
from reports.result.run import Recording, Run
from reports.result.run_verdict import result_of_run
from tests.selftest.exchanges import EXECUTION, REGISTRATION
from tests.selftest.hand_made import SANDBOX
from tests.selftest.proof.directly import sent_in_memory
from tests.selftest.proof.registry import MUTANTS, VARIANTS
from tests.selftest.recorded_runs import run_here
from tests.selftest.recordings import as_entry
from tests.selftest.schemas import problems
from tests.selftest.services.echoing import encodings

BASE = "https://api.bank.test/pix"
PROFILE = replace(SANDBOX, base_url=BASE)
TOKEN = "Can4ry.t0ken-OF_production"
EVERY = 1 if os.environ.get("PIX_PROOF") == "exhaustive" else 60
"""Of so many services of the proof one is recorded."""
ASKED = (
    ".token.required", ".token.scheme", ".token.accepted", ".exists", ".sufficient", ".connection", ".effect",
    ".value.matches", "registerPixKey.status", "registerPixKey.contentType.accepted", "deletePixKey.contentType.accepted",
    "general.versionPrefix", "Key.matches", "id.matches", "body.pixKey", "body.pixKeyType", "body.account",
)  # fmt: skip
"""Ends of the requirements that several exchanges show together, or questions that nobody asks in production."""
REFUSED_PERHAPS = ("ExecutionIsHtml", "RegistrationIsHtml", "DeletionIsHtml", "DeletionIsXml", "DeletesNothing")
"""Services whose answers a service may give to another token: a page to log in, or a Success that says no."""


def headers(**named):
    return [{"name": name.replace("_", "-"), "value": value} for name, value in named.items()]


def entry(data=EXECUTION, *, path="/v1/execute/pix/TX-1", method="GET", sent=None, token=TOKEN, status=200, **response):
    """A HAR entry as mitmproxy writes it: an execution, or what the arguments say."""
    text = response.pop("text", None) or json.dumps({"code": 0, "data": data})
    request = {"method": method, "url": BASE + path, "headers": headers(authorization=f"Bearer {token}")}
    if sent is not None:
        request["headers"] += headers(content_type="application/json")
        request["postData"] = {"mimeType": "application/json", "text": json.dumps(sent)}
    content = {"size": len(text), "mimeType": "application/json", "text": text}
    answer = {"status": status, "headers": headers(content_type="application/json"), "content": content, **response}
    return {"startedDateTime": "2026-11-24T10:00:00.25Z", "time": 12.5, "request": request, "response": answer}


def registration(**changes):
    body = {"pixKey": "ana@example.com", "account": "ac-1", "pixKeyType": "EMAIL"}
    return entry(REGISTRATION, path="/v1/pix/keys/ac-1", method="POST", sent=body | changes)


def har(folder, *entries, name="traffic.har"):
    """A HAR file with these entries."""
    file = folder / name
    file.write_text(json.dumps({"log": {"version": "1.2", "pages": [{"id": "p"}], "entries": entries, "comment": ""}}))
    return file


def run_of(tally):
    """The run that a tally makes."""
    run = Run(PROFILE, BASE, recorded=Recording())
    take_tally(run, tally)
    run.close()
    return run


def judged(folder, *entries):
    """The run of a file with these entries."""
    return run_of(merge(tally_of(str(har(folder, *entries)), PROFILE), Tally()))


def changed(at, value):
    """An entry with another value at a place such as `response.content.text`."""
    changed_entry = part = entry()
    *path, last = at.split(".")
    for name in path:
        part = part[name]
    part[last] = value
    return changed_entry


def in_base64(raw, **named):
    return changed("response", entry()["response"] | {
        "headers": headers(content_type="application/json", **named),
        "content": {"encoding": "base64", "text": b64encode(raw).decode()},
    })  # fmt: skip


BODY = entry()["response"]["content"]["text"].encode()
DIALECTS = {
    "base64": in_base64(BODY),
    "Envoy: still compressed": in_base64(gzip.compress(BODY), content_encoding="gzip"),
    "usual port, capitals": changed("request.url", "HTTPS://API.bank.test:443/pix/v1/execute/pix/TX-1"),
    "path alone": changed("request.url", "/pix/v1/execute/pix/TX-1"),
    "no date": changed("startedDateTime", None),
    "no time": changed("time", None),
    "HTTP/2": changed(
        "request.headers", headers(**{":authority": "api.bank.test", "Authorization": f"Bearer {TOKEN}"})
    ),
    "media type in the content alone": changed("response.headers", []),
    "Chrome": entry() | {"_initiator": {"type": "script"}, "_priority": "High", "connection": "1"},
    "status as text": changed("response.status", "200"),
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_dialect_says_the_same(dialect, tmp_path):
    """Every recorder writes the same conforming execution in its own way."""
    run = judged(tmp_path, json.loads(json.dumps(DIALECTS[dialect])))

    results = {requirement.id: result.verdict for requirement, result in result_of_run(run).results}
    assert result_of_run(run).verdict == "partial"
    assert results["executePix.digit.type"] == results["executePix.json.mediaType"] == "pass"


@pytest.mark.parametrize(
    "credential", ["", "Bearer ***", "Bearer [REDACTED]", "Bearer <token>", "Bearer a\u2026", "Basic YTpi"]
)
def test_a_redacted_token_is_unknown(credential):
    """It is known by signs that no token has. What only a valid token makes a success is not judged then."""
    exchange = exchange_of(changed("request.headers", headers(authorization=credential)), 1, BASE)

    assert (exchange.credential, exchange.valid) == ("unknown", False)
    assert exchange_of(entry(), 1, BASE).credential == "valid"


def test_a_token_is_valid_once_it_was_granted_something(tmp_path):
    """Until then an empty 200 may be the answer to a wrong token."""
    empty = changed("response.content", {"size": 0, "mimeType": "application/json", "text": ""})
    empty["response"]["bodySize"] = 0

    assert not [row for row, result in result_of_run(judged(tmp_path, empty, entry())).results if result.fails]
    assert [row.id for row, result in result_of_run(judged(tmp_path, entry(), empty)).results if result.fails] == [
        "executePix.json"
    ]


BODIES = {
    "absent": entry()["response"] | {"content": {"size": 7, "mimeType": "application/json"}},
    "not UTF-8": entry(text='{"code": 0, "data": {"name": "Jo\ufffdo"}}')["response"],
    "shorter": entry()["response"] | {"headers": headers(content_length="9999")},
    "cut gzip": in_base64(gzip.compress(BODY)[:-9], content_encoding="gzip")["response"],
}


@pytest.mark.parametrize("body", BODIES)
def test_a_body_that_is_not_recorded_is_not_judged(body, tmp_path):
    """A recorder that loses bytes is no fault of the service."""
    run = judged(tmp_path, entry(), changed("response", BODIES[body]))

    [note] = result_of_run(run).notes
    assert str(note.text).startswith("not judged, the body is not recorded as it was sent: 1, first at entry 2 of ")
    assert result_of_run(run).verdict == "partial"


NOT_JUDGED = {
    "at another address": changed("request.url", "https://api.bank.test.evil.test/pix/v1/accounts"),
    "to no documented operation": changed("request.method", "OPTIONS"),
    "without a response": changed("response", {"status": -1}),
    "not as in HAR 1.2": changed("request", 7),
}


@pytest.mark.parametrize("why", NOT_JUDGED)
def test_what_is_not_judged_is_said(why, tmp_path):
    """One line for a reason; a fault of the recording makes the verdict incomplete."""
    run = judged(tmp_path, entry(), NOT_JUDGED[why], NOT_JUDGED[why])

    assert [str(note.text) for note in result_of_run(run).notes] == [
        f"not judged, {why}: 2, first at entry 2 of {tmp_path}/traffic.har"
    ]
    assert result_of_run(run).verdict == ("incomplete" if why in [*NOT_JUDGED][2:] else "partial")


WHOLE = json.dumps({"log": {"entries": [entry(), entry()]}})
DAMAGED = {
    "cut": (WHOLE[:-20], "cut short, or not JSON", 2),
    "empty": ("", "cut short, or not JSON", 1),
    "broken": (WHOLE.replace('}, {"started', '}, }{"started') + " " * 2_000, "not the JSON of a HAR file", 2),
    "no JSON": ("hello", "not the JSON of a HAR file", 1),
    "something follows": (WHOLE + "x", "not the JSON of a HAR file", 3),
    "no HAR": ('{"log": {}}', "no HAR: expected log.entries", 1),
    "deep": ('{"log": {"entries": [' + "[" * 200_000, "an entry is too large, or nested too deeply", 1),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_file_is_judged_as_far_as_it_can_be_read(damage, tmp_path):
    """The line says where it ends."""
    text, why, number = DAMAGED[damage]
    file = tmp_path / "damaged.har"
    file.write_text(text)
    tally = tally_of(str(file), PROFILE)

    assert {str(first[0].gap): first[0].entry for _, first in tally.of(GAP)} == {why: number}
    assert tally.times["exchanges",] == number - 1


# -- rare faults ---------------------------------------------------------------------------------------------------


def without_digit():
    return entry({name: value for name, value in EXECUTION.items() if name != "digit"})


@pytest.mark.slow
def test_three_bad_answers_of_two_thousand(tmp_path):
    """They are one finding, which says how many there are and where the first one is; it is shown."""
    entries = [entry()] * 2_000
    entries[1_233] = entries[1_500] = entries[1_999] = without_digit()
    run = judged(tmp_path, *entries)
    document = document_of(run)

    assert problems(document) == []
    assert document.headline.startswith(
        "NON-CONFORMANT, judged from recorded traffic: 2,000 exchanges, "
        "from 2026-11-24 10:00:00 UTC to 2026-11-24 10:00:00 UTC: fails 1 documented requirement"
    )
    assert [(each.cause, str(each.message), list(each.exchanges)) for each in document.findings] == [
        (
            "executePix.digit.present",
            f"3 of 2,000, first at entry 1,234 of {tmp_path}/traffic.har: digit is missing",
            [1, 2, 3],
        )
    ]
    assert run.exchanges[1].request.headers == (("(recorded)", f"entry 1,234 of {tmp_path}/traffic.har"),)


# -- services of the proof -----------------------------------------------------------------------------------------


def recording(service, environment="sandbox"):
    """The exchanges of a run with a service, as entries of a recording."""
    return list(map(as_entry, sent_in_memory(service, environment).session.door.exchanges))


def verdicts(folder, entries):
    """The requirements that fail, and those that warn."""
    tally = tally_of(str(har(folder, *entries)), replace(PROFILE, base_url="http://127.0.0.1"))
    rows = result_of_run(run_of(tally)).results
    return [{row.id for row, result in rows if result.verdict == verdict} for verdict in ("fail", "warn")]


def chosen(registry):
    specimens = [specimen for specimen in registry.specimens.values() if not specimen.on_the_wire]
    return [
        pytest.param(specimen, id=specimen.name)
        for specimen in specimens
        if EVERY == 1 or Random(specimen.name).random() < 1 / EVERY
    ]


@pytest.mark.slow
@pytest.mark.parametrize("specimen", chosen(VARIANTS))
def test_a_right_service_does_not_fail(specimen, tmp_path):
    """However odd a right service is, no recorded answer of it fails a requirement."""
    failing, _ = verdicts(tmp_path, recording(specimen.make(), specimen.environment))

    assert failing == set()


@pytest.mark.slow
@pytest.mark.parametrize("specimen", chosen(MUTANTS))
def test_a_fault_that_a_lone_answer_shows_is_found(specimen, tmp_path):
    """The requirement that the service breaks deviates, and no other one fails."""
    failing, warned = verdicts(tmp_path, recording(specimen.make(), specimen.environment))
    lone = {id for id in specimen.fails | specimen.warns if not id.endswith(ASKED) and ".pixKeyType." not in id}

    assert lone <= failing | warned or specimen.name in REFUSED_PERHAPS
    assert failing <= specimen.fails


# -- the command ---------------------------------------------------------------------------------------------------


def recorded(folder, *entries, name="run", **options):
    """A run of pytest --recorded in this process; its token is nowhere."""
    arguments = [f"--{option.replace('_', '-')}={value}" for option, value in options.items()]
    return run_here(
        f"--recorded={har(folder, *entries)}", f"--base-url={BASE}", f"--report-dir={folder / name}", *arguments
    )


def test_a_recording_is_judged_without_a_token_and_two_are_compared(tmp_path):
    """Every file of a report is written; the next one says what changed."""
    first = recorded(tmp_path, entry(), registration())
    second = recorded(tmp_path, entry(), without_digit(), name="second", compare_with=first.folder)

    assert (first.status, second.status) == (0, 1)
    assert first.document["traffic"]["requests"] == 0
    assert second.document["comparison"]["newly_failing"] == ["executePix.digit.present"]
    assert {file.name for file in first.folder.iterdir()} >= {"report.html", "conformance.json", "junit.xml"}


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ([f"--base-url={BASE}"], "--recorded: no file there: absent/*.har; expected HAR files, a folder or a glob"),
        ([], "--recorded: whose traffic? name the service with --environment=NAME or --base-url=ADDRESS"),
    ],
)
def test_a_wrong_command_line_is_one_line(options, line, tmp_path, monkeypatch):
    """Exit status 4, before anything is read."""
    monkeypatch.chdir(tmp_path)
    path = "absent/*.har" if options else str(har(tmp_path))
    result = run_here(f"--recorded={path}", "--no-report", *options)

    assert (result.status, result.output.strip().splitlines()[-1]) == (4, f"ERROR: {line}")


def test_without_a_file_no_run_is_started(capfd):
    """python -m reports recorded, with options alone, sends nothing: exit status 4."""
    status = judge_files(["--environment=sandbox"])

    assert (status, "--recorded: no file there" in capfd.readouterr().err) == (4, True)


def test_nothing_of_a_recording_is_copied(tmp_path):
    """Tokens, codes, keys, accounts, cookies: no report has one, although answers echo them all."""
    canaries = [
        TOKEN,
        "canary-account-417",
        "ana.canary@personal.example",
        "c4n4ry-cookie-77",
        "Canary Almeida",
        "390.533.447-05",
    ]
    bad = registration(pixKey=canaries[2], account=canaries[1])
    bad["request"]["url"] = f"{BASE}/v1/pix/keys/{canaries[1]}?trace={canaries[3]}"
    bad["request"]["headers"] += headers(cookie=f"session={canaries[3]}")
    echo = {
        "Success": True,
        "Message": " ".join(canaries),
        "Key": canaries[2],
        canaries[1]: canaries,
        "name": canaries[4],
    }
    bad["response"]["content"]["text"] = json.dumps({"code": 0, "data": echo})
    refused = changed("response", entry(text=json.dumps({"error": " ".join(canaries)}), status=500)["response"])
    result = recorded(tmp_path, entry(), registration(), bad, refused)
    texts = {file.name: file.read_text("utf-8") for file in result.folder.iterdir()} | {"output": result.output}
    forms = [form for value in canaries for form in encodings(value).values()]

    assert result.status == 1
    assert [(form, name) for name, text in texts.items() for form in forms if form in text] == []


@pytest.mark.slow
def test_a_cluster_gives_the_same(tmp_path):
    """The workers of Dask judge files at their addresses."""
    import distributed

    from reports.recorded.reading import files_of, tally_of_all

    for name in ("one.har", "other.har"):
        har(tmp_path, entry(), without_digit(), name=name)
    files = files_of([f"file://{tmp_path}/*.har"])
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    ) as cluster:
        tally = tally_of_all(files, PROFILE, cluster.scheduler_address)

    assert tally == reduce(merge, (tally_of(file, PROFILE) for file in files), Tally())
