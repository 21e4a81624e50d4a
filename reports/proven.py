"""What the suite's own proof showed when all of it was last run: one line for each report."""

from __future__ import annotations

import json
from pathlib import Path

SUMMARY = Path(__file__).with_name("proof") / "summary.json"
"""Written by `make proof`."""


def proof_line() -> str:
    """How many seeded faults are caught and how many lawful services pass; empty where there is no summary."""
    try:
        return str(json.loads(SUMMARY.read_text("utf-8"))["line"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
