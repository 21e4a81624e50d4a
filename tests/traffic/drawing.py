"""Requests that Schemathesis draws from `spec/openapi.yaml`: the schema for drawing, the hooks, and the strategies.

`property.py` asks for cases of each operation, `stateful.py` for sequences of steps. `combining.py` has the bodies with
several unusual members.

- Schema: the interface document leaves most types open, so what Schemathesis draws from the schema as it is has few of
  the documented members. For drawing alone, a body has no other members than the documented ones, and a member whose
  type is not shown may have any JSON type. Each member has an example from a complete body (`usual_body` in
  `case.py`), so that the cases of the coverage phase differ from this body in one member each. (The coverage phase of
  Schemathesis tries each value that a schema lists, one member at a time.)
- Hooks: they leave out what may never be sent, and replace drawn identifiers by synthetic ones.
- Kinds of values: of requests whose values are of the same kinds, such as "digits" and "long", one is sent.
- Search: Hypothesis shrinks a request or a sequence that shows a finding. `collecting.py` says for which findings.
- Not drawn here: wrong credentials, queries and broken bodies are in `invalid.py`. Other methods are never sent.

Import this module only where something is drawn, because importing Schemathesis takes most of a second.
"""

from __future__ import annotations

import gc
import json
import math
import warnings
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from itertools import chain, compress
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
from spec.interface import READ_OPERATIONS, SYNTHETIC_PREFIX, openapi, operations
from spec.json_text import MAX_DEPTH_OF_A_REQUEST, as_bytes, is_nested_deeper_than
from tests.traffic.case import (
    AMOUNT,
    DOCUMENTED_MEMBERS,
    JSON,
    TYPES_EXCEPT_RANDOM,
    Case,
    Members,
    greatest_amount,
    harmless_path_parameter,
    has_permitted_amounts,
    synthetic_path_parameter,
    texts_that_name_own_account,
    usual_body,
    with_synthetic_identifiers,
)
from tests.traffic.combining import (
    VALUES,
    VALUES_OF_FURTHER_ROUNDS,
    cases_of_every_run,
    has_several_members,
    rounds,
)
from tests.traffic.invalid import invalid_requests
from tests.traffic.unusual_texts import (
    ALL_SPECIAL,
    ALL_UNUSUAL,
    LENGTHS,
    LETTERS,
    LONG_WITH_ALL_UNUSUAL,
    ONE_DIGIT,
    SPECIAL,
    UNUSUAL,
    VERY_LONG,
)

T = TypeVar("T")
_JsonSchema = dict[str, Any]
"""A JSON schema, which says which values a member of a body may have."""
_NO_FEEDBACK = FeedbackSources()
"""Sources of constants to draw: none. By default, Schemathesis takes constants from loaded modules and from answers, so
that the same seed would draw different cases."""

# -- texts -------------------------------------------------------------------------------------------------------------

_IS_KEPT = st.integers(0, 3).map(bool)
"""Whether a character, or a part of a case, is kept: three of four are. 0 is the simplest value, so Hypothesis shrinks
towards texts and cases without any part."""


def _some_of(characters: str) -> st.SearchStrategy[str]:
    """A Hypothesis strategy for texts that have most of these characters, in their order.

    Some faults show only if two characters are in one text, such as a quote and a semicolon. Other faults show only if
    a certain character is missing. Each character is in three of four texts, so that a few texts show both.
    """
    choices = st.tuples(*(_IS_KEPT for _ in characters))  # for each character, whether it is in the text
    return choices.map(lambda chosen: "".join(compress(characters, chosen)))


_FORMATS = {
    "pixconf-special": _some_of(SPECIAL),
    "pixconf-usual": st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E)),
    "pixconf-unusual": st.one_of(_some_of(UNUSUAL), st.text()),
    "pixconf-digits": st.tuples(st.sampled_from(("", "-")), st.text("0123456789", min_size=1)).map("".join),
    "pixconf-long": st.builds(
        lambda character, length: character * length, st.sampled_from("x9ã"), st.sampled_from(LENGTHS)
    ),
}
"""Sorts of unusual texts, each with the strategy from which Hypothesis draws them. Schemathesis knows each sort as a
format of a text: a text of the format "pixconf-digits" has digits alone."""
for _name, _strategy in _FORMATS.items():
    schemathesis.openapi.format(_name, _strategy)
_DRAWN_TEXTS: list[_JsonSchema] = [{"type": "string", "format": name} for name in _FORMATS]
"""The JSON schemas of these texts."""
_TEXTS = [*_DRAWN_TEXTS, {"const": ""}]
"""The same and the empty text, which a path parameter cannot be."""
_ANY_TYPE: list[_JsonSchema] = [{"type": "null"}, {"const": True}, {"type": "number"}, *_TEXTS, {"const": {}}]
"""Values of a member whose type the interface document does not show. Negative cases also have other values. Arrays and
objects of any depth are left out, because to draw them would take most of the time."""
_PATH_PARAMETERS = (LETTERS, ONE_DIGIT, ALL_SPECIAL, ALL_UNUSUAL, VERY_LONG)
"""Texts that are sent as the path parameter of each operation that has one: one for each kind of text."""
_VALUES_FOR_A_TEXT: tuple[Any, ...] = (
    None,
    True,
    -0.5,
    "",
    ONE_DIGIT,
    ALL_SPECIAL,
    ALL_UNUSUAL,
    VERY_LONG,
    {f"{SYNTHETIC_PREFIX}a": {}},
)
"""Values that the coverage phase puts into each member whose usual value is a text. Negative cases add letters and an
array."""
_VALUES_FOR_A_NUMBER: tuple[Any, ...] = (None, True, -0.5, "", ONE_DIGIT, {})
"""The same for a member whose usual value is a number. Negative cases add a text without digits."""
_VALUES_FOR_A_DATE: tuple[Any, ...] = (*_VALUES_FOR_A_NUMBER, 0, 1767225600, 2**64, "2026-02-30")
"""The same for a date: seconds since 1970 instead of milliseconds, more than 64 bits, a day that no year has."""
_AMOUNTS_OF_A_SANDBOX = (0, 1e-7, 12345678901, 1e20)
"""Amounts that only a sandbox gets: none, less than a cent, more than 32 bits, and more than 64 bits hold."""
_DATE = "date"
"""Member of the documented transfers that has the day."""


# -- the schema for drawing --------------------------------------------------------------------------------------------

_ONE_UNUSUAL_MEMBER = "one unusual member"
_ONE_USUAL_MEMBER = "one usual member"
_ALL_MEMBERS = "all members"
_ANY_MEMBERS = "any members"
_KINDS_OF_BODIES = (_ONE_UNUSUAL_MEMBER, _ONE_USUAL_MEMBER, _ALL_MEMBERS, _ANY_MEMBERS)
"""Kinds of bodies, compared with the example body: a complete, usual one (`usual_body` in `case.py`).

- One unusual member: the coverage phase of Schemathesis makes these bodies.
- One usual member: the coverage phase also makes these bodies. Each has one of the usual members, and no other member.
- All members: each of them has a drawn value.
- Any members: the same, but some of the members are missing.

None of the bodies has a member that is not documented. Bodies with several unusual members are in
`combining.py`."""


def _member_schema(operation: str, name: str, usual_value: Any, profile: Profile) -> _JsonSchema:
    """JSON schema from which the value of one member of a body is drawn. `usual_value` is its example.

    A key type is a documented type, because a service would refuse any other type before it reads the rest of the body.
    RANDOM is left out, because the service ignores the drawn key then, and makes a key. Any other member of a
    registration is a text, as documented.
    """
    if _is_key_type(operation, name):
        return {"enum": list(TYPES_EXCEPT_RANDOM)}
    types = _TEXTS if operation == "registerPixKey" else _ANY_TYPE
    if name == AMOUNT:
        types = _types_of_an_amount(operation, types, profile)
    return {"anyOf": types, "examples": [usual_value]}


def _covered_member_schema(operation: str, name: str, usual_value: Any, profile: Profile) -> _JsonSchema:
    """JSON schema of one member of a body, from which Schemathesis makes bodies with one unusual member each.

    It does so in its coverage phase, which tries every listed value instead of drawing some. The usual value is the
    first one, and the example.
    """
    values = _VALUES_FOR_A_TEXT if isinstance(usual_value, str) else _VALUES_FOR_A_NUMBER
    if name == _DATE:
        values = _VALUES_FOR_A_DATE
    if _is_key_type(operation, name):
        # The documented types; and a text, a boolean and a number that are no key type.
        values = (*TYPES_EXCEPT_RANDOM, LONG_WITH_ALL_UNUSUAL, True, -0.5)
    if name == AMOUNT and profile.is_sandbox:
        values = (*values, *_AMOUNTS_OF_A_SANDBOX, "1,5")  # with a decimal comma, as people write it in Brazil
    others = [value for value in values if value != usual_value]
    return {"enum": [usual_value, *others], "examples": [usual_value]}


def _is_key_type(operation: str, name: str) -> bool:
    """True if a member of a body is the key type of a registration, whose values the interface document lists."""
    return name == "pixKeyType" and operation == "registerPixKey"


def _types_of_an_amount(operation: str, types: list[_JsonSchema], profile: Profile) -> list[_JsonSchema]:
    """The JSON schemas from which amounts are drawn. `types` are the schemas of any member of a body.

    On a sandbox, a service without real money, any amount is permitted. Elsewhere it must be above 0, and at most the
    amount of the profile.
    """
    if profile.is_sandbox:
        return [*types, *({"const": amount} for amount in _AMOUNTS_OF_A_SANDBOX)]
    any_number: _JsonSchema = {"type": "number"}
    bounded_number = {**any_number, "exclusiveMinimum": 0, "maximum": greatest_amount(operation, profile)}
    return [bounded_number if schema == any_number else schema for schema in types]


def _schema_without_other_members(members: Mapping[str, _JsonSchema], required: bool) -> _JsonSchema:
    """JSON schema of an object that has no other members than these. If `required`, it has all of them, else some.

    `members` are the JSON schemas of the members by name.
    """
    names = list(members) if required else []
    return {"type": "object", "properties": dict(members), "required": names, "additionalProperties": False}


def _body_schemas(operation: str, example_body: Members, profile: Profile) -> dict[str, _JsonSchema]:
    """By kind of body, the JSON schema from which Schemathesis makes bodies of the operation.

    A kind is, for example, "all members" (each member has a drawn value) or "any members" (some are missing). Each kind
    has a schema of its own. `example_body` has the usual value of each member.
    """
    # By name of a member: its schema for random values, for the coverage phase, and for its usual value alone.
    drawn = {name: _member_schema(operation, name, usual_value, profile) for name, usual_value in example_body.items()}
    covered = {
        name: _covered_member_schema(operation, name, usual_value, profile)
        for name, usual_value in example_body.items()
    }
    usual = {name: {"enum": [value], "examples": [value]} for name, value in example_body.items()}
    return {
        _ALL_MEMBERS: _schema_without_other_members(drawn, required=True),
        _ANY_MEMBERS: _schema_without_other_members(drawn, required=False),
        _ONE_USUAL_MEMBER: {**_schema_without_other_members(usual, required=False), "maxProperties": 1},
        _ONE_UNUSUAL_MEMBER: _schema_without_other_members(covered, required=True),
    }


def _schema_for_drawing(profile: Profile, kind: str) -> Any:
    """The OpenAPI schema of the service, loaded by Schemathesis, from which requests with bodies of one kind are drawn.

    `kind` is one of `_KINDS_OF_BODIES`, such as "all members". Schemas of path parameters, and of bodies whose members
    are documented, are replaced by schemas that reach unusual values more often. Hooks keep drawn requests harmless.
    """
    document = deepcopy(dict(openapi()))
    for parameter in document["components"]["parameters"].values():
        parameter["schema"] = {"anyOf": _DRAWN_TEXTS}
    for methods in document["paths"].values():
        for item in methods.values():
            operation = item.get("operationId") if isinstance(item, dict) else None
            example_body = usual_body(operation, profile) if operation else None
            if operation and example_body:
                body_schema = _body_schemas(operation, example_body, profile)[kind]
                item["requestBody"] = {"required": True, "content": {JSON: {"schema": body_schema}}}
                item["parameters"] = _path_parameters(operation, profile)
    schema = schemathesis.openapi.from_dict(document)
    schema.config.generation.with_security_parameters = False  # no drawn credentials
    schema.config.phases.coverage.unexpected_methods = set()  # otherwise DELETE and TRACE are sent to each path
    _register_hooks(schema, profile)
    return schema


def _path_parameters(operation: str, profile: Profile) -> list[_JsonSchema]:
    """The OpenAPI description of the path parameter of an operation, in a list; empty if the path has no parameter.

    Its schema has texts of all sorts, and a usual value as the example.
    """
    name = operations()[operation].path_parameter
    if not name:
        return []
    schema = {"anyOf": _DRAWN_TEXTS, "examples": [_example_of_path_parameter(operation, profile)]}
    return [{"name": name, "in": "path", "required": True, "schema": schema}]


def _example_of_path_parameter(operation: str, profile: Profile) -> str | None:
    """A usual value of the path parameter, which can do no harm; None if the operation has no path parameter.

    It is an account of the profile, or a made-up text if a real account could be harmed. For a deletion it is an
    account of the profile on a sandbox only: a service without real money, where a deleted key does no harm.
    """
    deletes_on_sandbox = operation == "deletePixKey" and profile.is_sandbox
    if deletes_on_sandbox and profile.accounts:
        return profile.accounts[0]
    return harmless_path_parameter(operation, profile)


def _register_hooks(schema: Any, profile: Profile) -> None:
    """Register two hooks with Schemathesis that keep drawn requests harmless.

    The first hook leaves out requests that may never be sent. The second hook replaces everything that may name
    somebody by a made-up text. Each request is checked two more times: by `harmless_cases` in `case.py`, and
    by the door (the only module that sends requests).
    """

    @schema.hook  # type: ignore[untyped-decorator]
    def filter_case(context: Any, case: SchemaCase[Any]) -> bool:
        """True if Schemathesis may keep a drawn request.

        False if the body is bytes instead of a JSON value, because nobody knows what it names, or if its amount is
        above the amount of the profile.
        """
        is_json = not isinstance(case.body, bytes)
        return is_json and has_permitted_amounts(_operation_of(case), case.body, profile)

    @schema.hook  # type: ignore[untyped-decorator]
    def map_case(context: Any, case: SchemaCase[Any]) -> SchemaCase[Any]:
        """The drawn request, in which all accounts, keys and codes in path and body are replaced by made-up ones.

        The usual path parameter stays, because it can do no harm. But in a read it is replaced: a read with the usual
        path parameter is valid, and valid reads are sent anyway.
        """
        operation = _operation_of(case)
        for name, value in case.path_parameters.items():
            text = unquote(str(value))
            is_usual = text == _example_of_path_parameter(operation, profile)
            may_stay = is_usual and operation not in READ_OPERATIONS
            case.path_parameters[name] = text if may_stay else synthetic_path_parameter(operation, text, profile)
        if not isinstance(case.body, NotSet):
            case.body = with_synthetic_identifiers(case.body, operation, profile)
        return case


def _operation_of(case: SchemaCase[Any]) -> str:
    """The operation of a request that Schemathesis has drawn, by its id in the OpenAPI schema, such as "createPix"."""
    return str(case.operation.definition.raw["operationId"])


# -- strategies --------------------------------------------------------------------------------------------------------


class _ReproducibleProvider(HypothesisProvider):
    """The provider of Hypothesis without the constants of loaded modules.

    Hypothesis draws them now and then, and which modules are loaded depends on the machine. Without them a seed draws
    the same everywhere. A provider is registered as a backend of Hypothesis.
    """

    _local_constants = Constants()


_BACKEND = "pixconf"
AVAILABLE_PROVIDERS[_BACKEND] = _ReproducibleProvider
hypothesis.configuration.set_hypothesis_home_dir(RUNS / ".hypothesis")
_FIRST_PARTS = 10
"""Parts of a case that are drawn before Hypothesis begins to shrink. If none of them shows the finding, the search
ends, so that a fault which shows only in the whole costs few requests."""
_ATTEMPTS = 3
"""Attempts to draw as many cases as are asked for, because some of the drawn ones are equal."""
_FEWEST_STEPS, _MOST_STEPS = 4, 7
"""Steps of a sequence after its first one: enough to register, delete and register again, with reads in between."""
_SHARE_OF_COMBINED = 0.85
"""Share of the drawn cases of an operation with a body that have several unusual members."""
_DRAWN_FOR_EACH = 10
"""Sequences that are drawn for each one that is taken, so that there is a choice."""


class _ShowsError(Exception):
    """Raised to make a test of Hypothesis fail, which means here that a drawn value shows the finding."""


class Drawing:
    """Draws cases of the operations that one profile permits. The same seed draws the same cases."""

    def __init__(self, profile: Profile) -> None:
        """`profile` says which accounts, keys and amounts a request may name, and so which values may be drawn."""
        self._profile = profile
        # By kind of body, such as "all members", the OpenAPI schema from which such requests are drawn.
        self._schemas = {kind: _schema_for_drawing(profile, kind) for kind in _KINDS_OF_BODIES}
        # Takes the objects that exist now out of garbage collection: Schemathesis with all its modules is loaded, and
        # stays until the end. That saves a tenth of the time of a run against a service on the same machine.
        gc.freeze()

    def cases(self, operation: str, seed: int, examples: int) -> list[Case]:
        """Requests to an operation that are made from the OpenAPI schema, and not sent yet.

        First come the requests of the coverage phase: their bodies differ from the usual body in one member. Then come
        as many others as `examples`, or fewer if too many are equal: requests with an unusual path parameter, requests
        with several unusual members, and requests that Schemathesis draws. The same `seed` gives the same requests.
        """
        coverage = self.coverage(operation)
        others = self._with_unusual_path_parameters(operation)[:examples]
        count_combined = round(_SHARE_OF_COMBINED * (examples - len(others)))
        combined = self._with_several_unusual_members(operation, f"{seed} {operation}", count_combined)
        others += _first_new_cases(combined, count_combined, [*coverage, *others])
        count_left = examples - len(others)
        if count_left:
            strategy = _drawn_cases(operation, self._strategy(operation))
            others += _distinct(strategy, f"{seed} {operation}", count_left, {*coverage, *others})
        return [*coverage, *others]

    def _with_several_unusual_members(self, operation: str, seed: str, count: int) -> list[Case]:
        """Requests with several unusual members each: as many as `count` or a few more, of which some may be equal.

        Empty if the body of the operation has fewer than two members. Hypothesis draws whole rounds: lists of requests
        in which each member has each value once. In this way a few requests are enough to try each value in each
        member. `combining.py` says why the further rounds have more values than the first one.
        """
        if count < 1 or not has_several_members(operation, self._profile):
            return []
        number_of_further_rounds = math.ceil(count / len(VALUES_OF_FURTHER_ROUNDS))
        first_round = rounds(operation, self._profile, VALUES)
        further_rounds = rounds(operation, self._profile, VALUES_OF_FURTHER_ROUNDS)
        # The first value that Hypothesis draws is the simplest one, whatever the seed is, so it is left out.
        drawn = [
            *_distinct(first_round, f"{seed} first round", 2)[1:],
            *_distinct(further_rounds, f"{seed} further rounds", 1 + number_of_further_rounds)[1:],
        ]
        return [*cases_of_every_run(operation, self._profile), *chain.from_iterable(drawn)]

    def _with_unusual_path_parameters(self, operation: str) -> list[Case]:
        """Requests with a usual body and an unusual path parameter, one for each text of `_PATH_PARAMETERS`.

        Empty if the path of the operation has no parameter. All texts get the prefix that makes them name nobody.
        """
        if operations()[operation].path_parameter is None:
            return []
        members = usual_body(operation, self._profile)
        body = None
        if members:
            body = as_bytes(with_synthetic_identifiers(dict(members), operation, self._profile))
        path_parameters = [synthetic_path_parameter(operation, text, self._profile) for text in _PATH_PARAMETERS]
        return [Case(operation, path_parameter=path_parameter, body=body) for path_parameter in path_parameters]

    def search_for_smaller_case(self, case: Case, shows: Callable[[Case], bool]) -> None:
        """Have Hypothesis search for the smallest part of a request (`case`) that still shows a finding, a deviation.

        A part has fewer members, items or characters. Hypothesis calls `shows` with one part after the other: it sends
        the part, and returns True if the answer shows the finding. It must return the same for equal parts. Nothing is
        returned, because `shows` has seen the smallest part.
        """
        _search_for_smallest(_parts_of(case, self._profile), shows)

    def coverage(self, operation: str) -> list[Case]:
        """Requests whose body differs from the usual one in one member, and requests with one usual member alone.

        A member is of another type, missing, empty or not documented. The coverage phase of Schemathesis makes them: it
        tries every value that the schema lists. Of bodies whose values are of the same kinds, such as two long texts,
        only the first one is sent. Requests that the tables of `invalid.py` have are left out, because they are sent
        anyway. Empty for an operation without a body: `_strategy` draws the texts in its path.
        """
        if usual_body(operation, self._profile) is None:
            return []
        schema_cases = [
            *self._covered(operation, _ONE_UNUSUAL_MEMBER, list(GenerationMode)),
            *self._covered(operation, _ONE_USUAL_MEMBER, [GenerationMode.POSITIVE]),
        ]
        sent_anyway = {_request_of(case) for case in invalid_requests(operation, self._profile)}
        one_of_each: dict[tuple[tuple[str, str], ...], Case] = {}
        for schema_case in schema_cases:
            case = _as_case(operation, schema_case)
            if case.content_type != JSON:  # Schemathesis also makes such cases; the tables of `invalid.py` have enough
                continue
            if _request_of(case) not in sent_anyway:
                kinds = tuple(
                    sorted(_kinds_of_values(case).items())
                )  # sorted, because the order of members does not count
                one_of_each.setdefault(kinds, case)
        return list(one_of_each.values())

    def _covered(self, operation: str, kind: str, modes: list[GenerationMode]) -> Iterator[SchemaCase[Any]]:
        """The requests that the coverage phase of Schemathesis makes, with bodies of one kind (`_KINDS_OF_BODIES`).

        A kind is, for example, "one unusual member". The coverage phase tries every value that the schema lists.
        `modes` says whether a request keeps the schema (positive) or breaks it (negative).
        """
        schema = self._schemas[kind]
        generator = CoverageGenerator(
            operation=schema.find_operation_by_id(operation),
            generation_modes=modes,
            generation_config=schema.config.generation,
            auth_storage=None,
            override=Override(),
            feedback=_NO_FEEDBACK,
        )
        yield from generator

    def _strategy(self, operation: str) -> st.SearchStrategy[SchemaCase[Any]]:
        """The Hypothesis strategy from which requests to an operation are drawn.

        A request has a drawn body and a usual path parameter, or a drawn path parameter and a usual body: if both were
        unusual, the service would often refuse the path parameter before it reads the body. Negative requests
        (a word of Schemathesis) break the schema. `one_of` draws from each of its strategies equally often.
        """
        path_parameter = _example_of_path_parameter(operation, self._profile)
        example_body = usual_body(operation, self._profile)

        def cases(kind: str, mode: GenerationMode = GenerationMode.POSITIVE, **fixed: Any) -> st.SearchStrategy[Any]:
            """The Hypothesis strategy for requests with bodies of one kind, such as "all members".

            `fixed` are parts of a request that are not drawn.
            """
            source = self._schemas[kind].find_operation_by_id(operation)
            strategy: st.SearchStrategy[Any] = source.as_strategy(generation_mode=mode, feedback=_NO_FEEDBACK, **fixed)
            return strategy

        if example_body is None:  # the operation has no body, so only its path parameter is drawn
            return cases(_ALL_MEMBERS)
        with_example_path: dict[str, Any] = {}
        if path_parameter and example_body:
            with_example_path = {"path_parameters": {operations()[operation].path_parameter: path_parameter}}
        strategies = [
            cases(_ALL_MEMBERS, **with_example_path),
            cases(_ALL_MEMBERS, GenerationMode.NEGATIVE, **with_example_path),
        ]
        if len(example_body) > 1:  # without its single member, a body would just be empty
            strategies.append(cases(_ANY_MEMBERS, **with_example_path))
        if path_parameter:
            strategies.append(cases(_ALL_MEMBERS, body=dict(example_body), media_type=JSON))
        return st.one_of(strategies)


@st.composite
def _drawn_cases(draw: st.DrawFn, operation: str, strategy: st.SearchStrategy[SchemaCase[Any]]) -> Case:
    """A Hypothesis strategy for cases of the suite. Each is made of a case that the strategy of Schemathesis draws."""
    return _as_case(operation, draw(strategy))


def _request_of(case: Case) -> tuple[object, ...]:
    """A value that is equal for two cases if they are the same request, so that the request is sent only once.

    The order of the members in a body makes no difference. A body that is nested very deeply is compared as bytes,
    because a parser of Python may crash on it.
    """
    body = repr(case.body)
    if not is_nested_deeper_than(MAX_DEPTH_OF_A_REQUEST, case.body or b""):
        with suppress(ValueError):  # a body that is no JSON is also compared as bytes
            body = json.dumps(json.loads(case.body or b"null"), sort_keys=True)
    return case.path_parameter, body, case.content_type, case.query, case.credential


_SIZES = (0.001, 2**31, 2**63)
"""Limits between the sizes of numbers: less than a cent, 32 bits, 64 bits."""


def _first_new_cases(cases: Iterable[Case], count: int, earlier: Iterable[Case]) -> list[Case]:
    """The first of these cases whose requests are new, as many as `count`, so that no request is sent twice.

    A request is new if it is none of the `earlier` ones, and none of the cases before it.
    """
    new: list[Case] = []
    requests = {_request_of(case) for case in earlier}
    for case in cases:
        if len(new) == count:
            break
        if _request_of(case) not in requests:
            requests.add(_request_of(case))
            new.append(case)
    return new


_Kinds = dict[str, str]
"""By member of the body, the kind of its value, such as "digits" or "negative usual int". The empty name stands for the
path parameter."""


def _kinds_of_values(case: Case) -> _Kinds:
    """The kind of each value in a case (a request): {"": "digits", "pixKey": "long", "account": "missing"}.

    The empty name means the path parameter. Of requests whose values are of the same kinds, only the first is sent.
    """
    kinds = {"": _kind_of_value(case.path_parameter)}
    body = json.loads(case.body) if case.body else None
    if not isinstance(body, dict):
        # The bodies true and false are one kind: a service that expects an object refuses both at the same place.
        kind_of_body = "a boolean" if isinstance(body, bool) else _kind_of_value(body)
        return {**kinds, "body": kind_of_body}
    missing = dict.fromkeys(DOCUMENTED_MEMBERS.get(case.operation, {}), "missing")
    return {**kinds, **missing, **{name: _kind_of_value(value) for name, value in body.items()}}


def _kind_of_value(value: Any) -> str:
    """The kind of a value of a JSON body or a path, such as "digits". Only one value of each kind is sent.

    If a service is faulty for one value of a kind, it is probably faulty for all values of the kind.
    """
    if isinstance(value, str):
        is_synthetic = value.startswith(SYNTHETIC_PREFIX)
        return _kind_of_text(value.replace(SYNTHETIC_PREFIX, ""), is_synthetic)
    if isinstance(value, bool):  # before numbers, because Python counts booleans among the integers
        return repr(value)
    if isinstance(value, int | float):
        return _kind_of_number(value)
    return type(value).__name__


def _kind_of_text(text: str, is_synthetic: bool) -> str:
    """The kind of a text, such as "digits". The first of these that applies. Only one text of each kind is sent.

    `text` is without the prefix `pixconf-`, which makes a text name nobody. `is_synthetic` says if it had the prefix.
    """
    if text in TYPES_EXCEPT_RANDOM or text in ("", ONE_DIGIT):  # a service may treat each of these in a way of its own
        return text
    if text.isalpha() and not is_synthetic:  # such as "AB" on a sandbox: perhaps a word that the service knows
        return "only letters, without the prefix"
    if len(text) >= min(LENGTHS):
        return "long"
    if text.isdecimal():  # such as "0123"
        return "digits"
    if not text.isprintable():  # such as a text with NUL
        return "with control characters"
    if not set(text).isdisjoint(SPECIAL):  # such as "a;b"
        return "with punctuation"
    return "other text with the prefix" if is_synthetic else "other text without the prefix"


def _kind_of_number(number: float) -> str:
    """The kind of a number: its sign, its type, and its size, such as "positive int of size 1".

    The size is the number of limits in `_SIZES` (less than a cent, 32 bits, 64 bits) that the number exceeds. For
    example, 12 exceeds one of them, and 2**64 exceeds all three.
    """
    if number == 0:
        return "zero"
    limits_exceeded = [limit for limit in _SIZES if abs(number) > limit]
    sign = "negative" if number < 0 else "positive"
    return f"{sign} {type(number).__name__} of size {len(limits_exceeded)}"


def _as_case(operation: str, case: SchemaCase[Any]) -> Case:
    """A case of the suite, made of a case of Schemathesis: both are requests that are not sent yet.

    Of the headers only Content-Type is kept, because the client adds the others.
    """
    path_parameter = next(iter(case.path_parameters.values()), None)  # there is one at most
    body = None if isinstance(case.body, NotSet) else as_bytes(case.body)
    return Case(
        operation, path_parameter=path_parameter, body=body, content_type=case.headers.get("Content-Type", JSON)
    )


def draw_sequences(
    seed: str,
    count: int,
    steps: Sequence[T],
    patterns: Callable[[Sequence[T]], set[Hashable]],
    *,
    without_impossible_steps: Callable[[Sequence[T]], tuple[T, ...]] = tuple,
    examples: Sequence[tuple[T, ...]] = (),
) -> list[tuple[T, ...]]:
    """Sequences of these steps, drawn at random: as many as `count`. Each begins with the first step.

    The `examples` are the first sequences. For the others, ten times as many sequences are drawn as needed. The chosen
    ones together have the largest number of different patterns. A pattern is, for example, a deletion right after
    a registration. `patterns` gives all patterns of a sequence. `without_impossible_steps` removes steps such as an
    execution before any preparation; by default all steps stay. The same `seed` gives the same sequences.
    """
    further_steps = st.lists(st.sampled_from(steps), min_size=_FEWEST_STEPS, max_size=_MOST_STEPS)
    strategy = further_steps.map(lambda further: without_impossible_steps((steps[0], *further)))
    drawn = _distinct(strategy, seed, _DRAWN_FOR_EACH * count)
    return _with_most_patterns(drawn, count, patterns, examples[:count])


def _with_most_patterns(
    values: Iterable[T], count: int, patterns: Callable[[T], set[Hashable]], taken_first: Iterable[T] = ()
) -> list[T]:
    """The values that together have the most different patterns: as many as `count`, or all if there are fewer.

    `patterns` gives the patterns of a value. One value after the other is chosen: each time the value with the most new
    patterns, which no value chosen before has. The values in `taken_first` are chosen before all others.
    """
    chosen = list(taken_first)
    patterns_so_far: set[Hashable] = set()
    for value in chosen:
        patterns_so_far |= patterns(value)
    remaining = [(value, patterns(value)) for value in values]
    while remaining and len(chosen) < count:
        counts_of_new = [len(patterns_of_value - patterns_so_far) for _, patterns_of_value in remaining]
        index_of_best = counts_of_new.index(max(counts_of_new))
        best, patterns_of_best = remaining.pop(index_of_best)
        chosen.append(best)
        patterns_so_far |= patterns_of_best
    return chosen


def search_for_shorter_sequence(steps: Sequence[T], shows: Callable[[Sequence[T]], bool]) -> None:
    """Have Hypothesis search for the shortest part of a sequence that still shows a finding, a deviation.

    A part has some of the steps. It ends with the last step, because the answer to this step shows the finding.
    Hypothesis calls `shows` with one part after the other: it sends the part, and returns True if an answer shows the
    finding. It must return the same for equal parts.
    """

    @st.composite
    def parts(draw: st.DrawFn) -> tuple[T, ...]:
        """A Hypothesis strategy for parts of the sequence: some of the steps, and always the last one."""
        return (*(step for step in steps[:-1] if draw(_IS_KEPT)), steps[-1])

    _search_for_smallest(parts(), shows)


_SETTINGS = settings(
    backend=_BACKEND,
    phases=(Phase.generate,),
    database=None,
    deadline=None,
    derandomize=False,  # if CI is set, Hypothesis has a profile that ignores the seed
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)


def _distinct(strategy: st.SearchStrategy[T], seed: str, count: int, excluded: Collection[T] = ()) -> list[T]:
    """As many different values as `count`, drawn from the strategy, without the excluded ones.

    There are fewer if several attempts draw no new value. The same `seed` gives the same values.
    """
    values: dict[T, None] = {}  # a dictionary instead of a set, because it keeps the order
    for attempt in range(_ATTEMPTS):

        @settings(_SETTINGS, max_examples=count)
        @hypothesis.seed(f"{seed} {attempt}")
        @hypothesis.given(strategy)
        def collect(value: T) -> None:
            """Keep a drawn value, unless it is excluded or there are enough."""
            if value not in excluded and len(values) < count:
                values[value] = None

        if len(values) < count:
            collect()
    return list(values)


def _search_for_smallest(strategy: st.SearchStrategy[T], shows: Callable[[T], bool]) -> None:
    """Have Hypothesis search for the smallest value of a strategy for which `shows` returns True.

    Hypothesis does so for values that fail a test: it shrinks them. So a test is run here that fails for such a value.
    Its failure is ignored, because `shows` has seen the smallest value.
    """

    @settings(_SETTINGS, phases=(Phase.generate, Phase.shrink), max_examples=_FIRST_PARTS)
    @hypothesis.seed(0)
    @hypothesis.given(strategy)
    def fail_if_shown(value: T) -> None:
        """Raise an error, as a failing test of Hypothesis does, if `shows` returns True for the value."""
        if shows(value):
            raise _ShowsError

    with suppress(_ShowsError), warnings.catch_warnings():
        warnings.simplefilter("ignore", HypothesisWarning)  # it warns of long texts
        fail_if_shown()


# -- parts of a case ---------------------------------------------------------------------------------------------------

_LONG = 80
"""Length from which a text is cut at its end and its start, because a choice for each character would take too long."""


def _parts_of(case: Case, profile: Profile) -> st.SearchStrategy[Case]:
    """A Hypothesis strategy for smaller requests: parts of `case`, with some of its members, items and characters.

    A part of a text may name somebody, so each text gets its prefix again. But the account of the profile that pays
    stays whole, because the service may look it up before it reads the rest.
    """
    own = texts_that_name_own_account(case.operation, profile)

    @st.composite
    def parts(draw: st.DrawFn) -> Case:
        """One smaller request: the case with a part of its path parameter and a part of its body."""
        path_parameter, body = case.path_parameter, case.body
        if isinstance(path_parameter, str) and path_parameter != _example_of_path_parameter(case.operation, profile):
            path_parameter = synthetic_path_parameter(case.operation, _part_of(draw, path_parameter), profile)
        if body:
            body = as_bytes(with_synthetic_identifiers(_part_of(draw, json.loads(body), own), case.operation, profile))
        return replace(case, path_parameter=path_parameter, body=body)

    return parts()


def _part_of(draw: st.DrawFn, value: Any, whole: Collection[str] = ()) -> Any:
    """A part of a JSON value, as Hypothesis draws it: some of the members, of the items and of the characters.

    Numbers, booleans, null and the texts in `whole` (accounts of the profile) stay as they are. The prefix that marks a
    text as made up is removed here, because the caller adds it to each text again.
    """
    if isinstance(value, dict):
        names = [name for name in value if draw(_IS_KEPT)]  # before any text, so that shrinking drops members first
        return {name: _part_of(draw, value[name], whole) for name in names}
    if isinstance(value, list):
        return [_part_of(draw, item, whole) for item in value if draw(_IS_KEPT)]
    if isinstance(value, str) and value not in whole:
        return _part_of_text(draw, value.replace(SYNTHETIC_PREFIX, ""))
    return value


def _part_of_text(draw: st.DrawFn, text: str) -> str:
    """A part of a text, as Hypothesis draws it.

    Of a short text it has some of the characters. A long text is cut at its end and at its start, because a choice for
    each character would take too long. If it is short afterwards, only some of its characters are kept.
    """
    if len(text) >= _LONG:
        # Three of four numbers keep everything. Hypothesis shrinks a number towards 0 in steps that halve it, so a
        # single character is found in a long text with few requests.
        numbers = st.integers(0, 4 * len(text))
        end = min(draw(numbers), len(text))
        length = min(draw(numbers), end)
        text = text[end - length : end]
    if len(text) >= _LONG:
        return text
    return "".join(character for character in text if draw(_IS_KEPT))
