"""Quoting of request parts for any POSIX shell: as one argument of a command, or as commands that print them.

A text arrives as it was sent, whatever bytes it holds. A redacted value is an expression such as `${ACCOUNT:?}`, which
the shell expands. The lines are short and printable ASCII, so that a person can paste them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from itertools import groupby

from reports.showing.request_parts import Part, Redacted

_SPECIAL = re.compile(
    r"""
      (?P<character> [A-Za-z0-9[\]] ) (?P=character){199,}         # one character at least 200 times
    | (?P<unit> [!-&(-,.-~] [ -&(-~]{1,11}? ) (?P=unit){199,}      # the same few characters at least 200 times
    | [^ -~]+ .?                                                   # no printable ASCII, with the character after it
    | '                                                            # a single quote
    """,
    re.DOTALL | re.VERBOSE,
)
"""Pieces of a text that cannot stand in single quotes, and pieces that would make the line too long. A command prints
such a piece:

- `head` and `tr` print one character that is repeated.
- `yes` prints a few characters that are repeated, such as `{"a":`. They have no single quote, and do not begin with
  `-`, because `yes` would read them as an option.
- `printf` prints a single quote, and characters that are no printable ASCII. A shell drops a line end
  at the end of an output, and so the output has one character more: `"$(printf '\\303\\251x')"` for `éx`.

200 and the 12 characters of a unit are choices: a shorter text is as quickly read as the command that prints it."""


def shell_argument(parts: Iterable[Part]) -> str:
    """The parts of a request as one argument of a shell command, such as `'Bearer '"${PIX_TOKEN:?}"`.

    Texts are written in single quotes, in which a shell changes nothing. Variables are written in double quotes, in
    which a shell replaces them by their values.
    """
    quoted = ""
    for expression, text in _expressions_and_texts(parts):
        if expression:
            quoted += f'"{expression}"'
        else:
            quoted += f"'{_SPECIAL.sub(_special_in_word, text)}'"
    return quoted or "''"


def commands_that_print(parts: Iterable[Part]) -> str:
    """Shell commands that print the parts of a body one after the other, joined with `; `.

    They are used if a body cannot be an argument. They print any bytes, including NUL and line ends.
    """
    commands = []
    for expression, text in _expressions_and_texts(parts):
        if expression:
            commands.append(f'printf %s "{expression}"')
        end_of_printed = 0  # position in the text: the commands so far print all characters before this position
        for match in _SPECIAL.finditer(text):
            commands += _commands_for_plain(text[end_of_printed : match.start()])
            commands.append(_command_for_special(match))
            end_of_printed = match.end()
        commands += _commands_for_plain(text[end_of_printed:])
    return "; ".join(commands)


def commands_that_require_variables(parts: Iterable[Part]) -> str:
    """Shell commands that stop a line if a variable of these parts is not set: `: "${ACCOUNT:?}" && `.

    They are needed before a pipe: there a missing variable only stops the commands that print the body, and curl would
    send an incomplete body. The command `:` does nothing but read its argument, which fails if the variable is not set.
    """
    expressions = dict.fromkeys(part.expression for part in parts if isinstance(part, Redacted))
    return "".join(f': "{expression}" && ' for expression in expressions)


def _expressions_and_texts(parts: Iterable[Part]) -> Iterator[tuple[str, str]]:
    """The parts in their order as pairs: ("${ACCOUNT:?}", "") for a secret value, ("", "text") for a text.

    Texts that follow each other directly are joined to one text.
    """
    for is_redacted, group in groupby(parts, key=_is_redacted):
        if is_redacted:
            for part in group:
                yield _expression_of(part), ""
        else:
            yield "", "".join(map(str, group))


def _is_redacted(part: Part) -> bool:
    """True for a secret value, which is written as a shell variable; false for a text."""
    return isinstance(part, Redacted)


def _expression_of(part: Part) -> str:
    """The shell expression of a secret value, such as `${ACCOUNT:?}`; empty for a text."""
    return part.expression if isinstance(part, Redacted) else ""


def _special_in_word(match: re.Match[str]) -> str:
    """The replacement for a piece that single quotes cannot hold, such as a control character or a single quote.

    The surrounding single quotes are closed before the piece and opened again behind it. Between them, double quotes
    hold the piece, or a command `$(…)` that prints it.
    """
    in_double_quotes = "'" if match[0] == "'" else f"$({_command_for_special(match)})"
    return f"""'"{in_double_quotes}"'"""


def _command_for_special(match: re.Match[str]) -> str:
    """A shell command that prints a piece of text which cannot be written in the line itself.

    `match` is a match of `_SPECIAL`: one character or a few characters repeated 200 times or more, which would make the
    line long; or characters that are no printable ASCII.
    """
    piece = match[0]
    repeated_character = match["character"]
    repeated_text = match["unit"]
    if repeated_character:  # a letter, a digit or a square bracket: none of them ends the single quotes
        # `head` prints so many zero bytes, and `tr` replaces each by the character.
        return f"head -c {len(piece)} /dev/zero | tr '\\000' '{repeated_character}'"
    if repeated_text:  # `yes` prints the text in each line, and `tr` removes the line ends
        count = len(piece) // len(repeated_text)
        return f"yes {shlex.quote(repeated_text)} | head -n {count} | tr -d '\\n'"
    # Python has a byte that is no UTF-8 as half of a surrogate pair, from which `surrogateescape` makes the byte again.
    octal = "".join(f"\\{byte:03o}" for byte in piece.encode("utf-8", "surrogateescape"))
    return f"printf '{octal}'"


def _commands_for_plain(text: str) -> list[str]:
    """A list with one shell command that prints this text; an empty list for an empty text.

    The text has only characters that single quotes can hold.
    """
    if not text:
        return []
    return [f"printf %s {shlex.quote(text)}"]
