"""Reads junit.xml as CI systems do."""

from xml.etree import ElementTree

MAY_HOLD = {
    "testsuites": (set(), {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors", "skipped", "time", "timestamp"}, {"testcase", "properties"}),
    "testcase": ({"name", "classname", "time"}, {"skipped", "error", "failure", "system-out", "properties"}),
    "properties": (set(), {"property"}),
    "property": ({"name", "value"}, set()),
    **dict.fromkeys(("skipped", "error", "failure"), ({"message", "type"}, set())),
    "system-out": (set(), set()),
}
"""Attributes and children by element: what junit-10.xsd of Jenkins allows, as far as it is used here, and `properties` of
a testcase, which pytest writes, too."""


def suite_of(text):
    """The one testsuite of a file. AssertionError if CI systems expect other elements, attributes or counts."""
    root = ElementTree.fromstring(text)
    for element in root.iter():
        attributes, children = MAY_HOLD[element.tag]
        assert set(element.attrib) <= attributes, element.tag
        assert {child.tag for child in element} <= children, element.tag
        assert all(element.attrib.values()), element.tag
    (suite,) = root
    counted = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
    assert {name: suite.get(name) for name in counted} == {
        name: str(len(list(suite.iter(tag)))) for name, tag in counted.items()
    }
    return suite


def results_by_name(suite):
    """The element and message of each case that did not pass, by name. None for a case that passed."""
    cases = suite.findall("testcase")
    elements = {
        case.get("name"): [child for child in case if child.tag in ("error", "failure", "skipped")] for case in cases
    }
    assert len(elements) == len(cases)
    return {name: (parts[0].tag, parts[0].get("message")) if parts else None for name, parts in elements.items()}


def case_of(suite, name):
    """The text of each element of a case, and its properties."""
    (case,) = (case for case in suite.findall("testcase") if case.get("name") == name)
    properties = {part.get("name"): part.get("value") for part in case.iter("property")}
    return {child.tag: child.text for child in case if child.tag != "properties"}, properties


def results_in_file(folder):
    """The results in the junit.xml of a run. Each skipped case must have a reason."""
    results = results_by_name(suite_of((folder / "junit.xml").read_text()))
    assert not [name for name, result in results.items() if result and (result[1] or ": ").endswith(": ")]
    return results
