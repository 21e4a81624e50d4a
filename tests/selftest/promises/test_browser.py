"""report.html in a browser: what it looks like to a mouse, a keyboard, a screen reader, a phone and a printer.

By default one page is read in one session; PIX_PROOF=exhaustive reads it in every way.
"""

import os

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

from environments.sandbox import Service
from tests.selftest.screenshots import CHROMIUM, DESK, PHONE
from tests.selftest.shared_runs import run_with_files, shared_run

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium")
exhaustive = pytest.mark.skipif(os.environ.get("PIX_PROOF") != "exhaustive", reason="make proof runs it")

MASKED = "executePix.document.masked"
PAPER = {"width": 688, "height": 1017}
"""Pixels of an A4 page without its margins."""
REPETITIVE = (
    "[data-entry='requirement'][data-verdict='pass']:nth-child(n + 4), .exchange:nth-of-type(n + 5), "
    "#results-table tbody:nth-of-type(n + 7)"
)
"""Parts of the page with many equal siblings, because axe-core takes its time for each."""
MOST_NODES, MOST_PIXELS = 10_000, 17_000
"""A third of the size that the page had before it showed only the exchanges that it cites."""
INJECTED = "<script>window.ran = 1</script><img src='http://127.0.0.1:9/x' onerror='window.ran = 1'>"


@pytest.fixture(scope="module")
def report():
    """The report of a run with failures, of conformance and of robustness, and with warnings."""
    return shared_run("failing").folder / "report.html"


@pytest.fixture(scope="module")
def chromium():
    """A Chromium for all tests of the module."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_report(chromium, report):
    """Opens the report in a page: `open_report("#fragment", viewport=PHONE)`.

    The test fails if the console prints anything or the page fetches anything.
    """
    contexts, console_and_fetches = [], []

    def open_page(fragment="", viewport=DESK, **options):
        context = chromium.new_context(viewport=viewport, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: console_and_fetches.append(message.text))
        page.on("pageerror", lambda error: console_and_fetches.append(str(error)))
        page.on("request", lambda request: console_and_fetches.append(request.url))
        page.goto(f"{report.as_uri()}{fragment}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [text for text in console_and_fetches if not text.startswith(report.as_uri())] == []


def wait_for_filters(page):
    """Wait until the page has applied its filters. It waits a moment for further letters."""
    page.wait_for_timeout(300)


def ids_shown(page, sort="requirement"):
    """The ids of the entries of that sort that no filter hides."""
    return page.eval_on_selector_all(
        f'[data-entry="{sort}"]', "entries => entries.filter(entry => !entry.hidden).map(entry => entry.id)"
    )


def element_with_id(page, name):
    """The element of the page with this id."""
    return page.locator(f"[id='{name}']")


def test_the_first_screen_the_filters_and_paper(open_report):
    """The first screen has verdict, omissions, provenance and the headline of the findings.

    A filter announces the number of entries to screen readers, and the address keeps it. A link to a hidden entry
    clears the filter. On paper the findings begin on the second page.
    """
    page = open_report("#?verdict=warn")
    parts = map(page.locator, (".banner", ".tiles", ".provenance", "#findings"))
    first_screen = [element.bounding_box()["y"] for element in parts]
    ids_before = ids_shown(page)
    findings_before = ids_shown(page, "finding")
    page.get_by_label("Operation").select_option("getBalance")
    wait_for_filters(page)

    assert page.evaluate("document.querySelectorAll('*').length") < MOST_NODES
    assert page.evaluate("document.documentElement.scrollHeight") < MOST_PIXELS
    assert first_screen == sorted(first_screen)
    assert 0 <= first_screen[0] < first_screen[-1] < DESK["height"]
    assert ids_before == ["executePix.fields.extra", "getBalance.status"]
    assert findings_before == [f"finding-{id}" for id in reversed(ids_before)]  # by harm
    assert ids_shown(page) == ["getBalance.status"]
    assert "requirements 1" in page.locator('output[aria-live="polite"]').inner_text()

    page.get_by_role("button", name="Clear").click()
    wait_for_filters(page)
    assert len(ids_shown(page)) == len(shared_run("failing").document["requirements"])
    assert page.evaluate("location.hash") == ""

    page.get_by_role("searchbox").focus()
    page.keyboard.type("Document MASKED")
    wait_for_filters(page)
    page.reload()
    assert ids_shown(page) == [MASKED]
    page.evaluate("location.hash = '#executePix.id.present'")
    wait_for_filters(page)
    assert element_with_id(page, "executePix.id.present").is_visible()

    page.emulate_media(media="print")
    page.set_viewport_size(PAPER)
    assert page.locator(".first").bounding_box()["height"] < PAPER["height"]
    assert page.evaluate("getComputedStyle(document.getElementById('findings')).breakBefore") == "page"


@exhaustive
def test_a_foreign_script_does_not_run(chromium, report, tmp_path):
    """Markup that got into the page neither runs nor fetches anything. The scripts of the page itself run."""
    page = chromium.new_page()
    failed_requests = []
    page.on("requestfailed", lambda request: failed_requests.append(request.failure))
    file = tmp_path / "report.html"
    file.write_text(report.read_text("utf-8").replace("<main>", f"<main>{INJECTED}"), "utf-8")
    page.goto(file.as_uri())
    page.wait_for_timeout(200)

    assert page.evaluate("window.ran") is None
    assert page.evaluate("document.querySelectorAll('#results-table tbody').length") == 0
    page.locator("#tests > summary").click()
    page.wait_for_timeout(100)
    assert page.evaluate("document.querySelectorAll('#results-table tbody').length") > 0
    assert failed_requests == ["csp"]
    page.close()


@exhaustive
def test_a_finding_leads_to_its_exchange_and_back(open_report):
    """The deviating part of the exchange is marked and links to the finding.

    The button copies the lines that send the request again.
    """
    page = open_report(permissions=["clipboard-read", "clipboard-write"])
    element_with_id(page, f"finding-{MASKED}").get_by_role("link", name="Exchange").first.click()
    exchange = page.locator(f".exchange[open]:has(a.deviates[href='#finding-{MASKED}'])")
    exchange.get_by_role("button", name="Copy the lines that send").click()
    page.wait_for_timeout(100)
    copied = page.evaluate("navigator.clipboard.readText()")

    assert exchange.locator("mark", has_text='"document"').is_visible()
    assert copied == exchange.locator("pre").last.inner_text()
    assert "curl " in copied


@exhaustive
@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(open_report, viewport, scheme):
    """axe-core finds no violation in any part of the page, and no part is wider than the screen."""
    page = open_report(viewport=viewport, color_scheme=scheme, is_mobile=viewport is PHONE)
    page.evaluate(f"document.querySelectorAll({REPETITIVE!r}).forEach(part => part.remove())")
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    page.wait_for_timeout(200)
    violations = Axe().run(page)

    assert violations.violations_count == 0, violations.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth") == viewport["width"]


@pytest.fixture(params=["en", "pt-BR"])
def report_off_sandbox(request, tmp_path):
    """The report of a run against a target that is no sandbox, in each language."""
    if request.param == "pt-BR":
        return shared_run("partial").folder / "report.html"
    return run_with_files(tmp_path, Service, allow=["read"], transactions=None, sandbox=None).folder / "report.html"


@pytest.mark.parametrize(
    ("media", "viewport", "share"),
    [("print", PAPER, 0.6), ("screen", DESK, 0.15), ("screen", PHONE, 0.6)],
    ids=["paper", "desk", "phone"],
)
def test_reasons_of_omissions_have_room(media, viewport, share, report_off_sandbox, chromium):
    """Off a sandbox the reasons are long.

    On paper and on a phone each has most of the width, and the first page fits on one sheet.
    """
    page = chromium.new_page(viewport=viewport)
    page.goto(report_off_sandbox.as_uri())
    page.emulate_media(media=media)
    boxes = [tile.bounding_box() for tile in page.locator(".tile dd").all()]
    height = page.locator(".first").bounding_box()["height"]
    page.close()

    assert len(boxes) == 3
    assert min(box["width"] for box in boxes) > share * viewport["width"]
    assert media == "screen" or height < PAPER["height"]
