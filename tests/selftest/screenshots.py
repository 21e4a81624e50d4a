"""Pictures of a report for the documentation: `python -m tests.selftest.screenshots` writes docs/screenshots/.

The report is that of a service with one fault. Its address is replaced by an example.
"""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.selftest.recorded_runs import record
from tests.selftest.sample import ADDRESS, ShowsTheTaxDocument

FOLDER = Path(__file__).parents[2] / "docs" / "screenshots"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DESK, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
PICTURES = {
    "first-screen": (DESK, "light", ""),
    "dark": (DESK, "dark", ""),
    "phone": (PHONE, "light", ""),
    "finding": (DESK, "light", "#findings"),
}
"""Each with its viewport, its colours, and the part of the page that it shows."""


def main() -> None:
    """Write every picture where the documentation shows it."""
    if CHROMIUM is None:
        raise SystemExit("error: no Chromium: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        run = record(Path(folder), ShowsTheTaxDocument)
        report = run.folder / "report.html"
        report.write_text(report.read_text("utf-8").replace(run.run.base_url, ADDRESS), "utf-8")
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name, (viewport, colours, fragment) in PICTURES.items():
            page = browser.new_page(viewport=viewport, color_scheme=colours)
            page.goto(f"{report.as_uri()}{fragment}")
            page.screenshot(path=FOLDER / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
