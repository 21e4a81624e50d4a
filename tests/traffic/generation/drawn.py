"""The cases of the fuzzing phase, as Hypothesis strategies.

What Hypothesis keeps of a failing example are its choices. Accounts of the profile come in through `sampled_from`
alone, so that its database holds their place in the list and not the accounts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from spec.interface import MARK, operations
from spec.json_text import as_bytes
from tests.traffic.case import NAMED_TYPES, Case, harmless, synthetic_bytes, synthetic_text

_RESERVED = st.text(st.sampled_from(":/?#[]@!$&'()*+,;=%\\\"<>^`{|}~ .-_\0\t\r\n"), min_size=1, max_size=8)
_UNICODE = st.text(max_size=12)
_LONG = st.builds(lambda text, times: text * times, st.text(min_size=1, max_size=3), st.sampled_from((50, 300)))
_TEXT = st.one_of(_UNICODE, _RESERVED, _LONG)
_NUMBER = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.just(10**40))
_LEAF = st.one_of(st.none(), st.booleans(), _NUMBER, _TEXT, st.sampled_from(NAMED_TYPES))
JUNK = st.recursive(
    _LEAF,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_UNICODE, inner, max_size=3)),
    max_leaves=4,
)
"""JSON values of every type."""
_BREAKAGES = st.sampled_from(
    (b"", b",", b"}", b'"', b"\\", b"\0", b"\xff", b"\xef\xbb\xbf", b"NaN", b"'", b"//", b"[" * 300)
)


def path_parameters(operation: str, body: bytes | None) -> SearchStrategy[Case]:
    """Path parameters of all of Unicode and of bytes that are no text, as synthetic identifiers."""
    name = operations()[operation].path_parameter or ""
    texts = st.builds(
        lambda text, raw: Case(operation, name, "text", synthetic_text(text), body, raw=raw), _TEXT, st.booleans()
    )
    data = st.binary(max_size=8).map(lambda data: Case(operation, name, "bytes", synthetic_bytes(data), body))
    return st.one_of(texts, texts, data)


def queries(operation: str, places: Sequence[str]) -> SearchStrategy[Case]:
    """Undocumented queries of a request that is valid otherwise."""
    from urllib.parse import urlencode

    pairs = st.lists(st.tuples(_UNICODE, _TEXT), min_size=1, max_size=3)
    path_parameter = st.sampled_from(places) if places else st.none()
    return st.builds(
        lambda where, query: Case(operation, "query", "text", where, query="?" + urlencode(query, errors="replace")),
        path_parameter,
        pairs,
    )


def bodies(operation: str, places: Sequence[str], body: Mapping[str, Any]) -> SearchStrategy[Case]:
    """Bodies of the documented form with members replaced, removed or added, and texts that are broken."""
    path_parameter = st.sampled_from(places) if places else st.none()
    names = tuple(body)
    strange = st.dictionaries(st.one_of(st.sampled_from(names), _UNICODE), JUNK, min_size=1, max_size=2)
    gone = st.sets(st.sampled_from(names), max_size=1)

    def changed(where: str | None, changes: dict[str, Any], without: set[str]) -> Case:
        rest = {name: value for name, value in body.items() if name not in without}
        touched = sorted(set(changes) & set(names) | without)
        return Case(operation, ", ".join(touched) or "body", "members", where, as_bytes({**rest, **harmless(changes)}))

    def broken(where: str | None, breakage: bytes, place: int, cut: bool) -> Case:
        text = as_bytes(body)
        place = _outside_the_mark(text, place % len(text))
        return Case(operation, "body", "broken text", where, text[:place] + breakage + (b"" if cut else text[place:]))

    return st.one_of(
        st.builds(changed, path_parameter, strange, gone),
        st.builds(changed, path_parameter, strange, gone),
        st.builds(broken, path_parameter, _BREAKAGES, st.integers(0, 500), st.booleans()),
        st.builds(
            lambda where, value: Case(operation, "body", "a value", where, as_bytes(harmless(value))),
            path_parameter,
            JUNK,
        ),
    )


def _outside_the_mark(text: bytes, place: int) -> int:
    """The place, or the end of the mark that it is in: a mark that is broken marks nothing."""
    mark = MARK.encode()
    start = text.find(mark, max(0, place - len(mark) + 1))
    return start + len(mark) if start != -1 and start < place else place
