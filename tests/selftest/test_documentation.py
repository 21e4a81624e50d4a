"""The pages for people say what the tool does."""

from __future__ import annotations

from pathlib import Path

from spec.__main__ import page
from tests.selftest.sample import IN_README, README, sample

ROOT = Path(__file__).parents[2]


def test_requirements_page_is_current():
    """`python -m spec` prints spec/requirements.md."""
    written = (ROOT / "spec" / "requirements.md").read_text("utf-8")

    assert written == "\n".join(page()) + "\n", "run: python -m spec > spec/requirements.md"


def test_sample_output_in_the_readme_is_current():
    """`python -m tests.selftest.sample` writes what a run prints into README.md."""
    assert IN_README.findall(README.read_text("utf-8")) == [sample()], "run: python -m tests.selftest.sample"
