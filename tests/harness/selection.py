"""The tests that the command line selects, and the operations of the service that these tests ask.

-k takes ids of requirements here, because the -k of pytest matches a part of any name of a test, and a test may judge
many requirements. It also takes groups: a group is all requirements whose ids begin with a text and a dot, such as
`executePix.document`.

The class `Selection`, at the end, has the operations that the selected requirements are about, and further operations
that a run needs to test these requirements.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from environments.profiles.model import Profile
from reports.sentences.wording import joined_with_and, missing_permission, one_line, shortened
from reports.showing.show import printable
from spec.interface import PREPARING_OPERATIONS, READ_OPERATIONS, operations
from spec.message import Text, say
from spec.requirements import Requirement, requirements

ROOT = Path(__file__).parents[2]
_PATHS_OF_ALL_TESTS = {ROOT, ROOT / "tests", ROOT / "tests" / "conformance"}
"""Paths on the command line that select all conformance tests."""
_OPTIONS_THAT_LEAVE_OUT_TESTS = {
    "deselect": "--deselect",
    "ignore": "--ignore",
    "ignore_glob": "--ignore-glob",
    "last_failed": "--last-failed",
    "stepwise": "--stepwise",
}
"""Further options of pytest that leave tests out, by the name of their value."""
MARKERS = (
    "requirement(id): the requirement that a conformance test answers for",
    "needs(permission, ...): a permission, or one of these, beyond that of the requirement's operation",
    "property: generated traffic",
)
"""The markers of conformance tests, as `pytest --markers` prints them."""
_LONGEST_QUOTE = 100
"""Characters of a text of the user that an error message repeats. A choice: it leaves room for the message in a line of
a CI log."""
_MOST_SIMILAR = 3
"""Ids that an error message suggests instead of a wrong one."""


def runs_only_selftests(config: pytest.Config) -> bool:
    """True if the user runs only tests of the suite itself (tests/selftest), which test no service.

    If no path is on the command line, it is true only if pytest was started in the folder of these tests.
    """
    paths = [_absolute_path(config, argument.split("::")[0]) for argument in config.args]  # without the name of a test
    folder_of_selftests = ROOT / "tests" / "selftest"
    return bool(paths) and all(path.is_relative_to(folder_of_selftests) for path in paths)


def collect_conformance_tests_by_default(config: pytest.Config) -> None:
    """Make pytest collect the conformance tests if the user gave no path on the command line.

    Otherwise pytest would collect the current folder, which may have the self-tests of the suite in it.
    """
    # INVOCATION_DIR: no path is on the command line or in the configuration, so pytest takes the current folder.
    if config.args_source is pytest.Config.ArgsSource.INVOCATION_DIR:
        config.args = [str(ROOT / "tests" / "conformance")]


def take_selection_from_pytest(config: pytest.Config) -> None:
    """Hide -k and --last-failed from pytest, and store their values, so that they select requirements instead of tests.

    pytest would select tests by their names. Here a test may judge many requirements, so that its name says too little.
    Raises UsageError for a word in -k that is no requirement and no group of requirements.
    """
    option = config.option
    option.ids = option.keyword
    option.keyword = ""
    option.last_failed = getattr(option, "lf", False)  # there is no such option with -p no:cacheprovider
    option.lf = False
    if option.ids:
        ids_selected_by(option.ids)  # only to raise UsageError for a wrong word: `wanted_ids` asks for the ids later


def wanted_ids(config: pytest.Config) -> frozenset[str]:
    """The ids of the requirements that the user selected with -k and --last-failed; without these options all ids."""
    wanted = frozenset(requirements())
    expression = getattr(config.option, "ids", "")
    if expression:
        wanted = wanted & ids_selected_by(expression)
    if getattr(config.option, "last_failed", False):
        # If nothing failed, pytest would run everything with --last-failed. Here nothing is selected then, because a
        # run of everything executes transfers that nobody asked for.
        wanted = wanted & _ids_that_failed_last(config)
    return wanted


def leave_out_unwanted(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Remove the tests whose requirements the user did not select with -k or --last-failed from `items`.

    pytest would select tests by their names with -k. This suite takes the option over, because its users select
    requirements by their ids.

    If all requirements are selected, nothing is removed. Otherwise a test without a requirement is removed, too,
    because nobody can select it.
    """
    ids = wanted_ids(config)
    all_are_selected = len(ids) == len(requirements())
    if all_are_selected:
        return
    left_out = []
    for item in items:
        requirement = requirement_of(item)
        if requirement is None or requirement.id not in ids:
            left_out.append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


_KEY_IN_CACHE = "pix-conformance/failed"
"""Key in the cache of pytest: by environment, the requirements that failed when they were last tested."""


def _ids_that_failed_last(config: pytest.Config) -> frozenset[str]:
    """The ids of the requirements that failed in this environment when they were last tested, for --last-failed.

    Ids that no longer exist are left out.
    """
    failed = _failed_by_environment(config).get(config.getoption("environment"), [])
    return frozenset(failed) & frozenset(requirements())


def remember_failed(config: pytest.Config, tested: Collection[str], failed: Collection[str]) -> None:
    """Write to the cache of pytest which requirements failed, so that --last-failed of a later run selects them.

    `tested` are the ids of all requirements that this run tested. A requirement that failed in an earlier run remains
    in the cache until a run tests it.
    """
    cache = getattr(config, "cache", None)  # None with -p no:cacheprovider
    if cache is None:
        return
    failed_before_and_not_tested_now = _ids_that_failed_last(config) - frozenset(tested)
    all_failed = sorted(failed_before_and_not_tested_now | frozenset(failed))
    failed_by_environment = _failed_by_environment(config)
    failed_by_environment[config.getoption("environment")] = all_failed
    cache.set(_KEY_IN_CACHE, failed_by_environment)


def _failed_by_environment(config: pytest.Config) -> dict[str, list[str]]:
    """The ids of failed requirements in the cache of pytest, by environment: `{"sandbox": ["executePix.id.type"]}`.

    The cache is a file that anybody may have changed, so that entries of another form are left out.
    """
    cache = getattr(config, "cache", None)  # None if the user switched the cache off (-p no:cacheprovider)
    cached = cache.get(_KEY_IN_CACHE, {}) if cache else {}
    if not isinstance(cached, dict):
        return {}
    return {name: ids for name, ids in cached.items() if _is_list_of_texts(ids)}


def _is_list_of_texts(value: object) -> bool:
    """True for a list of texts. An entry of the cache that is something else was not written by this module."""
    return isinstance(value, list) and all(isinstance(element, str) for element in value)


def ids_selected_by(expression: str) -> frozenset[str]:
    """The ids of the requirements that an expression of -k selects, such as `executePix and not executePix.id`.

    Raises UsageError, in one line, if it is no valid expression.
    """
    try:
        return _ids_of_part(ast.parse(expression.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        expected = "expected ids of requirements, or of groups of them, with and, or, not and parentheses"
        raise pytest.UsageError(f"-k: {_quoted(expression)}: {expected}") from None


def _ids_of_part(node: ast.expr) -> frozenset[str]:
    """The ids of the requirements that a part of a -k expression selects. Raises ValueError for an unknown operator.

    The expression is read by the parser of Python, as pytest does. `node` is a node of its syntax tree. The parser
    reads an id such as `executePix.status` as an attribute of a name.
    """
    match node:
        case ast.BoolOp(op=ast.And(), values=parts):  # such as `a and b`
            return frozenset.intersection(*map(_ids_of_part, parts))
        case ast.BoolOp(op=ast.Or(), values=parts):  # such as `a or b`
            return frozenset.union(*map(_ids_of_part, parts))
        case ast.UnaryOp(op=ast.Not(), operand=part):  # such as `not a`
            return frozenset(requirements()) - _ids_of_part(part)
        case ast.Name() | ast.Attribute():  # an id or a group of ids
            return ids_in_group(ast.unparse(node), "-k")
    raise ValueError(node)


def ids_in_group(name: str, option: str) -> frozenset[str]:
    """The id that is equal to `name`, and all ids that begin with `name` and a dot.

    `executePix.id` gives `executePix.id.type` and `executePix.id.present`, for example. Raises UsageError if there is
    no such id. The message names the option that the user gave (`option`) and ids with a similar name.
    """
    start = f"{name}."
    # The dot is added to both, so that `executePix.id` selects itself, but not `executePix.identifierFormat`.
    group = frozenset(id for id in requirements() if f"{id}.".startswith(start))
    if not group:
        similar_names = [f'"{id}"' for id in _similar_names(name)]
        hint = f"did you mean {' or '.join(similar_names)}?" if similar_names else "pytest --list names them all"
        problem = f"{_quoted(name)}: no such requirement" if name else "name one"
        raise pytest.UsageError(f"{option}: {problem}; {hint}")
    return group


def _similar_names(name: str) -> list[str]:
    """At most three ids, or groups of ids, that the user may have meant by a wrong name. Letter case does not count.

    The first rule that finds something is used:

    1. ids and groups whose last part is the name: `executePix.status` for `status`
    2. the id or group with the most similar letters
    3. ids and groups whose last part contains the name
    """
    wrong_name = name.lower()
    words_by_lower_case = {word.lower(): word for word in _ids_and_groups()}
    last_parts = {word: lower_case.rpartition(".")[2] for lower_case, word in words_by_lower_case.items()}
    with_this_end = [word for word, last_part in last_parts.items() if last_part == wrong_name]
    if with_this_end:
        return with_this_end[:_MOST_SIMILAR]
    similar = get_close_matches(wrong_name, words_by_lower_case, 1)
    if similar:
        return [words_by_lower_case[similar[0]]]
    if not wrong_name:
        return []
    with_name_inside = [word for word, last_part in last_parts.items() if wrong_name in last_part]
    return with_name_inside[:_MOST_SIMILAR]


def _ids_and_groups() -> Iterator[str]:
    """Each word that -k accepts: each id of a requirement, and each group, which is the start of ids before a dot.

    For the id `executePix.id.type` these are `executePix`, `executePix.id` and the id itself.
    """
    for id in requirements():
        parts = id.split(".")
        for length in range(1, len(parts) + 1):
            yield ".".join(parts[:length])


def _quoted(text: str) -> str:
    """A text of the user as an error message repeats it: one line, printable and short."""
    return shortened(printable(one_line(text)), _LONGEST_QUOTE)


def selection_in_words(config: pytest.Config) -> str | None:
    """The options and paths by which the user selected a part of the tests, such as `-k executePix`; None if all run.

    The report names them, because the verdict of the run is only about this part.
    """
    options = config.option
    narrowing = []
    if options.ids:
        narrowing.append(f"-k {options.ids}")
    if config.args_source is pytest.Config.ArgsSource.ARGS:  # the paths are from the command line, not a default
        narrowing += [
            argument for argument in config.args if _absolute_path(config, argument) not in _PATHS_OF_ALL_TESTS
        ]
    for name, option in _OPTIONS_THAT_LEAVE_OUT_TESTS.items():
        if getattr(options, name, None):
            narrowing.append(option)
    if options.markexpr:
        narrowing.append(f"-m {options.markexpr}")
    return " ".join(narrowing) or None


def requirement_ids_of(items: Iterable[pytest.Item], *fixtures: str) -> frozenset[str]:
    """The ids of the requirements that these tests judge.

    If `fixtures` are named, only tests that use one of these pytest fixtures are considered.
    """
    ids = set()
    for item in items:
        requirement = requirement_of(item)
        is_considered = not fixtures or uses_fixture(item, *fixtures)
        if requirement and is_considered:
            ids.add(requirement.id)
    return frozenset(ids)


def uses_fixture(item: pytest.Item, *fixtures: str) -> bool:
    """True if a test uses at least one of these pytest fixtures, directly or through another fixture."""
    used_fixtures = getattr(item, "fixturenames", ())  # items that are no test functions have none
    return any(fixture in used_fixtures for fixture in fixtures)


def _absolute_path(config: pytest.Config, argument: str) -> Path:
    """The absolute path for an argument of the command line, which is relative to the folder where pytest started."""
    return Path(config.invocation_params.dir, argument).resolve()


# -- the requirement of a test ---------------------------------------------------------------------------------------


def requirement_of(item: pytest.Item) -> Requirement | None:
    """The requirement that the marker of a test names, whose verdict the test gives; None if it has no such marker.

    Raises UsageError if the marker has an unknown id.
    """
    marker = item.get_closest_marker("requirement")
    if marker is None:
        return None
    requirement = requirements().get(marker.args[0])
    if requirement is None:
        raise pytest.UsageError(f"{item.nodeid}: {marker.args[0]}: no such requirement in spec/requirements.yaml")
    return requirement


def permission_missing_for(item: pytest.Item, requirement: Requirement, profile: Profile) -> Text:
    """The permissions that a test needs and the profile lacks, in words; empty if the test may run.

    A test needs the permission for the operation of its requirement. For each marker `needs` it also needs one of the
    permissions in the marker.
    """
    missing_by_markers: list[Text] = []
    for marker in item.iter_markers("needs"):
        permissions = marker.args
        has_one_of_them = any(permission in profile.allow for permission in permissions)
        if has_one_of_them:  # one is enough
            continue
        if len(permissions) == 1:
            missing_by_markers.append(permissions[0])
        else:
            missing_by_markers.append(say("one of {names}", names=joined_with_and(permissions)))
    return missing_permission(requirement, profile.allow, missing_by_markers)


def permitted_tests(items: Iterable[pytest.Item], profile: Profile) -> list[pytest.Item]:
    """The conformance tests among these for which the profile has all permissions. Other tests have no requirement."""
    permitted_items = []
    for item in items:
        requirement = requirement_of(item)
        if requirement is not None and not permission_missing_for(item, requirement, profile):
            permitted_items.append(item)
    return permitted_items


# -- the operations of a selection -----------------------------------------------------------------------------

WRITES_PERHAPS_WITHOUT_TOKEN = ("deletePixKey", *PREPARING_OPERATIONS)
"""Operations that write and that may not need the token: the interface document does not show it (Authentication 3)."""
FURTHER_OPERATIONS: Mapping[str, tuple[str, ...]] = {
    # Registered keys are deleted afterwards. Keys that a list shows are left alone.
    "registerPixKey.*": ("deletePixKey", "listPixKeys"),
    "deletePixKey.*": ("registerPixKey", "listPixKeys"),  # only keys that the run registered are deleted
    "executePix.repeated": ("getBalance",),  # a balance shows if money moves a second time
    "*.exists": READ_OPERATIONS,  # an account that a read accepts makes a valid request
    "*.token.accepted": READ_OPERATIONS,  # a read that refuses a wrong token shows that the token is valid
    "general.otherTokens": WRITES_PERHAPS_WITHOUT_TOKEN,
}
"""Operations that must be called besides the tested one, by a pattern of requirement ids."""
SHOWN_BY_SYNTHETIC_CODES = ("executePix.unknownCode", "executePix.token.scheme", "executePix.refusal")
"""Requirements that can be tested with transaction codes that the suite made up, so that no money moves for them."""
OPERATIONS_FOR_GENERAL_REQUIREMENTS = (
    READ_OPERATIONS,
    ("deletePixKey",),
    ("registerPixKey", "deletePixKey", "listPixKeys"),
)
"""Groups of operations whose answers show the requirements about no single operation. The first group that the profile
permits is used. None of these operations moves money."""
ABOUT_ALL_REQUESTS = (
    "serverError", "stackTrace", "connection", "refusal", "codeValues", "rateLimit", "sizeLimit", "identifierFormat",
    "deprecation",
)  # fmt: skip
"""Requirements about all requests to an operation, by the last part of their ids."""
SHOWN_BY_INVALID_REGISTRATIONS = (*ABOUT_ALL_REQUESTS, "body.required", "account.relation", "pixKey.format")
"""Requirements, by the last part of their ids, for which invalid registrations are sent."""


@dataclass(frozen=True)
class Selection:
    """The selected requirements of a run, and the operations that it may ask. The profile permits all of them."""

    requirements: frozenset[str] = frozenset()
    """The ids of the selected requirements."""
    tested_operations: frozenset[str] = frozenset()
    """The operations that these requirements are about."""
    operations: frozenset[str] = frozenset()
    """The tested operations, and those that must be asked first, such as the one that prepares a transfer."""

    def includes_any(self, *requirement_ids: str) -> bool:
        """True if the user selected at least one of these requirements, so that requests for them are to be sent."""
        return any(requirement_id in self.requirements for requirement_id in requirement_ids)

    @property
    def needs_real_codes(self) -> bool:
        """True if a selected requirement can only be tested with the code of a real transfer, which moves money.

        Requirements in `SHOWN_BY_SYNTHETIC_CODES` can be tested with a code that the suite made up.
        """
        if "executePix" not in self.operations:  # the profile does not permit executions
            return False
        may_need_code = self.requirements.difference(SHOWN_BY_SYNTHETIC_CODES)
        return any(name.startswith("executePix.") for name in may_need_code)

    @property
    def ids_with_operations(self) -> frozenset[str]:
        """The ids of the selected requirements; if one names no operation, also an id for each tested operation.

        For example, `general.codeValues` names no operation. If listAccounts is tested, the result also has
        `listAccounts.codeValues`, so that a scenario can ask whether to send a request to listAccounts for it.
        """
        ids = set(self.requirements)
        for requirement_id in self.requirements:
            if requirements()[requirement_id].operation is None:
                end_of_id = requirement_id.partition(".")[2]
                ids.update(f"{operation}.{end_of_id}" for operation in self.tested_operations)
        return frozenset(ids)


def selection_of(requirements: Collection[str], profile: Profile) -> Selection:
    """The selection of a run: these requirements, and the operations that may be called to test them.

    `requirements` are ids. Operations that the profile does not permit are left out.
    """
    tested: set[str] = set()
    needed: set[str] = set()
    for requirement_id in requirements:
        tested.update(_tested_operations(requirement_id, profile))
        needed.update(_operations_needed_for(requirement_id, profile))
    permitted = frozenset(operation for operation in tested | needed if permits(profile, operation))
    return Selection(frozenset(requirements), permitted & tested, permitted)


def _operations_needed_for(requirement_id: str, profile: Profile) -> Iterator[str]:
    """The operations that must be called before or after, so that a requirement about another operation can be tested.

    For example a key is registered before it can be deleted. `FURTHER_OPERATIONS` lists them.
    """
    preparation = profile.transactions.prepare
    needs_real_code = requirement_id.startswith("executePix.") and requirement_id not in SHOWN_BY_SYNTHETIC_CODES
    if preparation and needs_real_code:
        yield preparation.operation  # it makes a code, because the profile may supply no code, or too few
    for pattern, operations_needed in FURTHER_OPERATIONS.items():
        if fnmatchcase(requirement_id, pattern):
            yield from operations_needed


def permits(profile: Profile, operation: str) -> bool:
    """True if the profile has the permission for this operation, such as `read` for listAccounts."""
    return operations()[operation].permission in profile.allow


def _tested_operations(requirement_id: str, profile: Profile) -> tuple[str, ...]:
    """The operations whose answers show whether a requirement is met.

    This is the operation that the requirement is about. A requirement about no single operation is shown by the first
    group of operations in `OPERATIONS_FOR_GENERAL_REQUIREMENTS` that the profile permits; empty if it permits none.
    """
    operation = requirements()[requirement_id].operation
    if operation is not None:
        return (operation,)
    for group in OPERATIONS_FOR_GENERAL_REQUIREMENTS:
        # The first operation decides. The caller leaves out other operations of the group that are not permitted.
        if permits(profile, group[0]):
            return group
    return ()
