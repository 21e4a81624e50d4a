"""What a selection may send: the operations that its requirements are about, and what these need first.

With every selection go the preflight (listAccounts, and getBalance of an account that the list does not show) and the
reads that are repeated to see whether the token has expired. A path beside the documented ones belongs to the operation
that it is compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from environments.profiles.profile import Profile
from spec.interface import PREPARING, READS, operations
from spec.message import Text, say
from spec.requirements import ledger

MAY_BE_OPEN = ("deletePixKey", *PREPARING)
"""Operations that write, of which the interface document does not show whether they want the token."""
PREPARE = "transactions.prepare"
"""Stands for the operation that the profile names there."""
PREREQUISITES: Mapping[str, tuple[str, ...]] = {
    "registerPixKey": ("deletePixKey", "listPixKeys"),  # what is registered is deleted; what is listed is left alone
    "deletePixKey": ("registerPixKey", "listPixKeys"),  # only what was registered is deleted
    "executePix": (PREPARE,),  # where the profile supplies no code, or too few
}
"""What the requests of an operation need first, or after."""
WITNESSES: Mapping[str, tuple[str, ...]] = {
    "exists": READS,  # a request is known to be valid by an account that a read accepts
    "token.accepted": READS,  # a token is known to be valid by a read that wants it
    "executePix.repeated": ("getBalance",),  # whether money moves again is seen in a balance
    "general.otherTokens": MAY_BE_OPEN,
}
"""What a requirement needs beside, by its id or by its name without the operation."""
WITHOUT_A_CODE = ("executePix.unknownCode", "executePix.token.scheme", "executePix.refusal")
"""Requirements that synthetic transaction codes show: nothing is executed or prepared for them."""
OF_NO_OPERATION = (READS, ("deletePixKey",), ("registerPixKey", "deletePixKey", "listPixKeys"))
"""Where the requirements of no operation are seen: at the first of these that the profile permits, and nowhere where
money may move."""
SURVEYS = (
    "serverError", "stackTrace", "connection", "refusal", "codeValues", "rateLimit", "sizeLimit", "identifierFormat",
    "deprecation",
)  # fmt: skip
"""What looks at everything that is sent to an operation, by the last part of its name."""
_OF_BODIES = ("body.required", "account.relation", "pixKey.format")
NEED_INVALID_BODIES = tuple(f"registerPixKey.{what}" for what in _OF_BODIES)
INVALID_BODIES = (*SURVEYS, *_OF_BODIES)
"""What invalid registrations are sent for."""


NEED_FUZZ = tuple(f"{name}.refusal" for name in MAY_BE_OPEN)
"""Requirements that nothing shows without `fuzz`: only malformed requests, and those without a valid token, are refused."""

Wants = Callable[..., bool]
"""True where one of the requirements that it is called with is selected."""


@dataclass(frozen=True)
class Reach:
    """What the selected requirements need: operations that the profile permits, and those that it does not.

    `subjects` are the operations that the requirements are about. `spends_codes`: one needs a real transaction code;
    `surveys`: one looks at everything that is sent to its operation, malformed requests included.
    """

    subjects: frozenset[str]
    operations: frozenset[str]
    denied: frozenset[str]
    spends_codes: bool
    surveys: bool
    requirements: frozenset[str] = frozenset()

    def wants(self, *names: str) -> bool:
        """True where one of these requirements is selected: what is sent for them alone is left out otherwise."""
        return not self.requirements.isdisjoint(names)

    @property
    def names(self) -> frozenset[str]:
        """The requirements; one of no operation also under the name that it has at each operation where it is seen."""
        others = (name.partition(".")[2] for name in self.requirements if ledger()[name].operation is None)
        return self.requirements | {f"{operation}.{what}" for what in others for operation in self.subjects}

    @property
    def surveyed(self) -> frozenset[str]:
        """The operations that get malformed requests from the targeted tests."""
        return self.subjects if self.surveys else frozenset()

    def left_out(self, *names: str) -> Text:
        """What would have been needed beside, and was not selected; empty where it was."""
        missing = [name for name in names if name not in self.operations | self.denied]
        return say("the selection leaves out {operations}", operations=", ".join(missing)) if missing else ""


def reach_of(requirements: Collection[str], profile: Profile) -> Reach:
    """What these requirements may send to the target of the profile."""
    subjects = {operation for requirement in requirements for operation in subjects_of(requirement, profile)}
    needed = subjects.union(*(prerequisites(requirement, profile) for requirement in requirements))
    permitted = frozenset(operation for operation in needed if permits(profile, operation))
    spends = any(requirement.startswith("executePix.") for requirement in set(requirements) - set(WITHOUT_A_CODE))
    return Reach(
        permitted & subjects,
        permitted,
        frozenset(needed) - permitted,
        spends_codes=spends and "executePix" in permitted,
        surveys=any(name in NEED_INVALID_BODIES or name.rpartition(".")[2] in SURVEYS for name in requirements),
        requirements=frozenset(requirements),
    )


def prerequisites(requirement: str, profile: Profile) -> Iterator[str]:
    """What a requirement needs beside the operation that it is about."""
    operation = ledger()[requirement].operation or ""
    for name in (requirement, requirement.removeprefix(f"{operation}.")):
        yield from WITNESSES.get(name, ())
    for name in () if requirement in WITHOUT_A_CODE else PREREQUISITES.get(operation, ()):
        prepare = profile.transactions.prepare
        if name != PREPARE:
            yield name
        elif prepare:
            yield prepare.operation


def may_execute_twice(reach: Reach) -> bool:
    """Whether the state machine executes a transfer: where an execution was asked for, and what a balance shows of it."""
    return reach.spends_codes and "getBalance" in reach.operations | reach.denied


def permits(profile: Profile, operation: str) -> bool:
    """Whether the profile allows the operation."""
    return operations()[operation].permission in profile.allow


def subjects_of(requirement: str, profile: Profile) -> tuple[str, ...]:
    """The operations that a requirement is asked of; none where the profile permits no harmless one."""
    operation = ledger()[requirement].operation
    if operation is not None:
        return (operation,)
    return next((harmless for harmless in OF_NO_OPERATION if permits(profile, harmless[0])), ())
