"""junit.xml from the result model: one test case a requirement, and one for the run itself.

GitLab reads the text of `failure`, `error`, `skipped` and `system-out`, and no attribute of them; Jenkins reads the
attribute `message` and the text; the usual actions of GitHub read either. So a message stands in both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from xml.etree import ElementTree

from junitparser import Error, Failure, JUnitXml, Properties, Property, Skipped, TestCase, TestSuite
from junitparser.junitparser import FinalResult, SystemOut

from reports.formats.conformance_json import Document
from reports.formats.entries import explanation, figures, observations_of, properties, provenance, reproduced_by
from reports.observations.drift import drift_lines, fails_by_drift
from reports.show import printable
from reports.verdicts import Entry, RunVerdict, Verdict, fails, is_told_by_none


def junit(document: Document) -> str:
    """The text of junit.xml for the content of a conformance.json. Known failures count as skipped.

    Elements and attributes are those of junit-10.xsd of Jenkins, but for `properties` of a test case, which the JUnit
    plugin of Jenkins reads and others pass over.
    """
    suite = TestSuite(f"pix-conformance {document['environment']['name']}")
    suite.timestamp = document["started"]
    for name, value in provenance(document).items():
        suite.add_property(name, printable(value))
    suite.add_testcases([_run_case(document), *_cases(document)])
    suite.time = document["duration_s"]
    xml = JUnitXml()
    xml.add_testsuite(suite)
    ElementTree.indent(xml._elem)
    return str(xml.tostring().decode("utf-8")) + "\n"


def _run_case(document: Document) -> TestCase:
    """The run: a failure where drift fails it; an error where its verdict is none on the service, and where no other
    case says why it is not green. Its time is what no test took."""
    spent = sum(entry["elapsed_s"] for entry in document["requirements"])
    case = _case("run", "pix-conformance", max(document["duration_s"] - spent, 0), provenance(document))
    said = "\n".join((document["headline"], *figures(document), *drift_lines(document)))
    if fails_by_drift(document):
        _conclude(case, Failure(printable(document["headline"]), RunVerdict.DRIFTED), said)
    elif is_told_by_none(document):
        _conclude(case, Error(printable(document["headline"]), document["verdict"]), said)
    else:
        _say(case, said)
    return case


def _cases(document: Document) -> list[TestCase]:
    reproduce, observed = reproduced_by(document), observations_of(document)
    seed = document["provenance"]["seed"]
    cases = []
    for entry in document["requirements"]:
        operation = entry["operation"] or "general"
        case = _case(entry["id"], operation, entry["elapsed_s"], properties(entry, seed))
        _take(case, entry, reproduce.get(entry["id"], ""), observed.get(entry["id"], ()))
        cases.append(case)
    return cases


def _case(name: str, group: str, elapsed_s: float, told: Mapping[str, str]) -> TestCase:
    case = TestCase(name, classname=group, time=round(elapsed_s, 3))
    listed = Properties()
    for each, value in told.items():
        listed.add_property(Property(each, printable(value)))
    case.append(listed)
    return case


def _take(case: TestCase, entry: Entry, reproduce: str, observed: Iterable[str]) -> None:
    """Give a case the result of its requirement."""
    verdict, message = entry["verdict"], str(entry["message"])
    if fails(entry):
        _conclude(case, Failure(printable(message), entry["level"]), explanation(entry, reproduce))
    elif verdict == Verdict.FAIL:
        said = f"known failure: {entry['known_failure']}: {message}"
        _conclude(case, Skipped(printable(said)), f"{said}\n{explanation(entry, reproduce)}")
    elif verdict in (Verdict.NOT_EXERCISED, Verdict.OUT_OF_SCOPE, Verdict.UNTESTABLE):
        _conclude(case, Skipped(printable(f"{verdict}: {message}")), f"{verdict}: {message}")
    elif verdict == Verdict.WARN:
        _say(case, "\n".join((f"warn: {explanation(entry, reproduce)}", *observed)))
    elif observed or message:
        _say(case, "\n".join(observed or (f"{verdict}: {message}",)))


def _conclude(case: TestCase, result: FinalResult, text: str) -> None:
    result.text = printable(text)
    case.append(result)


def _say(case: TestCase, text: str) -> None:
    case.append(SystemOut(printable(text)))
