"""Numbers and moments in the languages of the report."""

import pytest

from reports.sentences.language import ENGLISH, language
from spec.message import Date, say
from spec.rules import judge
from tests.selftest.exchanges import EXECUTION_RESULT, execution

PORTUGUESE = "pt-BR"


@pytest.mark.parametrize(
    ("number", "english", "portuguese"),
    [(0, "0", "0"), (12.25, "12.25", "12,25"), (1_234_567, "1234567", "1.234.567"), (0.5, "0.5", "0,5")],
)
def test_a_number_is_a_text_in_every_language(number, english, portuguese):
    """The signs for decimals and thousands are those of the language."""
    assert language(ENGLISH).number(number) == english
    assert language(PORTUGUESE).number(number) == portuguese


def test_a_date_is_written_as_the_language_writes_dates():
    """English has ISO 8601, Portuguese has the day before the month. Moments are in UTC."""
    assert language(ENGLISH).date_in("2026-11-02") == "2026-11-02"
    assert language(ENGLISH).date_in("2026-11-02T09:30:00Z") == "2026-11-02 09:30:00 UTC"

    assert language(PORTUGUESE).date_in("2026-11-02") == "02/11/2026"
    assert language(PORTUGUESE).date_in("2026-11-02T09:30:00Z") == "02/11/2026 09:30:00 UTC"


def test_a_date_in_a_message_is_written_like_any_other():
    """A date in a message within a message is translated, too."""
    inner_message = say("{when}", when=Date("2026-11-02T09:30:00Z"))
    message = say("{known}, until {day}", known=inner_message, day=Date("2026-11-09"))

    assert str(message) == "2026-11-02 09:30:00 UTC, until 2026-11-09"
    assert language(PORTUGUESE).text(message) == "02/11/2026 09:30:00 UTC, até 09/11/2026"


def test_a_finding_names_types_in_one_language():
    """The expected type and the type of the answer are both translated."""
    [number] = judge("executePix.value.type", execution(EXECUTION_RESULT | {"value": "1"})).findings
    [text_or_null] = judge("executePix.error.type", execution(EXECUTION_RESULT | {"error": 7})).findings
    portuguese = language(PORTUGUESE).text

    assert portuguese(number.expected) == "value do tipo número"
    assert portuguese(number.got) == "um texto"
    assert portuguese(text_or_null.expected) == "error do tipo texto ou null"
    assert portuguese(text_or_null.got) == "um inteiro"
    assert str(number.expected) == "value of type number"
