"""Which lists were read while a key was changed: such a list may show the key, or not yet, and says nothing of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from environments.door.outgoing import Sending
from environments.door.request_texts import names, texts_of


class Overlaps:
    """Knows the changes that are on the wire, from any thread."""

    def __init__(self) -> None:
        self._changing = self._changes = 0
        self._guard = threading.Lock()

    @contextmanager
    def during(self, *, change: bool) -> Iterator[Callable[[], bool]]:
        """While a request is on the wire; `change` says that it changes a key. Gives a function that tells whether,
        so far, no change was on the wire at any time of it."""
        with self._guard:
            quiet, changes = not self._changing, self._changes
            self._changing += change
            self._changes += change
        try:
            yield lambda: quiet and self._changes == changes
        finally:
            with self._guard:
                self._changing -= change


def changes_a_key(sending: Sending, values: Collection[str]) -> bool:
    """Whether a request is a valid registration, or a deletion that names one of these keys."""
    if sending.intent.operation == "deletePixKey":
        strings = set(texts_of(sending.sent.body))
        return any(names(text, value) for text in strings for value in values)
    return sending.intent.operation == "registerPixKey" and sending.intent.valid
