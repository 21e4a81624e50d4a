"""A service that is out to hurt gets a verdict in bounded time and memory, and a report that shows text as text."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from junitparser import JUnitXml

from tests.selftest.services import hostile
from tests.selftest.services.running import run, run_measured, write_profile

PEAK_MB, LONGEST_S = 300, 30
LIMITS = {"executions": 2, "requests": 400, "timeout": 0.5, "response_bytes": 1_000_000}
PART = ("-k", "executePix.document or executePix.type or listAccounts.json")


@dataclass(frozen=True)
class Case:
    """A service and the end of a run against it: the verdict, and a text that the report holds."""

    service: type
    verdict: str
    said: str
    options: tuple[str, ...] = PART

    def __str__(self):
        return self.service.__name__


GONE = "unreachable"
CASES = (
    Case(hostile.AcceptsAndNeverAnswers, GONE, "no complete answer within limits.timeout (0.5 s)"),
    Case(hostile.DripsItsHead, GONE, "no complete answer within limits.timeout (0.5 s)"),
    Case(hostile.DripsItsBody, GONE, "no complete answer within limits.timeout (0.5 s)"),
    Case(hostile.NeverEnds, "incomplete", "longer than limits.response_bytes (1000000 bytes)"),
    Case(hostile.NeverEndsItsHeaders, GONE, "a header longer than the suite reads"),
    Case(hostile.SendsAGzipBomb, "incomplete", "longer than limits.response_bytes (1000000 bytes)"),
    Case(hostile.PromisesMore, GONE, "the answer broke off before its end"),
    Case(hostile.CutsAChunkShort, GONE, "the answer broke off before its end"),
    Case(hostile.ResetsInTheMiddle, GONE, "dropped"),
    Case(hostile.SpeaksNoHttp, GONE, "the answer is not HTTP"),
    Case(hostile.RedirectsInALoop, "incomplete", "302"),
    Case(hostile.NestsDeeply, "incomplete", "nested deeper than 100 levels"),
    Case(hostile.CountsHigh, "incomplete", "refused"),
    Case(hostile.SendsHalvesOfPairs, "non-conformant", "document is missing"),
    Case(hostile.SendsNul, "incomplete", "the envelope holds no object data"),
    Case(hostile.SendsEscapes, "non-conformant", "document is missing"),
    Case(hostile.SendsScript, "non-conformant", "type is none of", ()),
    Case(hostile.SendsManyHeaders, GONE, "more headers than the suite reads"),
    Case(hostile.SendsMegabytes, "non-conformant", "id is missing", ()),
    Case(hostile.SendsManyFields, "conformant", "11 passed"),
    Case(hostile.DiesAfterTwentyRequests, GONE, "the connection is refused", ()),
)


@dataclass(frozen=True)
class End:
    """How a run ended, and after how many seconds."""

    result: object
    seconds: float


@pytest.fixture(scope="module")
def ends(tmp_path_factory):
    """Every run of the module, two at a time."""

    def end(case):
        with case.service() as service:
            profile = write_profile(tmp_path_factory.mktemp(str(case)), service.base_url, limits=LIMITS)
            started = time.monotonic()
            return End(run_measured(profile, *case.options), time.monotonic() - started)

    with ThreadPoolExecutor(2) as pool:
        yield {case: pool.submit(end, case) for case in CASES}


@pytest.fixture(params=CASES, ids=str)
def case(request):
    """One hostile service."""
    return request.param


def test_the_end_is_bounded_and_truthful(case, ends):
    """Time and memory are bounded, and the verdict says what was found, in all reports."""
    end = ends[case].result()
    text = (end.result.folder / "conformance.json").read_text() + end.result.output

    assert end.result.document["verdict"] == case.verdict, end.result.output[-2000:]
    assert case.said in text
    assert end.seconds < LONGEST_S
    assert end.result.peak_mb < PEAK_MB


def test_reports_are_whole_and_plain(case, ends):
    """JSON and XML can be read, and nothing that leaves the run holds a control character or half a letter."""
    result = ends[case].result().result
    files = {path.name: path.read_text("utf-8") for path in result.folder.iterdir()}
    JUnitXml.fromstring(files["junit.xml"])
    json.loads(files["conformance.json"])

    assert set(files) == {"conformance.json", "junit.xml", "report.html"}
    assert not [mark for mark in "\x00\x07\x1b\x9b\u202e" for text in (*files.values(), result.output) if mark in text]


def test_a_refused_connection_ends_the_run_in_one_line(tmp_path):
    """Nobody listens: exit status 7, and the report says that this is no verdict on the service."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"http://127.0.0.1:{closed.getsockname()[1]}"
    result = run(write_profile(tmp_path, address))

    assert result.status == 7
    assert f"{address} cannot be spoken to: the connection is refused; this is no verdict" in result.output
    assert result.document["verdict"] == GONE


def test_a_service_that_dies_leaves_what_was_learned(ends):
    """Twenty answers were judged before it was gone: exit status 7."""
    result = next(end for case, end in ends.items() if case.service is hostile.DiesAfterTwentyRequests).result().result

    assert result.status == 7
    assert result.document["traffic"]["requests"] >= 20
    assert result.rows("pass")


def test_a_redirect_takes_no_token_to_another_port(tmp_path):
    """Nothing at all is sent to where a redirect leads."""
    with hostile.RedirectsElsewhere() as service:
        result = run(write_profile(tmp_path, service.base_url, limits=LIMITS), *PART)

    assert service.elsewhere.seen == []
    assert result.document["verdict"] == "incomplete"
    assert any("the token was refused by every operation (307)" in note for note in result.notes)


@pytest.mark.skipif(not shutil.which("chromium"), reason="chromium is not installed")
def test_no_script_runs_in_the_report(ends):
    """The report of the script-laden service, opened in a browser, shows the script as text."""
    result = next(end for case, end in ends.items() if case.service is hostile.SendsScript).result().result
    page = result.folder / "report.html"
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={result.folder.parent / 'chromium'}"]
    browser = ["chromium", *options, "--virtual-time-budget=2000", "--dump-dom", page.as_uri()]
    dom = subprocess.run(browser, capture_output=True, text=True, timeout=60).stdout

    assert "<title>owned</title>" not in dom
    assert "&lt;script&gt;document.title='owned'" in dom
    assert '<img src="x" onerror' not in dom
