"""Every catalogue has all that the suite can say, and nothing else; and a sentence is recognised or left alone."""

import re

import pytest
from babel.messages.plurals import get_plural

from environments.profiles.explained import rule_of
from reports.languages.language import Language, catalogues, known_language, known_languages, language
from reports.languages.refreshing import english_of, missing, refresh, unused
from reports.languages.sentences import Template
from reports.languages.translated import catalogue_of
from spec.requirements import ledger
from tests.selftest.services.running import run, write_profile

TAGS = tuple(catalogues())
PORTUGUESE = "pt-BR"
CATALOGUES = {tag: catalogue_of(file) for tag, file in catalogues().items()}
NAMES = re.compile(r"(?<!\{)\{(\w*)\}|%\((\w+)\)s")
SAMPLES = {
    "n": "7",
    "code": "executePix",
    "codes": "executePix and getBalance",
    "text": "what anybody wrote",
    "names": "Foo, bar and 2 more",
    "quoted": "'a b'",
    "media": "404 application/json",
}
"""What placeholders of these names may hold; any other one holds SENTENCE."""
SENTENCE = "status 404"


def said(text):
    """A sentence in Portuguese, None where it is not recognised."""
    return language(PORTUGUESE).sentence(text)


@pytest.mark.parametrize("tag", TAGS)
def test_every_text_has_an_entry(tag):
    """What the suite can say has an entry in the catalogue: run `make messages` and translate what it adds. A text that
    no report shows goes to reports/locale/unsaid.txt."""
    lacking = [f"{each.place}: {each.text}" for each in missing(CATALOGUES[tag])]

    assert not lacking, "\n".join(lacking)


@pytest.mark.parametrize("tag", TAGS)
def test_every_entry_is_said(tag):
    """Nothing is translated that the suite does not say: `make messages` marks it as obsolete."""
    assert [entry.id for entry in unused(CATALOGUES[tag])] == []


@pytest.mark.parametrize("tag", TAGS)
def test_an_entry_is_translated_with_its_placeholders(tag):
    """Every form of an entry is there, and holds the placeholders of the English text, each once."""
    forms = get_plural(str(CATALOGUES[tag].locale)).num_plurals
    wrong = [entry.id for entry in CATALOGUES[tag] if entry.id and problem_of(entry, forms)]

    assert wrong == []


def problem_of(entry, forms):
    """Whether an entry is not wholly translated."""
    texts = entry.string if isinstance(entry.string, tuple) else (entry.string,)
    placeholders = sorted(set(NAMES.findall(english_of(entry)[-1])))
    complete = len(texts) == (forms if entry.pluralizable else 1) and all(text.strip() for text in texts)
    return entry.fuzzy or not complete or any(sorted(NAMES.findall(text)) != placeholders for text in texts)


@pytest.mark.parametrize("tag", TAGS)
def test_a_sentence_fits_one_template(tag):
    """A template that is filled in is recognised as that template, and no other one fixes as much of it."""
    sentences = language(tag)._sentences
    wrong = {}
    for template in sentences._open:
        values = {name: SAMPLES.get(name.rstrip("0123456789"), SENTENCE) for name in template.names}
        text = template.english.format(**values)
        best = [found for found, _ in sentences._readings(text) if found.weight >= template.weight]
        if {found.english for found in best} != {template.english}:
            wrong[template.english] = [found.english for found in best]

    assert wrong == {}


@pytest.mark.parametrize("tag", TAGS)
def test_the_ledger_is_translated(tag):
    """Every statement, its place in the interface document and why it is untestable are said in the language."""
    texts = {text for one in ledger().values() for text in (one.text, one.section, one.untestable) if text}

    assert [text for text in texts if language(tag).sentence(text) is None] == []


@pytest.mark.parametrize(
    ("english", "portuguese"),
    [
        ("expected status 200, got 201", "esperado: status 200; obtido: 201"),
        ("expected value of type number, got a string", "esperado: value do tipo número; obtido: uma string"),
        ("expected no other fields, got text, null and 2 more", "esperado: nenhum outro campo; obtido: text, null e mais 2"),
        ("1 documented requirement fails", "falha 1 requisito documentado"),
        (
            "2 documented and 1 implied requirements fail besides 1 known failure",
            "falham 2 requisitos documentados e 1 requisito implícito, além de 1 falha conhecida",
        ),
        ("a number of 17 digits", "um número de 17 dígitos"),
        (
            "body, cut short: expected a response to an invalid request (POST), got a dropped connection "
            "(1 time, smallest: exchange 12); 3 more (reproduce with --seed=7)",
            "corpo, truncado: esperado: uma resposta a uma requisição inválida (POST); obtido: uma conexão derrubada "
            "(1 vez, menor: troca 12); mais 3 (reproduza com --seed=7)",
        ),
        ("no answer within limits.timeout", None),
        ("expected status 200, got whatever it was", None),
        ("EMAIL, the second of pix_keys: registered and not deleted (exchanges 3, 4)",
         "EMAIL, a segunda de pix_keys: registrada e não excluída (trocas 3, 4)"),
        ("no answer in time: no complete answer within limits.timeout (0.5 s)",
         "sem resposta a tempo: sem resposta completa dentro de limits.timeout (0,5 s)"),
        ("Resources and their fields, Execution result, row 8", "Recursos e seus campos, Resultado da execução, linha 8"),
        ("headers of a granted getBalance", "cabeçalhos de uma requisição getBalance atendida"),
        ("expected no other fields, got 2 whose names may be data",
         "esperado: nenhum outro campo; obtido: 2 com nome que pode ser um dado"),
        ("not refused", "não recusado"),
        ("", ""),
    ],
)  # fmt: skip
def test_a_sentence_is_translated_as_a_whole_or_not_at_all(english, portuguese):
    """Templates, lists and numbers are recognised at any depth; where one part is not, nothing is translated."""
    assert said(english) == portuguese


def test_values_stay_as_they_are():
    """Ids, names of headers and fields, codes, addresses and options are the same in every language."""
    values = (
        "executePix.document.masked",
        "X-Request-Id",
        "pix_keys",
        "DONE",
        "--seed=7",
        "https://bank.example/x y"[:22],
    )

    assert [said(value) for value in values] == list(values)


def test_a_long_text_is_left_alone():
    """What is longer than any sentence of the suite is not looked at, and nesting takes no time."""
    assert said("not sent; " * 10 + "not sent") == "não enviada; " * 10 + "não enviada"
    assert said("not sent; " * 10_000 + "not sent") is None
    assert said("not JSON: " * 500 + "the body is empty") is None


def test_english_is_as_it_was_written():
    """English needs no catalogue, and changes nothing."""
    english = language("en")

    assert english.sentence("anything at all") == "anything at all"
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
    assert known_languages() == ["en", "pt-BR"]
    assert isinstance(language("en"), Language)
    with pytest.raises(KeyError):
        language("fr")


@pytest.mark.parametrize(
    ("named", "tag"),
    [(name, "pt-BR") for name in ("pt-BR", "pt-br", "PT-BR", "pt_BR", "pt_br", "PT", "pt")] + [("EN", "en")],
)
def test_a_language_is_known_as_people_write_it(named, tag):
    """In any letter case, as a locale, and without the country."""
    assert known_language(named) == tag


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
        f"ERROR: {profile}: language: unknown value; expected one of en, pt-BR"
    )
    assert known_languages() == rule_of("language")["enum"]


def test_a_new_text_gets_an_entry_and_an_old_one_becomes_obsolete(tmp_path):
    """The command adds what is said, and keeps what is said no more as an obsolete entry."""
    file = tmp_path / "pt_BR" / "LC_MESSAGES" / "report.po"
    file.parent.mkdir(parents=True)
    text = catalogues()[PORTUGUESE].read_text("utf-8")
    file.write_text(text.replace('msgid "connection dropped"', 'msgid "connection torn"'), "utf-8")

    assert refresh(file) == (1, 1)
    written = file.read_text("utf-8")
    assert 'msgid "connection dropped"\nmsgstr ""\n' in written
    assert '#~ msgid "connection torn"' in written


def test_a_template_knows_its_parts():
    """Doubled braces are braces."""
    template = Template("GET /{{id}} of {code}", ("GET /{{id}} de {code}",))

    assert template.parts == ["GET /{id} of ", "code", ""]
