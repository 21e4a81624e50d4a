"""The door of a profile with connections that send nothing, to see which requests it lets pass."""

import json
from dataclasses import replace
from types import SimpleNamespace

from environments.door.opening import open_client, open_door_for_plan
from spec.exchange import Response
from tests.selftest.services.one_run import profile_of_bank

OWN_ACCOUNT, RECEIVING_ACCOUNT = "ac-0001", "ac-9999"
ALLOWED = ["read", "register-keys", "delete-keys", "create-pix", "transfer"]
BODIES = {
    "deletePixKey": {"json": {"pixKey": "{key}", "kind": "{type}", "reason": ""}},
    "transferP2p": {"json": {"from": "{account}", "to": RECEIVING_ACCOUNT, "bank": 341, "value": 3, "date": 1}},
    "transferExternal": {"json": {"from": "{account}", "to": RECEIVING_ACCOUNT, "value": "10.50", "date": 1}},
}


class SilentConnections:
    """Answers each request with an empty list of keys, and sends nothing.

    `sent` are the bodies of the requests that would change something.
    """

    def __init__(self):
        self.sent = []

    def attempt(self, sending):
        if sending.request.method != "GET":
            self.sent.append(sending.plain_request.body)
        return Response(200, (), json.dumps({"code": 0, "data": {"keys": []}}).encode())

    def connect(self, base_url):
        return ""

    def close(self):
        pass


def client_of_profile(folder, **changes):
    """The client of a profile that is no sandbox, unless `changes` say so, with its door, its connections and the
    profile.
    """
    changes = {"allow": ALLOWED, "requests": BODIES, "transactions": None, "accounts": [OWN_ACCOUNT, "ac/2"], **changes}
    profile = profile_of_bank(folder, **changes)
    profile = replace(profile, limits=replace(profile.limits, transfers=100))
    connections = SilentConnections()
    door = open_door_for_plan(profile, "a token", connections, codes_to_resend=())
    return SimpleNamespace(client=open_client(door, profile), door=door, connections=connections, profile=profile)
