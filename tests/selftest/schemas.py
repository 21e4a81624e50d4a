"""The published schemas that what a run writes is valid against."""

import json
from functools import cache
from pathlib import Path

import jsonschema_rs

ROOT = Path(__file__).parents[2]
CONFORMANCE = ROOT / "reports" / "conformance.schema.json"


@cache
def validator_of(schema: Path) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.validator_for(json.loads(schema.read_text("utf-8")))


def problems(document, schema: Path = CONFORMANCE) -> list[str]:
    """What is wrong with a document, and where."""
    found = validator_of(schema).iter_errors(document)
    return [f"{'/'.join(map(str, error.instance_path))}: {error.message[:300]}" for error in found]
