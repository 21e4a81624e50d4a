"""The table of what may stand in for a token: what is in it, on a sandbox and elsewhere, and how a family is halved."""

from types import SimpleNamespace

import pytest

from environments.door.wrong_tokens import FORMS_FOR_SYNTHETIC_IDENTIFIERS, NO_HEADER, RESTORABLE
from spec.exchange import VALID, Exchange, Request, Response
from spec.interface import KEY_TYPES, SYNTHETIC_PREFIX
from spec.log import Log
from tests.selftest.services.signed import SignsItsToken
from tests.traffic.trust.stand_ins import COOKIE, EVERYTHING, FAMILIES, QUERY, StandIn, cookies_of, stand_ins

SANDBOX = SimpleNamespace(is_sandbox=True, allow={"fuzz"})
STAGING = SimpleNamespace(is_sandbox=False, allow={"fuzz"})
TOKEN = SignsItsToken().token
OPERATIONS = ("executePix", "registerPixKey")
SET = (("SID", "0f6a2c9d81"),)
each_operation = pytest.mark.parametrize("operation", OPERATIONS)


def names_and_forms(found):
    """The names and the credentials of stand-ins."""
    return {stand_in.name for stand_in in found} | {stand_in.credential for stand_in in found}


@each_operation
@pytest.mark.parametrize("profile", [SANDBOX, STAGING], ids=["a sandbox", "no sandbox"])
def test_each_family_and_each_form_goes_once_at_least(operation, profile):
    """Of a signed token all forms but that of a text, which has the forms of its own."""
    found = names_and_forms(stand_ins(operation, profile, TOKEN, SET))
    forms = {form.name for form in FORMS_FOR_SYNTHETIC_IDENTIFIERS} - {"an unsigned token (none) with other claims"}

    assert found >= {*FAMILIES, QUERY, COOKIE, EVERYTHING, *forms}


@each_operation
def test_no_stand_in_tells_the_token(operation):
    """Neither its form nor its headers, nor its query."""
    found = stand_ins(operation, STAGING, TOKEN, SET)
    values = {value for stand_in in found for _, value in (*stand_in.headers, *stand_in.query)}

    assert not RESTORABLE & {stand_in.credential for stand_in in found}
    assert not [value for value in values if value in TOKEN or TOKEN in value]


def test_on_a_sandbox_each_key_type_gets_words_and_an_empty_bearer():
    """A check may depend on the key type of a registration."""
    found = stand_ins("registerPixKey", SANDBOX, TOKEN, SET)
    with_a_word = {stand_in.key_type for stand_in in found if stand_in.credential.startswith("the text ")}

    assert with_a_word == set(KEY_TYPES)
    assert {stand_in.key_type for stand_in in found if stand_in.credential == "an empty bearer"} == set(KEY_TYPES)
    assert {stand_in.key_type for stand_in in stand_ins("registerPixKey", STAGING, TOKEN, SET)} == {"EMAIL"}


@each_operation
def test_elsewhere_a_user_is_a_synthetic_one(operation):
    """Nobody is asked for in the name of a user whom a service may know."""
    found = [each for each in stand_ins(operation, STAGING, TOKEN, SET) if "user" in each.name]
    everything = [each for each in stand_ins(operation, STAGING, TOKEN, SET) if each.name == EVERYTHING]

    assert {value for each in found for _, value in each.headers} == {f"{SYNTHETIC_PREFIX}user"}
    assert "admin" not in {value for each in everything for _, value in each.headers}


def test_a_session_is_sent_on_a_sandbox_alone():
    """The last cookie of each name; elsewhere, or where none is set, usual names with a synthetic value."""
    headers = (("Set-Cookie", "SID=old"), ("set-cookie", "SID=0f6a2c9d81; Path=/"), ("Set-Cookie", "gone="))
    request = Request("GET", "https://bank.example/v1/accounts", ())
    answered = Exchange(1, "listAccounts", request, Response(200, headers, b""), credential=VALID)
    refused = Exchange(
        2, "listAccounts", request, Response(401, (("Set-Cookie", "SID=no"),), b""), credential=NO_HEADER
    )
    log = Log([answered, refused])

    assert cookies_of(log, SANDBOX) == SET
    assert {value for _, value in cookies_of(log, STAGING)} == {f"{SYNTHETIC_PREFIX}session"}
    assert cookies_of(Log(), SANDBOX) == cookies_of(log, STAGING)


def leaves(stand_in):
    """What is left when a family is halved to its end."""
    parts = stand_in.parts()
    return [leaf for part in parts for leaf in leaves(part)] if parts else [stand_in]


@pytest.mark.parametrize("name", FAMILIES)
def test_the_halves_of_a_family_are_its_headers_in_the_end(name):
    """Each once, with its value and its name."""
    family = StandIn(name=name, headers=FAMILIES[name])
    found = leaves(family)

    assert [leaf.headers for leaf in found] == [(header,) for header in FAMILIES[name]]
    assert [leaf.name for leaf in found] == [header for header, _ in FAMILIES[name]]


def test_all_that_a_gateway_sets_is_made_of_whole_families():
    """And a query of its members."""
    [everything] = [each for each in stand_ins("executePix", SANDBOX, TOKEN, SET) if each.name == EVERYTHING]
    query = StandIn(name=QUERY, query=(("a", "1"), ("b", "2")))

    assert sorted(header for part in everything.parts() for header in part.headers) == sorted(everything.headers)
    assert {part.name for part in everything.parts()} <= set(FAMILIES)
    assert [part.name for part in query.parts()] == ["?a=", "?b="]
