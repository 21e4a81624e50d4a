"""The requirements: one for every statement of the interface document. Source: `requirements.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

SOURCE = Path(__file__).with_name("requirements.yaml")
LEVELS = ("documented", "implied", "example", "robustness", "not-shown")


@dataclass(frozen=True)
class Requirement:
    """One requirement: its text, where the document makes the statement, and how strong the statement is.

    `untestable` says why no exchange can show the requirement; empty where one can.
    """

    id: str
    section: str
    level: str
    text: str
    untestable: str = ""

    @property
    def operation(self) -> str | None:
        """The operationId that the requirement is about; None where it is about no single operation."""
        prefix = self.id.split(".")[0]
        return None if prefix == "general" else prefix

    @property
    def heading(self) -> str:
        """The heading of the interface document under which the statement first stands."""
        return self.section.split(";")[0].split(",")[0]


def read_yaml(file: Path) -> Any:
    """The content of a YAML file, read by the C library where it is installed."""
    return yaml.load(file.read_text("utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


@cache
def interface_document() -> Mapping[str, str]:
    """The document that the requirements are taken from: `title`, `sha256` of its bytes, and the day it was `taken`."""
    return dict(read_yaml(SOURCE)["interface_document"])


@cache
def requirements() -> Mapping[str, Requirement]:
    """All requirements by id, in the document's order."""
    return {item["id"]: Requirement(**item) for item in read_yaml(SOURCE)["requirements"]}
