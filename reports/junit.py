"""junit.xml from the result model: one test case a requirement."""

from __future__ import annotations

from typing import Any

from junitparser import Failure, JUnitXml, Skipped, TestCase, TestSuite
from junitparser.junitparser import SystemOut

from reports.verdicts import FAIL, NOT_EXERCISED, OUT_OF_SCOPE, UNTESTABLE, WARN


def junit(document: dict[str, Any]) -> str:
    """The text of junit.xml for the content of a conformance.json. Known failures count as skipped."""
    suite = TestSuite(f"pix-conformance {document['environment']['name']}")
    suite.timestamp = document["started"]
    for row in document["requirements"]:
        suite.add_testcase(_case(row))
    suite.time = document["duration_s"]
    xml = JUnitXml()
    xml.add_testsuite(suite)
    text = xml.tostring()
    return text.decode("utf-8") if isinstance(text, bytes) else str(text)


def _case(row: dict[str, Any]) -> TestCase:
    case = TestCase(row["id"], classname=row["operation"] or "general", time=0)
    verdict, message = row["verdict"], row["message"]
    if verdict == FAIL and "known_failure" not in row:
        failure = Failure(message, row["level"])
        failure.text = f"{row['text']} ({row['section']})"
        case.result = [failure]
    elif verdict == FAIL:
        case.result = [Skipped(f"known failure: {row['known_failure']}: {message}")]
    elif verdict in (NOT_EXERCISED, OUT_OF_SCOPE, UNTESTABLE):
        case.result = [Skipped(f"{verdict}: {message}")]
    elif verdict == WARN or message:
        output = SystemOut()
        output.text = f"{verdict}: {message}"
        case.append(output)
    return case
