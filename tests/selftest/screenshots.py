"""Pictures of reports for the documentation: `python -m tests.selftest.screenshots` writes docs/screenshots/.

The pictures show two runs: of a sandbox with one fault, and of a target that is not a sandbox, where a run only reads.
Their addresses are replaced by examples. The file `headlines.yaml` has the headline in each picture, so that a self-test
can compare it with the headline of a run today.
"""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import yaml
from playwright.sync_api import Browser, sync_playwright

from environments.sandbox import Service
from tests.selftest.sample import ADDRESS, ShowsTheTaxDocument
from tests.selftest.shared_runs import run_with_files

FOLDER = Path(__file__).parents[2] / "docs" / "screenshots"
HEADLINES = FOLDER / "headlines.yaml"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
"""The path of the browser. None if none is installed."""
DESK = {"width": 1280, "height": 800}
"""The size of the screen of a computer, in pixels."""
PHONE = {"width": 390, "height": 844}
"""The size of the screen of a phone, in pixels."""
SANDBOX, STAGING = "sandbox", "staging"
RUNS = {SANDBOX: (ShowsTheTaxDocument, {}), STAGING: (Service, {"allow": ["read"], "sandbox": None})}
"""The two runs by name, each with its service and the changes of its profile."""


@dataclass(frozen=True)
class Picture:
    """A part of a report, as it is shown on a screen."""

    run: str
    """The name of the run in RUNS."""
    viewport: dict[str, int]
    """The size of the screen."""
    colours: str = "light"
    fragment: str = ""
    """The place in the page to which the browser scrolls, such as "#findings"."""


PICTURES = {
    "first-screen": Picture(SANDBOX, DESK),
    "dark": Picture(SANDBOX, DESK, colours="dark"),
    "phone": Picture(SANDBOX, PHONE),
    "finding": Picture(SANDBOX, DESK, fragment="#findings"),
    "staging": Picture(STAGING, DESK),
}


def main() -> None:
    """Make both runs, and write every picture and the headlines into docs/screenshots/."""
    if CHROMIUM is None:
        raise SystemExit("error: no Chromium: apt-get install chromium")
    headlines = {}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        reports = {name: write_report_of_run(name, Path(folder, name)) for name in RUNS}
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name, picture in PICTURES.items():
            headlines[name] = write_picture(browser, picture, reports[picture.run], FOLDER / f"{name}.png")
        browser.close()
    HEADLINES.write_text(yaml.safe_dump(headlines, sort_keys=False, width=200), "utf-8")


def write_report_of_run(name: str, folder: Path) -> Path:
    """Make the run with this name in RUNS, and return the path of its report.html, which is in the folder.

    The address in the report is replaced by an example.
    """
    service, changes = RUNS[name]
    folder.mkdir()
    result = run_with_files(folder, service, **changes)
    report = result.folder / "report.html"
    report.write_text(report.read_text("utf-8").replace(result.run.base_url, ADDRESS), "utf-8")
    return report


def write_picture(browser: Browser, picture: Picture, report: Path, file: Path) -> str:
    """Write a picture of a report to a file, and return the headline that the page shows.

    The headline has two paragraphs: the verdict, and what the run tested.
    """
    page = browser.new_page(viewport=picture.viewport, color_scheme=picture.colours)
    page.goto(f"{report.as_uri()}{picture.fragment}")
    page.screenshot(path=file)
    paragraphs = page.locator("#verdict > p")
    verdict, what_was_tested = paragraphs.nth(0).inner_text(), paragraphs.nth(1).inner_text()
    return f"{verdict}: {what_was_tested}"


if __name__ == "__main__":
    main()
