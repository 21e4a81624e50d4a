"""Which tax documents are masked. A visible one beside its own mask is not; anything else may stand beside a mask."""

from itertools import chain
from pathlib import Path

import pytest

from spec.requirements import read_yaml
from spec.rules.tax_document import is_fully_visible, lacks_leading_zeros

DOCUMENTS = read_yaml(Path(__file__).with_name("masking.yaml"))


def is_visible(document):
    """True if every character of the tax document can be seen, perhaps without its leading zeros."""
    return is_fully_visible(document) or lacks_leading_zeros(document)


def documents_of(section):
    """All tax documents in a section of masking.yaml, which has them by the reason."""
    return list(chain.from_iterable(DOCUMENTS[section].values()))


SECTIONS_THAT_ARE_NOT_VISIBLE = [section for section in DOCUMENTS if section != "visible"]
DOCUMENTS_THAT_ARE_NOT_VISIBLE = list(chain.from_iterable(map(documents_of, SECTIONS_THAT_ARE_NOT_VISIBLE)))


@pytest.mark.parametrize("document", documents_of("visible"))
def test_a_tax_document_without_hidden_characters_is_visible(document):
    """The document says that a tax document is returned partly hidden. One of 11 or 14 characters has nothing hidden.

    That is so whatever stands beside or between them. Fewer digits are visible, too, if only leading zeros are missing.
    """
    assert is_visible(document)


@pytest.mark.parametrize("document", DOCUMENTS_THAT_ARE_NOT_VISIBLE)
def test_a_masked_or_cut_tax_document_is_not_visible(document):
    """The document says that a tax document is returned partly hidden (masked). It may also be cut.

    A number that is no tax document is not visible, either.
    """
    assert not is_visible(document)


@pytest.mark.parametrize("text", ["1 " * 300, "12ABC34501DE35 " * 30], ids=["digits", "tax documents"])
def test_only_the_beginning_of_a_long_text_is_searched_for_a_tax_document(text):
    """Only the first 200 characters of a field are searched for a tax document, so that a long field costs no time."""
    assert is_fully_visible(text) is is_fully_visible(text[:200])
