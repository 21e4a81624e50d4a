"""Valid requests that do nothing are under way beside requests that must be refused."""

import threading
from functools import partial

import pytest

import tests.selftest.proof.mutants  # noqa: F401 - registers its services
from environments.profiles.loading import load
from spec.answers import registered
from spec.requirements import requirements
from tests.selftest.proof.registry import MUTANTS
from tests.selftest.services.one_run import Run
from tests.selftest.services.racing import HANGS_S
from tests.selftest.services.running import write_profile
from tests.selftest.services.serving import Raw, served_by
from tests.traffic.registration import register
from tests.traffic.scenario import Traffic, reach_of
from tests.traffic.together import Together

EMAIL = "qa@example.com"
PROBED = pytest.mark.parametrize("operation", ["executePix", "registerPixKey"])


class HoldsProbes(Raw):
    """Answers what has no token when a request with the token has come."""

    def __init__(self):
        super().__init__()
        self.has_come = threading.Event()
        self.comes = self.has_come.set

    def answer(self, connection, request):
        if self.is_granted(request):
            self.comes()
        else:
            self.has_come.wait(HANGS_S)
        super().answer(connection, request)

    @property
    def probes(self):
        return [seen for seen in self.seen if not self.is_granted(seen)]

    @property
    def companions(self):
        return [seen for seen in self.seen if self.is_granted(seen)]


@pytest.fixture
def beside(service, tmp_path):
    a_run = Run(service, tmp_path, parallel=4)
    return Together(a_run.client)


def probe_of(beside, operation):
    return partial(beside._client.send, operation, "pixconf-1", credential="no header")


@PROBED
@served_by(HoldsProbes)
def test_a_companion_has_the_token_and_names_nobody(operation, service, beside):
    """It goes to the same operation, with a synthetic code, or an empty body for a synthetic account."""
    [answer] = beside.send_each_with_a_companion(operation, probe_of(beside, operation))

    assert answer.response.status == 401
    [probe], body = service.probes, b"" if operation == "executePix" else b"{}"
    assert [companion.body for companion in service.companions] in ([body], [body] * 2)
    for companion in service.companions:
        assert companion.path.rpartition("/")[0] == probe.path.rpartition("/")[0]
        assert companion.path.rpartition("/")[2].startswith("pixconf-")


# -- a read beside a registration ------------------------------------------------------------------------------


def registered_beside(name, service, tmp_path, parallel=4, **changes):
    """What a run registers that has one key, with a service that answers otherwise where a read meets a registration."""
    token, service.service = service.service.token, MUTANTS.specimens[name].make()
    service.service.token = token
    path = write_profile(tmp_path, service.base_url, pix_keys=[{"type": "EMAIL", "key": EMAIL}], **changes)
    a_run, profile = Run(service, tmp_path, parallel=parallel), load(str(path), folder=tmp_path)
    return register.send(Traffic(a_run.client, profile, reach_of(requirements(), profile)))


def is_a_page(exchange):
    return not exchange.response.json.readable


def test_the_list_is_read_while_a_registration_is_granted(service, tmp_path):
    """Also where the profile has one key, which no other one can be registered beside. No other list is read then."""
    found = registered_beside("ListIsAPageBesideARegistration", service, tmp_path)

    assert [(seen.operation, is_a_page(seen)) for seen in found.read_beside] == [("listPixKeys", True)]
    assert (found.lost, found.broken) == ([], {})


@pytest.mark.parametrize(
    ("parallel", "changes"),
    [(1, {}), (4, {"allow": ["register-keys", "delete-keys"]})],
    ids=["one at a time", "no reads"],
)
def test_the_list_is_not_read_on_purpose(parallel, changes, service, tmp_path):
    """Where one request goes at a time, or the profile permits no read."""
    found = registered_beside("RegistrationIsTheListItMeets", service, tmp_path, parallel, **changes)

    assert found.read_beside == []
    assert all(map(registered, found.fresh))
