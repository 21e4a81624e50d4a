"""The registry of secrets (`Secrets`): what it knows is guarded by the door, and hidden in output."""

import pytest

from environments.credentials import Target
from environments.door.wrong_tokens import wrong_tokens
from environments.secret_values import Secrets
from reports.showing.show import Display
from tests.selftest.services.one_run import CODE, OTHER_CODE
from tests.selftest.services.signed import SignsItsToken

TOKEN, NEXT_TOKEN = "first-Token_0f.9d8c7b6a5e", "then-Another.Token-71c2d3e4f5"


@pytest.fixture
def secrets():
    """A registry that knows a token."""
    secrets = Secrets()
    secrets.learn_token(TOKEN)
    return secrets


def test_a_code_that_becomes_known_is_hidden_in_output(manual_run):
    """A run knows two transaction codes and learns a third one, for example because a service prepared a transfer.

    Before that, the text of the code is shown as any other text. Afterwards its number is shown in its place.
    """
    display = Display(manual_run.secrets)
    shown_before = display.without_known_values("PREPARED-77")
    manual_run.secrets.learn("code", "PREPARED-77")
    shown_afterwards = display.without_known_values("PREPARED-77")

    assert shown_before == "PREPARED-77"
    assert shown_afterwards == "<code 3>"


def test_a_code_that_becomes_known_is_written_to_the_journal_before_it_is_sent(manual_run):
    """A run knows two transaction codes and learns a third one. From then on the door, through which every request
    goes, guards it: before the code is sent, the journal says so.

    The journal is the file from which later runs know which codes were sent.
    """
    manual_run.secrets.learn("code", "PREPARED-77")
    manual_run.execute("PREPARED-77")
    first_outcome, *_ = manual_run.outcomes_in_journal

    assert manual_run.door.secrets.codes == {CODE, OTHER_CODE, "PREPARED-77"}
    assert first_outcome == "sent"


def test_a_token_that_is_fetched_again_replaces_the_old_one(secrets):
    """`refresh` fetches a token, and returns True if it is another one than the run has. A second refresh gets the same
    token.
    """
    target = Target("http://127.0.0.1", secrets, fetch_token=lambda: NEXT_TOKEN)
    results_of_refresh = [target.refresh(), target.refresh()]

    assert results_of_refresh == [True, False]
    assert secrets.token() == NEXT_TOKEN


def test_output_shows_neither_the_new_nor_the_old_token(secrets):
    """A run knows one token and then fetches another one. Both are hidden from then on, in any letter case."""
    target = Target("http://127.0.0.1", secrets, fetch_token=lambda: NEXT_TOKEN)
    display = Display(secrets)
    shown_before = display.without_known_values(f"{TOKEN} {NEXT_TOKEN}")

    target.refresh()
    shown_afterwards = display.without_known_values(f"{TOKEN} {NEXT_TOKEN} {NEXT_TOKEN.swapcase()}")

    assert shown_before == f"<token> {NEXT_TOKEN}"
    assert shown_afterwards == "<token> <token> <token>"


def test_wrong_tokens_and_claims_of_a_token_are_hidden(secrets):
    """The token is a JWT: a header, claims and a signature with dots between them. Its claims name a user.

    The suite makes wrong tokens from it, to see if the service refuses them. Output hides both.
    """
    token = SignsItsToken().token
    secrets.learn_token(token)
    _, claims, _ = token.split(".")
    wrong_token = wrong_tokens(token)["a wrong token (of a JWT: another signature)"]
    shown = Display(secrets).without_known_values(f"{claims}; {wrong_token}")

    assert shown == "<token>; <another token>"


def test_a_registry_shows_nothing_of_itself(secrets):
    """`Secrets` knows the token. Its repr may appear in a traceback, and so may the repr of its entries. Neither has
    the token.
    """
    texts = [repr(secrets), *map(repr, secrets.known)]

    assert [text for text in texts if TOKEN in text] == []
