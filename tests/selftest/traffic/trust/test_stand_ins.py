"""The table of what may stand in for a token: what is in it, on a sandbox and elsewhere, and how a family is halved.

A stand-in is what some services trust in the place of a token, such as a header with the name of a user. A family is a
group of headers with one meaning. They are sent in one request, then each half of them, until one header is left.
"""

from types import SimpleNamespace

import pytest

from environments.door.wrong_tokens import FORMS_FOR_SYNTHETIC_IDENTIFIERS, NO_HEADER, RESTORABLE_FORMS
from spec.exchange import VALID, Exchange, Request, Response
from spec.interface import KEY_TYPES, SYNTHETIC_PREFIX
from spec.log import Log
from tests.selftest.services.signed import SignsItsToken
from tests.traffic.trust.stand_ins import COOKIE, EVERYTHING, FAMILIES, QUERY, StandIn, cookies_of, stand_ins

SANDBOX = SimpleNamespace(is_sandbox=True, allow={"fuzz"}, proxy=None)
STAGING = SimpleNamespace(is_sandbox=False, allow={"fuzz"}, proxy=None)
BEHIND_A_PROXY = SimpleNamespace(is_sandbox=False, allow={"fuzz"}, proxy="http://proxy.example:3128")
TOKEN = SignsItsToken().token
OPERATIONS = ("executePix", "registerPixKey")
SESSION_COOKIES = (("SID", "0f6a2c9d81"),)
"""Name and value of the cookies that the service set."""
each_operation = pytest.mark.parametrize("operation", OPERATIONS)


def stand_ins_for(operation, profile, seed=0):
    """The stand-ins that a run with this seed sends to an operation, if the service set SESSION_COOKIES."""
    return list(stand_ins(operation, profile, TOKEN, SESSION_COOKIES, seed))


@each_operation
@pytest.mark.parametrize("profile", [SANDBOX, STAGING], ids=["a sandbox", "no sandbox"])
def test_each_family_of_headers_and_each_form_of_a_token_is_sent(operation, profile):
    """Each family of headers is sent in the place of a token, and so is each form of a wrong token that shows nothing
    of the valid one.

    A family is, for example, the headers with the address of the client. A form is, for example, an expired token. A
    query, a cookie, and all headers at once are sent, too. The valid token here is signed. Two forms are made only if
    the valid token is not signed, so they are not expected.
    """
    sent = stand_ins_for(operation, profile)
    names = {stand_in.name for stand_in in sent}
    credentials = {stand_in.credential for stand_in in sent}
    of_other_tokens = {f"an unsigned token ({word}) with other claims" for word in ("none", "NONE")}
    expected_forms = {form.name for form in FORMS_FOR_SYNTHETIC_IDENTIFIERS} - of_other_tokens

    assert names | credentials >= {*FAMILIES, QUERY, COOKIE, EVERYTHING, *expected_forms}


@each_operation
def test_no_stand_in_tells_the_token(operation):
    """A stand-in is what some services trust in the place of a token. None shows a part of the valid token, neither as
    a wrong token nor in a header or a query.
    """
    credentials = set()
    values = set()
    for stand_in in stand_ins_for(operation, STAGING):
        credentials.add(stand_in.credential)
        values |= {value for _, value in (*stand_in.headers, *stand_in.query)}
    values_that_show_the_token = [value for value in values if value in TOKEN or TOKEN in value]

    assert credentials & RESTORABLE_FORMS == set()
    assert values_that_show_the_token == []


@pytest.mark.parametrize(
    ("beginning_of_credential", "expected_types"),
    [("the text ", set(KEY_TYPES)), ("an empty bearer", set(KEY_TYPES) - {"EMAIL"})],
    ids=["a word as a token", "an empty token"],
)
def test_on_a_sandbox_each_key_type_gets_words_and_an_empty_bearer(beginning_of_credential, expected_types):
    """On a sandbox (a test system) registrations of each key type are sent with a word as the token, and with an empty
    token.

    A service may check the token for some key types only. E-mail addresses are registered with an empty token elsewhere.
    """
    sent = stand_ins_for("registerPixKey", SANDBOX)
    key_types = {stand_in.key_type for stand_in in sent if stand_in.credential.startswith(beginning_of_credential)}

    assert key_types == expected_types


def test_runs_with_other_seeds_pair_words_with_other_key_types():
    """Over some seeds each word is sent as the token with each key type, because a run has no room for all pairs.

    The words null and undefined are among them, although real keys are sent with them, too.
    """
    words = {"the text null", "the text undefined", "the text test", "the text dummy"}
    pairs = set()
    for seed in range(40):
        sent = stand_ins_for("registerPixKey", SANDBOX, seed)
        pairs |= {(stand_in.credential, stand_in.key_type) for stand_in in sent if stand_in.credential in words}

    assert pairs == {(word, key_type) for word in words for key_type in KEY_TYPES}


@each_operation
def test_ways_that_had_no_room_with_real_codes_are_stand_ins(operation):
    """On a sandbox, unusual ways to write a request are stand-ins if none was sent with a real code or key in that way.

    These ways keep the documented path. Off a sandbox all of them are stand-ins.
    """
    on_a_sandbox = stand_ins(operation, SANDBOX, TOKEN, SESSION_COOKIES, ways_sent={"a query"})
    off_a_sandbox = stand_ins(operation, STAGING, TOKEN, SESSION_COOKIES, ways_sent={"a query"})
    names_on_a_sandbox = {stand_in.name for stand_in in on_a_sandbox}
    names_off_a_sandbox = {stand_in.name for stand_in in off_a_sandbox}

    assert "another Accept" in names_on_a_sandbox
    assert "a query" not in names_on_a_sandbox
    assert {"another Accept", "a query"} <= names_off_a_sandbox


def test_off_a_sandbox_only_e_mail_keys_are_sent_with_a_stand_in():
    """A stand-in is what some services trust in the place of a token. Off a sandbox (a test system) it is sent only
    with registrations of the key type EMAIL.
    """
    key_types = {stand_in.key_type for stand_in in stand_ins_for("registerPixKey", STAGING)}

    assert key_types == {"EMAIL"}


@each_operation
def test_elsewhere_a_user_is_a_synthetic_one(operation):
    """Off a sandbox (a test system) a header that names a user has a name that the suite made up, because a service may
    know a usual one.

    So no header has the user `admin`, not even if all headers are sent at once.
    """
    users = set()
    all_values = set()
    for stand_in in stand_ins_for(operation, STAGING):
        all_values |= {value for _, value in stand_in.headers}
        users |= {value for name, value in stand_in.headers if name == "X-Authenticated-User"}

    assert users == {f"{SYNTHETIC_PREFIX}user"}
    assert all_values & {"admin", "1", "admin@localhost"} == set()


def test_another_host_is_named_only_without_a_proxy():
    """A request in which the header Host names this machine is sent straight to the service, and never through a proxy.

    A proxy may send a request to the machine that the header names.
    """
    hosts = {profile.proxy: set() for profile in (STAGING, BEHIND_A_PROXY)}
    for profile in (STAGING, BEHIND_A_PROXY):
        for stand_in in stand_ins_for("executePix", profile):
            hosts[profile.proxy] |= {value for name, value in stand_in.headers if name == "Host"}

    assert hosts == {None: {"localhost"}, BEHIND_A_PROXY.proxy: set()}


def test_a_session_is_sent_on_a_sandbox_alone():
    """Only on a sandbox (a test system) a cookie that the service set is sent in the place of a token.

    It has the last value that a success gave it. A cookie with an empty value is left out, because this is how a
    service deletes a cookie. Off a sandbox, or if the service set no cookie, usual names of a session are sent with a
    value that the suite made up.
    """
    request = Request("GET", "https://bank.example/v1/accounts", ())
    headers = (("Set-Cookie", "SID=old"), ("set-cookie", "SID=0f6a2c9d81; Path=/"), ("Set-Cookie", "gone="))
    success = Exchange(1, "listAccounts", request, Response(200, headers, b""), credential=VALID)
    refusal = Exchange(
        2, "listAccounts", request, Response(401, (("Set-Cookie", "SID=no"),), b""), credential=NO_HEADER
    )
    log = Log([success, refusal])
    cookies_off_a_sandbox = cookies_of(log, STAGING)

    assert cookies_of(log, SANDBOX) == (("SID", "0f6a2c9d81"),)
    assert {value for _, value in cookies_off_a_sandbox} == {f"{SYNTHETIC_PREFIX}session"}
    assert cookies_of(Log(), SANDBOX) == cookies_off_a_sandbox


def smallest_parts(stand_in):
    """The stand-ins with one header each that are left when a family of headers is halved again and again."""
    parts = stand_in.parts()
    if not parts:
        return [stand_in]
    smallest = []
    for part in parts:
        smallest += smallest_parts(part)
    return smallest


@pytest.mark.parametrize("name", FAMILIES)
def test_the_halves_of_a_family_are_its_headers_in_the_end(name):
    """A family is a group of headers that some services trust in the place of a token. To find the one that counts, the
    group is halved again and again. Each header is left once, alone and under its name. A family of one header, such as
    Host, is not halved, and keeps its name.
    """
    headers = FAMILIES[name]
    parts = smallest_parts(StandIn(name=name, headers=headers))
    expected_names = [header_name for header_name, _ in headers] if len(headers) > 1 else [name]

    assert [part.headers for part in parts] == [(header,) for header in headers]
    assert [part.name for part in parts] == expected_names


def test_all_that_a_gateway_sets_is_made_of_whole_families():
    """Headers that some services trust in the place of a token are grouped by their meaning (families). First all of
    them are sent at once, with a session cookie.

    If the service then answers as with a token, the cookie and each whole family are sent in a request of their own. No
    header is lost.
    """
    [everything] = [stand_in for stand_in in stand_ins_for("executePix", SANDBOX) if stand_in.name == EVERYTHING]
    headers_of_parts = [header for part in everything.parts() for header in part.headers]
    names_of_parts = {part.name for part in everything.parts()}

    assert sorted(headers_of_parts) == sorted(everything.headers)
    assert names_of_parts <= {COOKIE, *FAMILIES}


def test_a_query_of_two_members_is_halved_into_its_members():
    """If a query with two members is let in, the parts that are sent next have one member each."""
    query = StandIn(name=QUERY, query=(("a", "1"), ("b", "2")))

    assert [part.name for part in query.parts()] == ["?a=", "?b="]
