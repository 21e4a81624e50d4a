"""The published schemas that what a run writes is valid against."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

from reports.outputs.conformance_json import as_json
from reports.result.document import RunDocument

ROOT = Path(__file__).parents[2]
CONFORMANCE = ROOT / "reports" / "conformance.schema.json"


@cache
def validator_of(schema: Path) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.validator_for(json.loads(schema.read_text("utf-8")))


def schema_deviations(document: RunDocument | dict[str, Any], schema: Path = CONFORMANCE) -> list[str]:
    """The deviations of a document, or of the content of its file, from its schema: place and message."""
    content = json.loads(as_json(document)) if isinstance(document, RunDocument) else document
    errors = validator_of(schema).iter_errors(content)
    return [f"{'/'.join(map(str, error.instance_path))}: {error.message[:300]}" for error in errors]
