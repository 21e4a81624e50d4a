"""The registry of secrets: one call has a value guarded by the door and hidden in output."""

import pytest

from environments.credentials import Target
from environments.door.wrong_tokens import wrong_tokens
from environments.secret_values import Secrets
from reports.showing.show import Display
from tests.selftest.services.one_run import CODE
from tests.selftest.services.signed import SignsItsToken

TOKEN, WRONG_TOKEN = "first-Token_0f.9d8c7b6a5e", "then-Another.Token-71c2d3e4f5"


@pytest.fixture
def secrets():
    """A registry that knows a token."""
    secrets = Secrets()
    secrets.learn_token(TOKEN)
    return secrets


def test_a_code_that_becomes_known_is_guarded_and_hidden(manual_run):
    """After one call the door enters the code in the journal before it sends it, and output hides it."""
    display = Display(manual_run.secrets)
    shown_before = display.without_known_values("PREPARED-77")
    manual_run.secrets.learn("code", "PREPARED-77")
    manual_run.execute("PREPARED-77")

    assert shown_before == "PREPARED-77"
    assert manual_run.door.secrets.codes == {CODE, "SBX-EMAIL-1", "PREPARED-77"}
    assert manual_run.outcomes_in_journal[0] == "sent"
    assert display.without_known_values("PREPARED-77") == "<code 3>"


def test_a_token_that_is_fetched_again_is_sent_and_hidden(secrets):
    """After a refresh the next request carries the new token, and output shows neither the new nor the old one."""
    target = Target("http://127.0.0.1", secrets, fetch=lambda: WRONG_TOKEN)
    display = Display(secrets)
    shown_before = display.without_known_values(f"{TOKEN} {WRONG_TOKEN}")

    assert target.refresh()
    assert not target.refresh()
    assert secrets.token() == WRONG_TOKEN
    assert shown_before == f"<token> {WRONG_TOKEN}"
    assert display.without_known_values(f"{TOKEN} {WRONG_TOKEN} {WRONG_TOKEN.swapcase()}") == "<token> <token> <token>"


def test_wrong_tokens_and_claims_of_a_token_are_hidden(secrets):
    """Wrong tokens that are made from the token are hidden, and so are its claims."""
    token = SignsItsToken().token
    secrets.learn_token(token)

    shown = Display(secrets).without_known_values(
        f"{token.split('.')[1]}; {wrong_tokens(token)['a wrong token (of a JWT: another signature)']}"
    )

    assert shown == "<token>; <another token>"


def test_a_registry_shows_nothing_of_itself(secrets):
    """The repr of the registry has no value, and neither has that of its entries."""
    assert [text for text in map(repr, (secrets, *secrets.known)) if TOKEN in text] == []
