"""Asks for what a profile needs and writes it. A profile names secrets and never holds one."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from environments.commands.questions import QUESTIONS, TOKEN_ENV, AnswerError, Data, Question
from environments.door.tokens import is_guessable, signed_token
from environments.profiles.explained import SCHEMA_FILE, profile_text
from environments.profiles.loading import made_of, named, path_of
from environments.profiles.profile import ENVIRONMENTS, ProfileError, shown

_MAY_BE_A_TOKEN = re.compile(r"[\w~+=-]{40,}", re.ASCII)
_MAY_BE_SIGNED = re.compile(r"[\w-]{10,}\.[\w.-]{10,}", re.ASCII)
_NAME = re.compile(r"\w[\w .-]*")
_YES, _NONE = ("y", "yes"), "none"


def path_of_new(name: str) -> Path:
    """Where a new profile goes. Raises ProfileError where that is no name of one: its reports have it, too."""
    path = path_of(name)
    if path.suffix not in (".yaml", ".yml") or not _NAME.fullmatch(path.stem) or name.endswith(os.sep):
        raise ProfileError(f"{shown(path)}: expected a name such as staging, or a path that ends in .yaml")
    return path


class NewProfile:
    """The data of a profile that is made answer by answer, and has no problem after each of them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.data: Data = {"auth": {"token_env": TOKEN_ENV}, "allow": ["read"]}

    def take(self, question: Question, answers: Sequence[str]) -> None:
        """Take an answer over. Raises AnswerError, and leaves the profile as it was."""
        known = os.environ.get(self.data["auth"].get("token_env", ""), "").strip()
        if any(looks_like_a_token(answer, known, random=question.dest != "code") for answer in answers):
            raise AnswerError("looks like an access token, and a profile never holds a secret: leave it out")
        data = deepcopy(self.data)
        question.put(data, answers)
        try:
            made_of(data, self._path)
        except ProfileError as error:
            raise AnswerError(*(line.partition(": ")[2] for line in error.problems)) from None
        self.data = data

    def text(self) -> str:
        """The profile as YAML, with comments."""
        title = f"The profile {self._path.stem}, written by `python -m environments new`."
        return profile_text(title, self.data, os.path.relpath(ENVIRONMENTS / SCHEMA_FILE, self._path.absolute().parent))

    def write(self, *, force: bool) -> None:
        """Write the file, for its owner alone. Raises OSError; FileExistsError where it is there, without `force`."""
        how = os.O_TRUNC if force else os.O_EXCL
        with os.fdopen(os.open(self._path, os.O_WRONLY | os.O_CREAT | how, 0o600), "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(self.text())

    @property
    def summary(self) -> list[str]:
        """What was written, and what to do next."""
        name = shlex.quote(named(self._path))
        variable = self.data["auth"].get("token_env")
        return [
            f"wrote {shown(self._path)}, which allows {', '.join(self.data['allow'])}",
            *([f"  export {variable}=…"] if variable else []),
            f"  python -m environments check {name}",
            f"  pytest --environment={name} --plan",
        ]


def looks_like_a_token(text: str, known: str, *, random: bool) -> bool:
    """Whether a text holds the token that is `known`, a signed one, one behind its scheme, or where that is no
    identifier of a service, 40 characters that look random."""
    if (known and known in text) or re.search(r"(?i)\bbearer\s+\S{8}", text):
        return True
    if any(signed_token(piece) for piece in _MAY_BE_SIGNED.findall(text)):
        return True
    return random and any(not is_guessable(piece) for piece in _MAY_BE_A_TOKEN.findall(text))


def fill_in(profile: NewProfile, options: Mapping[str, Any], say: Callable[[str], None], *, asks: bool) -> list[str]:
    """Take what the options say, and ask for the rest where `asks`. Gives the problems of the options, all of them.
    Raises EOFError and KeyboardInterrupt."""
    problems: list[str] = []
    if asks:
        say("Press Enter for what is in [brackets]. A profile names secrets and never holds one.")
    for question in QUESTIONS:
        if given := options.get(question.dest):
            problems += _problems(profile, question, given if isinstance(given, list) else [str(given)])
        elif asks and not problems and question.follows(profile.data):
            _ask(profile, question, say)
    if "base_url" not in profile.data and not problems:
        problems.append("--base-url: missing, and standard input is not a terminal to ask on")
    return problems


def _problems(profile: NewProfile, question: Question, answers: Sequence[str]) -> Iterator[str]:
    try:
        profile.take(question, answers)
    except AnswerError as error:
        yield from (f"{question.option}: {problem}" for problem in error.problems)


def _ask(profile: NewProfile, question: Question, say: Callable[[str], None]) -> None:
    """Ask until the answer can be taken."""
    if question.meaning:
        say(f"\n{question.permission}: {question.meaning.strip()}")
    while True:
        text = input(question.prompt).strip() or question.default
        if question.is_flag and text.lower() not in _YES:
            return
        answers = [part.strip() for part in text.split(",") if part.strip()] if question.repeats else [text]
        if text in ("", _NONE) and not question.is_needed:
            return
        problems = list(_problems(profile, question, answers))
        if not problems:
            return
        for problem in problems:
            say(problem)
