"""The JSON schemas of the files that the suite writes, and of the conformance.json that it reads.

`python -m reports.result.json_schemas` writes them into reports/.

Self-tests: reports/outputs/test_conformance_json.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel

from reports.observed.behaviour import Record
from reports.result.document import FORMAT, EarlierRun, RunDocument
from reports.result.published import schema_of

FOLDER = Path(__file__).parents[1]
"""The folder reports/, into which the schemas are written."""
MODELS: Mapping[str, tuple[type[BaseModel], str]] = {
    "conformance.schema.json": (RunDocument, f"conformance.json of pix-conformance, format {FORMAT}"),
    "comparable.schema.json": (EarlierRun, "What is read of the conformance.json of another run"),
    "record.schema.json": (Record, "<name>.observed.yaml of pix-conformance"),
}
"""The model and the title of each schema, by the name of its file."""


def schema_text(name: str) -> str:
    """The JSON schema that is written to this file of reports/, such as `conformance.schema.json`, as text."""
    model, title = MODELS[name]
    return json.dumps(schema_of(model, title), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name in MODELS:
        (FOLDER / name).write_text(schema_text(name), "utf-8")
