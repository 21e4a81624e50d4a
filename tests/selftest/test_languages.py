"""Every catalogue has all that the suite can say; what is said is translated by gettext when it is rendered."""

import re
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import pytest
from babel.messages.plurals import get_plural
from babel.messages.pofile import read_po

from environments.profiles.loading import editor_schema
from reports.language import ENGLISH, Language, catalogues, language
from spec.findings import finding, templates
from spec.message import joined, say, say_many
from spec.requirements import requirements
from tests.selftest.services.running import run, write_profile

ROOT = Path(__file__).parents[2]
TAGS = tuple(catalogues())
PORTUGUESE = "pt-BR"
CATALOGUES = {
    tag: read_po(BytesIO(file.read_bytes()), locale=tag.replace("-", "_")) for tag, file in catalogues().items()
}
NAMES = re.compile(r"(?<!\{)\{(\w*)\}|%\((\w+)\)s")


@pytest.fixture(scope="module")
def extracted(tmp_path_factory):
    """What `make messages` finds in the sources."""
    command = next(
        line.strip() for line in (ROOT / "Makefile").read_text().splitlines() if "pybabel -q extract" in line
    )
    file = tmp_path_factory.mktemp("texts") / "texts.pot"
    arguments = [str(file) if part == "$(POT)" else part for part in command.split("pybabel ", 1)[1].split()]
    babel = [sys.executable, "-m", "babel.messages.frontend", *arguments]
    subprocess.run(babel, check=True, cwd=ROOT, env={"PYTHONPATH": str(ROOT)})
    return {message.id for message in read_po(BytesIO(file.read_bytes())) if message.id}


@pytest.mark.parametrize("tag", TAGS)
def test_a_catalogue_has_what_the_suite_says_and_nothing_else(tag, extracted):
    """Run `make messages` and translate what it adds."""
    entries = {message.id for message in CATALOGUES[tag] if message.id}

    assert sorted(map(str, entries ^ extracted)) == []


@pytest.mark.parametrize("tag", TAGS)
def test_an_entry_is_translated_with_its_placeholders(tag):
    """Every form of an entry is there, and holds the placeholders of the English text, each once."""
    forms = get_plural(str(CATALOGUES[tag].locale)).num_plurals
    wrong = [entry.id for entry in CATALOGUES[tag] if entry.id and problem_of(entry, forms)]

    assert wrong == []


def problem_of(entry, forms):
    """True for an entry that is not wholly translated."""
    texts = entry.string if isinstance(entry.string, tuple) else (entry.string,)
    english = entry.id[-1] if isinstance(entry.id, tuple) else entry.id
    placeholders = sorted(set(NAMES.findall(english)))
    complete = len(texts) == (forms if entry.pluralizable else 1) and all(text.strip() for text in texts)
    return entry.fuzzy or not complete or any(sorted(NAMES.findall(text)) != placeholders for text in texts)


@pytest.mark.parametrize("tag", TAGS)
def test_statements_and_findings_are_translated(tag):
    """Every statement, its place in the interface document, why it is untestable, and every template of a finding."""
    texts = {text for one in requirements().values() for text in (one.text, one.section, one.untestable) if text}
    texts |= {text for parts in templates().values() for name, text in parts.items() if name != "at"}
    known = {message.id for message in CATALOGUES[tag]}

    assert texts - known == set()


@pytest.mark.parametrize(
    ("text", "portuguese"),
    [
        (finding("status", status=201).statement, "esperado: status 200; obtido: 201"),
        (
            finding("type", name="value", types="number", type=say("a string")).statement,
            "esperado: value do tipo number; obtido: uma string",
        ),
        (say_many("{n} known failure", "{n} known failures", n=2), "2 falhas conhecidas"),
        (joined((say("no answer"), "not reached")), "sem resposta; não alcançado"),
        ("no text of ours", "no text of ours"),
        ("", ""),
    ],
    ids=str,
)
def test_a_text_is_translated_when_it_is_rendered(text, portuguese):
    """Templates and the messages in them at any depth; values stay as they are."""
    assert language(PORTUGUESE).text(text) == portuguese


def test_english_is_as_it_was_written():
    """English needs no catalogue, and changes nothing."""
    english = language("en")

    assert english.text("anything at all") == "anything at all"
    assert english.moment("2026-11-22T06:35:31Z") == "2026-11-22 06:35:31 UTC"
    assert english.number(2.5) == "2.5"


def test_moments_and_numbers_are_written_as_in_brazil():
    """Day before month, a comma before the fraction, a point between thousands."""
    portuguese = language(PORTUGUESE)

    assert portuguese.moment("2026-11-22T06:35:31Z") == "22/11/2026 06:35:31 UTC"
    assert portuguese.number(1234.5) == "1.234,5"
    assert portuguese.ngettext("{n} request", "{n} requests", 0) == "{n} requisição"


def test_every_language_is_known_by_its_tag():
    """English comes first; there is no language of another name."""
    assert [ENGLISH, *catalogues()] == ["en", "pt-BR"]
    assert isinstance(language("en"), Language)
    with pytest.raises(KeyError):
        language("fr")


@pytest.mark.parametrize("tag", ["fr", "pt-PT", "p"])
def test_an_unknown_language_is_refused(tag, tmp_path):
    """One line that names the known ones, and exit status 4, before anything is sent."""
    result = run(write_profile(tmp_path, "embedded", auth=None), f"--report-language={tag}")

    assert result.status == 4
    assert result.output.strip() == f"ERROR: --report-language: expected en or pt-BR, got '{tag}'"


def test_an_unknown_language_of_the_profile_is_refused(tmp_path):
    """The profile knows the same languages."""
    profile = write_profile(tmp_path, "embedded", auth=None, language="de")
    result = run(profile)

    assert result.status == 4
    assert re.sub(r":\d+:", ":", result.output.strip()) == (
        f"ERROR: {profile}: language: Input should be 'en' or 'pt-BR'"
    )
    assert [ENGLISH, *catalogues()] == editor_schema()["properties"]["language"]["enum"]
