"""Several runs in one table: what a row says, and that nothing of what was read reaches a reader raw."""

import json
import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

from reports.__main__ import main
from tests.selftest.screenshots import CHROMIUM, DESK, PHONE
from tests.selftest.test_comparison import OTHER, ROW, changed, compare
from tests.selftest.test_reading import MARKUP, PERSONAL, PLANTED
from tests.selftest.witnesses import VALIDATOR, validate

LINE = "|---|---|--:|--:|--:|---|---|"
HEADINGS = "| environment | verdict | documented requirements tested | fail | warn | changed | started |"


@pytest.fixture
def overview(tmp_path, capsys, monkeypatch):
    """The command in a folder with runs, by the name of their folders: what it prints."""
    monkeypatch.chdir(tmp_path)

    def call(*options, **runs):
        for name, document in runs.items():
            (tmp_path / "runs" / name).mkdir(parents=True)
            if document is not None:
                (tmp_path / "runs" / name / "conformance.json").write_text(json.dumps(document))
                (tmp_path / "runs" / name / "report.html").touch()
        assert main(["overview", *options, *(f"runs/{name}" for name in runs)]) == 0
        return capsys.readouterr().out

    return call


FAILING = changed(
    verdict="non-conformant",
    requirements={ROW: {"verdict": "fail"}, OTHER: {"verdict": "warn"}},
    environment={"name": "production"},
)
KNOWN = changed(requirements={ROW: {"verdict": "fail", "known_failure": "fixed in 2.4"}})


def test_a_row_for_each_run(overview):
    """What fails is listed below, by its id; a folder without a report says why."""
    worse = FAILING | {"comparison": compare(FAILING)}
    printed = overview(staging=changed(), production=worse, qa=None)

    assert printed.splitlines() == [
        HEADINGS,
        LINE,
        "| staging | conformant | 1 of 1 | 0 | 0 |  | 2026-11-22 09:00 UTC |",
        "| production | non-conformant | 1 of 1 | 1 | 1 | 1 newly failing and 1 newly warning | 2026-11-22 09:00 UTC |",
        "| qa | no report |  |  |  | no such file; expected the conformance.json of a run, or its folder |  |",
        "",
        "1 requirement fails in production:",
        "",
        f"- `{ROW}`",
    ]


def test_no_line_begins_with_what_was_read(overview):
    """A pipeline that prints the table obeys no command: it would stand at the beginning of a line."""
    printed = overview(staging=FAILING | {"environment": FAILING["environment"] | {"name": "::error::of the service"}})

    assert not [line for line in printed.splitlines() if line.startswith("::")]


def test_a_known_failure_does_not_fail(overview):
    """It was tested."""
    assert "| staging | conformant | 1 of 1 | 0 | 0 |" in overview(staging=KNOWN)


def test_what_cannot_be_tested_does_not_count(overview):
    """And what was not tested does."""
    rows = [
        {"id": ROW, "level": "documented", "verdict": "untestable"},
        {"id": OTHER, "level": "documented", "verdict": "not-exercised"},
    ]

    assert "| staging | incomplete | 0 of 1 |" in overview(
        staging=changed(verdict="incomplete") | {"requirements": rows}
    )


def test_nothing_changed(overview):
    """A comparison without a change says so."""
    same = changed() | {"comparison": compare(changed())}

    assert "| nothing | 2026-11-22" in overview(staging=same)


def test_the_page_links_to_the_reports(overview):
    """From where it is written; what has no report has no link."""
    page = overview("--format=html", staging=changed(), qa=None)

    assert re.findall(r'href="(.*?)"', page) == ["data:,", "./runs/staging/report.html"]
    assert '<strong class="pass">conformant</strong>' in page
    assert "script" not in page


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_what_is_read_is_not_trusted(form, overview):
    """Names are redacted, escaped, and end no line."""
    name = PLANTED[:150]
    printed = overview(f"--format={form}", staging=changed(environment={"name": name}))

    assert MARKUP[:20] not in printed
    assert PERSONAL not in printed
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x9b\u202e]", printed)
    assert not [line for line in printed.splitlines() if line.startswith(("::", "##["))]


def test_a_run_is_needed(capsys):
    """One line."""
    with pytest.raises(SystemExit) as ended:
        main(["overview"])

    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.fixture
def page(overview, tmp_path):
    """The page of a run that fails, one that passes, and one that left no report."""
    path = tmp_path / "overview.html"
    path.write_text(overview("--format=html", production=FAILING, staging=changed(), qa=None))
    return path


@pytest.mark.skipif(not VALIDATOR.exists(), reason="html-validate is not installed: make witnesses")
def test_a_validator_reads_the_page(page):
    """It finds nothing."""
    assert validate(page) == []


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium")
@pytest.mark.slow
@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_the_page_is_for_everybody(colours, viewport, page):
    """axe-core finds nothing, and the page is no wider than its screen."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        shown = browser.new_page(viewport=viewport, color_scheme=colours)
        shown.goto(page.as_uri())
        found, width = Axe().run(shown), shown.evaluate("document.documentElement.scrollWidth")
        browser.close()

    assert found.violations_count == 0, found.generate_report()
    assert width == viewport["width"]
