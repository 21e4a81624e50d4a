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
    """The only `testsuite` of a junit.xml. AssertionError if CI systems expect other elements, attributes or counts."""
    root = ElementTree.fromstring(text)
    for element in root.iter():
        attributes, children = MAY_HOLD[element.tag]
        assert set(element.attrib) <= attributes, element.tag
        assert {child.tag for child in element} <= children, element.tag
        assert all(element.attrib.values()), element.tag
    [suite] = root
    elements_by_count = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
    for name_of_count, tag in elements_by_count.items():
        number_of_elements = len(list(suite.iter(tag)))
        assert suite.get(name_of_count) == str(number_of_elements), name_of_count
    return suite


def results_by_name(suite):
    """The result of each test case by its name: ("failure", message), or None if it passed. No name may be there twice."""
    result_by_name = {}
    for case in suite.findall("testcase"):
        name = case.get("name")
        assert name not in result_by_name, name
        elements = [child for child in case if child.tag in ("error", "failure", "skipped")]
        result_by_name[name] = (elements[0].tag, elements[0].get("message")) if elements else None
    return result_by_name


def case_of(suite, name):
    """The text of each element of the test case with this name, by tag, and the properties of the case."""
    [case] = [case for case in suite.findall("testcase") if case.get("name") == name]
    properties = {part.get("name"): part.get("value") for part in case.iter("property")}
    return {child.tag: child.text for child in case if child.tag != "properties"}, properties


def results_in_file(folder):
    """The results in the junit.xml of a run. Each skipped case must have a reason."""
    results = results_by_name(suite_of((folder / "junit.xml").read_text()))
    messages = [result[1] for result in results.values() if result]
    messages_without_reason = [message for message in messages if not message or message.endswith(": ")]
    assert messages_without_reason == []
    return results
