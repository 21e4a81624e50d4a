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
    """The only `testsuite` element of a junit.xml with this text.

    AssertionError if the file has an element or an attribute that CI systems do not know, an attribute without a value,
    or a wrong count, such as `failures="2"` beside one failure.
    """
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
    """The result of each test case by its name: ("failure", message), or None if it passed.

    The first part is "error", "failure" or "skipped". AssertionError if two test cases have the same name.
    """
    result_by_name = {}
    for case in suite.findall("testcase"):
        name = case.get("name")
        assert name not in result_by_name, name
        result_by_name[name] = None
        for child in case:
            if child.tag in ("error", "failure", "skipped"):  # a test case has at most one of these
                result_by_name[name] = (child.tag, child.get("message"))
    return result_by_name


def case_of(suite, name):
    """Two dictionaries about the test case with this name: the texts of its elements, and its properties.

    The first is by tag, such as {"failure": "…"}, the second by the names of the properties.
    """
    [case] = [case for case in suite.findall("testcase") if case.get("name") == name]
    text_by_tag = {child.tag: child.text for child in case if child.tag != "properties"}
    properties = {part.get("name"): part.get("value") for part in case.iter("property")}
    return text_by_tag, properties


def results_in_file(folder):
    """The results in the junit.xml of a run, by the name of the test case, as `results_by_name` gives them.

    `folder` has the reports of the run. AssertionError if a test case did not pass, and its message gives no reason: it
    is empty, or ends after "not-exercised: ".
    """
    results = results_by_name(suite_of((folder / "junit.xml").read_text()))
    messages = [message for _, message in filter(None, results.values())]  # None: the test case passed
    messages_without_reason = [message for message in messages if not message or message.endswith(": ")]
    assert messages_without_reason == []
    return results
