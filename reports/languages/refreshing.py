"""What a catalogue lacks, by what the suite can say, and what is too much in it.

`python -m reports.languages` adds an entry without a translation for each text that has none, and marks as obsolete
each entry that nothing says any more.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import write_po

from reports.languages.extraction import PLACEHOLDER, Said, every_text, everything_said
from reports.languages.translated import Translated, catalogue_of, pair_of

_WORD = re.compile(r"[^\W\d_]{2,}")


def missing(catalogue: Catalog) -> list[Said]:
    """What the suite can say and the catalogue has not: each text once."""
    known = Translated(catalogue)
    texts = [text for message in catalogue for text in english_of(message)]
    return [
        said
        for said in {said.text: said for said in everything_said()}.values()
        if (said.text, said.plural) not in {pair_of(message) for message in catalogue}
        if said.whole or (known.sentence(said.text) is None and not any(map(said.pattern.search, texts)))
    ]


def unused(catalogue: Catalog) -> list[Message]:
    """The entries that stand in no text, and have a word that no text within them says. A comment ("#.") on an entry
    says where else it comes from."""
    every = {said.text: said for said in (*everything_said(), *every_text(single_words=True))}.values()
    return [message for message in catalogue if message.id and not message.auto_comments and _is_unsaid(message, every)]


def _is_unsaid(message: Message, every: Collection[Said]) -> bool:
    english = pair_of(message)[0]
    entry = Said("", english)
    said = (each.text for each in every if each.text == english or each.pattern.search(english))
    more = _words(english) - {word for text in said for word in _words(text)}
    return bool(more) and not any(entry.pattern.search(each.text) for each in every)


def english_of(message: Message) -> tuple[str, ...]:
    """What an entry says in English; nothing for the header of the catalogue."""
    return tuple(text for text in pair_of(message) if text)


def _words(text: str) -> set[str]:
    return set(_WORD.findall(PLACEHOLDER.sub(" ", text)))


def refresh(file: Path) -> tuple[int, int]:
    """Bring a catalogue up to date. How many entries wait for a translation, and how many are obsolete."""
    catalogue = catalogue_of(file)
    for said in missing(catalogue):
        catalogue.add((said.text, said.plural) if said.plural else said.text, locations=[])
    for message in unused(catalogue):
        one, many = pair_of(message)
        catalogue.delete(message.id)
        catalogue.obsolete[(one, many) if many else one] = message
    with file.open("wb") as opened:
        write_po(opened, catalogue, width=120)
    return sum(1 for message in catalogue if message.id and not message.string), len(catalogue.obsolete)
