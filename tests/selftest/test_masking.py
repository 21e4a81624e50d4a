"""Which tax documents are masked. A visible one beside its own mask is not; anything else may stand beside a mask."""

from pathlib import Path

import pytest

from spec.requirements import read_yaml
from spec.rules.tax_document import is_fully_visible

DOCUMENTS = read_yaml(Path(__file__).with_name("masking.yaml"))


@pytest.mark.parametrize("section", DOCUMENTS)
def test_documents(section):
    """11 or 14 characters with nothing masked are visible, whatever stands beside or between them; a mask, a truncation
    and a number that is no document are lawful."""
    found = [(reason, each) for reason, documents in DOCUMENTS[section].items() for each in documents]

    assert [one for one in found if is_fully_visible(one[1]) is (section == "masked")] == []


def test_a_long_text_is_read_in_part():
    """Only the beginning of a field counts."""
    for text in ("1 " * 300, "12ABC34501DE35 " * 30):
        assert is_fully_visible(text) is is_fully_visible(text[:200])
