"""Which tax documents are masked. A visible one beside its own mask is not; anything else may stand beside a mask."""

import pytest

from spec.rules.tax_document import is_fully_masked, is_fully_visible

CPF, CNPJ, WITH_LETTERS = "123.456.789-09", "12.345.678/0001-95", "12.ABC.345/01DE-35"


@pytest.mark.parametrize(
    "document",
    [
        "12345678909", "123.456.789-09", "123 456 789 09", "111.111.111-11", "12.345.678/0001-95", "12345678000195",
        "12ABC34501DE35", "12.abc.345/01de-35", "１２３４５６７８９０９", "123-456-789–09", "123_456_789_09",
        "CPF 12345678909", "CNPJ: 12.345.678/0001-95", "123.456.789-09 (CPF)", "CPF4567890DE35",
    ],
)  # fmt: skip
def test_visible_documents(document):
    """11 or 14 characters with nothing masked, in any punctuation, with a label or none, and with any check digits."""
    assert is_fully_visible(document)


@pytest.mark.parametrize(
    "document",
    [
        "***.456.789-**", "XXX.456.789-XX", "xxx45678909", "###45678909", "•••45678000191", "***45678000191",
        "___45678000191", "...45678000191", "456.789", "789-09", "12345678", "XX.XXX.XXX/0001-XX", "", "1234567890",
        "CPF: 45678909", "CNPJ 456780001", "CPF/CNPJ: ***6789***", "CNPJ",
    ],
)  # fmt: skip
def test_masked_documents(document):
    """Any mask character, and truncation."""
    assert not is_fully_visible(document)


def test_fully_masked():
    """A document with no visible character is told from one that has some."""
    assert is_fully_masked("***.***.***-**")
    assert is_fully_masked("XXXXXXXXXXX")
    assert not is_fully_masked("***.***.***-09")


@pytest.mark.parametrize(
    "document",
    [
        f"***.456.789-** ({CPF})", "12345678909 / ***456789**", f"{CPF}/***.456.789-**", f"***.456.789-**/{CPF}",
        "***456789**-12345678909", "***456789**=12345678909", "***456789**|12345678909", "***456789**\n12345678909",
        f"CPF: ***.456.789-**, CPF {CPF}", f"***.456.789-** ({CPF}) em 01/02/2026", "12345678900 ***456789**",
        f"**.345.678/0001-** ({CNPJ})", "12345678000195 **.345.678/0001-**",
        f"**.ABC.345/01DE-** {WITH_LETTERS}", "12abc34501de35 **.abc.345/01de-**",
        f"XXX.456.789-XX {CPF}", "xxx45678909 12345678909", "___456789__ 12345678909", "...456789.. 12345678909",
        "🔒🔒🔒456789🔒🔒 12345678909", "   456789     12345678909", "*** 456 789 ** 12345678909",
        "*********09 12345678909", "*******900 12345678900", "***6789*** 12345678909", f"456.789 ({CPF})",
        "***456789** 1 2 3 4 5 6 7 8 9 0 9", "***456789** 123 456 789 09", "***456789** 12345678000195 12345678909",
        '{"masked": "***456789**", "full": "12345678909"}',
    ],
)  # fmt: skip
def test_a_document_beside_its_mask_is_visible(document):
    """In any order, style, punctuation and with any label: its characters agree with what the mask shows."""
    assert is_fully_visible(document)


@pytest.mark.parametrize(
    "document",
    [
        f"*********** {CPF}", "***.***.***-** (12345678909)", f"[hidden] {CPF}", f"{CPF} Maria Silva",
        "12345678909 12345678909", f"CPF {CPF} CNPJ {CNPJ}", "CPF/CNPJ: 12345678909", "CPF=12345678909",
        "１２３４５６７８９０９ ***456789**", "\u0661\u0662\u0663\u0664\u0665\u0666\u0667\u0668\u0669\u0660\u0669",
        "1\u200b2\u200b3\u200b45678909", "123\u00ad456\u00ad789\u00ad09", "123\u00a0456\u00a0789\u00a009",
        "&#49;23.456.789-09", "***456789** &#x31;&#50;&#51;45678909", "1\u03362\u03363\u033645678909",
    ],
)  # fmt: skip
def test_no_way_of_writing_hides_a_document(document):
    """A document beside words or a mask of everything, and one in wide digits, in entities or with unseen characters."""
    assert is_fully_visible(document)


@pytest.mark.parametrize(
    "document",
    [
        "***.456.789-** 98765432100", "98765432100 / ***456789**", "***.456.789-** (protocolo 20260101123)",
        "***.456.789-** 111.444.777-35", "*********09 98765432101", "**.345.678/0001-** 98765432000188",
        "*********** 20260101124", "[hidden] (20260101124)", "XX.XXX.345/0001-XX 20260101124",
        "***.456.789-** +55 11 91234-5678", "***.456.789-** 12/05/2026 10:11:12.123", "***.456.789-09 123",
        "***456789** 5F2B8C9D0E1A77", "***.456.789-** sha256:5f2b8c9d0e1a77", "sha256:5f2b8c9d0e1a77", "sha256:5f2b…/09",
        "***456789** ***456789**", "***.456.789-** / **.345.678/0001-**", "***.456.789-** Maria Silva, 2026",
        "456.789 20260101123", "123 98765432100", "ends in 1234", "hidden, last 0195",
        "*12345678909", "*123.456.789-09", "12345678900*", "1**45678000191", "12.345.678/000*-95",
        "&bull;&bull;&bull;456789&bull;&bull;", "***\u200b456789**",
    ],
)  # fmt: skip
def test_what_is_something_else_is_lawful(document):
    """A number that the mask contradicts, a hash, a time, another mask; and one mask character is a mask."""
    assert not is_fully_visible(document)


@pytest.mark.parametrize("text", ["1 " * 3_000, "*1" * 3_000, "&#49;" * 20_000, "12ABC34501DE35 " * 300])
def test_a_long_text_is_read_in_part(text):
    """Only the beginning of a field counts."""
    assert is_fully_visible(text) is is_fully_visible(text[:200])
