"""Filters of the page: what is translated, what is marked as English, and what is in no language."""

import pytest

from reports.outputs.page.templates import template, template_of_page
from reports.sentences.language import ENGLISH
from spec.message import say

PORTUGUESE = "pt-BR"
TRANSLATED_SENTENCE, SENTENCE_WITHOUT_TRANSLATION = "nothing was tested", "this sentence is in no catalogue"


def filtered(name, *arguments, tag=PORTUGUESE):
    """The HTML that the filter with this name makes of these arguments, for a page in the language `tag`."""
    return str(template("report.js", tag).environment.filters[name](*arguments))


def test_a_sentence_without_a_translation_is_marked_as_english():
    """A sentence without a Portuguese translation is marked as English on the Portuguese page.

    So a screen reader reads it as English. The filter `said` writes a text of the suite in the language of the page.
    """
    shown_sentence = filtered("said", SENTENCE_WITHOUT_TRANSLATION)
    shown_sentence_with_values = filtered("said", say("a {what} of 100 <b>", what="test"))

    assert shown_sentence == f'<span lang="en">{SENTENCE_WITHOUT_TRANSLATION}</span>'
    assert shown_sentence_with_values == '<span lang="en">a test of 100 &lt;b&gt;</span>'


def test_a_single_word_without_a_translation_is_not_marked():
    """A single word without a translation is not marked as English, because it may be the same in both languages."""
    assert filtered("said", "executePix") == "executePix"


def test_a_translated_sentence_is_not_marked():
    """A sentence with a translation stands in Portuguese on the Portuguese page, and has no mark of a language."""
    shown_sentence = filtered("said", TRANSLATED_SENTENCE)

    assert shown_sentence != TRANSLATED_SENTENCE
    assert "<span" not in shown_sentence


def test_on_the_english_page_nothing_is_marked():
    """On the English page no sentence is marked as English."""
    assert filtered("said", SENTENCE_WITHOUT_TRANSLATION, tag=ENGLISH) == SENTENCE_WITHOUT_TRANSLATION


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
    """On the page, observed statuses, names and types are marked so that a browser does not translate them.

    Words of the suite, such as `accepted`, are translated. `observed` is the filter of the page for observations.
    """
    shown = filtered("observed", places, "registerPixKey.pixKeyType.numeric")

    assert shown == html


def test_a_value_of_the_service_is_in_no_language():
    """A value of the service, such as a status of an execution, is never translated, even if the suite has the same word."""
    shown = filtered("observed", {"": ["accepted"]}, "executePix.status.values")

    assert shown == "accepted"


def test_comments_of_a_command_are_translated_and_lines_are_not():
    """In the lines that send a request again, comments are translated, and commands stay as they are.

    `command` is the filter of the page for such lines.
    """
    comment = "# this line moves money: the run has sent the code in it, so set its variable to another one"
    command = "curl -i '# no'"

    shown_comment, shown_command = filtered("command", f"{comment}\n{command}").split("\n")

    assert shown_comment.startswith("# ")
    assert shown_comment != comment
    assert shown_command == command


def test_a_page_permits_two_scripts_by_their_digests():
    """The security policy of a page permits its two scripts by their digests, and no fetch. Another script has another digest."""
    policy = template_of_page("draw()").globals["policy"]
    policy_of_another_script = template_of_page("draw(2)").globals["policy"]

    assert policy.startswith("default-src 'none'; ")
    assert policy.count("'sha256-") == 2
    assert policy_of_another_script.count("'sha256-") == 2
    assert policy != policy_of_another_script


def test_a_block_leaves_no_line_behind():
    """A line of a template with nothing but a tag of the template, such as `{% if … %}`, leaves no empty line in the page."""
    page_template = template("report.js").environment.from_string("a\n  {% if true %}\nb\n  {% endif %}\nc")

    assert page_template.render() == "a\nb\nc"


def test_every_value_is_escaped():
    """Each value that a template puts into the page is escaped, so that markup in it is shown as text."""
    page_template = template("report.js").environment.from_string("{{ value }}")

    assert page_template.render(value="<b>'\"&") == "&lt;b&gt;&#39;&#34;&amp;"
