"""report.html in Portuguese: every text of it is Portuguese, a value, or marked as English."""

import json
import os
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from jinja2 import Environment

import tests.selftest.proof.borderline
import tests.selftest.proof.mutants
import tests.selftest.proof.variants  # noqa: F401 - registers its services
from environments.profiles.loading import load
from environments.sandbox import Server, Service
from reports.formats.conformance_json import document_of
from reports.page.rendering import TEMPLATES as TEMPLATES_FOLDER
from reports.page.rendering import summary_html
from reports.run import Note, NoteKind, Observation, Run
from reports.verdicts import RequirementResult, Verdict
from spec.facts import said
from spec.message import say
from tests.selftest.proof.registry import BORDERLINE, MUTANTS, VARIANTS
from tests.selftest.proof.trial import run_of
from tests.selftest.services.running import run as run_pytest
from tests.selftest.services.running import write_profile

REPOSITORY = Path(__file__).parents[2]
PORTUGUESE = "pt-BR"
_VOID = frozenset({"br", "wbr", "input", "meta", "link", "img", "line", "path", "circle"})
_CODE = frozenset({"code", "pre", "script", "style"})
_SAID = ("aria-label", "title", "placeholder", "alt", "data-said", "data-done", "data-name")
UNANSWERED = (
    "no answer says whether the transfer was executed; the code is not sent again: look the transfer up; "
    "then python -m environments journal --settle CODE ends this line"
)
_LETTERS = re.compile("[a-z]{2}")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_ALIKE = frozenset({"array", "code", "commit", "Endpoints", "envelope", "item", "ms", "status", "string", "token"})


class Texts(HTMLParser):
    """The texts that people read on a page, code apart, and what is marked as English."""

    def __init__(self, source):
        super().__init__()
        self._open, self.texts, self.english = [], [], []
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        known = dict(attrs)
        self.texts += [known[name] for name in _SAID if known.get(name)]
        if tag not in _VOID:
            self._open.append((tag, known.get("lang") == "en"))

    def handle_endtag(self, tag):
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        text = " ".join(data.split())
        if not text or _CODE & {tag for tag, _ in self._open}:
            return
        marked = any(english for _, english in self._open)
        (self.english if marked else self.texts).append(text)


def page_of(run, language):
    """The page of a run in a language."""
    return Texts(summary_html(replace(run, profile=replace(run.profile, language=language))))


def left_in_english(run):
    """The texts that are marked as English, but for what was observed: its situations are names in the record."""
    document = document_of(run)
    named = {situation for situations in document["observed"].values() for situation in situations}
    named |= {
        text
        for situations in document["observed"].values()
        for places in situations.values()
        for texts in places.values()
        for text in texts
    }
    named |= {document["suite"]["proof"], run.profile.redirected}
    return [text for text in page_of(run, PORTUGUESE).english if text.rstrip(":.") not in named]


SANDBOX = load("sandbox", folder=REPOSITORY / "environments")
TEMPLATES = sorted(TEMPLATES_FOLDER.glob("*.html"))
SPECIMENS = (
    "AnOldBankBehindSoap", "EveryOperationDropsForMissingToken", "EveryKeyWaitsWithAFlag", "ExecutionOfCPFNeedsNoToken",
    "NoBodies", "RegisterOnly", "RegistrationNeedsFrom",
)  # fmt: skip
"""Services with faults of every sort, and lawful ones that leave much untested."""
EVERY = {**MUTANTS.specimens, **VARIANTS.specimens, **BORDERLINE.specimens}


@pytest.fixture
def tried(tmp_path):
    """Runs the suite against a service, with all evidence, and gives the model of the run."""

    def run_against(service, *arguments):
        with getattr(service, "SERVER", Server)(service) as server:
            os.environ |= {"PIX_SANDBOX_TOKEN": service.token, "PIX_TOKEN": service.token}
            return run_of(f"--report-dir={tmp_path}", f"--base-url={server.base_url}", *arguments)[1]

    return run_against


def test_a_conformant_run_is_told_in_portuguese(tried):
    """Nothing on the page of the sandbox is left in English, generated traffic included."""
    assert left_in_english(tried(Service())) == []


@pytest.mark.parametrize("name", SPECIMENS)
def test_failures_are_told_in_portuguese(name, tried):
    """Nor is anything that the suite says of services that break or leave out something."""
    assert left_in_english(tried(EVERY[name].make(), "-m", "not property")) == []


def test_what_has_no_translation_is_marked():
    """It is there as it was written; what the operator and the service wrote is no text of the suite."""
    run = Run(SANDBOX, "http://127.0.0.1:1", narrowed=True)
    run.selected |= {"executePix.status", "executePix.status.values"}
    odd = "expected status 200, got <b>the unexpected</b>"
    run.results.append(RequirementResult("executePix.status", Verdict.FAIL, odd))
    run.observations.append(Observation("executePix.status.values", said("missing, text")))
    page = page_of(run, PORTUGUESE)

    assert set(page.english) == {odd, document_of(run)["suite"]["proof"]}
    assert "missing, text" in page.texts


def test_a_verdict_is_said_in_words():
    """A verdict of two words has no hyphen, in no language; several of them are plural."""
    run = Run(SANDBOX, "http://127.0.0.1:1", narrowed=True)
    run.selected |= {"executePix.status", "executePix.json"}

    assert {"not exercised", "2 not exercised"} <= set(page_of(run, "en").texts)
    assert {"não exercitado", "2 não exercitados"} <= set(page_of(run, PORTUGUESE).texts)


def test_a_note_is_told_in_portuguese():
    """Notes stand first, and say what to do; their values stay."""
    lost = say("{base_url} cannot be reached: {why}", base_url="https://x", why=say("the connection is refused"))
    run = Run(SANDBOX, "http://127.0.0.1:1", said=[Note(NoteKind.SET_UP, lost)])

    assert "https://x não pode ser alcançado: a conexão foi recusada" in page_of(run, PORTUGUESE).texts


def test_the_whole_page_is_in_portuguese(tmp_path):
    """The frame says its language; the outcomes of pytest, the files for programs and the terminal are in English."""
    profile = write_profile(tmp_path, "embedded", auth=None, language=PORTUGUESE, allow=["read"])
    result = run_pytest(profile, "-k", "listAccounts or executePix.status", "--no-header")
    page = (tmp_path / "report" / "report.html").read_text("utf-8")
    data = json.loads(unescape(re.search(r'data-jsonblob="([^"]*)"', page)[1]))
    tests = [test for tests in data["tests"].values() for test in tests]

    assert '<html lang="pt-BR">' in page
    assert "<title>Conformidade Pix: profile: " in page
    assert {test["result"] for test in tests} == {"Passed", "Skipped"}
    assert any(test["log"].endswith("precisa de execute em allow") for test in tests)
    assert re.findall('lang="en">([^<]+)', page)[0] == result.document["suite"]["proof"]
    assert "tested\n" in result.output
    assert result.document["headline"].startswith("PARTIAL")


def test_drift_is_told_in_portuguese():
    """Places, phrases and situations; names and types are in no language."""
    run = Run(SANDBOX, "http://127.0.0.1:1", narrowed=True)
    run.selected.add("executePix.unknownCode")
    run.record = {"accepted": "2026-11-20", "suite_version": "0.1.0"}
    drifted = dict.fromkeys(("id", "situation", "place"), "") | {"was": "the same result", "is": "another result"}
    run.drift = [{**drifted, "id": "executePix.repeated", "situation": "the answer"}]

    assert left_in_english(run) == []
    assert {"Mudança de comportamento", "o mesmo resultado"} <= set(page_of(run, PORTUGUESE).texts)


def test_a_comparison_is_told_in_portuguese(tmp_path):
    """What changed since another run, which broke a requirement, asked for more, and observed other values."""
    folders = {name: tmp_path / name for name in ("before", "now")}
    with Server(EVERY["ExecutionDigitMissing"].make()) as server:
        profile = write_profile(tmp_path, server.base_url, language=PORTUGUESE)
        arguments = ("-k", "executePix or listAccounts", f"--report-dir={folders['before']}")
        before = run_pytest(profile, *arguments, PIX_TOKEN=server.service.token)
    with Server(Service()) as server:
        profile = write_profile(tmp_path, server.base_url, language=PORTUGUESE)
        arguments = ("-k", "executePix", f"--report-dir={folders['now']}", f"--compare-with={folders['before']}")
        now = run_pytest(profile, *arguments, PIX_TOKEN=server.service.token)
    page = Texts((folders["now"] / "report.html").read_text("utf-8"))

    assert (before.status, now.status) == (1, 0)
    assert "Mudanças desde outra rodada" in page.texts
    assert not [text for text in page.english if text.startswith(("since", "compared"))]


_TAG = re.compile(r"<[^>]*>|data-[a-z]+=\"[a-z]*\"")
_ATTRIBUTE = re.compile(rf"(?:{'|'.join(_SAID)})=\"([^\"]*)\"")
_NO_WORDS = {"SHA-256", "SHA256SUMS", "allow", "ms", "s"}


def unmarked(source):
    """The texts of a template that are in no {% trans %}, and the texts in its expressions that are in no _()."""
    tokens = [token[1:] for token in Environment().lex(source) if token[1] not in ("whitespace", "comment")]
    marked, plain, found = False, "", []
    for at, (kind, value) in enumerate(tokens):
        if kind == "name" and tokens[at - 1][0] == "block_begin" and value in ("trans", "endtrans"):
            marked = value == "trans"
        plain += value if kind == "data" and not marked else ""
        if kind == "string" and " " in value[1:-1].strip() and [text for _, text in tokens[at - 2 : at]] != ["_", "("]:
            found.append(value)
    found += [*_TAG.sub("\n", plain).split("\n"), *_ATTRIBUTE.findall(plain)]
    return [text for text in found if not text.startswith("#")]


@pytest.mark.parametrize("file", TEMPLATES, ids=lambda file: file.name)
def test_every_text_of_a_template_is_marked(file):
    """What a template says itself is within {% trans %} or _(), and the sentences that it shows pass the filter said."""
    found = unmarked(file.read_text("utf-8"))

    assert [text for text in found if set(re.findall(r"[A-Za-z][\w-]*", text)) - _NO_WORDS] == []


def test_an_unmarked_text_is_found():
    """In a text, in an attribute, and in an expression."""
    template = (
        """<p title="One word">{{ _("two words") }} {% trans %}three words{% endtrans %} {{ "four words" }} five</p>"""
    )

    assert [text.strip() for text in unmarked(template) if text.strip()] == ['"four words"', "five", "One word"]
