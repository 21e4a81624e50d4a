"""Requests that are drawn from the OpenAPI schema with Schemathesis and Hypothesis, and not sent yet.

`property.py` asks for the cases of each operation: a case is one request. The modules of this folder have the parts:

- `schema.py`: the schema for drawing, and the hooks that keep drawn requests harmless
- `member_schemas.py`: the values that a member of a body may have
- `combining.py`: bodies with several unusual members
- `kinds_of_values.py`: of requests whose values are of the same kinds, one is sent
- `parts_of_a_case.py`: smaller requests, for the search for the smallest one that shows a finding
- `step_sequences.py`: sequences of steps, for `stateful.py`
- `with_hypothesis.py`: how Hypothesis is called

Not drawn: wrong credentials, queries and broken bodies are in `invalid.py`. Other methods are never sent.

Import this module only where something is drawn, because importing Schemathesis takes most of a second.
"""

from __future__ import annotations

import gc
import json
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Any

from hypothesis import strategies as st
from schemathesis import Case as SchemaCase
from schemathesis import GenerationMode
from schemathesis.core import NotSet
from schemathesis.generation.drivers import CoverageGenerator
from schemathesis.generation.feedback import FeedbackSources
from schemathesis.generation.overrides import Override

from environments.profiles.model import Profile
from spec.interface import PREPARING_OPERATIONS, SYNTHETIC_PREFIX, operations
from spec.json_text import as_bytes, read_json
from tests.traffic.case import JSON, Case, synthetic_path_parameter, usual_body, with_synthetic_identifiers
from tests.traffic.drawing.combining import (
    VALUES,
    VALUES_OF_FURTHER_ROUNDS,
    fixed_transfers,
    has_several_members,
    registrations_of_another_type,
    rounds,
)
from tests.traffic.drawing.kinds_of_values import kinds_of_values
from tests.traffic.drawing.member_schemas import MEMBERS_OF_ANOTHER_OPERATION
from tests.traffic.drawing.parts_of_a_case import parts_of
from tests.traffic.drawing.schema import (
    ALL_MEMBERS,
    ANY_MEMBERS,
    KINDS_OF_BODIES,
    ONE_UNUSUAL_MEMBER,
    ONE_USUAL_MEMBER,
    example_of_path_parameter,
    schema_for_drawing,
)
from tests.traffic.drawing.with_hypothesis import distinct_values, search_for_smallest
from tests.traffic.invalid import invalid_requests
from tests.traffic.unusual_texts import ALL_PRINTABLE, ALL_SPECIAL, ALL_UNUSUAL, NAME_WITH_ACCENTS, ONE_DIGIT, VERY_LONG

_NO_FEEDBACK = FeedbackSources()
"""Sources of constants to draw: none. By default, Schemathesis takes constants from loaded modules and from answers, so
that the same seed would draw different cases."""

_TEXTS_FOR_PATHS = (ALL_SPECIAL, ALL_UNUSUAL, ONE_DIGIT)
"""Texts from which the path parameters of each operation are made, if its path has a parameter."""
_MORE_TEXTS_FOR_PATHS = (
    VERY_LONG,
    SYNTHETIC_PREFIX.ljust(256, "x"),
    ALL_PRINTABLE,
    NAME_WITH_ACCENTS,
    "null",
    "1.5",
    "0" + "9" * 20,  # more than 64 bits, after a zero
    "2026-01-15",
    " ",
    "a,b",
    "*",
)
"""Further texts, for operations without a body. A request with such a text counts as an example, and an operation with
a body needs most of its examples for unusual bodies."""

_SHARE_OF_ROUNDS = 0.6
"""Share of the drawn examples that come from rounds (`combining.py`), in which several members are unusual.
Schemathesis draws the others. Half of these have one unusual member, because a strict service refuses a body at the
first one."""


class Drawing:
    """Draws cases of the operations that one profile permits. The same seed draws the same cases."""

    def __init__(self, profile: Profile) -> None:
        """`profile` says which accounts, keys and amounts a request may name, and so which values may be drawn."""
        self._profile = profile
        # By kind of body, such as "all members", the OpenAPI schema from which such requests are drawn.
        self._schemas = {kind: schema_for_drawing(profile, kind) for kind in KINDS_OF_BODIES}
        # Takes the objects that exist now out of garbage collection: Schemathesis with all its modules is loaded, and
        # stays until the end. That saves a tenth of the time of a run against a service on the same machine.
        gc.freeze()

    def cases(self, operation: str, seed: int, examples: int) -> list[Case]:
        """Requests to an operation that are made from the OpenAPI schema, and not sent yet.

        First come the requests of `cases_of_every_run`, which do not count as examples. Then come as many different
        requests as `examples`, or fewer if too many are equal:

        1. requests that are not drawn (`_fixed_examples`),
        2. requests from rounds, in which several members are unusual (`combining.py`),
        3. requests that Schemathesis draws.

        The same `seed` gives the same requests.
        """
        of_every_run = self.cases_of_every_run(operation)
        seed_of_operation = f"{seed} {operation}"
        chosen = _first_new_cases(self._fixed_examples(operation), examples, of_every_run)
        count_from_rounds = round(_SHARE_OF_ROUNDS * (examples - len(chosen)))  # `round` makes it a whole number
        from_rounds = self._cases_of_rounds(operation, seed_of_operation, count_from_rounds)
        chosen += _first_new_cases(from_rounds, count_from_rounds, [*of_every_run, *chosen])
        count_left = examples - len(chosen)
        if count_left:
            strategy = _drawn_cases(operation, self._strategy(operation))
            chosen += distinct_values(strategy, seed_of_operation, count_left, {*of_every_run, *chosen})
        return [*of_every_run, *chosen]

    def _fixed_examples(self, operation: str) -> list[Case]:
        """Requests that count as examples, although they are the same for each seed, because nothing in them is drawn.

        They come before the drawn ones. If there are more of them than examples, the last ones are not sent.
        """
        cases = self._with_unusual_path_parameters(operation)
        if operation in PREPARING_OPERATIONS and has_several_members(operation, self._profile):
            cases += fixed_transfers(operation, self._profile)
        return cases

    def _cases_of_rounds(self, operation: str, seed: str, count: int) -> list[Case]:
        """Requests with several unusual members each, from a first round and further rounds; some may be equal.

        A round is a list of requests in which each member has each value once. In this way a few requests are enough to
        try each value in each member. Hypothesis draws whole rounds, so on a sandbox there are at least `count`
        requests, and the caller takes the first ones. Outside a sandbox there may be fewer, because a round then lacks
        the requests whose amount is not permitted. There are none if the body has fewer than two members.

        The further rounds have more values: also those that the coverage phase puts into one member at a time, because
        two unusual values may show a fault only together. The first round leaves them out to stay short.
        """
        if count < 1 or not has_several_members(operation, self._profile):
            return []
        # A round has one request for each value, so that the further rounds alone have `count` requests on a sandbox.
        number_of_further_rounds = math.ceil(count / len(VALUES_OF_FURTHER_ROUNDS))
        first_round = rounds(operation, self._profile, VALUES)
        further_rounds = rounds(operation, self._profile, VALUES_OF_FURTHER_ROUNDS)
        # The first value that Hypothesis draws is the simplest one, whatever the seed is, so it is left out.
        drawn = [
            *distinct_values(first_round, f"{seed} first round", 2)[1:],
            *distinct_values(further_rounds, f"{seed} further rounds", 1 + number_of_further_rounds)[1:],
        ]
        return list(chain.from_iterable(drawn))

    def _with_unusual_path_parameters(self, operation: str) -> list[Case]:
        """Requests with an unusual path parameter: one for each text of `_TEXTS_FOR_PATHS`.

        The body is the usual one. An operation without a body also gets the texts of `_MORE_TEXTS_FOR_PATHS`. Empty if
        the path of the operation has no parameter. Each text is changed so that it may be sent: "a,b" becomes
        "pixconf-a,b", for instance.
        """
        if operations()[operation].path_parameter is None:
            return []
        body = None
        texts = list(_TEXTS_FOR_PATHS)
        members = usual_body(operation, self._profile)
        if members:
            body = as_bytes(with_synthetic_identifiers(dict(members), operation, self._profile))
        else:
            texts += _MORE_TEXTS_FOR_PATHS
        path_parameters = [synthetic_path_parameter(operation, text, self._profile) for text in texts]
        return [Case(operation, path_parameter=path_parameter, body=body) for path_parameter in path_parameters]

    def search_for_smaller_case(self, case: Case, shows_finding: Callable[[Case], bool]) -> None:
        """Have Hypothesis search for the smallest part of a request (`case`) that still shows a finding, a deviation.

        A part has fewer members, items or characters. Hypothesis calls `shows_finding` with one part after the other:
        it sends the part, and returns True if the answer shows the finding. It must return the same for equal parts.
        Nothing is returned here, because `shows_finding` has received the smallest part.
        """
        search_for_smallest(parts_of(case, self._profile), shows_finding)

    def cases_of_every_run(self, operation: str) -> list[Case]:
        """Requests that are sent in every run, however few examples it has. Nothing in them is drawn.

        They are those of the coverage phase of Schemathesis (`coverage`) and, for registrations, those whose key does
        not fit its type. They do not count as examples.
        """
        coverage = self.coverage(operation)
        if operation != "registerPixKey":
            return coverage
        of_another_type = registrations_of_another_type(self._profile)
        return [*coverage, *_first_new_cases(of_another_type, len(of_another_type), coverage)]

    def coverage(self, operation: str) -> list[Case]:
        """Requests whose body differs from the usual one in one member, and requests with one usual member alone.

        A member is of another type, missing, empty or not documented. The coverage phase of Schemathesis makes them: it
        tries every value and bound of the schema. Of bodies whose values are of the same kinds, such as two long texts,
        only the first one is sent.
        """
        if usual_body(operation, self._profile) is None:
            return []  # the operation has no body; `_strategy` draws the texts in its path
        schema_cases = list(self._covered(operation, ONE_UNUSUAL_MEMBER, list(GenerationMode)))
        # transferInternal and transferP2p (the table) get no bodies with one usual member, because services treat all
        # transfers alike, and transferExternal gets them.
        if operation not in MEMBERS_OF_ANOTHER_OPERATION:
            schema_cases += self._covered(operation, ONE_USUAL_MEMBER, [GenerationMode.POSITIVE])
        not_needed = self._requests_not_needed(operation)
        one_of_each: dict[tuple[tuple[str, str], ...], Case] = {}
        for schema_case in schema_cases:
            case = _as_case(operation, schema_case)
            # Schemathesis also makes cases with another Content-Type. `invalid.py` has enough of them.
            is_needed = case.content_type == JSON and _comparable_request(case) not in not_needed
            if is_needed:
                kinds = sorted(kinds_of_values(case).items())  # sorted, because the order of members does not count
                one_of_each.setdefault(tuple(kinds), case)  # keeps the first case of these kinds
        return list(one_of_each.values())

    def _requests_not_needed(self, operation: str) -> set[tuple[object, ...]]:
        """Requests that the coverage phase need not send, in the form that `_comparable_request` gives them.

        They are the requests of `invalid.py`, which are sent anyway, and the request with the usual body, which shows
        nothing that the others do not show.
        """
        path_parameter = example_of_path_parameter(operation, self._profile)
        usual = Case(operation, path_parameter=path_parameter, body=as_bytes(usual_body(operation, self._profile)))
        return {_comparable_request(case) for case in [usual, *invalid_requests(operation, self._profile)]}

    def _covered(self, operation: str, kind: str, modes: list[GenerationMode]) -> Iterator[SchemaCase[Any]]:
        """The requests that the coverage phase of Schemathesis makes, with bodies of one kind (`KINDS_OF_BODIES`).

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
        path_parameter = example_of_path_parameter(operation, self._profile)
        example_body = usual_body(operation, self._profile)

        def cases(kind: str, mode: GenerationMode = GenerationMode.POSITIVE, **fixed: Any) -> st.SearchStrategy[Any]:
            """The Hypothesis strategy for requests with bodies of one kind, such as "all members".

            `fixed` are parts of a request that are not drawn.
            """
            source = self._schemas[kind].find_operation_by_id(operation)
            strategy: st.SearchStrategy[Any] = source.as_strategy(generation_mode=mode, feedback=_NO_FEEDBACK, **fixed)
            return strategy

        if example_body is None:  # the operation has no body, so only its path parameter is drawn
            return cases(ALL_MEMBERS)
        with_example_path: dict[str, Any] = {}
        if path_parameter and example_body:
            with_example_path = {"path_parameters": {operations()[operation].path_parameter: path_parameter}}
        strategies = [
            cases(ALL_MEMBERS, **with_example_path),
            cases(ALL_MEMBERS, GenerationMode.NEGATIVE, **with_example_path),
        ]
        if len(example_body) > 1:  # without its single member, a body would just be empty
            strategies.append(cases(ANY_MEMBERS, **with_example_path))
        if path_parameter:
            strategies.append(cases(ALL_MEMBERS, body=dict(example_body), media_type=JSON))
        return st.one_of(strategies)


@st.composite
def _drawn_cases(draw: st.DrawFn, operation: str, strategy: st.SearchStrategy[SchemaCase[Any]]) -> Case:
    """A Hypothesis strategy for cases of the suite. Each is made of a case that the strategy of Schemathesis draws."""
    return _as_case(operation, draw(strategy))


def _comparable_request(case: Case) -> tuple[object, ...]:
    """A value that is equal for two cases if they are the same request, so that the request is sent only once.

    Bodies are compared as JSON, in which the order of members makes no difference: {"a": 1, "b": 2} is the same as
    {"b": 2, "a": 1}. A body is compared as bytes if parsers may differ about it: if it is not strictly JSON (such as an
    empty body), has a member twice, or is nested very deeply. Bytes and text are never equal in Python, so such a body
    equals no body that is compared as JSON.
    """
    body: bytes | str | None = case.body
    if case.body is not None and _is_unambiguous_json(case.body):
        with suppress(ValueError):  # Python reads no integer of more than 4,300 digits
            body = json.dumps(json.loads(case.body), sort_keys=True)
    return case.path_parameter, body, case.content_type, case.query, case.credential


def _is_unambiguous_json(body: bytes) -> bool:
    """True if each parser reads the same value in a body: it is JSON, without a byte order mark or repeated members."""
    text = read_json(body)
    return text.readable and not text.byte_order_mark and not text.repeated


def _first_new_cases(cases: Iterable[Case], count: int, earlier: Iterable[Case]) -> list[Case]:
    """The first of these cases whose requests are new, as many as `count`, so that no request is sent twice.

    A request is new if it is none of the `earlier` ones, and none of the cases before it.
    """
    new: list[Case] = []
    requests = {_comparable_request(case) for case in earlier}
    for case in cases:
        if len(new) == count:
            break
        if _comparable_request(case) not in requests:
            requests.add(_comparable_request(case))
            new.append(case)
    return new


def _as_case(operation: str, case: SchemaCase[Any]) -> Case:
    """A case of the suite, made of a case of Schemathesis: both are requests that are not sent yet.

    Of the headers only Content-Type is kept, because the client adds the others.
    """
    path_parameter = next(iter(case.path_parameters.values()), None)  # there is one at most
    body = None if isinstance(case.body, NotSet) else as_bytes(case.body)
    return Case(
        operation, path_parameter=path_parameter, body=body, content_type=case.headers.get("Content-Type", JSON)
    )
