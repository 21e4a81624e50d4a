"""Filters of the page: what is translated, what is marked as English, and what is in no language."""

import pytest

from reports.outputs.page.templates import frame, template
from reports.sentences.language import ENGLISH
from spec.message import say

PORTUGUESE = "pt-BR"
TRANSLATED, WORD, UNKNOWN = "nothing was tested", "pass", "this sentence is in no catalogue"


def filtered(name, *arguments, tag=PORTUGUESE):
    """The text that a filter of the page makes of these arguments."""
    return str(template("report.js", tag).environment.filters[name](*arguments))


def test_a_sentence_without_a_translation_is_marked_as_english():
    """A screen reader then reads it as English.

    A single word may be the same in both languages, so it is not marked.
    """
    assert filtered("said", UNKNOWN) == f'<span lang="en">{UNKNOWN}</span>'
    assert filtered("said", say("a {what} of 100 <b>", what="test")) == '<span lang="en">a test of 100 &lt;b&gt;</span>'
    assert filtered("said", "executePix") == "executePix"


def test_a_translated_sentence_is_not_marked():
    """On the English page nothing is marked."""
    assert "<span" not in filtered("said", TRANSLATED)
    assert filtered("said", TRANSLATED) != TRANSLATED
    assert filtered("said", UNKNOWN, tag=ENGLISH) == UNKNOWN


@pytest.mark.parametrize(
    ("places", "html"),
    [
        ({"": ["404 text/plain"]}, '<span translate="no">404 text/plain</span>'),
        ({"": ["200"], "/id": ["string"]}, '<span translate="no">200</span>: <span translate="no">/id string</span>'),
        ({"/id": ["string"]}, '<span translate="no">/id string</span>'),
        ({"": ["404", "401"]}, '<span translate="no">404</span> ou <span translate="no">401</span>'),
        ({"": ["accepted"]}, "aceito"),
        ({}, ""),
    ],
)
def test_names_and_types_are_marked_as_not_translated(places, html):
    """Words of the suite are translated."""
    assert filtered("observed", places, "registerPixKey.pixKeyType.numeric") == html


def test_a_value_of_the_service_is_in_no_language():
    """A status of the service may be a word of the suite by chance."""
    assert filtered("observed", {"": ["accepted"]}, "executePix.status.values") == "accepted"


def test_comments_of_a_command_are_translated_and_lines_are_not():
    """A line that sends stays as it is."""
    lines = (
        "# this line moves money: the run has sent the code in it, so set its variable to another one\ncurl -i '# no'"
    )
    first, second = filtered("command", lines).split("\n")

    assert first != lines.split("\n")[0]
    assert first.startswith("# ")
    assert second == "curl -i '# no'"


def test_a_page_permits_two_scripts_by_their_digests():
    """Another script has another digest, and nothing may be fetched."""
    policies = [frame(script).globals["policy"] for script in ("draw()", "draw(2)")]

    assert all(policy.startswith("default-src 'none'; ") and policy.count("'sha256-") == 2 for policy in policies)
    assert policies[0] != policies[1]


def test_a_block_leaves_no_line_behind():
    """A template has one line for each line of its output."""
    rendered_template = template("report.js").environment.from_string("a\n  {% if true %}\nb\n  {% endif %}\nc")

    assert rendered_template.render() == "a\nb\nc"


def test_every_value_is_escaped():
    """A template escapes markup in each value."""
    rendered_template = template("report.js").environment.from_string("{{ value }}")

    assert rendered_template.render(value="<b>'\"&") == "&lt;b&gt;&#39;&#34;&amp;"
