"""report.html in a browser: what it looks like to a mouse, a keyboard, a screen reader, a phone and a printer."""

import json
import shutil
from dataclasses import replace

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright
from pypdf import PdfReader

from environments.sandbox import Server, Service
from spec.requirements import requirements
from tests.selftest.services.running import TOKEN, run, write_profile

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium")

MASKED = "executePix.document.masked"
REPETITIVE = (
    "[data-entry='requirement'][data-verdict='pass']:nth-child(n + 4), .exchange:not(.cited):nth-of-type(n + 9), "
    "#results-table tbody.passed:nth-of-type(n + 5)"
)
"""Parts of which the page has many alike: axe-core takes its time for each."""
DESK, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


class Unmasks(Service):
    """Shows the whole tax document, another field, and a stack trace to a body that is no object."""

    def respond(self, request):
        response = super().respond(request)
        if request.method == "DELETE" and request.body.startswith(b"["):
            trace = b'Traceback (most recent call last):\n  File "app.py", line 3, in f\nKeyError: 1\n'
            return replace(response, status=500, body=trace)
        if b'"digit"' not in response.body:
            return response
        answer = json.loads(response.body)
        answer["data"] |= {"document": "123.456.789-09", "extra": 1}
        return replace(response, body=json.dumps(answer).encode())


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The report of a run with failures, of conformance and of robustness, and with warnings."""
    with Server(Unmasks(token=TOKEN["PIX_TOKEN"])) as server:
        result = run(write_profile(tmp_path_factory.mktemp("report"), server.base_url))
    return result.folder / "report.html"


@pytest.fixture(scope="module")
def chromium():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium, report):
    """Opens the report: `opened("#fragment", viewport=PHONE)`. Whatever the console says fails the test."""
    contexts, said = [], []

    def open_page(fragment="", viewport=DESK, **options):
        context = chromium.new_context(viewport=viewport, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(f"{report.as_uri()}{fragment}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []


def settle(page):
    """Wait for the filters, which let a reader finish the word."""
    page.wait_for_timeout(300)


def shown(page, sort):
    """The ids of the entries of that sort that no filter hides."""
    return page.eval_on_selector_all(
        f'[data-entry="{sort}"]', "found => found.filter(one => !one.hidden).map(one => one.id)"
    )


def top(page, selector):
    return page.eval_on_selector(selector, "element => element.getBoundingClientRect().top")


class TestWhatIsFetched:
    def test_nothing(self, chromium, report):
        """The page is the only thing that a browser asks for."""
        asked = []
        page = chromium.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto(report.as_uri(), wait_until="networkidle")
        page.close()

        assert asked == [report.as_uri()]

    def test_a_foreign_script(self, chromium, report):
        """Markup that got into the page in spite of everything neither runs nor fetches."""
        page = chromium.new_page()
        asked = []
        page.on("requestfailed", lambda request: asked.append(request.failure))
        page.goto(report.as_uri())
        page.set_content(
            report.read_text("utf-8").replace(
                "<main>",
                "<main><script>window.ran = 1</script><img src='http://127.0.0.1:9/x' onerror='window.ran = 1'>",
            )
        )
        page.wait_for_timeout(200)

        assert page.evaluate("window.ran") is None
        assert page.evaluate("document.querySelectorAll('#results-table tbody').length") > 0
        assert asked == ["csp"]
        page.close()


class TestTheFirstScreen:
    def test_what_is_seen_at_once(self, opened):
        """Verdict, what was left out, provenance and the headline of the findings fit into one screen."""
        page = opened()

        assert 0 <= top(page, ".banner") < top(page, ".tiles") < top(page, ".provenance") < top(page, "#findings") < 800
        assert top(page, ".finding") < 900

    def test_a_phone(self, opened):
        """The findings come first; the provenance is folded until it is asked for, or cited."""
        page, cited = opened(viewport=PHONE), opened("#provenance", viewport=PHONE)

        assert top(page, ".finding") < 1100
        assert not page.locator(".provenance dl").is_visible()
        assert cited.locator(".provenance dl").is_visible()

    @pytest.mark.parametrize("script", [True, False], ids=["with JavaScript", "without"])
    def test_it_reads_without_javascript(self, opened, script):
        """Findings, figures, requirements and exchanges stand in the page; only filters and copy buttons need a script."""
        page = opened(java_script_enabled=script)

        assert page.locator(".finding").first.is_visible()
        assert page.locator(".counts").is_visible()
        assert page.locator(".filter-bar").is_visible() == script
        assert page.locator(".finding .copy").first.is_visible() == script


class TestFilters:
    def test_verdict(self, opened):
        """A verdict leaves the entries that have it, and a screen reader is told how many."""
        page = opened()
        page.get_by_role("combobox", name="Verdict").select_option("warn")
        settle(page)

        assert "finding-executePix.fields.extra" in shown(page, "finding")
        assert f"finding-{MASKED}" not in shown(page, "finding")
        count = len(shown(page, "requirement"))
        assert f"requirements {count}" in page.locator('output[aria-live="polite"]').inner_text()
        assert 0 < count < len(requirements())

    def test_level_and_operation(self, opened):
        """Filters go together."""
        page = opened()
        page.get_by_label("Level").select_option("robustness")
        page.get_by_label("Operation").select_option("deletePixKey")
        settle(page)

        assert set(shown(page, "requirement")) == {
            f"deletePixKey.{what}" for what in ("serverError", "stackTrace", "connection")
        }

    def test_text_in_the_address(self, opened):
        """What is searched for stands in the fragment: the address shows the same to who opens it."""
        page = opened()
        page.get_by_role("searchbox").fill("Document MASKED")
        settle(page)
        found = shown(page, "requirement")

        again = opened(page.evaluate("location.hash"))

        assert MASKED in found
        assert shown(again, "requirement") == found
        assert again.get_by_role("searchbox").input_value() == "Document MASKED"

    def test_clear(self, opened):
        """Clear shows everything again, and leaves no trace in the address."""
        page = opened("#?verdict=fail")
        hidden = len(requirements()) - len(shown(page, "requirement"))
        page.get_by_role("button", name="Clear").click()
        settle(page)

        assert hidden > 0
        assert len(shown(page, "requirement")) == len(requirements())
        assert page.evaluate("location.hash") == ""

    def test_a_link_beats_a_filter(self, opened):
        """A link leads to what a filter hides: the filter is cleared."""
        page = opened("#?verdict=warn")
        page.evaluate("location.hash = '#executePix.id.present'")
        settle(page)

        assert page.locator("[id='executePix.id.present']").is_visible()

    def test_keyboard(self, opened):
        """The filters are reached and set with the keyboard alone."""
        page = opened()
        page.get_by_role("searchbox").focus()
        page.keyboard.type("stackTrace")
        page.keyboard.press("Tab")
        page.keyboard.type("fail")
        settle(page)

        assert shown(page, "requirement") == ["deletePixKey.stackTrace"]


class TestExplanations:
    def test_without_a_script(self, opened):
        """A finding unfolds what usually fixes it, with a keyboard and without JavaScript."""
        explanation = opened(java_script_enabled=False).locator(f"[id='finding-{MASKED}'] .explained")
        text = explanation.get_by_text("Mask the tax document where the answer is built")
        before = text.is_visible()
        explanation.locator("summary").press("Enter")

        assert (before, text.is_visible()) == (False, True)

    def test_search(self, opened):
        """What many requirements share is not searched: what is found says itself what was asked for."""
        page = opened("#?text=serializer")
        settle(page)

        assert shown(page, "requirement") == shown(page, "finding") == []

    def test_paper(self, opened):
        """It is printed where it is unfolded, and nothing of it elsewhere."""
        page = opened(f"#{MASKED}")
        row = page.locator(f"[id='{MASKED}'] .explained")
        page.emulate_media(media="print")
        folded = row.is_visible()
        row.evaluate("explanation => explanation.open = true")

        assert (folded, row.locator("p").is_visible()) == (False, True)


class TestAnchors:
    @pytest.mark.parametrize("fragment", [f"finding-{MASKED}", MASKED, "exchange-1", "verdict"])
    def test_what_a_ticket_cites(self, opened, fragment):
        """The address of a finding, a requirement or an exchange shows it, folded or not."""
        page = opened(f"#{fragment}")
        page.wait_for_timeout(100)
        box = page.locator(f"[id='{fragment}']").bounding_box()

        assert box is not None
        assert 0 <= box["y"] < 800

    def test_every_link_leads_somewhere(self, opened):
        """Each link within the page has a place to go to, those of the table of tests, too."""
        page = opened()

        lost = page.eval_on_selector_all(
            'a[href^="#"]',
            "found => found.map(a => decodeURIComponent(a.getAttribute('href').slice(1)))"
            ".filter(id => id && !document.getElementById(id))",
        )
        assert lost == []

    def test_requirement_exchange_and_back(self, opened):
        """A requirement leads to its exchange, which leads back."""
        page = opened(f"#{MASKED}")
        exchange = page.locator(f"[id='{MASKED}']").locator('a[href^="#exchange-"]').first.get_attribute("href")

        assert page.locator(f"""[id='{exchange[1:]}'] a[href="#{MASKED}"]""").count() > 0

    def test_marks(self, opened):
        """The mark of an anchor shows on focus."""
        mark = opened().get_by_role("link", name=f"Link to the finding {MASKED}")
        mark.focus()

        assert mark.evaluate("mark => getComputedStyle(mark).opacity") == "1"


def test_copy(opened):
    """The button of a finding copies its id, and says so."""
    page = opened(permissions=["clipboard-read", "clipboard-write"])
    button = page.get_by_role("button", name=f"Copy the id {MASKED}")
    button.click()
    page.wait_for_timeout(100)

    assert page.evaluate("navigator.clipboard.readText()") == MASKED
    assert button.inner_text() == "Copied"


class TestExchanges:
    @staticmethod
    def deviating(page):
        """The exchange that the finding cites."""
        page.locator(f"[id='finding-{MASKED}']").get_by_role("link", name="Exchange").first.click()
        return page.locator(f".exchange[open]:has(a.deviates[href='#finding-{MASKED}'])")

    def test_the_marked_line(self, opened):
        """The member that deviates is marked, and what is said beside it leads back to the finding."""
        exchange = self.deviating(opened())

        assert exchange.locator("mark", has_text='"document"').is_visible()
        assert exchange.get_by_role("link", name=MASKED, exact=True).first.is_visible()

    def test_copy(self, opened):
        """The button of an exchange copies the lines beside it."""
        page = opened(permissions=["clipboard-read", "clipboard-write"])
        exchange = self.deviating(page)
        button = exchange.get_by_role("button", name="Copy the lines that send")
        button.click()
        page.wait_for_timeout(100)

        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == exchange.locator("pre").last.inner_text()
        assert "curl " in copied

    def test_keyboard(self, opened):
        """What scrolls in a box of its own takes the focus, and has a name."""
        exchange = self.deviating(opened())
        box = exchange.get_by_role("group", name="Response of exchange")
        box.focus()

        assert box.evaluate("box => box === document.activeElement")


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessibility(opened, viewport, scheme):
    """axe-core finds no violation, in any part of the page."""
    page = opened(viewport=viewport, color_scheme=scheme)
    page.evaluate(f"document.querySelectorAll({REPETITIVE!r}).forEach(part => part.remove())")
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")

    found = Axe().run(page)

    assert found.violations_count == 0, found.generate_report()


def test_phone(opened):
    """Nothing of the page is wider than a phone."""
    page = opened(viewport=PHONE, has_touch=True, is_mobile=True)
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")

    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def test_tests_by_keyboard(opened):
    """Enter opens a row of pytest-html's table."""
    page = opened("#results-table")
    cell = page.locator("#results-table td.col-result").first
    cell.focus()
    page.keyboard.press("Enter")

    assert page.locator("#results-table .extras-row:not(.hidden)").count() == 1


class TestPaper:
    @staticmethod
    def printed(page, folder):
        """The text of each page, read as it is asked for: a page takes a while."""
        page.pdf(path=folder / "report.pdf", format="A4")
        return (sheet.extract_text() for sheet in PdfReader(folder / "report.pdf").pages)

    def test_the_first_two_pages(self, opened, tmp_path):
        """The first page is the first screen, the second the findings; exchanges are not printed."""
        first, second, *others = self.printed(opened(color_scheme="dark"), tmp_path)

        assert "NON-CONFORMANT" in first
        assert "Why believe it" in first
        assert "Findings" not in first
        assert second.startswith("Findings")
        assert MASKED in second
        assert not any("Each request and its response" in text for text in others)
        assert any("Requirements by level and verdict" in text for text in others)

    def test_exchanges_on_demand(self, opened, tmp_path):
        """A checkbox prints them, too."""
        page = opened()
        page.get_by_label("Print exchanges").check()

        assert any("Each request and its response" in text for text in self.printed(page, tmp_path))
