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
"""Of A4, without its margins."""
REPETITIVE = (
    "[data-entry='requirement'][data-verdict='pass']:nth-child(n + 4), .exchange:nth-of-type(n + 5), "
    "#results-table tbody:nth-of-type(n + 7)"
)
MOST_NODES, MOST_PIXELS = 10_000, 17_000
"""A third of what the page was before it showed only the exchanges that it cites."""
"""Parts of which the page has many alike: axe-core takes its time for each."""
INJECTED = "<script>window.ran = 1</script><img src='http://127.0.0.1:9/x' onerror='window.ran = 1'>"


@pytest.fixture(scope="module")
def report():
    """The report of a run with failures, of conformance and of robustness, and with warnings."""
    return shared_run("failing").folder / "report.html"


@pytest.fixture(scope="module")
def chromium():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium, report):
    """Opens the report: `opened("#fragment", viewport=PHONE)`. Whatever the console says fails the test, and so does
    whatever the page fetches."""
    contexts, said = [], []

    def open_page(fragment="", viewport=DESK, **options):
        context = chromium.new_context(viewport=viewport, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: said.append(request.url))
        page.goto(f"{report.as_uri()}{fragment}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [text for text in said if not text.startswith(report.as_uri())] == []


def settle(page):
    """Wait for the filters, which let a reader finish the word."""
    page.wait_for_timeout(300)


def shown(page, sort="requirement"):
    """The ids of the entries of that sort that no filter hides."""
    return page.eval_on_selector_all(
        f'[data-entry="{sort}"]', "found => found.filter(one => !one.hidden).map(one => one.id)"
    )


def part(page, name):
    return page.locator(f"[id='{name}']")


def test_one_page(opened):
    """Verdict, what was left out, provenance and the headline of the findings fit into one screen. Filters go together,
    and a screen reader is told how many are left; what is searched for, with the keyboard alone, stands in the address. A
    link to what a filter hides clears it. On paper the first page has the verdict, the second begins with the findings."""
    page = opened("#?verdict=warn")
    parts = map(page.locator, (".banner", ".tiles", ".provenance", "#findings"))
    first_screen = [each.bounding_box()["y"] for each in parts]
    before, findings = shown(page), shown(page, "finding")
    page.get_by_label("Operation").select_option("getBalance")
    settle(page)

    assert page.evaluate("document.querySelectorAll('*').length") < MOST_NODES
    assert page.evaluate("document.documentElement.scrollHeight") < MOST_PIXELS
    assert first_screen == sorted(first_screen)
    assert 0 <= first_screen[0] < first_screen[-1] < DESK["height"]
    assert before == ["executePix.fields.extra", "getBalance.status"]
    assert findings == [f"finding-{id}" for id in reversed(before)]  # by harm
    assert shown(page) == ["getBalance.status"]
    assert "requirements 1" in page.locator('output[aria-live="polite"]').inner_text()

    page.get_by_role("button", name="Clear").click()
    settle(page)
    assert len(shown(page)) == len(shared_run("failing").document["requirements"])
    assert page.evaluate("location.hash") == ""

    page.get_by_role("searchbox").focus()
    page.keyboard.type("Document MASKED")
    settle(page)
    page.reload()
    assert shown(page) == [MASKED]
    page.evaluate("location.hash = '#executePix.id.present'")
    settle(page)
    assert part(page, "executePix.id.present").is_visible()

    page.emulate_media(media="print")
    page.set_viewport_size(PAPER)
    assert page.locator(".first").bounding_box()["height"] < PAPER["height"]
    assert page.evaluate("getComputedStyle(document.getElementById('findings')).breakBefore") == "page"


@exhaustive
def test_a_foreign_script(chromium, report, tmp_path):
    """Markup that got into the page in spite of everything neither runs nor fetches; the scripts of the page run."""
    page, asked = chromium.new_page(), []
    page.on("requestfailed", lambda request: asked.append(request.failure))
    file = tmp_path / "report.html"
    file.write_text(report.read_text("utf-8").replace("<main>", f"<main>{INJECTED}"), "utf-8")
    page.goto(file.as_uri())
    page.wait_for_timeout(200)

    assert page.evaluate("window.ran") is None
    assert page.evaluate("document.querySelectorAll('#results-table tbody').length") == 0
    page.locator("#tests > summary").click()
    page.wait_for_timeout(100)
    assert page.evaluate("document.querySelectorAll('#results-table tbody').length") > 0
    assert asked == ["csp"]
    page.close()


@exhaustive
def test_an_exchange(opened):
    """A finding leads to its exchange, where what deviates is marked and leads back; lines that reproduce are copied."""
    page = opened(permissions=["clipboard-read", "clipboard-write"])
    part(page, f"finding-{MASKED}").get_by_role("link", name="Exchange").first.click()
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
def test_accessibility(opened, viewport, scheme):
    """axe-core finds no violation, in any part of the page, and no part is wider than the screen."""
    page = opened(viewport=viewport, color_scheme=scheme, is_mobile=viewport is PHONE)
    page.evaluate(f"document.querySelectorAll({REPETITIVE!r}).forEach(part => part.remove())")
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    page.wait_for_timeout(200)
    found = Axe().run(page)

    assert found.violations_count == 0, found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth") == viewport["width"]


@pytest.fixture(params=["en", "pt-BR"])
def elsewhere(request, tmp_path):
    """The report of a run against a target that is no sandbox, in each language."""
    if request.param == "pt-BR":
        return shared_run("partial").folder / "report.html"
    return run_with_files(tmp_path, Service, allow=["read"], transactions=None, sandbox=None).folder / "report.html"


@pytest.mark.parametrize(
    ("media", "viewport", "share"),
    [("print", PAPER, 0.6), ("screen", DESK, 0.15), ("screen", PHONE, 0.6)],
    ids=["paper", "desk", "phone"],
)
def test_what_was_left_out_has_room(media, viewport, share, elsewhere, chromium):
    """Outside a sandbox more was left out, and the reasons are long: on paper and on a phone each has most of the
    width, and on paper the first page is one page."""
    page = chromium.new_page(viewport=viewport)
    page.goto(elsewhere.as_uri())
    page.emulate_media(media=media)
    boxes = [each.bounding_box() for each in page.locator(".tile dd").all()]
    height = page.locator(".first").bounding_box()["height"]
    page.close()

    assert len(boxes) == 3
    assert min(box["width"] for box in boxes) > share * viewport["width"]
    assert media == "screen" or height < PAPER["height"]
