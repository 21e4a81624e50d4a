"""Tests that the command line selects, and operations that they reach. -k takes ids of requirements: pytest's own
matches parts of any name of a test."""

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
from spec.interface import PREPARING, READS, operations
from spec.message import Text, say
from spec.requirements import Requirement, requirements

ROOT = Path(__file__).parents[2]
_WHOLE = {ROOT, ROOT / "tests", ROOT / "tests" / "conformance"}
_LEAVES_OUT = {
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
_LONGEST = 100
_MOST_NEAREST = 3
"""Ids that are named in the place of a wrong one."""


def only_selftests(config: pytest.Config) -> bool:
    """True if every path on the command line lies under tests/selftest: no verdict on a service."""
    paths = [_path(config, arg.split("::")[0]) for arg in config.args]
    return bool(paths) and all(path.is_relative_to(ROOT / "tests" / "selftest") for path in paths)


def take_default_path(config: pytest.Config) -> None:
    """Collect the conformance tests where no path is given: pytest takes the working folder, with the selftests in it,
    if that is not its rootdir."""
    if config.args_source is pytest.Config.ArgsSource.INVOCATION_DIR:
        config.args = [str(ROOT / "tests" / "conformance")]


def take_ids(config: pytest.Config) -> None:
    """Take -k and --last-failed from pytest, which selects tests, and a test may judge many requirements. UsageError
    for a word in -k that is no requirement and no group of requirements."""
    option = config.option
    option.ids, option.keyword = option.keyword, ""
    option.last_failed, option.lf = getattr(option, "lf", False), False
    if option.ids:
        ids_of(option.ids)


def wanted_ids(config: pytest.Config) -> frozenset[str]:
    """The requirements that -k and --last-failed leave; all of them without these options."""
    wanted = frozenset(requirements())
    if expression := getattr(config.option, "ids", ""):
        wanted &= ids_of(expression)
    if getattr(config.option, "last_failed", False):
        # Without a failure to repeat, pytest runs everything: here that would execute transfers which nobody asked for.
        wanted &= _failed_last(config)
    return wanted


def leave_out_unwanted(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the collected tests of requirements that -k and --last-failed do not take."""
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
    failed = _failed_by_environment(config).get(config.getoption("environment"), [])
    return frozenset(failed) & frozenset(requirements())


def keep_failed(config: pytest.Config, tested: Collection[str], failed: Collection[str]) -> None:
    """Note in the cache of pytest which requirements failed, for --last-failed. What this run did not test is kept."""
    cache = getattr(config, "cache", None)  # none with -p no:cacheprovider
    if cache is None:
        return
    before = _failed_last(config) - frozenset(tested)
    name = config.getoption("environment")
    cache.set(_FAILED, _failed_by_environment(config) | {name: sorted(before | frozenset(failed))})


def _failed_by_environment(config: pytest.Config) -> dict[str, list[str]]:
    """What the cache holds; nothing if somebody else wrote something else there."""
    cache = getattr(config, "cache", None)
    kept = cache.get(_FAILED, {}) if cache else {}
    if not isinstance(kept, dict):
        return {}
    return {name: ids for name, ids in kept.items() if isinstance(ids, list) and all(isinstance(id, str) for id in ids)}


def ids_of(expression: str) -> frozenset[str]:
    """The requirements that an expression of -k takes. UsageError, in one line, for any other expression."""
    try:
        return _ids_of(ast.parse(expression.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        expected = "expected ids of requirements, or of groups of them, with and, or, not and parentheses"
        raise pytest.UsageError(f"-k: {_shown(expression)}: {expected}") from None


def _ids_of(node: ast.expr) -> frozenset[str]:
    """Ids and groups look like attributes in Python's grammar, which -k of pytest follows, too."""
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
    """The requirement of that name, and those whose ids begin with it and a dot. UsageError where there is none."""
    group = frozenset(id for id in requirements() if f"{id}.".startswith(f"{name}."))
    if not group:
        nearest = [f'"{id}"' for id in _nearest(name)]
        hint = f"did you mean {' or '.join(nearest)}?" if nearest else "pytest --list names them all"
        what = f"{_shown(name)}: no such requirement" if name else "name one"
        raise pytest.UsageError(f"{option}: {what}; {hint}")
    return group


def _nearest(name: str) -> list[str]:
    """The ids and groups that a wrong name may stand for: those whose last part is the name, else one of similar
    letters, else those whose last part holds the name."""
    by_letters = {each.lower(): each for each in _ids_and_groups()}
    wanted = name.lower()
    similar = get_close_matches(wanted, by_letters, 1)
    last_parts = {each: letters.rpartition(".")[2] for letters, each in by_letters.items()}
    same_end = [each for each, last_part in last_parts.items() if last_part == wanted]
    part_of_end = [each for each, last_part in last_parts.items() if wanted and wanted in last_part]
    return (same_end or [by_letters[letters] for letters in similar] or part_of_end)[:_MOST_NEAREST]


def _ids_and_groups() -> Iterator[str]:
    """Everything that -k takes: each id, and each group, which is a prefix of ids that ends at a dot."""
    for id in requirements():
        parts = id.split(".")
        yield from (".".join(parts[:length]) for length in range(1, len(parts) + 1))


def _shown(text: str) -> str:
    return shortened(printable(one_line(text)), _LONGEST)


def selection(config: pytest.Config) -> str | None:
    """The selection as the user typed it, None for a whole run. The verdict is about what it selects alone."""
    given = config.option
    narrowing = [f"-k {given.ids}"] if given.ids else []
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        narrowing += [arg for arg in config.args if _path(config, arg) not in _WHOLE]
    for name, option in _LEAVES_OUT.items():
        narrowing += [option] * bool(getattr(given, name, None))
    narrowing += [f"-m {given.markexpr}"] if given.markexpr else []
    return " ".join(narrowing) or None


def ids_tested(items: Iterable[pytest.Item], *fixtures: str) -> frozenset[str]:
    """The ids of the requirements whose tests are selected; if fixtures are named, of tests that use one of them."""
    tested = (requirement_of(item) for item in items if not fixtures or uses(item, *fixtures))
    return frozenset(requirement.id for requirement in tested if requirement)


def uses(item: pytest.Item, *fixtures: str) -> bool:
    """True if a test uses one of the fixtures, directly or through another one."""
    return not set(fixtures).isdisjoint(getattr(item, "fixturenames", ()))


def _path(config: pytest.Config, argument: str) -> Path:
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
    """All that a test needs in allow and is not there; empty where it may run."""
    marks = [marker.args for marker in item.iter_markers("needs")]
    missing = [names for names in marks if not profile.allow.intersection(names)]
    more = [say("one of {names}", names=listed(names)) if len(names) > 1 else names[0] for names in missing]
    return missing_permission(requirement, profile.allow, more)


def in_scope(items: Iterable[pytest.Item], profile: Profile) -> list[pytest.Item]:
    """The tests of requirements that the profile permits."""
    return [item for item in items if (one := requirement_of(item)) and not permission_missing_for(item, one, profile)]


# -- the operations that a selection reaches ---------------------------------------------------------------------

MAY_BE_OPEN = ("deletePixKey", *PREPARING)
"""Operations that write, of which the interface document does not show whether they want the token."""
NEEDS: Mapping[str, tuple[str, ...]] = {
    "registerPixKey.*": ("deletePixKey", "listPixKeys"),  # what is registered is deleted; what is listed is left alone
    "deletePixKey.*": ("registerPixKey", "listPixKeys"),  # only what was registered is deleted
    "executePix.repeated": ("getBalance",),  # whether money moves again is seen in a balance
    "*.exists": READS,  # a request is known to be valid by an account that a read accepts
    "*.token.accepted": READS,  # a token is known to be valid by a read that wants it
    "general.otherTokens": MAY_BE_OPEN,
}
"""Operations that a group of requirements needs first, after or beside."""
WITHOUT_A_CODE = ("executePix.unknownCode", "executePix.token.scheme", "executePix.refusal")
"""Requirements that synthetic transaction codes show: nothing is executed or prepared for them."""
OF_NO_OPERATION = (READS, ("deletePixKey",), ("registerPixKey", "deletePixKey", "listPixKeys"))
"""Operations that show the requirements of no operation: the first of these groups that the profile permits, and none
that may move money."""
SURVEYS = (
    "serverError", "stackTrace", "connection", "refusal", "codeValues", "rateLimit", "sizeLimit", "identifierFormat",
    "deprecation",
)  # fmt: skip
"""Requirements that look at everything which is sent to an operation, by the last part of their names."""
INVALID_BODIES = (*SURVEYS, "body.required", "account.relation", "pixKey.format")
"""Requirements that invalid registrations are sent for."""


@dataclass(frozen=True)
class Reach:
    """The operations that the selected requirements are about (`subjects`), and these with the ones that they need
    (`operations`), as far as the profile permits them."""

    requirements: frozenset[str] = frozenset()
    subjects: frozenset[str] = frozenset()
    operations: frozenset[str] = frozenset()

    def wants(self, *names: str) -> bool:
        """True where one of these requirements is selected: what is sent for them alone is left out otherwise."""
        return not self.requirements.isdisjoint(names)

    @property
    def spends_codes(self) -> bool:
        """True if one of them needs a real transaction code."""
        others = self.requirements.difference(WITHOUT_A_CODE)
        return "executePix" in self.operations and any(name.startswith("executePix.") for name in others)

    @property
    def names(self) -> frozenset[str]:
        """The requirements; one of no operation also under the name that it has at each operation where it is seen."""
        others = (name.partition(".")[2] for name in self.requirements if requirements()[name].operation is None)
        return self.requirements | {f"{operation}.{what}" for what in others for operation in self.subjects}


def reach_of(requirements: Collection[str], profile: Profile) -> Reach:
    """The operations that these requirements may reach at the target of the profile."""
    about = {operation for requirement in requirements for operation in _subjects_of(requirement, profile)}
    needed = about.union(*(_prerequisites(requirement, profile) for requirement in requirements))
    permitted = frozenset(operation for operation in needed if permits(profile, operation))
    return Reach(frozenset(requirements), permitted & about, permitted)


def _prerequisites(requirement: str, profile: Profile) -> Iterator[str]:
    """The operations that a requirement needs beside the one that it is about."""
    prepare = profile.transactions.prepare
    if prepare and requirement.startswith("executePix.") and requirement not in WITHOUT_A_CODE:
        yield prepare.operation  # where the profile supplies no code, or too few
    for group, names in NEEDS.items():
        yield from names if fnmatchcase(requirement, group) else ()


def permits(profile: Profile, operation: str) -> bool:
    """True if the profile allows the operation."""
    return operations()[operation].permission in profile.allow


def _subjects_of(requirement: str, profile: Profile) -> tuple[str, ...]:
    """The operations that a requirement is asked of; none where the profile permits no harmless one."""
    operation = requirements()[requirement].operation
    if operation is not None:
        return (operation,)
    return next((harmless for harmless in OF_NO_OPERATION if permits(profile, harmless[0])), ())
