"""What a run did not send, because a limit of the profile was reached or an operation stopped answering."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from environments.door.ending import STOPPED
from reports.verdicts import RequirementResult, Verdict
from reports.wording import first_few
from spec.interface import operations
from spec.message import Text, say
from spec.requirements import Requirement

_WITHOUT_AN_ANSWER = re.compile(r"(no|not) [^0-9]*")
"""A message without a number, so without a status or an exchange."""
_ENDS = (STOPPED, "limits.duration ")
"""Beginnings of the reasons that leave out whatever was not tested by then."""


@dataclass
class Cuts:
    """The operations that did not get every request, by the reason."""

    unsent: Mapping[str, Collection[str]] = field(default_factory=dict)

    @property
    def ended_by(self) -> str:
        """The reason that ended the run before its tests; empty where nothing did."""
        return next((why for why in self.unsent if why.startswith(_ENDS)), "")

    def data(self) -> list[dict[str, Any]]:
        """For conformance.json: each reason, with its operations in the order of the interface document."""
        return [{"why": why, "operations": _named(names)} for why, names in self.unsent.items()]

    def notes(self) -> Iterator[Text]:
        """One line for each reason."""
        for cut in self.data():
            parts = {"why": cut["why"], "operations": operations_of(cut)}
            if cut["why"].startswith("limits."):
                yield say("{why}: not all requests to {operations} were sent; raise it", **parts)
            elif cut["why"].startswith("the suite waits"):
                yield say("{why}: not all requests to {operations} were sent again", **parts)
            else:
                yield say("{why}: not all requests to {operations} were sent", **parts)

    def explain(self, requirement: Requirement, result: RequirementResult) -> RequirementResult:
        """The result; where a cut explains why the requirement was not exercised, the message says that."""
        if result.verdict != Verdict.NOT_EXERCISED:
            return result
        if self.ended_by:
            return replace(result, why=self.ended_by)
        for why, names in self.unsent.items():
            if why in str(result.why) or (requirement.operation in {*names, None} and _says_nothing(str(result.why))):
                return replace(result, why=why)
        return result


def operations_of(cut: Mapping[str, Any]) -> Text:
    """The first few operations of an entry of `data`."""
    return first_few(cut["operations"]) or say("undocumented paths")


def _named(names: Collection[str]) -> list[str]:
    return [operation for operation in operations() if operation in names]


def _says_nothing(message: str) -> bool:
    return not message or ("supply" not in message and bool(_WITHOUT_AN_ANSWER.fullmatch(message)))
