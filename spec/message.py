"""Texts of the suite as data: an English template and the values of its placeholders.

All parts of the suite pass on what they have to say as messages. A message becomes text only when an output writes it,
in any language (gettext). So no function has to find a value inside a finished sentence.
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
        """The date in English: `2026-11-20 09:30:00 UTC`.

        Year, month and day keep the order of ISO 8601, because readers differ on what 11/12 means.
        """
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
        """The message as English text."""
        return self.rendered(_in_english)

    def rendered(self, translate: Translate, written: Callable[[Date], str] = str) -> str:
        """The message as text in a language.

        `translate` returns a template in that language, and `written` returns a date as that language writes it.
        Messages among the values are rendered in the same language.
        """
        texts: dict[str, str | int] = {}
        for name, value in self.values:
            if isinstance(value, Message):
                texts[name] = value.rendered(translate, written)
            elif isinstance(value, Date):
                texts[name] = written(value)
            else:
                texts[name] = value
        number = texts.get("n", 0)  # the value of `n` chooses between singular and plural
        if not isinstance(number, int):
            number = 0
        template = translate(self.template, self.plural, number)
        if not texts:  # a template without values is final text: a brace in it is a brace, and no placeholder
            return template
        return template.format_map(texts)

    def with_values(self, **values: Value) -> Message:
        """The same template with other values. The values of this message are dropped."""
        return replace(self, values=tuple(values.items()))

    def map(self, change: Callable[[str], str]) -> Message:
        """The message with `change` applied to each text among its values, such as a function that redacts secrets.

        The template is not changed: the suite wrote it, so it cannot hold a secret.
        """
        changed_values = tuple((name, with_texts_changed(value, change)) for name, value in self.values)
        return replace(self, values=changed_values)


Value = str | int | Date | Message
"""What a placeholder of a message may stand for."""
Text = str | Message
"""A text of the suite: a message, or a template without placeholders. The empty text says nothing."""


def say(template: str, /, **values: Value) -> Message:
    """A message: `say("status {status}", status=404)`.

    `pybabel extract` collects the texts for translators from the calls of this function.
    """
    return Message(template, tuple(values.items()))


def say_many(singular: str, plural: str, /, **values: Value) -> Message:
    """A message whose template depends on the number `n`, which is one of the values.

    `say_many("{n} key", "{n} keys", n=2)` is "2 keys". Other languages choose by their own rules of plurals.
    """
    return Message(singular, tuple(values.items()), plural)


def joined(texts: Iterable[Text], link: str = "; ") -> Text:
    """The texts as one message, with `link` between them: "needs read in allow; needs an account".

    Empty texts and repeated texts are left out. A single text is returned as it is; without texts, an empty text.
    """
    texts_that_say_something = [text for text in texts if text]
    distinct = list(dict.fromkeys(texts_that_say_something))  # without repeats, in the same order
    if not distinct:
        return ""
    if len(distinct) == 1:
        return distinct[0]
    messages = [message_of(text) for text in distinct]  # a plain string would not be translated inside a message
    return joined_keeping_repeats(messages, link)


def joined_reasons(reasons: Iterable[Text]) -> Text:
    """One message of the distinct reasons, without each reason whose text is part of another reason.

    Reasons overlap if two parts of a run give them: the request that was not sent says why, and so does the limit that
    the run reached.
    """
    reason_by_text = {str(reason): reason for reason in reasons if reason}
    distinct_reasons = list[Text]()
    for text, reason in reason_by_text.items():
        other_texts = [other_text for other_text in reason_by_text if other_text != text]
        is_part_of_another = any(text in other_text for other_text in other_texts)
        if not is_part_of_another:
            distinct_reasons.append(reason)
    return joined(distinct_reasons)


def joined_keeping_repeats(texts: Sequence[Text], link: str) -> Text:
    """One message of all texts, with `link` between them: "404 to 2 requests, 404 to 2 requests".

    Unlike `joined`, this function keeps equal texts and empty texts. Messages among the texts are translated. A plain
    string is a name or a value, such as an operation id, and is written as it is.
    """
    if len(texts) < 2:
        return texts[0] if texts else ""
    # "{part0}; {part1}; …": each text is the value of a placeholder, so that a language renders it for itself.
    parts = {f"part{number}": text for number, text in enumerate(texts)}
    placeholders = ["{" + name + "}" for name in parts]
    return say(link.join(placeholders), **parts)


def texts_in_values(text: Text, within: str = "") -> Iterator[str]:
    """The strings among the values of a message, and among the values of the messages inside it.

    By this function a report finds out what a message is about: for `say("needs {setting}", setting="allow")` it yields
    "allow". If `within` is the name of a placeholder, it yields only the strings in the value of that placeholder.
    """
    if not isinstance(text, Message):
        return
    for name, value in text.values:
        is_wanted = within in ("", name)
        if isinstance(value, str) and is_wanted:
            yield value
        elif isinstance(value, Message):
            # If the message is the value of that placeholder, all strings inside it are wanted.
            wanted_inside = "" if is_wanted else within
            yield from texts_in_values(value, wanted_inside)


def message_of(text: Text) -> Message:
    """The text as a message: a string becomes a template without placeholders, so that it can be translated."""
    return text if isinstance(text, Message) else Message(text)


def with_texts_changed(value: Value, change: Callable[[str], str]) -> Any:
    """The value after `change`, a function from text to text, such as one that redacts secrets.

    A string is changed as a whole. Of a message the values are changed, and not its template. A number or a date is
    returned as it is, because it is no text.
    """
    if isinstance(value, Message):
        return value.map(change)
    if isinstance(value, str):
        return change(value)
    return value


def _in_english(singular: str, plural: str, number: int) -> str:
    """The template in English, without a translation: the plural if there is one and the number is not 1."""
    if plural and number != 1:
        return plural
    return singular
