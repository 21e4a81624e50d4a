"""Pictures of reports for the documentation: `python -m tests.selftest.screenshots` writes docs/screenshots/.

Two runs are shown: of a sandbox with one fault, and of a target that is not a sandbox, where a run only reads. Their
addresses are replaced by examples. `headlines.yaml` has what each picture says, so that a self-test sees an old one.
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
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DESK, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
SANDBOX, STAGING = "sandbox", "staging"
RUNS = {SANDBOX: (ShowsTheTaxDocument, {}), STAGING: (Service, {"allow": ["read"], "sandbox": None})}
"""Each with its service and changes of its profile."""


@dataclass(frozen=True)
class Picture:
    """A part of a report, as it is shown on a screen."""

    run: str
    viewport: dict[str, int]
    colours: str = "light"
    fragment: str = ""


PICTURES = {
    "first-screen": Picture(SANDBOX, DESK),
    "dark": Picture(SANDBOX, DESK, colours="dark"),
    "phone": Picture(SANDBOX, PHONE),
    "finding": Picture(SANDBOX, DESK, fragment="#findings"),
    "staging": Picture(STAGING, DESK),
}


def main() -> None:
    """Write every picture where the documentation shows it."""
    if CHROMIUM is None:
        raise SystemExit("error: no Chromium: apt-get install chromium")
    headlines = {}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        reports = {name: report_of(name, Path(folder, name)) for name in RUNS}
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name, picture in PICTURES.items():
            headlines[name] = take(browser, picture, reports[picture.run], FOLDER / f"{name}.png")
        browser.close()
    HEADLINES.write_text(yaml.safe_dump(headlines, sort_keys=False, width=200), "utf-8")


def report_of(name: str, folder: Path) -> Path:
    """The path of the page of a run in RUNS. The address in it is replaced by an example."""
    service, changes = RUNS[name]
    folder.mkdir()
    result = run_with_files(folder, service, **changes)
    report = result.folder / "report.html"
    report.write_text(report.read_text("utf-8").replace(result.run.base_url, ADDRESS), "utf-8")
    return report


def take(browser: Browser, picture: Picture, report: Path, file: Path) -> str:
    """Write a picture of a report to a file. Returns the headline that the page shows."""
    page = browser.new_page(viewport=picture.viewport, color_scheme=picture.colours)
    page.goto(f"{report.as_uri()}{picture.fragment}")
    page.screenshot(path=file)
    return ": ".join(page.locator("#verdict > p").nth(number).inner_text() for number in (0, 1))


if __name__ == "__main__":
    main()
