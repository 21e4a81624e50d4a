"""Permission to send a request: it depends on the operation, the code in the path and the kind of token.

A synthetic identifier is one that the suite made up, so it is nobody's. It begins with a mark (`SYNTHETIC_PREFIX`).
"""

import pytest
import requests

from environments.door.outgoing import Intent, Sending
from environments.door.permission import ForbiddenError, Permission, synthetic
from environments.door.wrong_tokens import RESTORABLE
from environments.secret_values import Secrets
from spec.interface import SYNTHETIC_PREFIX

BASE = "https://bank.example/pix"
CODE = "TX-1"
"""The only real code that the run knows."""
EXECUTE = f"{BASE}/v1/execute/pix"


def check_permission(method, url, allow=("read", "execute"), *, credential="valid", with_token=True):
    """Raise ForbiddenError if a request may not be sent with these permissions."""
    request = requests.Request(method, url).prepare()
    sending = Sending(request, Intent("", credential=credential), with_token=with_token)
    permission = Permission(BASE, frozenset(allow), Secrets({"code": (CODE,)}))
    sending.path = permission.path(request)
    permission.check(sending)


@pytest.mark.parametrize(
    ("method", "url", "why"),
    [
        ("GET", "https://other.example/pix/v1/accounts", "a request to another origin than base_url"),
        ("GET", "http://bank.example/pix/v1/accounts", "a request to another origin than base_url"),
        ("GET", f"{BASE}/v1/nothing", "an undocumented path that is not synthetic"),
        ("POST", f"{BASE}/v1/pix/keys/ac-1", "POST needs register-keys in allow"),
        ("GET", f"{EXECUTE}/TX-2", "a transaction code that is neither known nor synthetic"),
        ("GET", f"{EXECUTE}/x/{CODE}", "an undocumented path that is not synthetic"),
        ("HEAD", f"{EXECUTE}/TX-2", "a transaction code that is neither known nor synthetic"),
    ],
)
def test_a_request_without_permission_is_refused(method, url, why):
    """Each request is refused with its reason, although reads and executions are allowed.

    Permission depends on the operation and not on the method, because a GET executes a transfer. Another origin is
    refused, and so are paths and codes that nobody supplied.
    """
    with pytest.raises(ForbiddenError, match=f"^{why}"):
        check_permission(method, url)


@pytest.mark.parametrize(
    ("url", "with_token"),
    [
        (f"{BASE}/v1/accounts", True),
        (f"{BASE}/v1/{SYNTHETIC_PREFIX}1", True),
        (f"{EXECUTE}/{CODE}", True),
        (f"{EXECUTE}/{SYNTHETIC_PREFIX}1", True),
        (f"{EXECUTE}//{CODE}", False),
    ],
)
def test_a_request_with_permission_passes(url, with_token):
    """No error is raised for a known code and for synthetic identifiers.

    Without the token a known code may also be sent in another spelling of its path, to see if the service refuses it.
    """
    check_permission("GET", url, with_token=with_token)


def test_without_the_permission_of_an_operation_nothing_is_sent_to_it():
    """The profile allows reads alone, so not even a code that the suite made up is sent to the execution."""
    with pytest.raises(ForbiddenError, match=r"^GET needs execute in allow"):
        check_permission("GET", f"{EXECUTE}/{SYNTHETIC_PREFIX}1", allow=("read",))


def test_a_wrong_token_that_shows_the_token_needs_fuzz():
    """Whoever sees such a wrong token can restore the right one, for example from the token cut short.

    It is sent only with the permission `fuzz`.
    """
    credential = min(RESTORABLE)  # any of them
    with pytest.raises(ForbiddenError, match="needs fuzz in allow"):
        check_permission("GET", f"{BASE}/v1/accounts", credential=credential)
    check_permission("GET", f"{BASE}/v1/accounts", allow=("read", "fuzz"), credential=credential)


def test_a_known_code_is_found_in_a_path_although_it_is_percent_encoded():
    """It is also found if another segment follows. For a code that the suite made up, no real code is found."""
    permission = Permission(BASE, frozenset(), Secrets({"code": ("TX/1",)}))
    urls = (f"{EXECUTE}/TX%2F1", f"{EXECUTE}/TX%2F1/x", f"{EXECUTE}/{SYNTHETIC_PREFIX}1")
    codes = [permission.code_in(requests.Request("GET", url).prepare()) for url in urls]

    assert codes == ["TX/1", "TX/1", None]


def test_a_synthetic_identifier_is_new_each_time():
    """Two calls give two identifiers. They begin with the mark of the suite."""
    assert synthetic() != synthetic()
    assert synthetic().startswith(SYNTHETIC_PREFIX)
