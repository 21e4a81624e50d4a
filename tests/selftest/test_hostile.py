"""A service that is out to hurt gets a verdict in few requests and little memory, and a report that shows text as text."""

import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from junitparser import JUnitXml

from reports.writing import OUTPUTS, PAGE, SUMS
from tests.selftest.services import hostile
from tests.selftest.services.running import run, write_profile

PEAK_MB = 300
LIMITS = {"executions": 2, "requests": 400, "response_bytes": 1_000_000}
SILENT = (hostile.AcceptsAndNeverAnswers, hostile.DripsItsHead, hostile.DripsItsBody)
"""Services that end no answer, so that whatever runs out runs out on any machine."""
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
    Case(hostile.NeverEndsItsHeaders, "incomplete", "a header longer than the suite reads"),
    Case(hostile.SendsAGzipBomb, "incomplete", "longer than limits.response_bytes (1000000 bytes)"),
    Case(hostile.PromisesMore, GONE, "the answer broke off before its end"),
    Case(hostile.CutsAChunkShort, GONE, "the answer broke off before its end"),
    Case(hostile.ResetsInTheMiddle, GONE, "dropped"),
    Case(hostile.SpeaksNoHttp, GONE, "the answer is not HTTP"),
    Case(hostile.RedirectsInALoop, "incomplete", "302"),
    Case(hostile.NestsDeeply, "incomplete", "nested deeper than 100 levels"),
    Case(hostile.CountsHigh, "incomplete", "refused"),
    Case(hostile.SendsHalvesOfPairs, "non-conformant", "document is missing"),
    Case(hostile.SendsNul, "incomplete", "not JSON: Extra data at character 71"),
    Case(hostile.SendsEscapes, "non-conformant", "document is missing"),
    Case(hostile.SendsScript, "non-conformant", "expected type to be one of", ()),
    Case(hostile.SendsManyHeaders, "incomplete", "more headers than the suite reads"),
    Case(hostile.SendsMegabytes, "non-conformant", "id is missing", ()),
    Case(hostile.SendsManyFields, "partial", "11 passed"),
    Case(hostile.DiesAfterTwentyRequests, GONE, "the connection is refused", ()),
)


@pytest.fixture(scope="module")
def ends(tmp_path_factory):
    """Every run of the module, two at a time."""

    def end(case):
        with case.service() as service:
            limits = {**LIMITS, "timeout": 0.5} if case.service in SILENT else LIMITS
            profile = write_profile(tmp_path_factory.mktemp(str(case)), service.base_url, limits=limits)
            return run(profile, *case.options)

    with ThreadPoolExecutor(2) as pool:
        yield {case: pool.submit(end, case) for case in CASES}


@pytest.fixture(params=CASES, ids=str)
def case(request):
    """One hostile service."""
    return request.param


def test_the_end_is_bounded_and_truthful(case, ends):
    """Requests and memory are bounded, and the verdict says what was found, in all reports."""
    result = ends[case].result()
    text = (result.folder / "conformance.json").read_text() + result.output
    unanswered = [seen for seen in result.document["exchanges"] if "no complete answer" in str(seen["result"])]

    assert result.document["verdict"] == case.verdict, result.output[-2000:]
    assert case.said in text
    assert len(unanswered) == (case.service in SILENT)
    assert result.document["traffic"]["requests"] <= LIMITS["requests"]
    assert result.peak_mb < PEAK_MB


def test_reports_are_whole_and_plain(case, ends):
    """JSON and XML can be read, and nothing that leaves the run holds a control character or half a letter."""
    result = ends[case].result()
    files = {path.name: path.read_text("utf-8") for path in result.folder.iterdir()}
    JUnitXml.fromstring(files["junit.xml"])
    json.loads(files["conformance.json"])

    assert set(files) == {*OUTPUTS, PAGE, SUMS}
    assert not [mark for mark in "\x00\x07\x1b\x9b\u202e" for text in (*files.values(), result.output) if mark in text]


def test_a_service_that_dies_leaves_what_was_learned(ends):
    """Twenty answers were judged before it was gone: exit status 7."""
    result = next(end for case, end in ends.items() if case.service is hostile.DiesAfterTwentyRequests).result()

    assert result.status == 7
    assert result.document["traffic"]["requests"] >= 20
    assert result.rows("pass")


def test_a_redirect_takes_no_token_to_another_port(tmp_path):
    """Nothing at all is sent to where a redirect leads."""
    with hostile.RedirectsElsewhere() as service:
        result = run(write_profile(tmp_path, service.base_url, limits=LIMITS), *PART)

    assert service.elsewhere.seen == []
    assert result.document["verdict"] == "incomplete"
    assert any(note.startswith("no operation granted anything (307 to ") for note in result.notes)


@pytest.mark.skipif(not shutil.which("chromium"), reason="chromium is not installed")
def test_no_script_runs_in_the_report(ends):
    """The report of the script-laden service, opened in a browser, shows the script as text."""
    result = next(end for case, end in ends.items() if case.service is hostile.SendsScript).result()
    page = result.folder / "report.html"
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={result.folder.parent / 'chromium'}"]
    browser = ["chromium", *options, "--virtual-time-budget=2000", "--dump-dom", page.as_uri()]
    dom = subprocess.run(browser, capture_output=True, text=True).stdout

    assert "<title>owned</title>" not in dom
    assert "&lt;script&gt;document.title='owned'" in dom
    assert '<img src="x" onerror' not in dom
