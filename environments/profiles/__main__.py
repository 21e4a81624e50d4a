"""`python -m environments.profiles` prints the profile that explains every key: environments/staging.example.yaml."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from environments.profiles.checked_yaml import SCHEMA


def example() -> str:
    """A profile with every key, made from the schema: descriptions as comments, and what `x-example` says."""
    parts = [SCHEMA["description"], *SCHEMA["properties"].values()]
    return "\n\n".join("\n".join(_comment(part) if isinstance(part, str) else _lines(part)) for part in parts) + "\n"


def _lines(key: dict[str, Any]) -> Iterator[str]:
    """One key and, below it, the keys that it holds."""
    yield from _comment(key.get("description", ""))
    yield from key["x-example"].splitlines()
    for inner in key.get("properties", {}).values():
        if "x-example" in inner:
            yield from (f"  {line}" for line in _lines(inner))


def _comment(text: str) -> Iterator[str]:
    return (f"# {line}".rstrip() for line in text.splitlines())


if __name__ == "__main__":
    print(example(), end="")
