"""Which tax documents are masked. A visible one beside its own mask is not; anything else may stand beside a mask."""

from pathlib import Path

import pytest
import yaml

from spec.rules.tax_document import is_fully_masked, is_fully_visible

DOCUMENTS = yaml.safe_load(Path(__file__).with_name("masking.yaml").read_text("utf-8"))


def by_reason(what):
    """The documents of a section of masking.yaml, each with its reason."""
    return [(reason, document) for reason, documents in DOCUMENTS[what].items() for document in documents]


@pytest.mark.parametrize(("reason", "document"), by_reason("visible"))
def test_visible_documents(reason, document):
    """11 or 14 characters with nothing masked are visible, whatever stands beside or between them."""
    assert is_fully_visible(document), reason


@pytest.mark.parametrize(("reason", "document"), by_reason("masked"))
def test_masked_documents(reason, document):
    """A mask, a truncation, and a number that is no document are lawful."""
    assert not is_fully_visible(document), reason


def test_fully_masked():
    """A document with no visible character is told from one that has some."""
    assert is_fully_masked("***.***.***-**")
    assert is_fully_masked("XXXXXXXXXXX")
    assert not is_fully_masked("***.***.***-09")


@pytest.mark.parametrize("text", ["1 " * 3_000, "*1" * 3_000, "&#49;" * 20_000, "12ABC34501DE35 " * 300])
def test_a_long_text_is_read_in_part(text):
    """Only the beginning of a field counts."""
    assert is_fully_visible(text) is is_fully_visible(text[:200])
