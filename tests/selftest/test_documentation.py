"""The pages for people say what the tool does."""

from __future__ import annotations

from pathlib import Path

from spec.__main__ import page

ROOT = Path(__file__).parents[2]


def test_requirements_page_is_current():
    """`python -m spec` prints spec/requirements.md."""
    written = (ROOT / "spec" / "requirements.md").read_text("utf-8")

    assert written == "\n".join(page()) + "\n", "run: python -m spec > spec/requirements.md"
