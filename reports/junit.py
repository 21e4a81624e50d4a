"""junit.xml from the result model: one test case a requirement, and one for the run itself."""

from __future__ import annotations

from typing import Any

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite
from junitparser.junitparser import SystemOut

from reports.verdicts import ON_THE_SERVICE, Verdict, fails


def junit(document: dict[str, Any]) -> str:
    """The text of junit.xml for the content of a conformance.json. Known failures count as skipped.

    Elements and attributes are those of junit-10.xsd of Jenkins, which GitLab reads too.
    """
    suite = TestSuite(f"pix-conformance {document['environment']['name']}")
    suite.timestamp = document["started"]
    cases = [_case(requirement) for requirement in document["requirements"]]
    suite.add_testcases([_run_case(document, fails=any(case.is_failure for case in cases)), *cases])
    xml = JUnitXml()
    xml.add_testsuite(suite)
    text = xml.tostring()
    return text.decode("utf-8") if isinstance(text, bytes) else str(text)


def _run_case(document: dict[str, Any], *, fails: bool) -> TestCase:
    """The run: an error where its verdict is none on the service, and where no other case says why it is not green."""
    case = TestCase("run", classname="pix-conformance", time=document["duration_s"])
    verdict = document["verdict"]
    if verdict not in ON_THE_SERVICE or (document["exit_status"] and not fails):
        error = Error(document["headline"], verdict)
        error.text = "\n".join(document["notes"])
        case.result = [error]
    return case


def _case(requirement: dict[str, Any]) -> TestCase:
    case = TestCase(requirement["id"], classname=requirement["operation"] or "general", time=0)
    verdict, message = requirement["verdict"], requirement["message"]
    if fails(requirement):
        failure = Failure(message, requirement["level"])
        failure.text = f"{requirement['text']} ({requirement['section']})"
        case.result = [failure]
    elif verdict == Verdict.FAIL:
        case.result = [Skipped(f"known failure: {requirement['known_failure']}: {message}")]
    elif verdict in (Verdict.NOT_EXERCISED, Verdict.OUT_OF_SCOPE, Verdict.UNTESTABLE):
        case.result = [Skipped(f"{verdict}: {message}")]
    elif verdict == Verdict.WARN or message:
        output = SystemOut()
        output.text = f"{verdict}: {message}"
        case.append(output)
    return case
