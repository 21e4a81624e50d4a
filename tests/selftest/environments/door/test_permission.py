"""Permission to send a request: it depends on the operation, the code in the path and the kind of token.

A synthetic identifier is one that the suite made up, so it is nobody's. It begins with a mark (`SYNTHETIC_PREFIX`).
"""

import pytest
import requests

from environments.door.outgoing import Intent, Sending
from environments.door.permission import ForbiddenError, Permission, synthetic
from environments.door.wrong_tokens import RESTORABLE_FORMS
from environments.secret_values import Secrets
from spec.interface import SYNTHETIC_PREFIX

BASE = "https://bank.example/pix"
KNOWN_CODE, UNKNOWN_CODE = "TX-1", "TX-2"
"""The only real transaction code that the run knows, and another one."""
EXECUTE = f"{BASE}/v1/execute/pix"


def raise_if_forbidden(method, url, allow=("read", "execute"), *, credential="valid", with_token=True):
    """Raise ForbiddenError if a request may not be sent with these permissions."""
    request = requests.Request(method, url).prepare()
    sending = Sending(request, Intent("", credential=credential), with_token=with_token)
    permission = Permission(BASE, frozenset(allow), Secrets({"code": (KNOWN_CODE,)}))
    sending.path = permission.path_below_base_url(request)
    permission.check(sending)


@pytest.mark.parametrize(
    ("method", "url", "reason"),
    [
        ("GET", "https://other.example/pix/v1/accounts", "a request to another origin than base_url"),
        ("GET", "http://bank.example/pix/v1/accounts", "a request to another origin than base_url"),
        ("GET", f"{BASE}/v1/nothing", "an undocumented path that is not synthetic"),
        ("POST", f"{BASE}/v1/pix/keys/ac-1", "POST needs register-keys in allow"),
        ("GET", f"{EXECUTE}/{UNKNOWN_CODE}", "a transaction code that is neither known nor synthetic"),
        ("GET", f"{EXECUTE}/x/{KNOWN_CODE}", "an undocumented path that is not synthetic"),
        ("HEAD", f"{EXECUTE}/{UNKNOWN_CODE}", "a transaction code that is neither known nor synthetic"),
    ],
    ids=[
        "another host",
        "another scheme",
        "an undocumented path",
        "an operation that is not allowed",
        "an unknown code",
        "a known code behind another path segment",
        "an unknown code with another method",
    ],
)
def test_a_request_without_permission_is_refused(method, url, reason):
    """The profile (the settings of the run) allows reads and executions, so a request to register a key is refused.

    So is a request to another origin than that of the service, to an undocumented path, or with a transaction code that
    the profile does not have. The method GET alone permits nothing, because a GET executes a transfer.
    """
    with pytest.raises(ForbiddenError, match=f"^{reason}"):
        raise_if_forbidden(method, url)


@pytest.mark.parametrize(
    ("url", "with_token"),
    [
        (f"{BASE}/v1/accounts", True),
        (f"{BASE}/v1/{SYNTHETIC_PREFIX}1", True),
        (f"{EXECUTE}/{KNOWN_CODE}", True),
        (f"{EXECUTE}/{SYNTHETIC_PREFIX}1", True),
        (f"{EXECUTE}//{KNOWN_CODE}", False),
    ],
    ids=[
        "a read",
        "an undocumented path that the suite made up",
        "a known code",
        "a code that the suite made up",
        "a known code in another spelling of its path, without the token",
    ],
)
def test_a_request_with_permission_is_not_refused(url, with_token):
    """The profile (the settings of the run) allows reads and executions, so none of these requests raises
    ForbiddenError.

    Identifiers with the prefix of the suite (SYNTHETIC_PREFIX) are made up and belong to nobody. Another spelling of a
    path may be sent without the token, to see if the service refuses it.
    """
    raise_if_forbidden("GET", url, with_token=with_token)


def test_without_the_permission_of_an_operation_nothing_is_sent_to_it():
    """The profile (the settings of the run) allows reads alone. So not even a made-up code is sent to the execution."""
    with pytest.raises(ForbiddenError, match=r"^GET needs execute in allow"):
        raise_if_forbidden("GET", f"{EXECUTE}/{SYNTHETIC_PREFIX}1", allow=("read",))


@pytest.mark.parametrize("credential", sorted(RESTORABLE_FORMS))
def test_a_wrong_token_that_shows_the_right_one_needs_the_permission_fuzz(credential):
    """From some wrong tokens, such as the right token cut short, everybody who sees them can restore the right one.

    The run sends them only if the profile (its settings) allows `fuzz`.
    """
    with pytest.raises(ForbiddenError, match="needs fuzz in allow"):
        raise_if_forbidden("GET", f"{BASE}/v1/accounts", credential=credential)
    raise_if_forbidden("GET", f"{BASE}/v1/accounts", allow=("read", "fuzz"), credential=credential)


@pytest.mark.parametrize(
    ("url", "code"),
    [
        (f"{EXECUTE}/TX%2F1", "TX/1"),
        (f"{EXECUTE}/TX%2F1/x", "TX/1"),
        (f"{EXECUTE}/{SYNTHETIC_PREFIX}1", None),
    ],
    ids=["the code", "the code before another segment", "a code that the suite made up"],
)
def test_a_known_code_is_found_in_a_path_although_it_is_percent_encoded(url, code):
    """The run knows the transaction code TX/1, whose slash is %2F in a path. It recognises each request with that code."""
    permission = Permission(BASE, frozenset(), Secrets({"code": ("TX/1",)}))
    request = requests.Request("GET", url).prepare()

    assert permission.code_in(request) == code


def test_an_identifier_that_the_suite_makes_up_is_new_each_time():
    """`synthetic` makes up an identifier, such as a code. It begins with a prefix by which everybody recognises it."""
    first_identifier, second_identifier = synthetic(), synthetic()

    assert first_identifier != second_identifier
    assert first_identifier.startswith(SYNTHETIC_PREFIX)
