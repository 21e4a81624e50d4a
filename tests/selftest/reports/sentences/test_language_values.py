"""Numbers and moments in the languages of the report."""

import pytest

from reports.sentences.language import ENGLISH, language

PORTUGUESE = "pt-BR"


@pytest.mark.parametrize(
    ("number", "english", "portuguese"),
    [(0, "0", "0"), (12.25, "12.25", "12,25"), (1_234_567, "1234567", "1.234.567"), (0.5, "0.5", "0,5")],
)
def test_a_number_is_a_text_in_every_language(number, english, portuguese):
    """With the signs of the language."""
    assert language(ENGLISH).number(number) == english
    assert language(PORTUGUESE).number(number) == portuguese


def test_a_moment_is_a_text_in_every_language():
    """Elsewhere than in English day before month; always UTC."""
    assert language(ENGLISH).moment("2026-11-20T09:30:00Z") == "2026-11-20 09:30:00 UTC"
    assert language(PORTUGUESE).moment("2026-11-20T09:30:00Z") == "20/11/2026 09:30:00 UTC"
