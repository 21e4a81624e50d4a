"""JSON on the page: laid out in lines, with every token as it was sent."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports.page.json_lines import DEEPEST, in_lines

ODD = [
    '{"a": 1.0, "b": 1E5, "c": -0, "d": 1e-07, "e": 100000000000000000000.10}',
    '{"a": 1, "a": 2, "b": {"c": 3, "c": 3}}',
    r'{"\u0061": "\u00e9\/\ud800 \"quoted\" \\"}',
    '{"": {}, "e": [], "f": [[], {}], "g": [null, true, false]}',
    '"a text"',
    "17",
]
NOT_JSON = [
    *["", "no", "{", '{"a": 1,}', "[1 2]", '{"a": 01}', "[+1]", "[NaN]", "{'a': 1}", '{"a": 1} x', '{"a" 1}', "[1}"],
    *['["a\tb"]', r'["\x41"]', '{1: "a"}', "[,]", "[truer]", "[1.]", "<html>"],
]


def shown(text):
    """The lines as a reader has them."""
    found = in_lines(text)
    return [
        f"{'  ' * line.depth}{line.name + ': ' if line.name else ''}{line.value}{line.tail}" for line in found.lines
    ]


def tokens(text):
    """Everything but blanks outside strings."""
    return re.findall(r'"(?:[^"\\]|\\.)*"|[^\s"]', text)


def test_layout():
    """One member or element on each line, as deep as it stands."""
    assert shown('{"code":0,"data":{"id":"a","none":{},"list":[1,\r\n"b"]}}') == [
        *["{", '  "code": 0,', '  "data": {', '    "id": "a",', '    "none": {},'],
        *['    "list": [', "      1,", '      "b"', "    ]", "  }", "}"],
    ]


@pytest.mark.parametrize("text", ODD)
def test_odd_spellings(text):
    """Numbers, escapes and repeated names stay as they were sent."""
    assert tokens("\n".join(shown(text))) == tokens(text)


@settings(max_examples=50, deadline=None, database=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
        max_leaves=12,
    ),
    st.booleans(),
)
def test_any_json(value, ascii_only):
    """Every JSON text keeps its tokens, and so its value."""
    text = json.dumps(value, ensure_ascii=ascii_only)

    assert tokens("\n".join(shown(text))) == tokens(text)
    assert json.loads("\n".join(shown(text))) == value


@pytest.mark.parametrize("text", NOT_JSON)
def test_what_is_not_json(text):
    """A text that is not JSON has no lines: it is shown as it is."""
    assert in_lines(text) is None


def test_byte_order_mark():
    """A byte order mark is told apart from the text."""
    found = in_lines(r'\ufeff{"a": 1}')

    assert found.mark == r"\ufeff"
    assert found.lines[1].name == '"a"'


@pytest.mark.parametrize(
    ("kept", "rest"),
    [
        ('{"a": 1, ', ""),
        ('{"a": 1, "b', '"b'),
        ('{"a": 1, "b":', '"b":'),
        ('{"a": 1, "b": [nul', "nul"),
        ('{"a": 1, }, "b": 2', '}, "b": 2'),
    ],
)
def test_cut(kept, rest):
    """A text that was cut is laid out as far as it is JSON; the rest is as it was."""
    found = in_lines(f"{kept}… (9000 bytes in all)")

    assert [found.lines[0].value, found.lines[1].name, found.lines[1].value] == ["{", '"a"', "1"]
    assert found.rest == f"{rest}… (9000 bytes in all)"


@pytest.mark.parametrize(("depth", "laid_out"), [(DEEPEST, True), (DEEPEST + 1, False), (100_000, False)])
def test_depth(depth, laid_out):
    """A deep text is not laid out: its indentation would be longer than it is."""
    assert (in_lines("[" * depth + "]" * depth) is not None) == laid_out


def test_time():
    """A long text that never ends is read once."""
    assert in_lines('{"a": "' + "\\" * 200_001) is None
