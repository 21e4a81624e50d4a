"""Texts of the suite as data: an English template and the values of its placeholders.

A message becomes text in the last step, in any language (gettext): nothing ever takes a sentence apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

Translate = Callable[[str, str, int], str]
"""The template in a language: of singular, plural (empty if the message has no plural) and number."""


@dataclass(frozen=True)
class Date:
    """A day (`2026-11-20`) or a moment (`2026-11-20T09:30:00Z`) as conformance.json has it."""

    iso: str

    def __str__(self) -> str:
        """In English. It keeps the order of ISO 8601, because readers differ on what 11/12 means."""
        return self.iso.replace("T", " ").replace("Z", " UTC")


@dataclass(frozen=True)
class Message:
    """A template with {placeholders}, each with its value. `plural` is the template if `{n}` is not one.

    A value that is a message is translated, and a date is written as the language writes dates. Other values stay.
    """

    template: str
    values: tuple[tuple[str, Value], ...] = ()
    plural: str = ""

    def __str__(self) -> str:
        return self.rendered(_in_english)

    def rendered(self, translate: Translate, written: Callable[[Date], str] = str) -> str:
        """The text, with each template as `translate` gives it and each date as `written` gives it."""
        values: dict[str, str | int] = {}
        for name, value in self.values:
            if isinstance(value, Message):
                values[name] = value.rendered(translate, written)
            elif isinstance(value, Date):
                values[name] = written(value)
            else:
                values[name] = value
        number = values.get("n", 0)
        template = translate(self.template, self.plural, number if isinstance(number, int) else 0)
        return template.format_map(values) if values else template

    def of(self, **values: Value) -> Message:
        """The message with these values."""
        return replace(self, values=tuple(values.items()))

    def map(self, change: Callable[[str], str]) -> Message:
        """The same with each text among its values changed: the template is ours, and stays."""
        return replace(self, values=tuple((name, changed(value, change)) for name, value in self.values))


Value = str | int | Date | Message
Text = str | Message
"""A text of the suite: a message, or a template without placeholders. The empty text says nothing."""


def say(template: str, /, **values: Value) -> Message:
    """A message. `pybabel extract` finds its template here."""
    return Message(template, tuple(values.items()))


def say_many(one: str, many: str, /, **values: Value) -> Message:
    """A message for a number, `{n}`."""
    return Message(one, tuple(values.items()), many)


def joined(texts: Iterable[Text], link: str = "; ") -> Text:
    """The distinct texts in one."""
    distinct = list(dict.fromkeys(text for text in texts if text))
    return in_a_row([message_of(text) for text in distinct] if distinct[1:] else distinct, link)


def said_once(reasons: Iterable[Text]) -> Text:
    """The distinct reasons in one, without those that another one repeats: an answer says why it is missing, and so
    does the limit that kept its request."""
    by_words = {str(reason): reason for reason in reasons if reason}
    return joined(
        reason for words, reason in by_words.items() if not any(words in other for other in by_words if other != words)
    )


def in_a_row(texts: Sequence[Text], link: str) -> Text:
    """The texts in one. Those that are no messages are names and values, which stand as they are."""
    if len(texts) < 2:
        return texts[0] if texts else ""
    parts = {f"part{number}": text for number, text in enumerate(texts)}
    return say(link.join(f"{{{name}}}" for name in parts), **parts)


def leaves_of(text: Text, within: str = "") -> Iterator[str]:
    """The texts among the values of a message, and of those in it; `within`: those of values of that name alone."""
    for name, value in text.values if isinstance(text, Message) else ():
        is_wanted = within in ("", name)
        if isinstance(value, str) and is_wanted:
            yield value
        elif isinstance(value, Message):
            yield from leaves_of(value, "" if is_wanted else within)


def message_of(text: Text) -> Message:
    """The text as a message."""
    return text if isinstance(text, Message) else Message(text)


def changed(value: Value, change: Callable[[str], str]) -> Any:
    """A text or number with each value in it changed; where nothing tells its values from its words, as a whole."""
    if isinstance(value, Message):
        return value.map(change)
    return change(value) if isinstance(value, str) else value


def _in_english(one: str, many: str, number: int) -> str:
    return many if many and number != 1 else one
