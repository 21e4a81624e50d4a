"""Pictures of a report for the documentation: `python -m tests.selftest.screenshots` writes docs/screenshots/.

They show a run against a service with one fault. Its address is replaced by an example.
"""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from environments.sandbox import Server
from tests.selftest.sample import ADDRESS, ShowsTheTaxDocument
from tests.selftest.services.running import TOKEN, run, write_profile

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


def write_report(folder: Path) -> Path:
    """The report of a whole run."""
    with Server(ShowsTheTaxDocument(token=TOKEN["PIX_TOKEN"])) as server:
        profile = write_profile(folder, server.base_url).rename(folder / "staging.yaml")
        page = run(profile, "-m", "", "--seed=1").folder / "report.html"
    page.write_text(page.read_text("utf-8").replace(server.base_url, ADDRESS), "utf-8")
    return page


def take(browser: Browser, report: Path, folder: Path) -> None:
    """Write every picture."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (viewport, colours, fragment) in PICTURES.items():
        page = browser.new_page(viewport=viewport, color_scheme=colours)
        page.goto(f"{report.as_uri()}{fragment}")
        page.screenshot(path=folder / f"{name}.png")
        page.close()


def main() -> None:
    """Write them where the documentation shows them."""
    if CHROMIUM is None:
        raise SystemExit("error: no Chromium: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        take(browser, write_report(Path(folder)), FOLDER)


if __name__ == "__main__":
    main()
