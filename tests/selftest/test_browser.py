"""report.html in a browser: what it looks like to a mouse, a keyboard, a screen reader, a phone and a printer."""

import struct

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright
from pypdf import PdfReader

from tests.selftest.recorded_runs import recorded
from tests.selftest.screenshots import CHROMIUM, DESK, PHONE, PICTURES, take

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium")

MASKED = "executePix.document.masked"
REPETITIVE = (
    "[data-entry='requirement'][data-verdict='pass']:nth-child(n + 4), .exchange:nth-of-type(n + 5), "
    "#results-table tbody:nth-of-type(n + 7)"
)
"""Parts of which the page has many alike: axe-core takes its time for each."""
INJECTED = "<script>window.ran = 1</script><img src='http://127.0.0.1:9/x' onerror='window.ran = 1'>"
LOST_LINKS = (
    "found => found.map(a => decodeURIComponent(a.getAttribute('href').slice(1)))"
    ".filter(id => id && !document.getElementById(id))"
)


@pytest.fixture(scope="module")
def report():
    """The report of a run with failures, of conformance and of robustness, and with warnings."""
    return recorded("failing").folder / "report.html"


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


def top(page, selector):
    return page.eval_on_selector(selector, "element => element.getBoundingClientRect().top")


def part(page, name):
    return page.locator(f"[id='{name}']")


def test_a_foreign_script(chromium, report):
    """Markup that got into the page in spite of everything neither runs nor fetches; the scripts of the page run."""
    page, asked = chromium.new_page(), []
    page.on("requestfailed", lambda request: asked.append(request.failure))
    page.goto(report.as_uri())
    page.set_content(report.read_text("utf-8").replace("<main>", f"<main>{INJECTED}"))
    page.wait_for_timeout(200)

    assert page.evaluate("window.ran") is None
    assert page.evaluate("document.querySelectorAll('#results-table tbody').length") > 0
    assert asked == ["csp"]
    page.close()


def test_the_first_screen(opened):
    """Verdict, what was left out, provenance and the headline of the findings fit into one screen; every link of the
    page leads somewhere, also those of the table of tests, whose rows Enter opens."""
    page = opened()
    cell, open_rows = (
        page.locator(f"#results-table {each}") for each in (".passed .col-result", ".extras-row:visible")
    )

    assert 0 <= top(page, ".banner") < top(page, ".tiles") < top(page, ".provenance") < top(page, "#findings") < 800
    assert top(page, ".finding") < 900
    assert page.locator(".filter-bar").is_visible()
    assert page.eval_on_selector_all('a[href^="#"]', LOST_LINKS) == []
    page.evaluate("location.hash = '#results-table'")
    settle(page)
    before = open_rows.count()
    cell.first.press("Enter")
    assert open_rows.count() == before + 1


def test_a_phone(opened):
    """The findings come first; the provenance is folded until it is cited; nothing is wider than the phone."""
    page, cited = (opened(fragment, viewport=PHONE, is_mobile=True) for fragment in ("", "#provenance"))

    assert top(page, ".finding") < 1100
    assert [one.locator(".provenance dl").is_visible() for one in (page, cited)] == [False, True]
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def test_it_reads_without_javascript(opened):
    """Findings, figures and what usually fixes a finding; only filters and copy buttons need a script."""
    page = opened(java_script_enabled=False)
    explanation = part(page, f"finding-{MASKED}").locator(".explained")
    text = explanation.get_by_text("Mask the tax document where the answer is built")

    assert page.locator(".finding").first.is_visible()
    assert page.locator(".counts").is_visible()
    assert not page.locator(".filter-bar").is_visible()
    assert not page.locator(".finding .copy").first.is_visible()
    assert not text.is_visible()
    explanation.locator("summary").press("Enter")
    assert text.is_visible()


class TestFilters:
    def test_choices(self, opened):
        """They go together, and a screen reader is told how many are left; Clear shows everything, and leaves no trace
        in the address."""
        page = opened("#?verdict=warn")
        before, findings = shown(page), shown(page, "finding")
        page.get_by_label("Operation").select_option("getBalance")
        settle(page)

        assert before == ["executePix.fields.extra", "getBalance.status"]
        assert findings == [f"finding-{id}" for id in before]
        assert shown(page) == ["getBalance.status"]
        assert "requirements 1" in page.locator('output[aria-live="polite"]').inner_text()
        page.get_by_role("button", name="Clear").click()
        settle(page)
        assert len(shown(page)) == len(recorded("failing").document["requirements"])
        assert page.evaluate("location.hash") == ""

    def test_text_in_the_address(self, opened):
        """What is searched for, with the keyboard alone, stands in the fragment: the address shows the same to who opens
        it. What many requirements share is not searched. A link to what a filter hides clears it."""
        page = opened()
        page.get_by_role("searchbox").focus()
        page.keyboard.type("Document MASKED")
        page.keyboard.press("Tab")
        page.keyboard.type("fail")
        settle(page)
        again = opened(page.evaluate("location.hash"))

        assert shown(page) == shown(again) == [MASKED]
        assert again.get_by_role("searchbox").input_value() == "Document MASKED"
        again.evaluate("location.hash = '#executePix.id.present'")
        settle(again)
        assert part(again, "executePix.id.present").is_visible()
        page.get_by_role("searchbox").fill("serializer")
        settle(page)
        assert shown(page) == shown(page, "finding") == []


@pytest.mark.parametrize("fragment", [f"finding-{MASKED}", MASKED, "exchange-1"])
def test_what_a_ticket_cites(opened, fragment):
    """The address of a finding, a requirement or an exchange shows it, folded or not."""
    page = opened(f"#{fragment}")
    page.wait_for_timeout(100)
    box = part(page, fragment).bounding_box()

    assert box is not None
    assert 0 <= box["y"] < 800


def test_an_exchange(opened):
    """A finding leads to its exchange, where what deviates is marked and leads back; what scrolls takes the focus; ids
    and lines that reproduce are copied."""
    page = opened(permissions=["clipboard-read", "clipboard-write"])
    button = part(page, f"finding-{MASKED}").get_by_role("button", name=f"Copy the id {MASKED}")
    button.click()
    page.wait_for_timeout(100)

    assert page.evaluate("navigator.clipboard.readText()") == MASKED
    assert button.inner_text() == "Copied"

    part(page, f"finding-{MASKED}").get_by_role("link", name="Exchange").first.click()
    exchange = page.locator(f".exchange[open]:has(a.deviates[href='#finding-{MASKED}'])")
    box = exchange.get_by_role("group", name="Response of exchange")
    box.focus()
    has_focus = box.evaluate("box => box === document.activeElement")
    exchange.get_by_role("button", name="Copy the lines that send").click()
    page.wait_for_timeout(100)
    copied = page.evaluate("navigator.clipboard.readText()")

    assert exchange.locator("mark", has_text='"document"').is_visible()
    assert exchange.get_by_role("link", name=MASKED, exact=True).first.is_visible()
    assert has_focus
    assert copied == exchange.locator("pre").last.inner_text()
    assert "curl " in copied


@pytest.mark.parametrize(("viewport", "scheme"), [(DESK, "light"), (PHONE, "dark")], ids=["desk", "phone"])
def test_accessibility(opened, viewport, scheme):
    """axe-core finds no violation, in any part of the page."""
    page = opened(viewport=viewport, color_scheme=scheme)
    page.evaluate(f"document.querySelectorAll({REPETITIVE!r}).forEach(part => part.remove())")
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    found = Axe().run(page)

    assert found.violations_count == 0, found.generate_report()


def test_paper(opened, tmp_path):
    """The first page is the first screen, the second the findings; exchanges and what is folded are printed on
    demand."""
    page = opened(f"#{MASKED}", color_scheme="dark")
    explained = part(page, MASKED).locator(".explained")
    page.emulate_media(media="print")
    folded = explained.is_visible()
    explained.evaluate("explanation => explanation.open = true")
    page.pdf(path=tmp_path / "report.pdf", format="A4")
    first, second, *others = (sheet.extract_text() for sheet in PdfReader(tmp_path / "report.pdf").pages)

    assert (folded, explained.locator("p").is_visible()) == (False, True)
    assert "NON-CONFORMANT" in first
    assert "Findings" not in first
    assert second.startswith("Findings")
    assert MASKED in second
    assert any("Requirements by level and verdict" in text for text in others)
    assert not page.locator("#exchanges").is_visible()
    page.get_by_label("Print exchanges").evaluate("box => box.click()")
    assert page.locator("#exchanges").is_visible()


def test_pictures_of_the_documentation(chromium, report, tmp_path):
    """Each is as wide and as high as its screen."""
    take(chromium, report, tmp_path)
    sizes = {path.stem: struct.unpack(">II", path.read_bytes()[16:24]) for path in tmp_path.iterdir()}

    assert sizes == {name: tuple(viewport.values()) for name, (viewport, _, _) in PICTURES.items()}
