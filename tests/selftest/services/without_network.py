"""A run without a network, to see which requests the run itself refuses to send."""

import json
from dataclasses import replace

from environments.door.opening import open_client, open_door_for_plan
from spec.exchange import Response
from tests.selftest.services.one_run import profile_of_bank, profile_of_sandbox

OWN_ACCOUNT, RECEIVING_ACCOUNT = "ac-0001", "ac-9999"
ALLOWED = ["read", "register-keys", "delete-keys", "create-pix", "transfer"]
BODIES = {
    "deletePixKey": {"json": {"pixKey": "{key}", "kind": "{type}", "reason": ""}},
    "transferP2p": {"json": {"from": "{account}", "to": RECEIVING_ACCOUNT, "bank": 341, "value": 3, "date": 1}},
    "transferExternal": {"json": {"from": "{account}", "to": RECEIVING_ACCOUNT, "value": "10.50", "date": 1}},
}


class SilentConnections:
    """Takes the place of the connections of a run. It answers each request with an empty list of keys, and sends
    nothing.

    `sent_bodies` are the bodies of the requests that would change something.
    """

    def __init__(self):
        """Connections over which nothing was sent."""
        self.sent_bodies = []

    def attempt(self, sending):
        """The answer to a request that the run did not refuse. Keeps its body if it would change something."""
        would_change_something = sending.request.method != "GET"
        if would_change_something:
            self.sent_bodies.append(sending.plain_request.body)
        empty_list = {"code": 0, "data": {"keys": []}}
        return Response(200, (), json.dumps(empty_list).encode())

    def connect(self, base_url):
        """Connect to nothing. The empty text says that no trouble was met."""
        return ""

    def close(self):
        """Do nothing, because nothing was opened."""


class RunWithoutNetwork:
    """A run whose requests leave this process never. `client.send` raises ForbiddenError if the run refuses a request.

    Otherwise the request counts as sent (`sent_bodies`, `exchanges`), and is answered with an empty list of keys. The
    profile (the settings of the run) permits everything but executions. Its target is a bank, or a sandbox (a test
    system) with `is_sandbox`. `changes` are keys of the profile.
    """

    def __init__(self, folder, *, is_sandbox=False, **changes):
        """Load the profile, whose files are in the folder, and open the door, through which every request of a run goes."""
        settings = {
            "allow": ALLOWED,
            "requests": BODIES,
            "transactions": None,
            "accounts": [OWN_ACCOUNT, "ac/2"],
            **changes,
        }
        profile_of_target = profile_of_sandbox if is_sandbox else profile_of_bank
        profile = profile_of_target(folder, **settings)
        self.profile = replace(profile, limits=replace(profile.limits, transfers=100))
        self._connections = SilentConnections()
        self._door = open_door_for_plan(self.profile, "a token", self._connections, codes_to_resend=())
        self.client = open_client(self._door, self.profile)

    @property
    def sent_bodies(self):
        """The bodies of the requests that were not refused and that would change something, in order."""
        return self._connections.sent_bodies

    @property
    def exchanges(self):
        """The exchanges of the requests that were not refused, in order."""
        return self._door.exchanges

    @property
    def keys(self):
        """The keys that the run registered or may use (environments/door/run_keys.py)."""
        return self._door.keys
