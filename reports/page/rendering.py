"""Templates of the page: every value is escaped, and a name that is not given is an error."""

from __future__ import annotations

import base64
import hashlib
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path

from jinja2 import BytecodeCache, Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined, Template

from reports.language import ENGLISH, language
from reports.page.speaking import speak
from reports.writing import RUNS, make_writable

TEMPLATES = Path(__file__).parents[1] / "templates"


def frame(table_script: str, language_tag: str = ENGLISH) -> Template:
    """The whole page around our part, which pytest-html fills in; `table_script` draws its table of tests.

    The policy of the page permits the two scripts by their digests, and fetches nothing: markup that came through
    in spite of all escaping would neither run nor reach another machine.
    """
    scripts = [template("report.js", language_tag).render(), table_script]
    digests = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src {digests}"
    return _environment(language_tag).get_template("frame.html", globals={"scripts": scripts, "policy": policy})


def template(name: str, language_tag: str = ENGLISH) -> Template:
    """A template of the page in a language. Raises jinja2.TemplateNotFound."""
    return _environment(language_tag).get_template(name)


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def _environment(language_tag: str) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=_compiled(),
    )
    speak(environment, language(language_tag))
    return environment


def _compiled() -> BytecodeCache | None:
    """Keeps what Jinja compiles, which takes longer than to fill it in: unless Python is told to keep nothing, and for
    one version of Jinja."""
    folder = None if sys.dont_write_bytecode else make_writable(RUNS / ".templates" / version("jinja2"))
    return FileSystemBytecodeCache(str(folder)) if folder else None
