"""Compares files that a run writes with the JSON Schemas that the suite publishes for them."""

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
    """The object that compares JSON values with the schema in this file. It is made once for each file."""
    return jsonschema_rs.validator_for(json.loads(schema.read_text("utf-8")))


def schema_deviations(document: RunDocument | dict[str, Any], schema: Path = CONFORMANCE) -> list[str]:
    """The deviations of a document (conformance.json) from its schema, such as "summary/total: 'x' is not an integer".

    `document` is an object, or the JSON that is read from its file. `schema` is the file of another schema, if the
    document is of another sort. Empty if there is no deviation.
    """
    content = json.loads(as_json(document)) if isinstance(document, RunDocument) else document
    deviations = []
    for error in validator_of(schema).iter_errors(content):
        place = "/".join(map(str, error.instance_path))
        deviations.append(f"{place}: {error.message[:300]}")
    return deviations
