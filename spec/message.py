"""Texts of the suite as data: an English template and the values of its placeholders.

Whatever finds something says it as a message. It becomes text in the last step, in any language (gettext), so nothing
ever takes a sentence apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

Translate = Callable[[str, str, int], str]
"""The template in a language. It gets the singular, the plural (empty if there is none) and the number."""


@dataclass(frozen=True)
class Date:
    """A day (`2026-11-20`) or a moment (`2026-11-20T09:30:00Z`) as conformance.json has it."""

    iso: str

    def __str__(self) -> str:
        """In English. It keeps the order of ISO 8601, because readers differ on what 11/12 means."""
        return self.iso.replace("T", " ").replace("Z", " UTC")


@dataclass(frozen=True)
class Message:
    """A template with {placeholders}, and their values."""

    template: str
    values: tuple[tuple[str, Value], ...] = ()
    """By the names of the placeholders. A value that is a message itself is translated, and a date is written as the
    language writes dates. Other values stay as they are."""
    plural: str = ""
    """The template if the value of `n` is not 1; empty if the message has no number."""

    def __str__(self) -> str:
        return self.rendered(_in_english)

    def rendered(self, translate: Translate, written: Callable[[Date], str] = str) -> str:
        """The text, with each template as `translate` gives it and each date as `written` gives it."""
        texts: dict[str, str | int] = {}
        for name, value in self.values:
            if isinstance(value, Message):
                texts[name] = value.rendered(translate, written)
            elif isinstance(value, Date):
                texts[name] = written(value)
            else:
                texts[name] = value
        number = texts.get("n", 0)
        template = translate(self.template, self.plural, number if isinstance(number, int) else 0)
        return template.format_map(texts) if texts else template

    def of(self, **values: Value) -> Message:
        """The message with these values in the place of its own."""
        return replace(self, values=tuple(values.items()))

    def map(self, change: Callable[[str], str]) -> Message:
        """The message with each text among its values changed. The template stays, because it is the suite's own."""
        return replace(self, values=tuple((name, changed(value, change)) for name, value in self.values))


Value = str | int | Date | Message
Text = str | Message
"""A text of the suite: a message, or a template without placeholders. The empty text says nothing."""


def say(template: str, /, **values: Value) -> Message:
    """A message. `pybabel extract` finds its template here."""
    return Message(template, tuple(values.items()))


def say_many(singular: str, plural: str, /, **values: Value) -> Message:
    """A message about a number, which is the value of `n`."""
    return Message(singular, tuple(values.items()), plural)


def joined(texts: Iterable[Text], link: str = "; ") -> Text:
    """One message of the distinct texts. Each is translated."""
    distinct = list(dict.fromkeys(text for text in texts if text))
    if len(distinct) < 2:
        return joined_with_repeats(distinct, link)
    return joined_with_repeats([message_of(text) for text in distinct], link)


def joined_reasons(reasons: Iterable[Text]) -> Text:
    """One message of the distinct reasons, without each reason that is part of another one.

    Reasons are repeated because an answer says why it is missing, and so does the limit that kept its request back.
    """
    reasons_by_words = {str(reason): reason for reason in reasons if reason}
    kept = list[Text]()
    for words, reason in reasons_by_words.items():
        other_texts = [text for text in reasons_by_words if text != words]
        if not any(words in text for text in other_texts):
            kept.append(reason)
    return joined(kept)


def joined_with_repeats(texts: Sequence[Text], link: str) -> Text:
    """One message of all texts. A text that is no message is a name or a value, and stands as it is."""
    if len(texts) < 2:
        return texts[0] if texts else ""
    # "{part0}; {part1}; …": each text is the value of a placeholder, so that a language renders it for itself.
    parts = {f"part{number}": text for number, text in enumerate(texts)}
    return say(link.join(f"{{{name}}}" for name in parts), **parts)


def texts_in_values(text: Text, within: str = "") -> Iterator[str]:
    """The texts among the values of a message and of the messages in it.

    If `within` names a placeholder, only the texts in values of that name are given.
    """
    if not isinstance(text, Message):
        return
    for name, value in text.values:
        is_wanted = within in ("", name)
        if isinstance(value, str) and is_wanted:
            yield value
        elif isinstance(value, Message):
            # All texts within a message that stands at that placeholder belong to it.
            yield from texts_in_values(value, "" if is_wanted else within)


def message_of(text: Text) -> Message:
    """The text as a message."""
    return text if isinstance(text, Message) else Message(text)


def changed(value: Value, change: Callable[[str], str]) -> Any:
    """The value after a change: of a message its values change, a plain text changes as a whole, a number stays."""
    if isinstance(value, Message):
        return value.map(change)
    return change(value) if isinstance(value, str) else value


def _in_english(singular: str, plural: str, number: int) -> str:
    """A `Translate` that leaves templates in English: the singular for 1 and if there is no plural."""
    return plural if plural and number != 1 else singular
