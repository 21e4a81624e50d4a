"""The operations that a selection may reach: those that its requirements are about, and what these need first.

With every selection go the preflight (listAccounts) and the reads that are repeated to see whether the token has
expired. A path beside the documented ones belongs to the operation that it is compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from environments.profiles.model import Profile
from spec.interface import PREPARING, READS, operations
from spec.message import Text, say
from spec.requirements import requirements

MAY_BE_OPEN = ("deletePixKey", *PREPARING)
"""Operations that write, of which the interface document does not show whether they want the token."""
PREPARE = "transactions.prepare"
"""Stands for the operation that the profile names there."""
NEEDS: Mapping[str, tuple[str, ...]] = {
    "registerPixKey.*": ("deletePixKey", "listPixKeys"),  # what is registered is deleted; what is listed is left alone
    "deletePixKey.*": ("registerPixKey", "listPixKeys"),  # only what was registered is deleted
    "executePix.*": (PREPARE,),  # where the profile supplies no code, or too few
    "executePix.repeated": ("getBalance",),  # whether money moves again is seen in a balance
    "*.exists": READS,  # a request is known to be valid by an account that a read accepts
    "*.token.accepted": READS,  # a token is known to be valid by a read that wants it
    "general.otherTokens": MAY_BE_OPEN,
}
"""Operations that a group of requirements needs first, after or beside."""
WITHOUT_A_CODE = ("executePix.unknownCode", "executePix.token.scheme", "executePix.refusal")
"""Requirements that synthetic transaction codes show: nothing is executed or prepared for them."""
OF_NO_OPERATION = (READS, ("deletePixKey",), ("registerPixKey", "deletePixKey", "listPixKeys"))
"""Where the requirements of no operation are seen: at the first of these that the profile permits, and nowhere where
money may move."""
SURVEYS = (
    "serverError", "stackTrace", "connection", "refusal", "codeValues", "rateLimit", "sizeLimit", "identifierFormat",
    "deprecation",
)  # fmt: skip
"""Requirements that look at everything which is sent to an operation, by the last part of their names."""
INVALID_BODIES = (*SURVEYS, "body.required", "account.relation", "pixKey.format")
"""Requirements that invalid registrations are sent for."""

Wants = Callable[..., bool]
"""True where one of the requirements that it is called with is selected."""


@dataclass(frozen=True)
class Reach:
    """The operations that the selected requirements are about (`subjects`) and need (`needed`), and of these the ones that
    the profile permits (`operations`)."""

    requirements: frozenset[str] = frozenset()
    subjects: frozenset[str] = frozenset()
    needed: frozenset[str] = frozenset()
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

    def left_out(self, *names: str) -> Text:
        """The operations that would have been needed beside, and were not selected; empty where there is none."""
        missing = [name for name in names if name not in self.needed]
        return say("the selection leaves out {operations}", operations=", ".join(missing)) if missing else ""


def reach_of(requirements: Collection[str], profile: Profile) -> Reach:
    """The operations that these requirements may reach at the target of the profile."""
    about = {operation for requirement in requirements for operation in subjects_of(requirement, profile)}
    needed = about.union(*(prerequisites(requirement, profile) for requirement in requirements))
    permitted = frozenset(operation for operation in needed if permits(profile, operation))
    return Reach(frozenset(requirements), permitted & about, frozenset(needed), permitted)


def prerequisites(requirement: str, profile: Profile) -> Iterator[str]:
    """The operations that a requirement needs beside the one that it is about."""
    prepare = profile.transactions.prepare
    for name in (name for group, names in NEEDS.items() if fnmatchcase(requirement, group) for name in names):
        if name != PREPARE:
            yield name
        elif prepare and requirement not in WITHOUT_A_CODE:
            yield prepare.operation


def may_execute_twice(reach: Reach) -> bool:
    """True if the sequences execute a transfer: an execution was asked for, and what a balance shows of it."""
    return reach.spends_codes and "getBalance" in reach.needed


def permits(profile: Profile, operation: str) -> bool:
    """True if the profile allows the operation."""
    return operations()[operation].permission in profile.allow


def subjects_of(requirement: str, profile: Profile) -> tuple[str, ...]:
    """The operations that a requirement is asked of; none where the profile permits no harmless one."""
    operation = requirements()[requirement].operation
    if operation is not None:
        return (operation,)
    return next((harmless for harmless in OF_NO_OPERATION if permits(profile, harmless[0])), ())
