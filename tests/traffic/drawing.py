"""What Schemathesis draws from `spec/openapi.yaml`: the schema for drawing, the hooks, and the strategies.

The interface document leaves most types open, so data of the schema as it is holds few documented members. For drawing
alone, bodies are closed, and a member whose type is not shown may have any JSON type. The examples of the members are
those of the form that `case.py` or the profile has, so that the cases of the coverage phase differ from a complete body
in one member each.

Hooks state what may never be sent, and put synthetic identifiers in. Credentials, queries and broken bodies are those
of `invalid.py`; other methods are never sent.

Import it where something is drawn: with what it needs that takes most of a second.
"""

from __future__ import annotations

import gc
import json
import warnings
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from functools import partial
from itertools import compress
from typing import Any, TypeVar
from urllib.parse import unquote

import hypothesis
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisWarning
from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider
from hypothesis.internal.constants_ast import Constants
from schemathesis import Case as SchemaCase
from schemathesis import GenerationMode
from schemathesis.core import NotSet
from schemathesis.generation.drivers import CoverageGenerator
from schemathesis.generation.feedback import FeedbackSources
from schemathesis.generation.overrides import Override

from environments.profiles.model import Profile
from reports.outputs.writing import RUNS
from spec.interface import MARK, READS, openapi, operations
from spec.json_text import as_bytes, leaves_of
from tests.traffic.case import (
    AMOUNT,
    JSON,
    NAMED_TYPES,
    Case,
    Form,
    form_of,
    greatest_amount,
    harmless,
    has_permitted_amounts,
    own_texts,
    place_of,
    synthetic_place,
)

T = TypeVar("T")
JsonSchema = dict[str, Any]
NO_FEEDBACK = FeedbackSources()
"""Schemathesis draws constants of loaded modules and of answers otherwise: then a seed does not tell what is drawn."""

# -- texts -------------------------------------------------------------------------------------------------------------

_SPECIAL = "%\\'\" `;:,.?#&=+<>|[]()$~^*!@"
"""They mean something in SQL, JSON, URLs, shells or templates. Schemathesis draws no path parameter with braces."""
_UNUSUAL = "/\0\t\r\n\x7f\x85\u2028ãßİ\u0301\u202e\ufeff🏦"
"""They end a text, a line or a path segment, change length with letter case or coding, or are not seen."""
_LENGTHS = (300, 5_000)
"""Longer than a column of 255, and than a buffer of 4 KiB."""


def _some_of(characters: str) -> st.SearchStrategy[str]:
    """Texts of about half of these characters, so that few texts hold each of them."""
    included = st.tuples(*(st.booleans() for _ in characters))
    return included.map(lambda chosen: "".join(compress(characters, chosen)))


_FORMATS = {
    "pixconf-special": _some_of(_SPECIAL),
    "pixconf-usual": st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E)),
    "pixconf-unusual": st.one_of(_some_of(_UNUSUAL), st.text()),
    "pixconf-digits": st.text("0123456789", min_size=1),
    "pixconf-long": st.builds(
        lambda character, length: character * length, st.sampled_from("x9ã"), st.sampled_from(_LENGTHS)
    ),
}
for _name, _strategy in _FORMATS.items():
    schemathesis.openapi.format(_name, _strategy)
_DRAWN_TEXTS: list[JsonSchema] = [{"type": "string", "format": name} for name in _FORMATS]
_TEXTS: list[JsonSchema] = [
    *_DRAWN_TEXTS,
    *({"const": text} for text in ("", "x", f"{_SPECIAL}{{}}ã🏦")),
]
"""Texts. The coverage phase has the constant ones in each member."""
_NOT_SHOWN: list[JsonSchema] = [
    {"type": "null"}, {"const": True}, {"type": "number"}, {"const": -0.5}, *_TEXTS, {"const": {}},
]  # fmt: skip
"""The JSON types of a member whose type the interface document does not show; other values are those of negative data.
Arrays and objects of any depth would take most of the time."""


# -- the schema for drawing --------------------------------------------------------------------------------------------

_FORM, _ALL, _ANY = "one member unlike the form", "all members", "any members"
"""Kinds of closed bodies."""


def _member_schema(operation: str, name: str, valid: Any, profile: Profile) -> JsonSchema:
    """Schema of one member of a body. `valid` is its value in the form of the operation."""
    if name == "pixKeyType" and operation == "registerPixKey":
        return {"enum": list(NAMED_TYPES)}
    types = _TEXTS if operation == "registerPixKey" else _NOT_SHOWN
    if name == AMOUNT and profile.is_sandbox:
        types = [*types, {"const": 0}, {"const": 1e15}]
    elif name == AMOUNT:
        bounds = {"exclusiveMinimum": 0, "maximum": greatest_amount(operation, profile)}
        types = [{"type": "number", **bounds} if schema == {"type": "number"} else schema for schema in types]
    return {"anyOf": types, "examples": [valid]}


def _closed(members: Mapping[str, JsonSchema], required: bool) -> JsonSchema:
    """Schema of an object that has these members and no others."""
    names = list(members) if required else []
    return {"type": "object", "properties": dict(members), "required": names, "additionalProperties": False}


def _bodies(operation: str, form: Form, profile: Profile) -> dict[str, JsonSchema]:
    """The schemas of a body, by the name of what they have in common."""
    free = {name: _member_schema(operation, name, valid, profile) for name, valid in form.items()}
    fixed = {name: {"const": valid} for name, valid in form.items()}
    return {
        _ALL: _closed(free, required=True),
        _ANY: _closed(free, required=False),
        _FORM: {"anyOf": [_closed({**fixed, name: schema}, required=True) for name, schema in free.items()]},
    }


def _load(profile: Profile, kind: str) -> Any:
    """The schema as Schemathesis has it, with closed bodies of one kind, and with the hooks."""
    document = deepcopy(dict(openapi()))
    for parameter in document["components"]["parameters"].values():
        parameter["schema"] = {"anyOf": _DRAWN_TEXTS}
    for methods in document["paths"].values():
        for item in methods.values():
            operation = item.get("operationId") if isinstance(item, dict) else None
            form = form_of(operation, profile) if operation else None
            if operation and form:
                schema = _bodies(operation, form, profile)[kind]
                item["requestBody"] = {"required": True, "content": {JSON: {"schema": schema}}}
                item["parameters"] = _path_parameters(operation, profile)
    loaded = schemathesis.openapi.from_dict(document)
    loaded.config.generation.with_security_parameters = False
    loaded.config.phases.coverage.unexpected_methods = set()  # else DELETE and TRACE go to each path
    _register_hooks(loaded, profile)
    return loaded


def _path_parameters(operation: str, profile: Profile) -> list[JsonSchema]:
    """The path parameter of an operation with a body, with the usual one as its example."""
    name = operations()[operation].path_parameter
    schema = {"anyOf": _DRAWN_TEXTS, "examples": [_place_of(operation, profile)]}
    return [{"name": name, "in": "path", "required": True, "schema": schema}] if name else []


def _place_of(operation: str, profile: Profile) -> str | None:
    """The path parameter of a usual request. On a sandbox a deletion may take whatever it likes."""
    deletes_at_home = operation == "deletePixKey" and profile.is_sandbox and profile.accounts
    return profile.accounts[0] if deletes_at_home else place_of(operation, profile)


def _register_hooks(schema: Any, profile: Profile) -> None:
    """Filter out what may never be sent, and make a synthetic identifier of whatever may name somebody. `bounded` of
    `case.py` looks at each case once more, and the door at each request."""

    @schema.hook  # type: ignore[untyped-decorator]
    def filter_case(context: Any, case: SchemaCase[Any]) -> bool:
        """No bytes, which cannot be read for what they name, and no amount above that of the profile."""
        return not isinstance(case.body, bytes) and has_permitted_amounts(_operation_of(case), case.body, profile)

    @schema.hook  # type: ignore[untyped-decorator]
    def map_case(context: Any, case: SchemaCase[Any]) -> SchemaCase[Any]:
        """Synthetic identifiers in path and body. An account of the profile stays where it can harm nothing."""
        operation = _operation_of(case)
        for name, value in case.path_parameters.items():
            text = unquote(str(value))
            is_usual = operation not in READS and text == _place_of(operation, profile)
            case.path_parameters[name] = text if is_usual else synthetic_place(operation, text, profile)
        if not isinstance(case.body, NotSet):
            case.body = harmless(case.body, operation, profile)
        return case


def _operation_of(case: SchemaCase[Any]) -> str:
    return str(case.operation.definition.raw["operationId"])


# -- strategies --------------------------------------------------------------------------------------------------------


class _SameEverywhere(HypothesisProvider):
    """The provider of Hypothesis without the constants of the modules that happen to be loaded, so that a seed draws
    the same on every machine. Hypothesis takes other providers as backends."""

    _local_constants = Constants()


_BACKEND = "pixconf"
AVAILABLE_PROVIDERS[_BACKEND] = _SameEverywhere
hypothesis.configuration.set_hypothesis_home_dir(RUNS / ".hypothesis")
_FIRST_PARTS = 10
"""Parts of a case that are drawn at most until one shows what the case shows."""
_ATTEMPTS = 3
"""Attempts to draw as many as are asked for: some are equal."""
_FEWEST_STEPS, _MOST_STEPS = 4, 7
"""Steps of a sequence after its first one."""
_CHOICE = 10
"""Sequences that are drawn for each one that is taken."""


class _ShowsError(Exception):
    """The value shows what is looked for."""


class Drawing:
    """Draws cases of the operations that one profile permits. The same seed draws the same cases."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._schemas = {kind: _load(profile, kind) for kind in (_FORM, _ALL, _ANY)}
        gc.freeze()  # all is imported, and stays: that no collection walks it again saves a tenth of a run on loopback

    def cases(self, operation: str, seed: int, examples: int) -> list[Case]:
        """The cases of the coverage phase, and as many drawn ones as there are examples, if there are so many."""
        cases = dict.fromkeys(self.coverage(operation))
        drawn = _drawn(_drawn_cases(operation, self._strategy(operation)), f"{seed} {operation}", examples, set(cases))
        return [*cases, *drawn]

    def look_for_smaller(self, case: Case, shows: Callable[[Case], bool]) -> None:
        """Have Hypothesis look for the smallest part of a case that still shows something. `shows` always gives the
        same answer for a case."""
        _look_for_smallest(_parts_of(case, self._profile), shows)

    def coverage(self, operation: str) -> list[Case]:
        """Complete bodies and those that differ in one member: of another type, missing, empty, not documented."""
        if form_of(operation, self._profile) is None:  # there is no other text in a path than those that are drawn
            return []
        schema = self._schemas[_ALL]
        generator = CoverageGenerator(
            operation=schema.find_operation_by_id(operation),
            generation_modes=list(GenerationMode),
            generation_config=schema.config.generation,
            auth_storage=None,
            override=Override(),
            feedback=NO_FEEDBACK,
        )
        return list(dict.fromkeys(_as_case(operation, case) for case in generator))

    def _strategy(self, operation: str) -> st.SearchStrategy[SchemaCase[Any]]:
        """Positive and negative cases of all kinds of bodies, and other path parameters with the body of the form."""
        place, form = _place_of(operation, self._profile), form_of(operation, self._profile)
        in_place: dict[str, Any] = {}
        if place and form:
            in_place = {"path_parameters": {operations()[operation].path_parameter: place}}

        def cases(kind: str, mode: GenerationMode = GenerationMode.POSITIVE, **fixed: Any) -> st.SearchStrategy[Any]:
            source = self._schemas[kind].find_operation_by_id(operation)
            strategy: st.SearchStrategy[Any] = source.as_strategy(generation_mode=mode, feedback=NO_FEEDBACK, **fixed)
            return strategy

        if form is None:
            return cases(_ALL)
        strategies = [
            cases(_ANY, **in_place),
            cases(_ALL, **in_place),
            cases(_ALL, **in_place),  # twice as often, because combinations show in it
            cases(_FORM, **in_place),
            cases(_ALL, GenerationMode.NEGATIVE, **in_place),
        ]
        if own := own_texts(operation, self._profile):
            payer = {name: value for name, value in form.items() if not own.isdisjoint(_texts_of(value))}
            at_home = partial(_with_members, members=payer)
            strategies += [cases(_ALL).map(at_home), cases(_ALL, GenerationMode.NEGATIVE).map(at_home)]
        if place:
            strategies.append(cases(_ALL, body=dict(form), media_type=JSON))
        return st.one_of(strategies)


def _with_members(case: SchemaCase[Any], members: Form) -> SchemaCase[Any]:
    """The case with these values in place of those that its body has under the same names."""
    if isinstance(case.body, dict):
        case.body = {name: members.get(name, value) for name, value in case.body.items()}
    return case


@st.composite
def _drawn_cases(draw: st.DrawFn, operation: str, strategy: st.SearchStrategy[SchemaCase[Any]]) -> Case:
    return _as_case(operation, draw(strategy))


def _as_case(operation: str, case: SchemaCase[Any]) -> Case:
    """The case as the client sends it: of its headers only an unusual Content-Type."""
    place = next(iter(case.path_parameters.values()), None)
    body = None if isinstance(case.body, NotSet) else as_bytes(case.body)
    return Case(operation, path_parameter=place, body=body, content_type=case.headers.get("Content-Type", JSON))


def draw_sequences(
    seed: int, count: int, steps: Sequence[T], situations: Callable[[Sequence[T]], set[Hashable]]
) -> list[tuple[T, ...]]:
    """Sequences of these steps, which begin with the first one. More are drawn than are asked for; those are taken that
    reach the most situations which no other one reached."""
    strategy = st.lists(st.sampled_from(steps), min_size=_FEWEST_STEPS, max_size=_MOST_STEPS).map(tuple)
    drawn = _drawn(strategy, f"{seed} sequences", _CHOICE * count)
    sequences = [(steps[0], *sequence) for sequence in drawn]
    taken: list[tuple[T, ...]] = []
    reached: set[Hashable] = set()
    while sequences and len(taken) < count:
        new = [len(situations(sequence) - reached) for sequence in sequences]
        best = sequences.pop(new.index(max(new)))
        taken.append(best)
        reached |= situations(best)
    return taken


def look_for_shorter(steps: Sequence[T], shows: Callable[[Sequence[T]], bool]) -> None:
    """Have Hypothesis look for the shortest part of a sequence that still shows something, with its last step. `shows`
    always gives the same answer for a sequence."""

    @st.composite
    def parts(draw: st.DrawFn) -> tuple[T, ...]:
        return (*(step for step in steps[:-1] if draw(_IS_KEPT)), steps[-1])

    _look_for_smallest(parts(), shows)


_SETTINGS = settings(
    backend=_BACKEND,
    phases=(Phase.generate,),
    database=None,
    deadline=None,
    derandomize=False,  # the profile that Hypothesis takes where CI is set always draws the same
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)


def _drawn(strategy: st.SearchStrategy[T], seed: str, count: int, known: Collection[T] = ()) -> list[T]:
    """So many values that differ, and that are not known yet; fewer if there are not so many."""
    drawn: dict[T, None] = {}
    for attempt in range(_ATTEMPTS):

        @settings(_SETTINGS, max_examples=count)
        @hypothesis.seed(f"{seed} {attempt}")
        @hypothesis.given(strategy)
        def keep(value: T) -> None:
            if value not in known and len(drawn) < count:
                drawn[value] = None

        if len(drawn) < count:
            keep()
    return list(drawn)


def _look_for_smallest(strategy: st.SearchStrategy[T], shows: Callable[[T], bool]) -> None:
    """Have Hypothesis look for the smallest value that shows something."""

    @settings(_SETTINGS, phases=(Phase.generate, Phase.shrink), max_examples=_FIRST_PARTS)
    @hypothesis.seed(0)
    @hypothesis.given(strategy)
    def look(value: T) -> None:
        if shows(value):
            raise _ShowsError

    with suppress(_ShowsError), warnings.catch_warnings():
        warnings.simplefilter("ignore", HypothesisWarning)  # it warns of long texts
        look()


# -- parts of a case ---------------------------------------------------------------------------------------------------

_IS_KEPT = st.integers(0, 3).map(bool)
"""Three of four parts are kept at first, so that most faults still show; Hypothesis shrinks to none."""
_LONG = 80
"""Characters of a text from which it is cut rather than thinned."""


def _parts_of(case: Case, profile: Profile) -> st.SearchStrategy[Case]:
    """Cases with a part of the members, of the items and of the characters of a case.

    All texts are synthetic again, but for the account of the profile, which stays whole.
    """
    own = own_texts(case.operation, profile)

    @st.composite
    def parts(draw: st.DrawFn) -> Case:
        place, body = case.path_parameter, case.body
        if isinstance(place, str) and place != _place_of(case.operation, profile):
            place = synthetic_place(case.operation, _part_of(draw, place), profile)
        if body:
            body = as_bytes(harmless(_part_of(draw, json.loads(body), own), case.operation, profile))
        return replace(case, path_parameter=place, body=body)

    return parts()


def _texts_of(value: Any) -> list[str]:
    return [leaf for _, leaf in leaves_of(value) if isinstance(leaf, str)]


def _part_of(draw: st.DrawFn, value: Any, whole: Collection[str] = ()) -> Any:
    """A part of a JSON value, in which these texts stay whole."""
    if isinstance(value, dict):
        names = [name for name in value if draw(_IS_KEPT)]  # all of them before the first text, which has more parts
        return {name: _part_of(draw, value[name], whole) for name in names}
    if isinstance(value, list):
        return [_part_of(draw, item, whole) for item in value if draw(_IS_KEPT)]
    if isinstance(value, str) and value not in whole:
        return _part_of_text(draw, value.replace(MARK, ""))
    return value


def _part_of_text(draw: st.DrawFn, text: str) -> str:
    if len(text) < _LONG:
        return "".join(character for character in text if draw(_IS_KEPT))
    is_whole = draw(_IS_KEPT)
    return text if is_whole else text[: draw(st.integers(0, len(text)))]
