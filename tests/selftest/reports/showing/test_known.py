"""Known values in texts: in which forms they are found, and what is no match."""

import pytest

from environments.secret_values import Known
from reports.showing.known import KnownValues, encodings_of

SECRET = 'pa"ss\\wörd/+4'


def known_tokens(*tokens: str) -> KnownValues:
    """Values that a report must not show: these tokens. Each is found anywhere in a text and shown as `<token>`."""
    return KnownValues([Known("token", token, secret=True) for token in tokens])


def known_accounts(*accounts: str) -> KnownValues:
    """Values that a report must not show: these accounts. They are no secrets, and are shown as `<account>`."""
    return KnownValues([Known("account", account, secret=False) for account in accounts])


def test_a_value_is_looked_for_in_these_forms():
    """A secret value is looked for as it is and in seven encodings, because a service may repeat it in any of them.

    In base64 the last characters of a text depend on what follows it, so the value is looked for without them. The two
    alphabets of base64 differ only in two characters, which this value does not have.
    """
    forms = list(encodings_of(SECRET))

    assert forms == [
        'pa"ss\\wörd/+4',  # as it is
        "pa%22ss%5Cw%C3%B6rd%2F%2B4",  # percent-encoded
        "pa%22ss%5Cw%C3%B6rd/%2B4",  # percent-encoded except for the slash
        'pa\\"ss\\\\w\\u00f6rd/+4',  # JSON in ASCII
        'pa\\"ss\\\\wörd/+4',  # JSON
        'pa"ss\\\\wörd/+4',  # Python
        "cGEic3Ncd8O2cmQvKz",  # base64
        "cGEic3Ncd8O2cmQvKz",  # base64 for addresses
    ]


@pytest.mark.parametrize("form", dict.fromkeys(encodings_of(SECRET)))
def test_a_value_is_found_in_the_middle_of_a_text(form):
    """A known token is found in every encoding, also if other characters stand directly before and after it.

    `split` puts `<token>` in its place.
    """
    token = known_tokens(SECRET)

    parts = token.split(f"«{form}» ")

    assert token.has(f"x{form}x")
    assert parts == ["«", "<token>", "» "]


def test_an_account_is_not_found_within_a_longer_number():
    """An account of few digits is found only as a whole number, because a longer number may contain its digits by chance.

    `split` puts `<account>` in the place of the account. A text without the account stays one part.
    """
    account = known_accounts("12345")

    assert account.split("account 12345.") == ["account ", "<account>", "."]
    assert account.split("at 9123456") == ["at 9123456"]


def test_a_token_is_found_within_a_longer_number():
    """A token is a secret, so it is found anywhere, even if other digits stand around it."""
    assert known_tokens("12345").split("at 9123456") == ["at 9", "<token>", "6"]


def test_of_two_values_at_one_place_the_longer_one_is_found():
    """If two known accounts start at one place of a text, the longer one is found.

    Accounts are numbered in the order in which they became known: `<account>`, `<account 2>`.
    """
    parts = known_accounts("ac-0001", "ac-0001-b").split("ac-0001-b ac-0001")

    assert parts == ["", "<account 2>", " ", "<account>", ""]


def test_a_short_value_is_known_if_it_is_the_whole_text():
    """A token of few characters is found only if it is the whole text. Letter case makes no difference.

    `placeholder_of` gives `<token>` for a text that is the token, and an empty text for any other.
    """
    short_token = known_tokens("Ab1")

    assert short_token.placeholder_of("aB1") == "<token>"
    assert short_token.placeholder_of("Ab") == ""
    assert short_token.split("xx Ab1 xx") == ["xx Ab1 xx"]
