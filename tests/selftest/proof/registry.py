"""What the proof tries: mutants, variants and borderline services, each with what the suite owes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from environments.sandbox.service import Service

ServiceClass = Callable[[], Service]


@dataclass(frozen=True)
class Specimen:
    """One service and what the suite must say of it.

    `fails` are the rows that fail and `warns` those that warn, exactly; `hides` are patterns of rows that the
    service keeps from being exercised. `slow` services are tried once and not counted in the time of the proof.
    """

    name: str
    make: ServiceClass
    lie: str
    operator: str
    fails: frozenset[str] = frozenset()
    warns: frozenset[str] = frozenset()
    hides: tuple[str, ...] = ()
    environment: str = "sandbox"
    slow: bool = False

    def may_hide(self, row_id: str) -> bool:
        """Whether the service says that it keeps the row from being exercised."""
        return any(fnmatchcase(row_id, pattern) for pattern in self.hides)


@dataclass
class Registry:
    """Specimens by name."""

    specimens: dict[str, Specimen] = field(default_factory=dict)

    def add(self, specimen: Specimen) -> None:
        """Add a specimen. Raises ValueError on a name that is taken."""
        if specimen.name in self.specimens:
            raise ValueError(f"two specimens are called {specimen.name}")
        self.specimens[specimen.name] = specimen

    def add_class(
        self,
        make: type[Service],
        operator: str,
        *fails: str,
        warns: tuple[str, ...] = (),
        hides: tuple[str, ...] = (),
        environment: str = "sandbox",
        slow: bool = False,
    ) -> None:
        """Add a class by its name; its docstring is the lie."""
        lie = (make.__doc__ or "").strip()
        self.add(
            Specimen(
                make.__name__,
                make,
                lie,
                operator,
                frozenset(fails),
                frozenset(warns),
                hides,
                environment,
                slow,
            )
        )

    def chosen(self, *, exhaustive: bool, alike: int = 1) -> list[Specimen]:
        """All specimens; or at most `alike` of those with the same operator and the same rows, and no slow ones."""
        if exhaustive:
            return list(self.specimens.values())
        seen: Counter[object] = Counter()
        chosen = []
        for specimen in self.specimens.values():
            key = (specimen.operator, specimen.fails | specimen.warns)
            seen[key] += 1
            if seen[key] <= alike and not specimen.slow:
                chosen.append(specimen)
        return chosen


MUTANTS = Registry()
VARIANTS = Registry()
BORDERLINE = Registry()


def mutant(
    *fails: str,
    operator: str,
    warns: tuple[str, ...] = (),
    hides: tuple[str, ...] = (),
    environment: str = "sandbox",
    slow: bool = False,
) -> Callable[[type[Service]], type[Service]]:
    """A class that breaks the rows `fails`, and no others; what is implied, or an example, warns."""

    def register(make: type[Service]) -> type[Service]:
        MUTANTS.add_class(make, operator, *fails, warns=warns, hides=hides, environment=environment, slow=slow)
        return make

    return register


def variant(
    operator: str, *, hides: tuple[str, ...] = (), environment: str = "sandbox", slow: bool = False
) -> Callable[[type[Service]], type[Service]]:
    """A class that is lawful, and different."""

    def register(make: type[Service]) -> type[Service]:
        VARIANTS.add_class(make, operator, hides=hides, environment=environment, slow=slow)
        return make

    return register


def borderline(*warns: str, operator: str = "borderline") -> Callable[[type[Service]], type[Service]]:
    """A class that is mentioned with exactly these warnings, and not failed."""

    def register(make: type[Service]) -> type[Service]:
        BORDERLINE.add_class(make, operator, warns=warns)
        return make

    return register
