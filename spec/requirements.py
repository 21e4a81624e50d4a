"""The requirements: one for every statement of the interface document, and the suite's own policy of robustness.

Every verdict names one. Source: `requirements.yaml`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

SOURCE = Path(__file__).with_name("requirements.yaml")
LEVELS = ("documented", "implied", "example", "robustness", "not-shown")
"""How strong a statement is. `robustness` is the policy of the suite itself, not a statement of the interface document.
docs/verdicts.md says which verdict a deviation from each level gets."""


@dataclass(frozen=True)
class Requirement:
    """One statement that the answers of a service must fulfil."""

    id: str
    section: str
    """The places of the interface document that make the statement: `Errors, item 5; Limits`."""
    level: str
    text: str
    """The statement in one sentence."""
    untestable: str = ""
    """Why no exchange can show the requirement; empty if one can."""

    @property
    def operation(self) -> str | None:
        """The operationId that the requirement is about, such as `executePix` for `executePix.document.masked`.

        None if its id begins with `general`, because then it is about no single operation.
        """
        prefix = self.id.split(".")[0]
        return None if prefix == "general" else prefix

    @property
    def heading(self) -> str:
        """The first heading of the interface document with the statement: `Errors` for `Errors, item 5; Limits`."""
        return self.section.split(";")[0].split(",")[0]


def read_yaml(file: Path) -> Any:
    """The content of a YAML file. The loader of the C library is used if it is installed, because it is faster."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(file.read_text("utf-8"), Loader=loader)


@cache
def interface_document() -> Mapping[str, str]:
    """Which version of the interface document the requirements are from, so that reports can name it.

    Its members are `title`, `sha256` (of the bytes of the document) and `taken` (the day on which it was read).
    """
    return dict(read_yaml(SOURCE)["interface_document"])


@cache
def requirements() -> Mapping[str, Requirement]:
    """All requirements by id, in the order of the interface document, as `requirements.yaml` lists them."""
    return {item["id"]: Requirement(**item) for item in read_yaml(SOURCE)["requirements"]}
