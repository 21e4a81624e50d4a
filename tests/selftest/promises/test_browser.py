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
SCRIPT_THAT_SETS_RAN = "<script>window.ran = 1</script><img src='http://127.0.0.1:9/x' onerror='window.ran = 1'>"


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
    """A function that opens the report in a browser and returns the page: `open_report("#findings", viewport=PHONE)`.

    The test fails if the page prints anything to the console of the browser, or fetches any other file.
    """
    contexts, console_and_fetches = [], []

    def open_page(fragment="", viewport=DESK, **options):
        """The report in a new page, at a fragment such as "#findings". `options` are those of a context of Playwright."""
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
    """Wait until the page has applied its filters. The page does so a moment after the last letter was typed."""
    page.wait_for_timeout(300)


def ids_shown(page, sort="requirement"):
    """The ids of the entries of the report that no filter hides. `sort` is "requirement" or "finding"."""
    return page.eval_on_selector_all(
        f'[data-entry="{sort}"]', "entries => entries.filter(entry => !entry.hidden).map(entry => entry.id)"
    )


def element_with_id(page, name):
    """The element of the page with this id."""
    return page.locator(f"[id='{name}']")


def test_the_page_is_small(open_report):
    """report.html has less than 10,000 elements and 17,000 pixels of height, so that a browser shows it fast.

    It shows only the exchanges (a request and its answer) that its findings cite. With all exchanges of the run it had
    three times this size.
    """
    page = open_report()
    number_of_elements = page.evaluate("document.querySelectorAll('*').length")
    height_in_pixels = page.evaluate("document.documentElement.scrollHeight")

    assert number_of_elements < 10_000
    assert height_in_pixels < 17_000


def test_the_first_screen_shows_the_verdict_and_where_the_findings_begin(open_report):
    """A reader need not scroll to see four parts of the report, from top to bottom:

    - the verdict of the run
    - what the run did not test
    - where the report comes from
    - the headline above the findings
    """
    page = open_report()
    parts_from_top_to_bottom = (".banner", ".tiles", ".provenance", "#findings")
    top_edges = [page.locator(part).bounding_box()["y"] for part in parts_from_top_to_bottom]

    assert top_edges == sorted(top_edges)
    assert 0 <= top_edges[0] < top_edges[-1] < DESK["height"]


def test_a_filter_in_the_address_hides_all_other_requirements(open_report):
    """An address that ends in `verdict=warn` opens the report with only the requirements that have a warning.

    Only the findings of these requirements are shown, the most harmful one first.
    """
    page = open_report("#?verdict=warn")

    assert ids_shown(page) == ["executePix.fields.extra", "getBalance.status"]
    assert ids_shown(page, "finding") == ["finding-getBalance.status", "finding-executePix.fields.extra"]


def test_a_filter_tells_screen_readers_how_many_requirements_are_shown(open_report):
    """Once the user chooses an operation, only its requirements are shown, and a screen reader reads their number."""
    page = open_report("#?verdict=warn")
    page.get_by_label("Operation").select_option("getBalance")
    wait_for_filters(page)
    text_that_a_screen_reader_reads = page.locator('output[aria-live="polite"]').inner_text()

    assert ids_shown(page) == ["getBalance.status"]
    assert "requirements 1" in text_that_a_screen_reader_reads


def test_the_button_clear_removes_the_filter(open_report):
    """After a click on "Clear" all requirements are shown, and the address has no filter."""
    page = open_report("#?verdict=warn")
    page.get_by_role("button", name="Clear").click()
    wait_for_filters(page)
    number_of_requirements = len(shared_run("failing").document["requirements"])

    assert len(ids_shown(page)) == number_of_requirements
    assert page.evaluate("location.hash") == ""


def test_a_search_stays_when_the_page_is_loaded_again(open_report):
    """A search finds the requirement whose id has both words, in capitals or not. The address of the page keeps it."""
    page = open_report()
    page.get_by_role("searchbox").focus()
    page.keyboard.type("Document MASKED")
    wait_for_filters(page)
    page.reload()

    assert ids_shown(page) == ["executePix.document.masked"]


def test_a_link_to_a_requirement_shows_it_although_a_filter_hid_it(open_report):
    """A link to a requirement clears the filter that hides it. The fragment of the address is such a link."""
    page = open_report("#?verdict=warn")
    page.evaluate("location.hash = '#executePix.id.present'")
    wait_for_filters(page)

    assert element_with_id(page, "executePix.id.present").is_visible()


def test_on_paper_the_findings_begin_on_the_second_sheet(open_report):
    """The part before the findings fits on one sheet of paper, and a page break follows it."""
    page = open_report()
    page.emulate_media(media="print")
    page.set_viewport_size(PAPER)
    height_of_first_part = page.locator(".first").bounding_box()["height"]
    break_before_findings = page.evaluate("getComputedStyle(document.getElementById('findings')).breakBefore")

    assert height_of_first_part < PAPER["height"]
    assert break_before_findings == "page"


@exhaustive
def test_a_script_from_an_answer_of_the_service_does_not_run(chromium, report, tmp_path):
    """A script that got into the page neither runs nor fetches anything, because of the Content-Security-Policy.

    The test writes such a script into the report. The scripts of the page itself run: one of them fills the table of
    results when the user opens the table.
    """
    rows_of_the_table = "document.querySelectorAll('#results-table tbody').length"
    page = chromium.new_page()
    failed_requests = []
    page.on("requestfailed", lambda request: failed_requests.append(request.failure))
    file = tmp_path / "report.html"
    file.write_text(report.read_text("utf-8").replace("<main>", f"<main>{SCRIPT_THAT_SETS_RAN}"), "utf-8")
    page.goto(file.as_uri())
    page.wait_for_timeout(200)
    rows_before_click = page.evaluate(rows_of_the_table)
    page.locator("#tests > summary").click()
    page.wait_for_timeout(100)

    assert page.evaluate("window.ran") is None
    assert failed_requests == ["csp"]
    assert rows_before_click == 0
    assert page.evaluate(rows_of_the_table) > 0
    page.close()


@exhaustive
def test_a_finding_leads_to_its_exchange_and_back(open_report):
    """A finding has a link to an exchange: a request and its answer.

    The part of the answer that deviates is marked, and has a link back to the finding. A button copies the lines of a
    shell that send the request again.
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
    """axe-core, which checks whether people with disabilities can use a page, finds no violation in the report.

    Of parts that are many and alike, such as exchanges, only the first few are checked, because axe-core takes its time
    for each. No part is wider than the screen.
    """
    page = open_report(viewport=viewport, color_scheme=scheme, is_mobile=viewport is PHONE)
    page.evaluate(f"document.querySelectorAll({REPETITIVE!r}).forEach(part => part.remove())")
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    page.wait_for_timeout(200)
    violations = Axe().run(page)

    assert violations.violations_count == 0, violations.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth") == viewport["width"]


@pytest.fixture(params=["en", "pt-BR"])
def report_of_bank(request, tmp_path):
    """The report of a run against a target that is no sandbox, in each language."""
    if request.param == "pt-BR":
        return shared_run("partial").folder / "report.html"
    return run_with_files(tmp_path, Service, allow=["read"], transactions=None, sandbox=None).folder / "report.html"


@pytest.mark.parametrize(
    ("media", "viewport", "least_part_of_the_width"),
    [("print", PAPER, 0.6), ("screen", DESK, 0.15), ("screen", PHONE, 0.6)],
    ids=["paper", "desk", "phone"],
)
def test_reasons_of_omissions_have_room(media, viewport, least_part_of_the_width, report_of_bank, chromium):
    """The three texts that say why requirements were not tested are wide enough to be read.

    The texts are long if the target is no sandbox. (A sandbox is a service without real money.) On paper and on a phone
    each text has more than half of the width. On paper they fit on the first sheet.
    """
    page = chromium.new_page(viewport=viewport)
    page.goto(report_of_bank.as_uri())
    page.emulate_media(media=media)
    widths = [tile.bounding_box()["width"] for tile in page.locator(".tile dd").all()]
    height_of_first_part = page.locator(".first").bounding_box()["height"]
    page.close()

    assert len(widths) == 3
    assert min(widths) > least_part_of_the_width * viewport["width"]
    assert media == "screen" or height_of_first_part < PAPER["height"]
