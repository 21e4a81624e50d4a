"""junit.xml from the result model: one test case a requirement, and one for the run itself.

GitLab reads the text of `failure`, `error`, `skipped` and `system-out`, and no attribute of them; Jenkins reads the
attribute `message` and the text; the usual actions of GitHub read either. So a message stands in both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from xml.etree import ElementTree

from junitparser import Error, Failure, JUnitXml, Properties, Property, Skipped, TestCase, TestSuite
from junitparser.junitparser import FinalResult, SystemOut

from reports.result.causes import finding_of_each
from reports.result.document import ReportedRequirement, RunDocument
from reports.result.verdicts import RunVerdict, Verdict
from reports.sentences.headline import drift_in_words, drift_lines, traffic_in_words
from reports.sentences.wording import exchanges_in_words
from reports.showing.show import printable


def junit(document: RunDocument) -> str:
    """The text of junit.xml for the content of a conformance.json. Known failures count as skipped.

    Elements and attributes are those of junit-10.xsd of Jenkins, but for `properties` of a test case, which the JUnit
    plugin of Jenkins reads and others pass over.
    """
    suite = TestSuite(f"pix-conformance {document.environment.name}")
    suite.timestamp = document.started
    for name, value in _provenance(document).items():
        suite.add_property(name, printable(value))
    suite.add_testcases([_run_case(document), *_cases(document)])
    suite.time = document.duration_s
    xml = JUnitXml()
    xml.add_testsuite(suite)
    ElementTree.indent(xml._elem)
    return str(xml.tostring().decode("utf-8")) + "\n"


def _run_case(document: RunDocument) -> TestCase:
    """The run: a failure where drift fails it; an error where its verdict is none on the service, and where no other
    case says why it is not green. Its time is what no test took."""
    spent = sum(entry.elapsed_s for entry in document.requirements)
    case = _case("run", "pix-conformance", max(document.duration_s - spent, 0), _provenance(document))
    told = (traffic_in_words(document), drift_in_words(document), *document.notes)
    left = (f"not cleaned up: {each}" for each in document.left_behind)
    said = "\n".join((document.headline, *map(str, filter(None, told)), *left, *drift_lines(document)))
    if document.verdict == RunVerdict.DRIFTED:
        _conclude(case, Failure(printable(document.headline), RunVerdict.DRIFTED), said)
    elif document.is_red_without_a_failure:
        _conclude(case, Error(printable(document.headline), document.verdict), said)
    else:
        case.append(SystemOut(printable(said)))
    return case


def _cases(document: RunDocument) -> Iterator[TestCase]:
    findings = finding_of_each(document.findings)
    for entry in document.requirements:
        told = {
            "section": entry.section,
            "level": entry.level,
            "verdict": entry.verdict,
            "statement": entry.text,
            "seed": str(document.provenance.seed),
        }
        case = _case(entry.id, entry.operation or "general", entry.elapsed_s, told)
        finding = findings.get(entry.id)
        _take(case, entry, finding.reproduce if finding else "")
        yield case


def _case(name: str, group: str, elapsed_s: float, told: Mapping[str, str]) -> TestCase:
    case = TestCase(name, classname=group, time=round(elapsed_s, 3))
    listed = Properties()
    for each, value in told.items():
        listed.add_property(Property(each, printable(value)))
    case.append(listed)
    return case


def _take(case: TestCase, entry: ReportedRequirement, reproduce: str) -> None:
    """Give a case the result of its requirement."""
    message, found = str(entry.message), "\n".join(_explanation(entry, reproduce))
    said = f"{entry.verdict}: {message}"
    if entry.fails:
        _conclude(case, Failure(printable(message), entry.level), found)
    elif entry.verdict == Verdict.FAIL:
        known = f"known failure: {entry.known_failure}: {message}"
        _conclude(case, Skipped(printable(known)), f"{known}\n{found}")
    elif entry.verdict in (Verdict.NOT_EXERCISED, Verdict.OUT_OF_SCOPE, Verdict.UNTESTABLE):
        _conclude(case, Skipped(printable(said)), said)
    elif message:
        case.append(SystemOut(printable(f"warn: {found}" if entry.verdict == Verdict.WARN else said)))


def _explanation(entry: ReportedRequirement, reproduce: str) -> Iterator[str]:
    """The finding: the message first, then expected and got, the statement and its place, how to reproduce it."""
    yield str(entry.message)
    if entry.expected is not None:
        yield f"expected: {entry.expected}"
        yield f"got: {entry.got}"
    yield f"statement: {entry.text} ({entry.section})"
    if entry.exchanges:
        yield str(exchanges_in_words(entry.exchanges))
    if reproduce:
        yield f"reproduce:\n{reproduce}"


def _conclude(case: TestCase, result: FinalResult, text: str) -> None:
    result.text = printable(text)
    case.append(result)


def _provenance(document: RunDocument) -> dict[str, str]:
    """The verdict and the provenance by name; without values that are not known."""
    shown = {name: value for name, value in document.provenance if isinstance(value, str | int)}
    return {"verdict": document.verdict, **{name: str(value) for name, value in shown.items()}}
