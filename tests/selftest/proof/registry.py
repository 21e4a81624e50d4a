"""The services of the proof. Each is declared with the verdicts that it must get from the suite.

A mutant is wrong on purpose and breaks requirements, a variant is right but unusual, and a borderline service gets
warnings.
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
"""Parameters of a declaration that are fields of `DeclaredService`, and no attributes of the class of the service."""
REQUESTS_IN_FLIGHT = (1, 8)
"""Numbers of requests at once with which a parallel service is tried: 1, with which its fault does not show, and the
default."""


@dataclass(frozen=True)
class DeclaredService:
    """A service of the proof, and the verdicts that it must get from the suite.

    | field | meaning |
    |---|---|
    | `fails`, `warns` | exactly the ids of the requirements that fail, and of those that warn |
    | `hides` | ids, with `*` for any text, of requirements that a run cannot exercise against this service |
    | `environment` | the name of the profile |
    | `slow` | True if the service is left out of the default proof |
    | `parallel` | True if it differs from the sandbox only while it gets several requests at once |
    """

    name: str
    service_class: Callable[[], Service]
    """The class of the service. A call of it makes the service."""
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
    """The file that declares the service, and the line in it: "tests/selftest/proof/borderline.py:120"."""

    def __post_init__(self) -> None:
        """Make sets of `fails` and `warns`, because a declaration may give them as tuples."""
        for name in ("fails", "warns"):
            object.__setattr__(self, name, frozenset(getattr(self, name)))

    @property
    def module(self) -> str:
        """The path of the file that declares the service."""
        return self.declared_at.rpartition(":")[0]

    @property
    def on_the_wire(self) -> bool:
        """True if the service differs from the sandbox only over sockets, such as in how it closes connections."""
        return getattr(self.service_class, "ON_THE_WIRE", False)

    @property
    def gets_the_requests_of_the_sandbox(self) -> bool:
        """True if a run sends the same requests to this service as to the sandbox, so that a replay is enough.

        Then the service differs from the sandbox only in answers that change no later request. Two sorts of services
        say so of themselves, but are excluded:

        - Services that hide `deletePixKey.*`: no key is deleted if no answer says that it was registered.
        - Services with JSON that cannot be read, because a run then sends more requests.
        """
        patterns = (*self.hides, *self.fails)
        changes_requests = any(pattern.endswith(("deletePixKey.*", ".json")) for pattern in patterns)
        return getattr(self.service_class, "GETS_THE_REQUESTS_OF_THE_SANDBOX", False) and not changes_requests

    @property
    def shows(self) -> set[object]:
        """What the proof shows with this service. The default proof leaves out a service that shows nothing new.

        It shows that each requirement which it declares can be broken. It also shows that its kind of change can break
        requirements whose ids end like those: ("masking", {"masked", "partly"}). A parallel service shows only that its
        kind of change is found.
        """
        if self.parallel:
            return {self.kind_of_change}
        declared = self.fails | self.warns
        ends_of_ids = frozenset(requirement_id.rpartition(".")[2] for requirement_id in declared)
        return {(self.kind_of_change, ends_of_ids), *declared}

    def may_hide(self, requirement_id: str) -> bool:
        """True if the service declares (in `hides`) that a run cannot exercise the requirement against it."""
        return any(fnmatchcase(requirement_id, pattern) for pattern in self.hides)


class Registry:
    """The declared services of one sort, such as the mutants, by name."""

    def __init__(self, field_of_requirements: str) -> None:
        """`field_of_requirements` says what the requirements of a declaration do: "fails" or "warns"."""
        self.field_of_requirements = field_of_requirements
        self.declared_services: dict[str, DeclaredService] = {}

    def declare(
        self, kind_of_change: str, *requirements: str, **expected: Any
    ) -> Callable[[ServiceClass], ServiceClass]:
        """A decorator that declares a class as a service of the proof. Its name and docstring become those of the service.

        `kind_of_change` is what was changed in the sandbox to make the service, such as "masking". `requirements` are
        the ids of the requirements that fail or warn. `expected` are further fields of `DeclaredService`, such as
        `hides`. ValueError if another service has the same name.
        """
        declared_at = _place_of_declaration()

        def register(service_class: ServiceClass) -> ServiceClass:
            """The class itself, after it was declared."""
            name = service_class.__name__
            if name in self.declared_services:
                raise ValueError(f"two services are called {name}")
            description = (service_class.__doc__ or "").strip()
            verdicts = {self.field_of_requirements: requirements, **expected}
            self.declared_services[name] = DeclaredService(
                name, service_class, description, kind_of_change, declared_at=declared_at, **verdicts
            )
            return service_class

        return register

    def derive(
        self, kind_of_change: str, name: str, text: str, base: ServiceClass, /, *requirements: str, **parts: Any
    ) -> ServiceClass:
        """Declare a service without writing a class: a subclass of `base` with this name and docstring. Returns it.

        `parts` are attributes of the subclass, and also fields of `DeclaredService`, such as `hides` (see EXPECTED).
        """
        expected = {option: parts.pop(option) for option in EXPECTED if option in parts}
        subclass = type(name, (base,), {"__doc__": text, "__module__": base.__module__, **parts})
        return self.declare(kind_of_change, *requirements, **expected)(subclass)

    def chosen(self, *, exhaustive: bool, one_of_each_module: bool = False) -> list[DeclaredService]:
        """The services that a proof tries.

        - `exhaustive`: all services.
        - `one_of_each_module`: the first service of each module that is not slow.
        - by default: each service that is not slow and shows something that no service before it shows (`shows`).
        """
        if exhaustive:
            return list(self.declared_services.values())
        shown_so_far: set[object] = set()
        chosen = []
        for declared_service in self.declared_services.values():
            shows: set[object] = {declared_service.module} if one_of_each_module else declared_service.shows
            shows_something_new = not shows <= shown_so_far
            if shows_something_new and not declared_service.slow:
                chosen.append(declared_service)
                shown_so_far |= shows
        return chosen


def _place_of_declaration() -> str:
    """The file and the line that declare a service now, such as "tests/selftest/proof/borderline.py:120".

    The line is in the top level of the module that is being imported. It may call functions that then declare.
    """
    frame = sys._getframe()
    while frame.f_back and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).relative_to(ROOT)}:{frame.f_lineno}"


def ids_of_operation(operation: str, *ends: str) -> tuple[str, ...]:
    """The ids of requirements of an operation that end like this: "executePix.json" for ("executePix", "json").

    An end may have `*` for any text. Then the result is a pattern of ids.
    """
    return tuple(f"{operation}.{end}" for end in ends)


MUTANTS = Registry(field_of_requirements="fails")
"""Services that break exactly the requirements that they declare. The declared ones fail, and `warns` names others."""
VARIANTS = Registry(field_of_requirements="fails")
"""Services that conform, but differ from the sandbox. They show that nothing fails wrongly."""
BORDERLINE = Registry(field_of_requirements="warns")
"""Services that get exactly the warnings they name, and do not fail."""

mutant, declare_mutant = MUTANTS.declare, MUTANTS.derive
variant, declare_variant = VARIANTS.declare, VARIANTS.derive
borderline, declare_borderline = BORDERLINE.declare, BORDERLINE.derive
