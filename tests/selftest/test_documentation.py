"""The pages for people say what the tool does."""

import re
from pathlib import Path

import pytest

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


PRIVATE_IDIOM = re.compile(
    r"\b(owed|whom?ever|nobody('s| knows| documented)|ledger rows?|mistaken|patience|left behind|spoken to)\b",
    re.IGNORECASE,
)
"""Words that make a reader stop, where plain ones exist: expected, unknown, undocumented, requirement, invalid."""
WRITTEN = (
    "*.md",
    "spec/**/*.*",
    "environments/**/*.*",
    "reports/*.py",
    "reports/*/*.py",
    "reports/templates/*",
    "tests/**/*.py",
)


@pytest.mark.parametrize("pattern", WRITTEN)
def test_words_are_plain(pattern):
    """Code, documentation and data use the words of the project."""
    texts = {path: path.read_text("utf-8") for path in ROOT.glob(pattern) if path.suffix not in (".pyc", "")}
    found = {path: match[0] for path, text in texts.items() if (match := PRIVATE_IDIOM.search(text))}

    assert found.keys() <= {Path(__file__)}, found
