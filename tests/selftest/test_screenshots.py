"""The pictures of the documentation are made by a command, and all of them are shown."""

import re
import struct

import pytest
from playwright.sync_api import sync_playwright

from tests.selftest.screenshots import CHROMIUM, FOLDER, PICTURES, take, write_report
from tests.selftest.services.running import run

RUNS = run
"""What runs the suite inside a self-test."""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium")
def test_each_picture_is_taken(tmp_path):
    """As wide and as high as its screen, of a page that names no port of this machine."""
    report = write_report(tmp_path)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        take(browser, report, tmp_path / "pictures")
        browser.close()
    sizes = {path.stem: struct.unpack(">II", path.read_bytes()[16:24]) for path in (tmp_path / "pictures").iterdir()}

    assert "127.0.0.1" not in report.read_text("utf-8")
    assert sizes == {name: tuple(viewport.values()) for name, (viewport, _, _) in PICTURES.items()}


def test_each_picture_is_shown():
    """On a page of the documentation, with words for who cannot see it."""
    pages = "".join(path.read_text("utf-8") for path in FOLDER.parent.glob("*.md"))
    shown = re.findall(r"!\[.+?\]\(screenshots/(.+?)\.png\)", pages)

    assert sorted(shown) == sorted(PICTURES) == sorted(path.stem for path in FOLDER.iterdir())
