"""What the suite's own proof said when it was last made: one line for each report."""

from __future__ import annotations

import json
from pathlib import Path

PROOF = Path(__file__).with_name("proof") / "proof.json"


def proof_line() -> str:
    """How many seeded faults are caught and how many lawful services pass; empty where no proof was made."""
    try:
        return str(json.loads(PROOF.read_text("utf-8"))["line"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
