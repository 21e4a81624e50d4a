"""Quoting of request parts for any POSIX shell: as one word of a line, or as commands that print them.

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
    r"(?P<repeated>[A-Za-z0-9[\]])(?P=repeated){199,}"
    r"|(?P<unit>[!-&(-,.-~][ -&(-~]{1,11}?)(?P=unit){199,}"
    r"|[^ -~]+.?|'",
    re.DOTALL,
)
"""Pieces of a text that single quotes cannot hold, or not in a short line:

- 200 times the same character;
- 200 times the same few characters, such as `{"a":`;
- characters that are no printable ASCII, and one character more, because a shell drops a line end at the end of an
  output;
- a single quote."""


def word(parts: Iterable[Part]) -> str:
    """One word of a line. Texts stand in single quotes, and expressions in double quotes."""
    quoted = ""
    for expression, text in _expressions_and_texts(parts):
        if expression:
            quoted += f'"{expression}"'
        else:
            quoted += f"'{_SPECIAL.sub(_special_in_word, text)}'"
    return quoted or "''"


def commands_that_print(parts: Iterable[Part]) -> str:
    """Commands that print the parts one after the other, whatever bytes they hold."""
    commands = []
    for expression, text in _expressions_and_texts(parts):
        if expression:
            commands.append(f'printf %s "{expression}"')
        end_of_printed = 0  # of the text: the commands so far print the characters before it
        for match in _SPECIAL.finditer(text):
            commands += _commands_for_plain(text[end_of_printed : match.start()])
            commands.append(_command_for_special(match))
            end_of_printed = match.end()
        commands += _commands_for_plain(text[end_of_printed:])
    return "; ".join(commands)


def commands_that_require_variables(parts: Iterable[Part]) -> str:
    """Commands that stop a line before its pipe if a variable is not set. curl would send the remaining body.

    The command `:` only expands its argument, which fails if the variable is not set.
    """
    expressions = dict.fromkeys(part.expression for part in parts if isinstance(part, Redacted))
    return "".join(f': "{expression}" && ' for expression in expressions)


def _expressions_and_texts(parts: Iterable[Part]) -> Iterator[tuple[str, str]]:
    """The parts in their order, as pairs of which one is empty: (expression, "") or ("", text).

    Texts that stand beside each other are joined.
    """
    for is_redacted, group in groupby(parts, key=_is_redacted):
        if is_redacted:
            for part in group:
                yield _expression_of(part), ""
        else:
            yield "", "".join(map(str, group))


def _is_redacted(part: Part) -> bool:
    """True for a redacted value, false for a text."""
    return isinstance(part, Redacted)


def _expression_of(part: Part) -> str:
    """The expression of a redacted value; empty for a text."""
    return part.expression if isinstance(part, Redacted) else ""


def _special_in_word(match: re.Match[str]) -> str:
    """A special piece within single quotes: they are closed before it, and opened again behind it."""
    if match[0] == "'":
        return "'\"'\"'"
    return f"'\"$({_command_for_special(match)})\"'"


def _command_for_special(match: re.Match[str]) -> str:
    """A command that prints a special piece."""
    piece = match[0]
    repeated = match["repeated"]
    unit = match["unit"]
    if repeated:  # bytes of zero, which `tr` turns into the character
        return f"head -c {len(piece)} /dev/zero | tr '\\000' '{repeated}'"
    if unit:  # `yes` prints it in line after line, and `tr` drops the line ends
        return f"yes {shlex.quote(unit)} | head -n {len(piece) // len(unit)} | tr -d '\\n'"
    octal = "".join(f"\\{byte:03o}" for byte in piece.encode("utf-8", "surrogateescape"))
    return f"printf '{octal}'"


def _commands_for_plain(text: str) -> list[str]:
    """A command that prints a text without special pieces; none for an empty text."""
    return [f"printf %s {shlex.quote(text)}"] if text else []
