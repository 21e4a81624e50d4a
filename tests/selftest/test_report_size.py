"""report.html of a run of 5,000 exchanges, all of which fail: it stays small, whatever it shows."""

import os
import re

import pytest

from reports.page.exchange_list import LINKED, MOST_CHARACTERS
from tests.selftest.services.crowding import EXCHANGES, FAILS
from tests.selftest.services.forking import run_pytest


@pytest.fixture(scope="module")
def crowded(tmp_path_factory):
    """The page of that run, pytest-html's own table of tests included."""
    folder = tmp_path_factory.mktemp("crowded")
    options = ["-p", "tests.selftest.services.crowding", "-p", "no:cacheprovider", f"--report-dir={folder}"]
    run_pytest(options, dict(os.environ))
    return (folder / "report.html").read_text("utf-8")


def test_size(crowded):
    """The whole file is below 5 MB; about MOST_CHARACTERS of it are exchanges that are shown whole."""
    whole = re.findall(
        r'<details class="exchange.*?</details>\n(?=<details class="exchange|<p class="exchange)', crowded, re.S
    )

    assert len(crowded.encode()) < 5_000_000
    assert 0 < sum(map(len, whole)) < 1.1 * MOST_CHARACTERS


def test_every_exchange(crowded):
    """Every exchange has its place, whole or in a line, and what was said of each of them is there."""
    assert len(set(re.findall(r'id="exchange-(\d+)"', crowded))) == EXCHANGES
    assert len(re.findall(r'<p class="exchange"[^>]* data-verdict="fail"', crowded)) > EXCHANGES / 2


def test_links(crowded):
    """A requirement that cites all of them links the first ones."""
    row = re.search(rf'<tr id="{FAILS}".*?</tr>', crowded, re.S)[0]

    assert row.count("#exchange-") == LINKED
    assert f"and {EXCHANGES - LINKED} more" in row
