"""The tests that the command line selects, and the operations of the service that these tests ask.

-k takes ids of requirements here, because the -k of pytest matches a part of any name of a test, and a test may judge
many requirements. It also takes groups: a group is all requirements whose ids begin with a text and a dot, such as
`executePix.document`.

The class `Selection`, at the end, has the operations that the requirements are about, and those to ask before.
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
from reports.sentences.wording import listed, missing_permission, one_line, shortened
from reports.showing.show import printable
from spec.interface import PREPARING_OPERATIONS, READ_OPERATIONS, operations
from spec.message import Text, say
from spec.requirements import Requirement, requirements

ROOT = Path(__file__).parents[2]
_WHOLE = {ROOT, ROOT / "tests", ROOT / "tests" / "conformance"}
"""Paths on the command line that select all conformance tests."""
_LEAVES_OUT = {
    "deselect": "--deselect",
    "ignore": "--ignore",
    "ignore_glob": "--ignore-glob",
    "last_failed": "--last-failed",
    "stepwise": "--stepwise",
}
"""Further options of pytest that leave tests out, each behind the name of its value."""
MARKERS = (
    "requirement(id): the requirement that a conformance test answers for",
    "needs(permission, ...): a permission, or one of these, beyond that of the requirement's operation",
    "property: generated traffic",
)
"""The markers of conformance tests, as `pytest --markers` prints them."""
_LONGEST = 100
"""Characters of a text of the user that an error message repeats. A choice: it leaves room for the message in a line of
a CI log."""
_MOST_NEAREST = 3
"""Ids that are named in the place of a wrong one."""


def only_selftests(config: pytest.Config) -> bool:
    """True if every path on the command line is under tests/selftest, so that there is no verdict on a service."""
    paths = [_path(config, argument.split("::")[0]) for argument in config.args]
    return bool(paths) and all(path.is_relative_to(ROOT / "tests" / "selftest") for path in paths)


def take_default_path(config: pytest.Config) -> None:
    """Collect the conformance tests if no path is given.

    Outside its root folder, pytest would collect the working folder, which may have the self-tests in it.
    """
    if config.args_source is pytest.Config.ArgsSource.INVOCATION_DIR:
        config.args = [str(ROOT / "tests" / "conformance")]


def take_ids(config: pytest.Config) -> None:
    """Take -k and --last-failed away from pytest, which selects tests by them, and keep them to select requirements.

    Raises UsageError for a word in -k that is no requirement and no group of requirements.
    """
    option = config.option
    option.ids = option.keyword
    option.keyword = ""
    option.last_failed = getattr(option, "lf", False)  # there is no such option with -p no:cacheprovider
    option.lf = False
    if option.ids:
        ids_of(option.ids)


def wanted_ids(config: pytest.Config) -> frozenset[str]:
    """The requirements that -k and --last-failed select; all of them without these options."""
    wanted = frozenset(requirements())
    expression = getattr(config.option, "ids", "")
    if expression:
        wanted = wanted & ids_of(expression)
    if getattr(config.option, "last_failed", False):
        # Without a failure to repeat, pytest runs everything: here that would execute transfers which nobody asked for.
        wanted = wanted & _failed_last(config)
    return wanted


def leave_out_unwanted(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Remove the tests of requirements that -k and --last-failed do not select from the collected ones."""
    ids = wanted_ids(config)
    if len(ids) == len(requirements()):
        return
    left_out = []
    for item in items:
        requirement = requirement_of(item)
        if requirement is None or requirement.id not in ids:
            left_out.append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


_FAILED = "pix-conformance/failed"
"""Key in the cache of pytest: by environment, the requirements that failed when they were last tested."""


def _failed_last(config: pytest.Config) -> frozenset[str]:
    """The requirements that failed in this environment when they were last tested."""
    failed = _failed_by_environment(config).get(config.getoption("environment"), [])
    return frozenset(failed) & frozenset(requirements())


def keep_failed(config: pytest.Config, tested: Collection[str], failed: Collection[str]) -> None:
    """Note in the cache of pytest which requirements failed, for --last-failed.

    A requirement that failed before, and that this run did not test, stays there.
    """
    cache = getattr(config, "cache", None)  # None with -p no:cacheprovider
    if cache is None:
        return
    failed_before = _failed_last(config) - frozenset(tested)
    environment = config.getoption("environment")
    all_failed = sorted(failed_before | frozenset(failed))
    cache.set(_FAILED, _failed_by_environment(config) | {environment: all_failed})


def _failed_by_environment(config: pytest.Config) -> dict[str, list[str]]:
    """The failed requirements in the cache, by environment. Entries of another shape are left out."""
    cache = getattr(config, "cache", None)
    cached = cache.get(_FAILED, {}) if cache else {}
    if not isinstance(cached, dict):
        return {}
    return {name: ids for name, ids in cached.items() if _is_list_of_texts(ids)}


def _is_list_of_texts(value: object) -> bool:
    """True for a list of texts, as this module writes one for each environment."""
    return isinstance(value, list) and all(isinstance(element, str) for element in value)


def ids_of(expression: str) -> frozenset[str]:
    """The requirements that an expression of -k selects. Raises UsageError, in one line, for any other expression."""
    try:
        return _ids_of(ast.parse(expression.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        expected = "expected ids of requirements, or of groups of them, with and, or, not and parentheses"
        raise pytest.UsageError(f"-k: {_quoted(expression)}: {expected}") from None


def _ids_of(node: ast.expr) -> frozenset[str]:
    """The requirements that a part of an expression selects. Raises ValueError for other parts.

    The grammar is that of Python, as for -k of pytest. An id such as `executePix.status` is an attribute in it.
    """
    match node:
        case ast.BoolOp(op=ast.And(), values=parts):
            return frozenset.intersection(*map(_ids_of, parts))
        case ast.BoolOp(values=parts):
            return frozenset.union(*map(_ids_of, parts))
        case ast.UnaryOp(op=ast.Not(), operand=part):
            return frozenset(requirements()) - _ids_of(part)
        case ast.Name() | ast.Attribute():
            return group_of(ast.unparse(node), "-k")
    raise ValueError(node)


def group_of(name: str, option: str) -> frozenset[str]:
    """The requirement of this name, and those whose ids begin with the name and a dot.

    Raises UsageError if there is none; the message names `option` and the requirement with the nearest name.
    """
    group = frozenset(id for id in requirements() if f"{id}.".startswith(f"{name}."))
    if not group:
        nearest = [f'"{id}"' for id in _nearest(name)]
        hint = f"did you mean {' or '.join(nearest)}?" if nearest else "pytest --list names them all"
        problem = f"{_quoted(name)}: no such requirement" if name else "name one"
        raise pytest.UsageError(f"{option}: {problem}; {hint}")
    return group


def _nearest(name: str) -> list[str]:
    """At most three ids or groups that a wrong name may stand for, whatever its letter case.

    They are those whose last part is the name. If there are none, it is one with similar letters. If there is none
    either, they are those whose last part holds the name.
    """
    wrong_name = name.lower()
    words_by_lower_case = {word.lower(): word for word in _ids_and_groups()}
    last_parts = {word: lower_case.rpartition(".")[2] for lower_case, word in words_by_lower_case.items()}
    with_this_end = [word for word, last_part in last_parts.items() if last_part == wrong_name]
    if with_this_end:
        return with_this_end[:_MOST_NEAREST]
    similar = get_close_matches(wrong_name, words_by_lower_case, 1)
    if similar:
        return [words_by_lower_case[similar[0]]]
    if not wrong_name:
        return []
    return [word for word, last_part in last_parts.items() if wrong_name in last_part][:_MOST_NEAREST]


def _ids_and_groups() -> Iterator[str]:
    """Each word that -k takes: each id, and each group, which is a prefix of ids that ends before a dot."""
    for id in requirements():
        parts = id.split(".")
        for length in range(1, len(parts) + 1):
            yield ".".join(parts[:length])


def _quoted(text: str) -> str:
    """A text of the user as an error message repeats it: one line, printable and short."""
    return shortened(printable(one_line(text)), _LONGEST)


def selection_in_words(config: pytest.Config) -> str | None:
    """The options and paths that select a part of the tests, as the user typed them; None for a whole run.

    The verdict of a run is only about the requirements that they select.
    """
    options = config.option
    narrowing = []
    if options.ids:
        narrowing.append(f"-k {options.ids}")
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        narrowing += [argument for argument in config.args if _path(config, argument) not in _WHOLE]
    for name, option in _LEAVES_OUT.items():
        if getattr(options, name, None):
            narrowing.append(option)
    if options.markexpr:
        narrowing.append(f"-m {options.markexpr}")
    return " ".join(narrowing) or None


def ids_tested(items: Iterable[pytest.Item], *fixtures: str) -> frozenset[str]:
    """The ids of the requirements whose tests are selected. If fixtures are named, only tests that use one of them
    count."""
    ids = set()
    for item in items:
        requirement = requirement_of(item)
        is_counted = not fixtures or uses(item, *fixtures)
        if requirement and is_counted:
            ids.add(requirement.id)
    return frozenset(ids)


def uses(item: pytest.Item, *fixtures: str) -> bool:
    """True if a test uses one of the fixtures, directly or through another one."""
    return not set(fixtures).isdisjoint(getattr(item, "fixturenames", ()))


def _path(config: pytest.Config, argument: str) -> Path:
    """The path that an argument of the command line names, from the folder in which pytest was started."""
    return Path(config.invocation_params.dir, argument).resolve()


# -- the requirement of a test ---------------------------------------------------------------------------------------


def requirement_of(item: pytest.Item) -> Requirement | None:
    """The requirement that a test answers for, None for other tests. Raises UsageError for an unknown id."""
    marker = item.get_closest_marker("requirement")
    if marker is None:
        return None
    requirement = requirements().get(marker.args[0])
    if requirement is None:
        raise pytest.UsageError(f"{item.nodeid}: {marker.args[0]}: no such requirement in spec/requirements.yaml")
    return requirement


def permission_missing_for(item: pytest.Item, requirement: Requirement, profile: Profile) -> Text:
    """The permissions that a test needs and the profile does not have, in words; empty if the test may run.

    They are that of the requirement's operation, and one of each marker `needs`.
    """
    missing_by_markers: list[Text] = []
    for marker in item.iter_markers("needs"):
        permissions = marker.args  # one of them is enough
        if not profile.allow.isdisjoint(permissions):
            continue
        if len(permissions) == 1:
            missing_by_markers.append(permissions[0])
        else:
            missing_by_markers.append(say("one of {names}", names=listed(permissions)))
    return missing_permission(requirement, profile.allow, missing_by_markers)


def in_scope(items: Iterable[pytest.Item], profile: Profile) -> list[pytest.Item]:
    """The tests that have a requirement and that the profile permits."""
    permitted_items = []
    for item in items:
        requirement = requirement_of(item)
        if requirement is not None and not permission_missing_for(item, requirement, profile):
            permitted_items.append(item)
    return permitted_items


# -- the operations of a selection -----------------------------------------------------------------------------

MAY_BE_OPEN = ("deletePixKey", *PREPARING_OPERATIONS)
"""Operations that write and that may not need the token: the interface document does not show it (Authentication 3)."""
NEEDS: Mapping[str, tuple[str, ...]] = {
    # Registered keys are deleted afterwards. Keys that a list shows are left alone.
    "registerPixKey.*": ("deletePixKey", "listPixKeys"),
    "deletePixKey.*": ("registerPixKey", "listPixKeys"),  # only keys that the run registered are deleted
    "executePix.repeated": ("getBalance",),  # a balance shows if money moves a second time
    "*.exists": READ_OPERATIONS,  # an account that a read accepts makes a valid request
    "*.token.accepted": READ_OPERATIONS,  # a read that refuses a wrong token shows that the token is valid
    "general.otherTokens": MAY_BE_OPEN,
}
"""By pattern of requirements, the operations that they need beside their own."""
WITHOUT_A_CODE = ("executePix.unknownCode", "executePix.token.scheme", "executePix.refusal")
"""Requirements that synthetic transaction codes show. Nothing is executed or prepared for them."""
OF_NO_OPERATION = (READ_OPERATIONS, ("deletePixKey",), ("registerPixKey", "deletePixKey", "listPixKeys"))
"""Groups of operations that show the requirements about no operation. The first group that the profile permits is used.
None of them moves money."""
SURVEYS = (
    "serverError", "stackTrace", "connection", "refusal", "codeValues", "rateLimit", "sizeLimit", "identifierFormat",
    "deprecation",
)  # fmt: skip
"""Requirements about all requests to an operation, by the last part of their ids."""
INVALID_BODIES = (*SURVEYS, "body.required", "account.relation", "pixKey.format")
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
        """True if one of these requirements is selected."""
        return not self.requirements.isdisjoint(requirement_ids)

    @property
    def needs_real_codes(self) -> bool:
        """True if a selected requirement needs a real transaction code."""
        if "executePix" not in self.operations:
            return False
        may_need_code = self.requirements.difference(WITHOUT_A_CODE)
        return any(name.startswith("executePix.") for name in may_need_code)

    @property
    def ids_with_operations(self) -> frozenset[str]:
        """The ids of the selected requirements. One about no operation has further ids, one for each tested operation.

        For example, `general.codeValues` has also the id `listAccounts.codeValues`, if listAccounts is tested.
        """
        ids = set(self.requirements)
        for requirement_id in self.requirements:
            if requirements()[requirement_id].operation is None:
                end_of_id = requirement_id.partition(".")[2]
                ids.update(f"{operation}.{end_of_id}" for operation in self.tested_operations)
        return frozenset(ids)


def selection_of(requirements: Collection[str], profile: Profile) -> Selection:
    """The selection with these requirements and the operations that the profile permits for them."""
    tested: set[str] = set()
    needed: set[str] = set()
    for requirement_id in requirements:
        tested.update(_subjects_of(requirement_id, profile))
        needed.update(_prerequisites(requirement_id, profile))
    permitted = frozenset(operation for operation in tested | needed if permits(profile, operation))
    return Selection(frozenset(requirements), permitted & tested, permitted)


def _prerequisites(requirement_id: str, profile: Profile) -> Iterator[str]:
    """The operations that a requirement needs beside its own."""
    preparation = profile.transactions.prepare
    spends_code = requirement_id.startswith("executePix.") and requirement_id not in WITHOUT_A_CODE
    if preparation and spends_code:
        yield preparation.operation  # the profile may supply no code, or too few
    for pattern, operations_needed in NEEDS.items():
        if fnmatchcase(requirement_id, pattern):
            yield from operations_needed


def permits(profile: Profile, operation: str) -> bool:
    """True if the profile allows the operation."""
    return operations()[operation].permission in profile.allow


def _subjects_of(requirement_id: str, profile: Profile) -> tuple[str, ...]:
    """The operations that a requirement is about. For a requirement about no operation, the operations that show it.

    Empty if the profile permits no operation that shows it.
    """
    operation = requirements()[requirement_id].operation
    if operation is not None:
        return (operation,)
    for group in OF_NO_OPERATION:
        if permits(profile, group[0]):
            return group
    return ()
