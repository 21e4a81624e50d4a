"""The services of the proof, each declared with the verdicts that the suite must give them.

A mutant breaks requirements, a variant is right but different, and a borderline service gets warnings.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from environments.sandbox import Service

ROOT = Path(__file__).parents[3]
ServiceClass = type[Service]
EXPECTED = ("warns", "hides", "environment", "slow", "parallel")
"""What a declaration says of a service beside the requirements that fail."""
REQUESTS_IN_FLIGHT = (1, 8)
"""Requests in flight where that makes a difference: one, where none of these services differs, and the default."""


@dataclass(frozen=True)
class DeclaredService:
    """A service and what the suite must say of it.

    `fails` are exactly the requirements that fail, `warns` those that warn. `hides` are patterns of requirements that
    the service keeps from being exercised. `slow` services are left out of the default proof. A `parallel` service
    differs from the sandbox only while several requests are in flight, so it is tried with each number of
    REQUESTS_IN_FLIGHT.
    """

    name: str
    service_class: Callable[[], Service]
    """Makes the service."""
    description: str
    kind_of_change: str
    """What was changed in the sandbox to make the service, such as "masking" or "refusal body"."""
    fails: frozenset[str] = frozenset()
    warns: frozenset[str] = frozenset()
    hides: tuple[str, ...] = ()
    environment: str = "sandbox"
    slow: bool = False
    parallel: bool = False
    declared_at: str = ""
    """File and line."""

    def __post_init__(self) -> None:
        for name in ("fails", "warns"):
            object.__setattr__(self, name, frozenset(getattr(self, name)))

    @property
    def module(self) -> str:
        """The path of the file that declares the service."""
        return self.declared_at.rpartition(":")[0]

    @property
    def on_the_wire(self) -> bool:
        """True if only sockets show the difference: connections or framing."""
        return getattr(self.service_class, "ON_THE_WIRE", False)

    @property
    def gets_the_requests_of_the_sandbox(self) -> bool:
        """True if the service differs from the sandbox only in its answers, and no request depends on them, so that
        its trial is a replay of the sandbox's requests. A key without an answer that it is registered is not
        deleted, and an answer that cannot be read causes further requests, so such services are excluded.
        """
        changes_requests = any(pattern.endswith(("deletePixKey.*", ".json")) for pattern in (*self.hides, *self.fails))
        return getattr(self.service_class, "GETS_THE_REQUESTS_OF_THE_SANDBOX", False) and not changes_requests

    @property
    def shows(self) -> set[object]:
        """What the proof shows with the service: that each requirement can be broken, and that its kind of
        change can break requirements that end with these words, such as `type` or `exists`. A parallel service shows only
        its kind of change.
        """
        declared = self.fails | self.warns
        kinds = frozenset(requirement_id.rpartition(".")[2] for requirement_id in declared)
        return {self.kind_of_change} if self.parallel else {(self.kind_of_change, kinds), *declared}

    def may_hide(self, requirement_id: str) -> bool:
        """True if the service may keep the requirement from being exercised."""
        return any(fnmatchcase(requirement_id, pattern) for pattern in self.hides)


class Registry:
    """Declared services by name. `lists` says what the ids of a declaration mean: requirements that fail, or that warn."""

    def __init__(self, lists: str) -> None:
        self.lists = lists
        self.declared_services: dict[str, DeclaredService] = {}

    def declare(
        self, kind_of_change: str, *requirements: str, **expected: Any
    ) -> Callable[[ServiceClass], ServiceClass]:
        """A decorator that declares the class below; its docstring describes it. ValueError if the name is taken."""
        declared_at = _declared_at()

        def register(service_class: ServiceClass) -> ServiceClass:
            if service_class.__name__ in self.declared_services:
                raise ValueError(f"two services are called {service_class.__name__}")
            self.declared_services[service_class.__name__] = DeclaredService(
                service_class.__name__, service_class, (service_class.__doc__ or "").strip(), kind_of_change, declared_at=declared_at,
                **{self.lists: requirements, **expected},
            )  # fmt: skip
            return service_class

        return register

    def derive(
        self, kind_of_change: str, name: str, text: str, base: ServiceClass, /, *requirements: str, **parts: Any
    ) -> ServiceClass:
        """Declare a subclass of `base` with other attributes, under another name.

        The expected verdicts are among the parts.
        """
        expected = {option: parts.pop(option) for option in EXPECTED if option in parts}
        subclass = type(name, (base,), {"__doc__": text, "__module__": base.__module__, **parts})
        return self.declare(kind_of_change, *requirements, **expected)(subclass)

    def chosen(self, *, exhaustive: bool, one_of_each_module: bool = False) -> list[DeclaredService]:
        """All services; or without the slow ones, those that show something that none before them shows, or the
        first one of each module.
        """
        if exhaustive:
            return list(self.declared_services.values())
        shown: set[object] = set()
        chosen = []
        for declared_service in self.declared_services.values():
            shows: set[object] = {declared_service.module} if one_of_each_module else declared_service.shows
            shows_more = not shows <= shown
            if shows_more and not declared_service.slow:
                chosen.append(declared_service)
                shown |= shows
        return chosen


def _declared_at() -> str:
    """The file and line of the module, as it is imported, that leads to a declaration."""
    frame = sys._getframe()
    while frame.f_back and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).relative_to(ROOT)}:{frame.f_lineno}"


def ids_of_operation(operation: str, *rows: str) -> tuple[str, ...]:
    """The ids, or patterns of ids, of an operation with these endings."""
    return tuple(f"{operation}.{row}" for row in rows)


MUTANTS = Registry(lists="fails")
"""Services that break the requirements they name, and no others; what is implied, or an example, warns."""
VARIANTS = Registry(lists="fails")
"""Services that conform, but differ from the sandbox. They show that nothing fails wrongly."""
BORDERLINE = Registry(lists="warns")
"""Services that get exactly the warnings they name, and do not fail."""

mutant, declare_mutant = MUTANTS.declare, MUTANTS.derive
variant, declare_variant = VARIANTS.declare, VARIANTS.derive
borderline, declare_borderline = BORDERLINE.declare, BORDERLINE.derive
