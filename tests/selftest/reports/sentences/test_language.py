"""Every catalogue has all that the suite can say, and the page in Portuguese leaves nothing in English."""

import ast
import json
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path

import pytest
import yaml
from babel.messages.frontend import CommandLineInterface
from babel.messages.plurals import get_plural
from babel.messages.pofile import read_po

from environments.profiles.loading import editor_schema
from reports.observed.behaviour import Drift
from reports.observed.comparison import comparison_of_two_runs
from reports.observed.earlier_runs import record_of, run_in_folder
from reports.outputs.conformance_json import document_of
from reports.outputs.page.rendering import summary_html
from reports.result.run import Note, NoteKind, Run
from reports.sentences.language import ENGLISH, catalogues, language
from spec.exchange import Purpose
from spec.interface import OPENAPI
from spec.message import message_of, say
from tests.selftest.hand_made import SANDBOX_PROFILE
from tests.selftest.shared_runs import SHARED_RUNS, shared_run
from tests.traffic.money.executions import Execution

ROOT = Path(__file__).parents[4]
PORTUGUESE = "pt-BR"
(CATALOGUE,) = (read_po(BytesIO(file.read_bytes()), locale=tag.replace("-", "_")) for tag, file in catalogues().items())
NAMES = re.compile(r"(?<!\{)\{(\w*)\}|%\((\w+)\)s")


# -- the catalogue --------------------------------------------------------------------------------------------------


def run_command_of_makefile(name, pot):
    """Run the command of pybabel in the Makefile that has this name, such as "update". $(POT) becomes this path."""
    lines = (ROOT / "Makefile").read_text().splitlines()
    [command] = [line.strip() for line in lines if f"pybabel {name}" in line or f"pybabel -q {name}" in line]
    _, arguments = command.split("pybabel ", 1)
    arguments_with_path = [str(pot) if argument == "$(POT)" else argument for argument in arguments.split()]
    CommandLineInterface().run(["pybabel", "-q", *arguments_with_path])


def test_the_catalogue_has_exactly_the_texts_of_the_suite(tmp_path, monkeypatch):
    """The Portuguese catalogue has an entry for each text that the code marks for translation, and no other entry.

    If an entry is missing, run `make messages` and translate what it adds.
    """
    file = tmp_path / "texts.pot"
    monkeypatch.chdir(ROOT)
    run_command_of_makefile("extract", pot=file)
    texts_in_code = ids_of_entries(read_po(BytesIO(file.read_bytes())))
    texts_in_catalogue = ids_of_entries(CATALOGUE)

    assert texts_in_code - texts_in_catalogue == set()
    assert texts_in_catalogue - texts_in_code == set()


def ids_of_entries(catalogue):
    """The English texts that a catalogue has as the ids of its entries, without the empty one, which is its head."""
    return {entry.id for entry in catalogue if entry.id}


def test_an_old_translation_is_kept_as_a_comment(tmp_path, monkeypatch):
    """If a text is reworded, `make messages` keeps its old translation as a comment, so that a translator can use it."""
    (tmp_path / "reports/locale/pt_BR/LC_MESSAGES").mkdir(parents=True)
    file = tmp_path / "reports/locale/pt_BR/LC_MESSAGES/report.po"
    file.write_text(
        'msgid ""\nmsgstr "Content-Type: text/plain; charset=utf-8\\n"\n\nmsgid "a key"\nmsgstr "uma chave"\n'
    )
    template = tmp_path / "texts.pot"
    template.write_text('msgid ""\nmsgstr "Content-Type: text/plain; charset=utf-8\\n"\n\nmsgid "one key"\nmsgstr ""\n')
    monkeypatch.chdir(tmp_path)
    run_command_of_makefile("update", pot=template)

    assert '#~ msgid "a key"\n#~ msgstr "uma chave"' in file.read_text()


def test_an_entry_is_translated_with_its_placeholders():
    """Each entry of the Portuguese catalogue is translated in all plural forms, with the placeholders of the English
    text.
    """
    forms = get_plural(str(CATALOGUE.locale)).num_plurals

    not_translated = [entry.id for entry in CATALOGUE if entry.id and is_not_wholly_translated(entry, forms)]

    assert not_translated == []


def is_not_wholly_translated(entry, forms):
    """True if a translation of the entry is missing, empty, or has other placeholders than the English text.

    `forms` is the number of plural forms of the language. Only an entry with a number in it has several forms.
    """
    texts = entry.string if isinstance(entry.string, tuple) else (entry.string,)
    english_text = entry.id[-1] if isinstance(entry.id, tuple) else entry.id
    expected_number_of_texts = forms if entry.pluralizable else 1
    empty_texts = [text for text in texts if not text.strip()]
    placeholders = sorted(set(NAMES.findall(english_text)))
    texts_with_other_placeholders = [text for text in texts if sorted(NAMES.findall(text)) != placeholders]
    has_wrong_number_of_texts = len(texts) != expected_number_of_texts
    return bool(entry.fuzzy or has_wrong_number_of_texts or empty_texts or texts_with_other_placeholders)


def test_every_purpose_of_a_request_is_translated():
    """The catalogue has an entry for the purpose of each request, such as `a supplied code`, which stands in an enum.

    The tool that collects texts does not look into enums, so these entries are written by hand.
    """
    enums = Purpose.__subclasses__()
    purposes = [purpose.value for enum in enums for purpose in enum]
    entries = {entry.id for entry in CATALOGUE}

    purposes_without_entry = [purpose for purpose in purposes if purpose not in entries]

    assert purposes_without_entry == []
    assert Execution.PREPARED.value in purposes


FOLDERS_OF_THE_PRODUCT = ("spec", "environments", "reports", "tests/harness", "tests/traffic", "tests/conformance")
FEWEST_FIXED = 5
"""Characters of an f-string besides its values, from which on its texts can be told from any other text."""


def nodes_of_the_code():
    """Every node of the syntax trees of the Python files of the product."""
    for folder in FOLDERS_OF_THE_PRODUCT:
        for path in (ROOT / folder).rglob("*.py"):
            yield from ast.walk(ast.parse(path.read_text("utf-8")))


def texts_and_names_in_python():
    """Texts in the code, and names of fields and of keyword arguments, such as `selection`, which reports may show."""
    for node in nodes_of_the_code():
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, ast.keyword) and node.arg:
            yield node.arg


def patterns_of_f_strings():
    """A regular expression for each f-string in the code: "lies .+ away" for f"lies {distance} away".

    An f-string with less than FEWEST_FIXED characters besides its values is left out, because it would match any text.
    """
    for node in nodes_of_the_code():
        if not isinstance(node, ast.JoinedStr):
            continue
        fixed_texts = [part.value for part in node.values if isinstance(part, ast.Constant)]
        patterns = [re.escape(part.value) if isinstance(part, ast.Constant) else ".+" for part in node.values]
        if len("".join(fixed_texts)) >= FEWEST_FIXED:
            yield "".join(patterns)


def texts_and_names_in_yaml(value):
    """The set of texts and names of members in a YAML value, at any depth."""
    if isinstance(value, dict):
        return set(value) | texts_and_names_in_yaml(list(value.values()))
    if isinstance(value, list):
        return set().union(*map(texts_and_names_in_yaml, value))
    return {value}


def test_each_entry_by_hand_is_a_text_of_the_code():
    """Each entry of the catalogue that is written by hand stands in the code.

    The code may have it in small letters, such as "phone" for PHONE, or with hyphens, such as "not-exercised" for "not
    exercised". Or it is an f-string whose values are filled in. `make messages` keeps such an entry for ever, so nothing
    else would find one that is no longer used.
    """
    files = [yaml.safe_load(path.read_text("utf-8")) for path in (ROOT / "spec").glob("*.yaml")]
    texts = set(texts_and_names_in_python()) | texts_and_names_in_yaml(files)
    any_f_string = re.compile("|".join(patterns_of_f_strings()))

    def is_in_the_code(text):
        spellings = {text, text.lower(), text.replace(" ", "-")}
        is_a_text = bool(spellings & texts)
        return is_a_text or any_f_string.fullmatch(text) is not None

    by_hand = [entry.id for entry in CATALOGUE if "by hand" in entry.user_comments]
    english = [entry_id[0] if isinstance(entry_id, tuple) else entry_id for entry_id in by_hand]
    unused_entries = [text for text in english if not is_in_the_code(text)]

    assert unused_entries == []
    assert len(by_hand) > 100


def test_the_profile_knows_every_language():
    """A profile may choose English and each language that has a catalogue, and no other language."""
    languages_of_profile = editor_schema()["properties"]["language"]["enum"]

    assert [ENGLISH, *catalogues()] == ["en", "pt-BR"]
    assert languages_of_profile == ["en", "pt-BR"]


# -- the page -------------------------------------------------------------------------------------------------------

_VOID = frozenset({"br", "wbr", "input", "meta", "link", "img", "line", "path", "circle"})
_CODE = frozenset({"code", "pre", "script", "style"})
_SAID = ("aria-label", "title", "placeholder", "alt", "data-said", "data-done", "data-name")


class TextsOfPage(HTMLParser):
    """The texts that people read on a page, without code. `english` are those that are marked as English."""

    def __init__(self, source):
        super().__init__()
        self._open, self.texts, self.english = [], [], []
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        """Note the attributes that people read, and that the element is open, if it has an end tag."""
        attributes = dict(attrs)
        self.texts += [attributes[name] for name in _SAID if attributes.get(name)]
        if tag not in _VOID:
            is_english = attributes.get("lang") == "en"
            self._open.append((tag, is_english))

    def handle_endtag(self, tag):
        """Close the open elements up to the last one with this tag."""
        while self._open:
            closed_tag, _ = self._open.pop()
            if closed_tag == tag:
                return

    def handle_data(self, data):
        """Note a text, unless it is code. It is English if an open element says so."""
        text = " ".join(data.split())
        open_tags = {tag for tag, _ in self._open}
        is_code = bool(_CODE & open_tags)
        if not text or is_code:
            return
        is_english = any(is_english for _, is_english in self._open)
        if is_english:
            self.english.append(text)
        else:
            self.texts.append(text)


def page_of(run, tag=PORTUGUESE, comparison=None):
    """The texts of the page of a run in this language, with this comparison with another run, if there is one."""
    run = replace(run, profile=replace(run.profile, language=tag))
    document = document_of(run).model_copy(update={"comparison": comparison})
    return TextsOfPage(summary_html(run, document))


def left_in_english(run, comparison=None):
    """The texts of the Portuguese page that are marked as English and should not be.

    Names of credentials, such as "no header", and two names of statuses stay in English.
    """
    credentials = {exchange.credential for exchange in run.exchanges.values()}
    names = credentials | {"status 200", "status 500"}
    english_texts = page_of(run, comparison=comparison).english
    return [text for text in english_texts if text.rstrip(":.") not in names]


@pytest.fixture
def run():
    """A run without a result."""
    return Run(SANDBOX_PROFILE, "http://127.0.0.1:1", narrowed=True)


@pytest.mark.parametrize("name", sorted(SHARED_RUNS.keys() - {"clean"}))
def test_a_page_in_portuguese_has_no_english_text(name):
    """The report page in Portuguese has no text in English, for runs that fail, are interrupted, reach no service, and
    others.
    """
    english_texts = left_in_english(shared_run(name).run)

    assert english_texts == []


def phrases(text):
    """The innermost values of a message, at any depth. A message without values is a phrase itself.

    The message "{key}, {again}" with the values "a key" and "once more" has the phrases "a key" and "once more".
    """
    values = [value for _, value in message_of(text).values]
    if not values:
        return {str(text)}
    return set().union(*map(phrases, values))


def test_observations_are_translated_to_portuguese():
    """The kind of request that each observation names (its situation) is translated to Portuguese.

    Names and numbers of the interface stay as they are.
    """
    values_and_no_words = {"", "null", "1 = EMAIL", "2 = EMAIL"}
    names_of_the_interface = OPENAPI.read_text()
    phrases_of_situations = set()
    for observation in shared_run("clean").run.observations:
        phrases_of_situations |= phrases(observation.situation)

    def is_a_name_or_number(phrase):
        return phrase.isdecimal() or phrase in names_of_the_interface

    phrases_with_words = {
        phrase for phrase in phrases_of_situations - values_and_no_words if not is_a_name_or_number(phrase)
    }
    untranslated_phrases = [phrase for phrase in phrases_with_words if language(PORTUGUESE).text(phrase) == phrase]

    assert untranslated_phrases == []


def test_notes_verdicts_drift_and_comparison_are_translated_to_portuguese(run):
    """Notes, verdicts, drift and the comparison with another run are in Portuguese on the Portuguese page. Values stay
    as they are.

    Drift is a difference from what an earlier run observed.
    """
    why = say("the connection is refused")
    note = Note(NoteKind.WRONG_SET_UP, say("{base_url} cannot be reached: {why}", base_url="https://x", why=why))
    run.notes.append(note)
    run.unsent = {say("limits.{setting} ({limit}) is spent", setting="transfers", limit=20): ["createPix"]}
    run.selected |= {"executePix.status", "executePix.json"}  # two requirements that are not tested
    run.drift = [Drift(id="executePix.repeated", situation="", place="", was="the same result", now="another")]
    run.record = record_of("staging", {})  # what the drift is a difference from
    comparison = comparison_of_two_runs(run_in_folder(shared_run("failing").folder), document_of(run), str)
    portuguese_by_english = {
        "https://x cannot be reached: the connection is refused": "https://x não pode ser alcançado: a conexão foi recusada",
        "limits.transfers (20) is spent: not all requests to createPix were sent": "o limite limits.transfers (20) foi "
        "atingido: nem todas as requisições a createPix foram enviadas",
        "the same result": "o mesmo resultado",
        "not exercised": "não testado",
        "2 not exercised": "2 não testados",
    }
    headings = {
        "Mudança de comportamento",
        "Mudanças desde outra execução dos testes",
    }  # of drift, and of the comparison

    texts = set(page_of(run, comparison=comparison).texts)
    texts_in_english = set(page_of(run, ENGLISH, comparison).texts)

    assert left_in_english(run, comparison) == []
    assert set(portuguese_by_english.values()) <= texts
    assert headings <= texts
    assert set(portuguese_by_english) <= texts_in_english


def test_the_whole_page_is_in_portuguese():
    """A Portuguese report page says that its language is pt-BR, and has a Portuguese title and reasons.

    The outcomes of pytest, the files for programs and the terminal stay in English.
    """
    result = shared_run("partial")  # its profile says `language: pt-BR`
    page = result.text("report.html")
    data_of_pytest_html = json.loads(unescape(re.search(r'data-jsonblob="([^"]*)"', page)[1]))
    tests = [test for tests_of_id in data_of_pytest_html["tests"].values() for test in tests_of_id]
    tests_without_permission = [test for test in tests if test["log"].endswith("exige execute em allow")]

    assert '<html lang="pt-BR">' in page
    assert "<title>Conformidade Pix: staging: " in page
    assert {test["result"] for test in tests} == {"Passed", "Skipped"}
    assert tests_without_permission != []
    assert "tested\n" in result.output
    assert result.document["headline"].startswith("PARTIAL, read only: no failure")
