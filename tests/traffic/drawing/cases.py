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
from spec.exchange import VALID
from spec.interface import operations
from spec.json_text import as_bytes, read_json
from tests.traffic.case import JSON, Case, synthetic_path_parameter, usual_body, with_synthetic_identifiers
from tests.traffic.drawing.combining import combinations, fixed_bodies, rounds, values_by_member
from tests.traffic.drawing.kinds_of_values import kinds_of_values
from tests.traffic.drawing.member_schemas import MEMBERS_NOT_TRIED_ALONE
from tests.traffic.drawing.parts_of_a_case import parts_of
from tests.traffic.drawing.schema import (
    ALL_MEMBERS,
    ANY_MEMBERS,
    KINDS_OF_BODIES,
    ONE_UNUSUAL_MEMBER,
    example_of_path_parameter,
    schema_for_drawing,
)
from tests.traffic.drawing.with_hypothesis import distinct_values, search_for_smallest
from tests.traffic.invalid import invalid_requests
from tests.traffic.unusual_texts import (
    ALL_PRINTABLE,
    ALL_SPECIAL,
    ALL_UNUSUAL,
    DIGITS_BEYOND_64_BITS,
    NAME_WITH_ACCENTS,
    VERY_LONG,
)

_Kinds = tuple[tuple[str, str], ...]
"""The names of the members of a body, each with the kind of its value. The empty name stands for the path parameter."""
_NO_FEEDBACK = FeedbackSources()
"""Sources of constants to draw: none. By default, Schemathesis takes constants from loaded modules and from answers, so
that the same seed would draw different cases."""

_TEXTS_FOR_PATHS = (ALL_SPECIAL, ALL_UNUSUAL, DIGITS_BEYOND_64_BITS)
"""Texts from which the path parameters of each operation are made, if its path has a parameter."""
_MORE_TEXTS_FOR_PATHS = (
    *(VERY_LONG, ALL_PRINTABLE, NAME_WITH_ACCENTS),
    *("null", "undefined", "0", "-1", "1.5", "2026-01-15", " "),
)
"""Further texts, for operations without a body. A request with such a text counts as an example, and an operation with
a body needs most of its examples for unusual bodies."""

_SHARE_OF_ROUNDS = 0.5
"""Share of the examples that come from rounds (`combining.py`), in which all members are unusual."""
_SHARE_OF_COMBINATIONS = 0.3
"""Share of the examples that combine simple values, such as null (`combining.py`). Schemathesis draws the remaining
ones. Half of these have one unusual member, because a strict service refuses a body at the first one."""


_COMBINATIONS_OF_EVERY_RUN = 2
"""The same in each run. The examples have more of them, so that a service gets more pairs of simple values."""


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

        1. requests with an unusual path parameter,
        2. requests from rounds, which are lists of bodies with several unusual members (`combining.py`),
        3. requests that combine simple values, such as a member that is null and one that is missing,
        4. requests that Schemathesis draws.

        The same `seed` gives the same requests.
        """
        of_every_run = self.cases_of_every_run(operation)
        seed_of_operation = f"{seed} {operation}"
        chosen = _first_new_cases(self._with_unusual_path_parameters(operation), examples, of_every_run)
        count_with_body = examples - len(chosen)
        count_from_rounds = round(_SHARE_OF_ROUNDS * count_with_body)  # `round` makes it a whole number
        from_rounds = self._cases_of_further_rounds(operation, seed_of_operation, count_from_rounds)
        chosen += _first_new_cases(from_rounds, count_from_rounds, [*of_every_run, *chosen])
        count_of_combinations = round(_SHARE_OF_COMBINATIONS * count_with_body)
        combined = combinations(operation, self._profile, f"{seed_of_operation} combinations", count_of_combinations)
        chosen += _first_new_cases(combined, count_of_combinations, [*of_every_run, *chosen])
        count_left = examples - len(chosen)
        if count_left:
            strategy = _drawn_cases(operation, self._strategy(operation))
            chosen += distinct_values(strategy, seed_of_operation, count_left, {*of_every_run, *chosen})
        return [*of_every_run, *chosen]

    def _cases_of_further_rounds(self, operation: str, seed: str, count: int) -> list[Case]:
        """Requests with several unusual members each, that not every run sends; some of them may be equal.

        They are from rounds, which are lists of bodies in which each member has each of its values once
        (`combining.py`). The first of these rounds has the values `with_more_examples`. The others have all unusual
        values, because two of them may show a fault only together.

        Hypothesis draws whole rounds, so on a sandbox there are at least `count` requests, and the caller takes the
        first ones. Outside a sandbox there may be fewer, because a round then lacks the requests whose amount is not
        permitted. There are none if the operation has no body.
        """
        unusual_values = values_by_member(operation, self._profile)
        if count < 1 or not unusual_values:
            return []
        more_values = {name: values.with_more_examples for name, values in unusual_values.items()}
        first_round = rounds(operation, self._profile, more_values, more_values)
        cases = _cases_of_rounds(first_round, f"{seed} first round", 1)
        if len(cases) < count:
            all_values = {name: values.all for name, values in unusual_values.items()}
            bodies_in_a_round = max(map(len, all_values.values()))
            number_of_rounds = math.ceil(count / bodies_in_a_round)
            further_rounds = rounds(operation, self._profile, all_values, all_values)
            cases += _cases_of_rounds(further_rounds, f"{seed} further rounds", number_of_rounds)
        return cases

    def _with_unusual_path_parameters(self, operation: str) -> list[Case]:
        """Requests with an unusual path parameter: one for each text of `_TEXTS_FOR_PATHS`.

        Operations without a body also get the texts of `_MORE_TEXTS_FOR_PATHS`. Further texts are an account of the
        profile in capital letters, and with a blank behind it. A prefix is added to a text if somebody may have it as
        the name of an account: "a,b" becomes "pixconf-a,b". The body is a usual one. Empty if the path of the operation
        has no parameter.
        """
        if operations()[operation].path_parameter is None:
            return []
        accounts = self._profile.accounts[:1]
        texts = [*_TEXTS_FOR_PATHS, *(account.upper() for account in accounts)]
        body = None
        members = usual_body(operation, self._profile)
        if members:
            body = as_bytes(with_synthetic_identifiers(dict(members), operation, self._profile))
        else:
            texts += [*(f"{account} " for account in accounts), *_MORE_TEXTS_FOR_PATHS]
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
        """Requests that are sent in every run, however few examples it has. They do not count as examples.

        1. requests of the coverage phase of Schemathesis, with one unusual member each (`coverage`),
        2. bodies with several unusual members that leave nothing to draw (`combining.py`),
        3. one round of bodies, which has each value of `in_every_run` in each member. All runs have the same seed here.
        """
        cases = self.coverage(operation)
        unusual_values = values_by_member(operation, self._profile)
        if not unusual_values:  # the operation has no body
            return cases
        values = {name: values_of_member.in_every_run for name, values_of_member in unusual_values.items()}
        more_values = {name: values_of_member.with_more_examples for name, values_of_member in unusual_values.items()}
        one_round = rounds(operation, self._profile, values, more_values)
        combined = fixed_bodies(operation, self._profile)
        combined += combinations(operation, self._profile, "every run", _COMBINATIONS_OF_EVERY_RUN)
        combined += _cases_of_rounds(one_round, f"every run {operation}", 1)
        return [*cases, *_first_new_cases(combined, len(combined), cases)]

    def coverage(self, operation: str) -> list[Case]:
        """Requests whose body differs from the usual one in one member.

        A member is of another type, missing, empty or not documented. The coverage phase of Schemathesis makes them: it
        tries every value and bound of the schema. Of bodies whose values are of the same kinds, such as two long texts,
        only the first one is sent.
        """
        if usual_body(operation, self._profile) is None:
            return []  # the operation has no body; `_strategy` draws the texts in its path
        schema_cases = self._covered(operation)
        sent_anyway = self._kinds_sent_anyway(operation)
        one_of_each: dict[_Kinds, Case] = {}
        for schema_case in schema_cases:
            case = _as_case(operation, schema_case)
            # Schemathesis also makes cases with another Content-Type. `invalid.py` has enough of them.
            is_of_usual_type = case.content_type == JSON
            kinds = _kinds(case)
            if is_of_usual_type and kinds not in sent_anyway and not self._is_tried_otherwise(case):
                one_of_each.setdefault(kinds, case)  # keeps the first case of these kinds
        return list(one_of_each.values())

    def _is_tried_otherwise(self, case: Case) -> bool:
        """True if the unusual member of a request of the coverage phase is tried in other requests (`combining.py`).

        They have the members of `MEMBERS_NOT_TRIED_ALONE`, and members that are not documented.
        """
        body = json.loads(case.body or b"null")
        if not isinstance(body, dict):
            return False
        usual = usual_body(case.operation, self._profile) or {}
        unusual = [name for name in body if name not in usual or body[name] != usual[name]]
        not_alone = MEMBERS_NOT_TRIED_ALONE.get(case.operation, ())
        return any(name in not_alone or name not in usual for name in unusual)

    def _kinds_sent_anyway(self, operation: str) -> set[_Kinds]:
        """The kinds of the values in requests that the coverage phase need not send.

        They are the requests of `invalid.py` whose body can be read, and the request with the usual body.
        """
        path_parameter = example_of_path_parameter(operation, self._profile)
        usual = Case(operation, path_parameter=path_parameter, body=as_bytes(usual_body(operation, self._profile)))
        kinds_sent_anyway = {_kinds(usual)}
        for case in invalid_requests(operation, self._profile):
            has_unusual_body_alone = case.content_type == JSON and case.credential == VALID and not case.query
            if has_unusual_body_alone and case.body and _is_unambiguous_json(case.body):
                with suppress(ValueError, RecursionError):  # too many digits, or too deep
                    kinds_sent_anyway.add(_kinds(case))
        return kinds_sent_anyway

    def _covered(self, operation: str) -> Iterator[SchemaCase[Any]]:
        """The requests that the coverage phase of Schemathesis makes, with bodies that have one unusual member.

        The coverage phase tries every value that the schema lists. Some requests keep the schema (positive), others
        break it (negative).
        """
        schema = self._schemas[ONE_UNUSUAL_MEMBER]
        generator = CoverageGenerator(
            operation=schema.find_operation_by_id(operation),
            generation_modes=list(GenerationMode),
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


def _kinds(case: Case) -> _Kinds:
    """The kinds of the values in a case, sorted, because the order of members does not count."""
    return tuple(sorted(kinds_of_values(case).items()))


def _cases_of_rounds(strategy: st.SearchStrategy[tuple[Case, ...]], seed: str, number_of_rounds: int) -> list[Case]:
    """The requests of as many rounds as `number_of_rounds`, drawn with this strategy for rounds (`combining.py`)."""
    # The first value that Hypothesis draws is the simplest one, whatever the seed is, so it is left out.
    drawn = distinct_values(strategy, seed, 1 + number_of_rounds)[1:]
    return list(chain.from_iterable(drawn))


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
