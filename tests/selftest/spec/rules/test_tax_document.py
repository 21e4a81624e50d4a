"""Which tax documents are masked. A visible one beside its own mask is not; anything else may stand beside a mask."""

from pathlib import Path

import pytest

from spec.requirements import read_yaml
from spec.rules.tax_document import is_fully_visible, lost_its_zeros

DOCUMENTS = read_yaml(Path(__file__).with_name("masking.yaml"))


@pytest.mark.parametrize("section", DOCUMENTS)
def test_documents(section):
    """11 or 14 characters with nothing masked are visible, whatever stands beside or between them; a mask, a truncation
    and a number that is no document are lawful. Fewer digits are visible, too, if only leading zeros are missing."""
    documents = [(reason, document) for reason, documents in DOCUMENTS[section].items() for document in documents]
    visible = [entry for entry in documents if is_fully_visible(entry[1]) or lost_its_zeros(entry[1])]

    assert visible == (documents if section == "visible" else [])


def test_a_long_text_is_read_in_part():
    """The rule reads only the beginning of a field."""
    for text in ("1 " * 300, "12ABC34501DE35 " * 30):
        assert is_fully_visible(text) is is_fully_visible(text[:200])
