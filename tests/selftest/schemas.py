"""The published schemas that what a run writes is valid against."""

import json
from functools import cache
from pathlib import Path

import jsonschema_rs

from reports.formats.conformance_json import as_json

ROOT = Path(__file__).parents[2]
CONFORMANCE = ROOT / "reports" / "conformance.schema.json"


@cache
def validator_of(schema: Path) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.validator_for(json.loads(schema.read_text("utf-8")))


def problems(document, schema: Path = CONFORMANCE) -> list[str]:
    """What is wrong with a document, and where."""
    found = validator_of(schema).iter_errors(json.loads(as_json(document)))
    return [f"{'/'.join(map(str, error.instance_path))}: {error.message[:300]}" for error in found]
