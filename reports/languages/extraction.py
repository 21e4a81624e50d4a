"""What the suite can say in English: the ledger, what usually fixes a deviation, what the conformance tests state, the
templates of the page, and every text in the modules whose messages reach a report.

Sentences are put together from parts, so a text of a module is looked for within the entries of a catalogue.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from jinja2.ext import babel_extract

from reports.explaining.fixes import FIXES, fixes
from reports.languages.language import LOCALE
from spec.findings import TEMPLATES as TEMPLATES_OF_FINDINGS
from spec.findings import templates
from spec.requirements import LEDGER, ledger

ROOT = Path(__file__).parents[2]
TEMPLATES = ROOT / "reports" / "templates"
TESTS = ROOT / "tests" / "conformance"
UNSAID = LOCALE / "unsaid.txt"
"""Texts and modules that no report shows, and why."""
_SPEAKING = (
    "spec", "environments/door", "environments/profiles/credentials.py", "environments/profiles/gaps.py",
    "environments/secrets.py", "reports", "tests/harness", "tests/traffic", "tests/conformance",
)  # fmt: skip
"""Folders and modules whose messages reach a report."""
_SINGLE_WORDS = frozenset({"tests/traffic/invalid.py", "tests/traffic/classes.py"})
"""Modules in which a single word is a text, too."""
_SENTENCE = re.compile(r"[A-Za-z]*[a-z]{2,}[,:;]?\s[\w{(]")
_WORD = re.compile(r"[A-Za-z][a-z-]+")
PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_EDGES = re.compile(r"^(?:\{[^{}]*\}|[\s,;:.()])+|(?:\{[^{}]*\}|[\s,;:.()])+$")
_MARKED_UP = re.compile(r"\n|</?[a-z]+\b")
"""Of several lines, or HTML."""
_READ_BY_CODE = frozenset({"compile", "rule", "field_rule", "split", "startswith", "endswith", "fixture", "mark"})
"""Calls whose texts nobody reads."""


@dataclass(frozen=True)
class Said:
    """A text with its place. `whole`: it is an entry of its own, and no part of one."""

    place: str
    text: str
    plural: str = ""
    whole: bool = False

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Finds it within an entry, whatever its placeholders are called there, or hold."""
        pieces = [re.escape(piece) for piece in PLACEHOLDER.split(_EDGES.sub("", self.text))]
        return re.compile(rf"(?<!\w){'.*?'.join(pieces)}(?!\w)")


def everything_said() -> Iterator[Said]:
    """Everything that needs an entry."""
    yield from _of_the_ledger()
    yield from _of_the_findings()
    yield from _of_the_fixes()
    yield from _of_the_tests()
    yield from _of_the_templates()
    modules, texts = unsaid()
    yield from (said for said in every_text() if said.text not in texts and not said.place.startswith(modules))


def unsaid() -> tuple[tuple[str, ...], frozenset[str]]:
    """Modules or folders, and texts, that no report shows."""
    lines = [line for line in UNSAID.read_text("utf-8").splitlines() if not line.startswith("# ")]
    modules = tuple(line for line in lines if line.endswith(("/", ".py")))
    return modules, frozenset(lines) - set(modules)


def _of_the_ledger() -> Iterator[Said]:
    place = str(LEDGER.relative_to(ROOT))
    for requirement in ledger().values():
        for text in (requirement.text, requirement.section, requirement.untestable):
            yield Said(f"{place}: {requirement.id}", text)


def _of_the_findings() -> Iterator[Said]:
    for code, texts in templates().items():
        yield from (Said(f"{TEMPLATES_OF_FINDINGS.name}: {code}", text) for part, text in texts.items() if part != "at")


def _of_the_fixes() -> Iterator[Said]:
    for entry in fixes():
        yield Said(str(FIXES.relative_to(ROOT)), entry.fix)


def _of_the_tests() -> Iterator[Said]:
    """What the tests state: their docstrings."""
    for file in sorted(TESTS.glob("test_*.py")):
        tests = (node for node in ast.parse(file.read_text("utf-8")).body if isinstance(node, ast.FunctionDef))
        for test in (test for test in tests if test.name.startswith("test_")):
            yield Said(f"{file.relative_to(ROOT)}:{test.lineno}", " ".join((ast.get_docstring(test) or "").split()))


def _of_the_templates() -> Iterator[Said]:
    for file in sorted(TEMPLATES.glob("*.html")):
        with file.open("rb") as opened:
            found = list(
                babel_extract(opened, ("_", "gettext", "ngettext"), (), {"trimmed": "true", "silent": "false"})
            )
        for line, _, texts, _ in found:
            one, many, *_ = (*texts, "") if isinstance(texts, tuple) else (texts, "")
            yield Said(f"{file.relative_to(ROOT)}:{line}", one or "", many or "", whole=True)


def every_text(*, single_words: bool = False) -> Iterator[Said]:
    """Every text of a module that reads like words for people; `single_words`: of any module."""
    for file in (file for place in _SPEAKING for file in _modules(ROOT / place)):
        name = str(file.relative_to(ROOT))
        words = single_words or name in _SINGLE_WORDS
        for line, text in _texts(ast.parse(file.read_text("utf-8"))):
            reads_like_words = _SENTENCE.search(text) or (words and _WORD.fullmatch(text))
            if reads_like_words and not _MARKED_UP.search(text):
                yield Said(f"{name}:{line}", text)


def _modules(place: Path) -> list[Path]:
    return [place] if place.is_file() else sorted(place.rglob("*.py"))


def _texts(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Texts and f-strings below a node, without docstrings and what only code reads."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if isinstance(node, ast.Call) and _name_of(node.func) in _READ_BY_CODE:
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.lineno, node.value
    if isinstance(node, ast.JoinedStr):
        yield node.lineno, "".join(_piece(value) for value in node.values)
    for child in ast.iter_child_nodes(node):
        if not (isinstance(node, ast.JoinedStr) and isinstance(child, ast.Constant)):
            yield from _texts(child)


def _piece(value: ast.expr) -> str:
    if isinstance(value, ast.Constant):
        return str(value.value)
    return f"{{{_name_of(value.value).strip('_') or 'value'}}}" if isinstance(value, ast.FormattedValue) else "{}"


def _name_of(expression: ast.expr) -> str:
    if isinstance(expression, ast.Call):
        return _name_of(expression.func)
    return expression.attr if isinstance(expression, ast.Attribute) else getattr(expression, "id", "")
