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
    """A number is written with the signs of the language: Portuguese has a comma for decimals and dots for thousands."""
    assert language(ENGLISH).number(number) == english
    assert language(PORTUGUESE).number(number) == portuguese


@pytest.mark.parametrize(
    ("date", "english", "portuguese"),
    [
        ("2026-11-02", "2026-11-02", "02/11/2026"),
        ("2026-11-02T09:30:00Z", "2026-11-02 09:30:00 UTC", "02/11/2026 09:30:00 UTC"),
    ],
    ids=["a day", "a day and a time"],
)
def test_a_date_is_written_as_the_language_writes_dates(date, english, portuguese):
    """An English report writes dates as in ISO 8601, a Portuguese report has the day first. Times are in UTC."""
    assert language(ENGLISH).date_of_text(date) == english
    assert language(PORTUGUESE).date_of_text(date) == portuguese


def test_a_date_in_a_message_is_written_like_any_other():
    """A date within a message is written as the language writes dates, even in a message that is part of another."""
    inner_message = say("{when}", when=Date("2026-11-02T09:30:00Z"))
    message = say("{known}, until {day}", known=inner_message, day=Date("2026-11-09"))

    assert str(message) == "2026-11-02 09:30:00 UTC, until 2026-11-09"
    assert language(PORTUGUESE).text(message) == "02/11/2026 09:30:00 UTC, até 09/11/2026"


@pytest.mark.parametrize(
    ("requirement_id", "wrong_field", "expected_in_english", "expected", "got"),
    [
        ("executePix.value.type", {"value": "1"}, "value of type number", "value do tipo número", "um texto"),
        (
            "executePix.error.type",
            {"error": 7},
            "error of type string or null",
            "error do tipo texto ou null",
            "um inteiro",
        ),
    ],
)
def test_a_finding_names_types_in_one_language(requirement_id, wrong_field, expected_in_english, expected, got):
    """If a field has a wrong type, a Portuguese report translates both the expected type and the type of the answer."""
    [finding] = judge(requirement_id, execution(EXECUTION_RESULT | wrong_field)).findings
    in_portuguese = language(PORTUGUESE).text

    assert str(finding.expected) == expected_in_english
    assert in_portuguese(finding.expected) == expected
    assert in_portuguese(finding.got) == got
