"""Observations by hand, the overlay of them, and its application by oas-patch, which is not ours."""

import copy
from importlib.resources import files
from pathlib import Path

import yaml
from oas_patch import apply_overlay

from reports.observations.behaviour import behaviour_of
from reports.proposing.origin import Origin
from reports.proposing.overlay import overlay_of
from reports.proposing.proposal import as_yaml
from spec.interface import openapi

JSON, PROBLEM = "application/json", "application/problem+json"
TEXT, INTEGER = {"type": "string"}, {"type": "integer"}
ORIGIN = Origin("staging", "2026-11-22")
SCHEMA_OF_OVERLAYS = files("oas_patch.schema") / "overlay_schema_1.0.0.yml"


def an_object(**members):
    """The shape of an object in which all members are always there."""
    return {"type": "object", "properties": members, "required": sorted(members)}


def an_array(items):
    return {"type": "array", "items": items}


def an_answer(status, media_type=JSON, shape=None, **headers):
    """An answer as conformance.json has it."""
    parts = {"media_type": media_type, "shape": shape, "headers": headers}
    return {"status": status} | {name: part for name, part in parts.items() if part}


def an_envelope(**data):
    return an_object(code=INTEGER, data=an_object(**data))


REFUSED = an_answer(401, PROBLEM, an_object(detail=TEXT, status=INTEGER), **{"WWW-Authenticate": "Bearer"})
NOT_FOUND = an_answer(404, PROBLEM, an_object(detail=TEXT, status=INTEGER))
REFUSED_WITH_200 = an_answer(200, JSON, an_object(code=INTEGER, message=TEXT))
A_KEY = an_object(key=TEXT, type=TEXT, createdAt={"type": "string", "format": "date-time"})
OBSERVED = {
    "listPixKeys.shape": {"": [an_answer(200, JSON, an_envelope(keys=an_array(A_KEY)))]},
    "listAccounts.shape": {"": [an_answer(200, JSON, an_envelope(accounts=an_array(an_object(id=TEXT))))]},
    "getBalance.shape": {
        "": [
            an_answer(
                200, JSON, an_object(code=INTEGER, data={"type": "object", "additionalProperties": {"type": "number"}})
            )
        ]
    },
    "createPix.shape": {"": [an_answer(201, JSON, an_envelope(id=TEXT))]},
    "transferInternal.shape": {"": [an_answer(200, JSON, an_envelope(transactionId=TEXT))]},
    "executePix.status.values": {"": [{"text": "DONE"}]},
    "executePix.date.unit": {"": [{"text": "milliseconds since 1970"}]},
    "executePix.accountType.meaning": {"": [{"text": "1"}]},
    "executePix.refusal": {
        "without a token": [REFUSED],
        "with a wrong token": [REFUSED, an_answer(403, "text/plain")],
        "HEAD": [an_answer(405, "", Allow="GET")],
    },
    "registerPixKey.refusal": {"a body that is no JSON": [an_answer(400, "text/html")]},
    "deletePixKey.refusal": {"an unknown account": [REFUSED_WITH_200]},
    "listPixKeys.refusal": {"without a token": [REFUSED], "an unknown account": [REFUSED_WITH_200]},
    "registerPixKey.pixKeyType.numeric": {
        "digit 1 in place of PHONE": [{"text": "refused"}],
        "digit 3 in place of PHONE": [{"text": "accepted as PHONE"}],
    },
    "registerPixKey.body.required": {
        "without pixKey": [{"text": "required"}],
        "without account": [{"text": "required"}, {"text": "answered like a complete registration"}],
        "without pixKeyType": [{"text": "not required"}],
    },
    "deletePixKey.data": {"": [an_answer(200, JSON, an_envelope(deleted={"type": "boolean"}))]},
    "listPixKeys.token": {"": [{"text": "required"}]},
    "listAccounts.token": {"": [{"text": "not required"}]},
    "executePix.status.transitions": {"a transfer prepared by createPix": [{"text": "PREPARED"}]},
    "general.identifierFormat": {
        "accountId": [{"text": "digits alone"}],
        "accountId, made by the service": [{"text": "a UUID"}],
    },
    "general.otherTokens": {"createPix": [{"text": "required"}], "transferP2p": [{"text": "not required"}]},
    "general.deprecation": {"createPix": [{"text": "none"}]},
    "general.codeValues": {"": [{"text": "1"}, {"text": "four digits"}]},
    "executePix.unknownCode": {"": [NOT_FOUND]},
    "executePix.repeated": {"": [{"text": "same result"}]},
    "registerPixKey.repeated": {"": [an_answer(409, "")]},
    "general.sizeLimit": {"a body of 1 MB": [an_answer(413, "text/html")]},
}
"""One observation of each sort."""


def overlay(observed=OBSERVED):
    """The overlay of what was observed."""
    return overlay_of(behaviour_of(observed), ORIGIN)


def applied(made):
    """The schema with an overlay, as it is read from its YAML, applied."""
    return apply_overlay(copy.deepcopy(openapi()), yaml.safe_load(as_yaml(made)))


def extended(observed=OBSERVED):
    """The schema with what was observed."""
    return applied(overlay(observed))


def write_overlay(path: Path, observed=OBSERVED) -> Path:
    path.write_text(as_yaml(overlay(observed)), "utf-8")
    return path
