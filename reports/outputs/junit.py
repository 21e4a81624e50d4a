"""junit.xml: a test case for each requirement, and one for the run itself.

A message is in the text and in the attribute `message` of `failure`, `error` and `skipped`, because GitLab reads only
the text, Jenkins reads both, and the usual actions of GitHub read one or the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from xml.etree import ElementTree

from junitparser import Error, Failure, JUnitXml, Properties, Property, Skipped, TestCase, TestSuite
from junitparser.junitparser import FinalResult, SystemOut

from reports.result.causes import finding_by_requirement
from reports.result.document import ReportedRequirement, RunDocument
from reports.result.verdicts import RunVerdict, Verdict
from reports.sentences.headline import drift_in_words, drift_lines, traffic_in_words
from reports.sentences.wording import exchanges_in_words
from reports.showing.show import printable


def junit(document: RunDocument) -> str:
    """The text of junit.xml, which CI systems read. Failures that the profile lists as known count as skipped.

    Elements and attributes are those of junit-10.xsd of Jenkins, with one exception: a test case has `properties`,
    which the JUnit plugin of Jenkins reads and other readers ignore.
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
    """The test case of the run itself, so that a CI system is red if the run is red although no requirement fails.

    Drift (behaviour that differs from the record which the user accepted) is a failure. If the run is red for another
    reason, such as a target that cannot be reached, the test case has an error. The time of this test case is the time
    of the run without the times of the tests.
    """
    time_of_tests = sum(entry.elapsed_s for entry in document.requirements)
    time_of_rest = max(document.duration_s - time_of_tests, 0)  # rounding could make it negative, which JUnit forbids
    case = _case("run", "pix-conformance", time_of_rest, _provenance(document))
    text = "\n".join(_lines_about_run(document))
    if document.verdict == RunVerdict.DRIFTED:
        _set_result(case, Failure(printable(document.headline), RunVerdict.DRIFTED), text)
    elif document.is_red_without_a_failure:
        _set_result(case, Error(printable(document.headline), document.verdict), text)
    else:
        case.append(SystemOut(printable(text)))
    return case


def _lines_about_run(document: RunDocument) -> Iterator[str]:
    """Lines about the run as a whole: headline, number of requests, drift, notes, and keys that were not deleted.

    Drift is behaviour that differs from the record which the user accepted.
    """
    yield document.headline
    yield str(traffic_in_words(document))
    drift = drift_in_words(document)
    if drift:
        yield str(drift)
    yield from (str(note) for note in document.notes if note)
    yield from (f"not cleaned up: {key_or_transfer}" for key_or_transfer in document.left_behind)
    yield from drift_lines(document)


def _cases(document: RunDocument) -> Iterator[TestCase]:
    """A test case for each requirement of the interface document, with its result and the command that repeats it."""
    findings = finding_by_requirement(document.findings)
    for entry in document.requirements:
        properties = {
            "section": entry.section,
            "level": entry.level,
            "verdict": entry.verdict,
            "statement": entry.text,
            "seed": str(document.provenance.seed),
        }
        case = _case(entry.id, entry.operation or "general", entry.elapsed_s, properties)
        finding = findings.get(entry.id)
        _add_result(case, entry, finding.reproduce if finding else "")
        yield case


def _case(name: str, group: str, elapsed_s: float, values: Mapping[str, str]) -> TestCase:
    """A test case that has no result yet, which means "passed". `values` become its properties.

    CI systems show `group` as the class of the test. `_set_result` adds a failure, an error or a skip.
    """
    case = TestCase(name, classname=group, time=round(elapsed_s, 3))
    properties = Properties()
    for property_name, value in values.items():
        properties.add_property(Property(property_name, printable(value)))
    case.append(properties)
    return case


def _add_result(case: TestCase, entry: ReportedRequirement, reproduce: str) -> None:
    """Add the result of a requirement to its test case: failure, skipped, or an output for a warning or a note.

    `reproduce` are the shell lines that repeat the finding. JUnit has no warning and no known failure, so a warning is
    an output and a known failure is skipped. A test case without a result has passed.
    """
    message = str(entry.message)
    details = "\n".join(_lines_of_finding(entry, reproduce))
    verdict_and_message = f"{entry.verdict}: {message}"
    if entry.fails:
        _set_result(case, Failure(printable(message), entry.level), details)
    elif entry.verdict == Verdict.FAIL:
        known_failure = f"known failure: {entry.known_failure}: {message}"
        _set_result(case, Skipped(printable(known_failure)), f"{known_failure}\n{details}")
    elif entry.verdict in (Verdict.NOT_EXERCISED, Verdict.OUT_OF_SCOPE, Verdict.UNTESTABLE):
        _set_result(case, Skipped(printable(verdict_and_message)), verdict_and_message)
    elif message and entry.verdict == Verdict.WARN:
        case.append(SystemOut(printable(f"warn: {details}")))
    elif message:
        case.append(SystemOut(printable(verdict_and_message)))


def _lines_of_finding(entry: ReportedRequirement, reproduce: str) -> Iterator[str]:
    """Lines about what was wrong: message, expected, got, statement of the interface document, and how to repeat it."""
    yield str(entry.message)
    if entry.expected is not None:
        yield f"expected: {entry.expected}"
        yield f"got: {entry.got}"
    yield f"statement: {entry.text} ({entry.section})"
    if entry.exchanges:
        yield str(exchanges_in_words(entry.exchanges))
    if reproduce:
        yield f"reproduce:\n{reproduce}"


def _set_result(case: TestCase, result: FinalResult, text: str) -> None:
    """Add a failure, an error or a skip to a test case, with this text.

    Some control characters are escaped, because XML cannot hold them.
    """
    result.text = printable(text)
    case.append(result)


def _provenance(document: RunDocument) -> dict[str, str]:
    """The verdict of the run, and what it was made with, by name: suite version, digests, seed, times.

    Only texts and numbers are included, because a property of junit.xml can hold nothing else.
    """
    values: dict[str, str] = {"verdict": document.verdict}
    for name, value in document.provenance:  # a model of pydantic gives its members as pairs
        if isinstance(value, str | int):
            values[name] = str(value)
    return values
