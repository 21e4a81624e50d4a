"""Generated traffic is drawn in a process of its own, which draws what this one would."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from environments.door.ending import Ending
from environments.profiles.loading import load
from tests.traffic.case import form_of, places_of
from tests.traffic.generation import elsewhere
from tests.traffic.generation.elsewhere import STEPS, Elsewhere, Order
from tests.traffic.generation.phases import Generation
from tests.traffic.generation.search import FUZZING, Search
from tests.traffic.generation.settings import GenerationSettings

PROFILE = load("sandbox", folder=Path(__file__).parents[2] / "environments")
SETTINGS = GenerationSettings(seed=7, registrations=1, reads=1, drawn=10, database=None, replay=False)
OPERATIONS = ("registerPixKey", "getBalance", "listAccounts")


def searches():
    return tuple(
        Search(operation, places_of(operation, PROFILE), form_of(operation, PROFILE), SETTINGS)
        for operation in OPERATIONS
    )


@pytest.fixture
def in_a_process(monkeypatch):
    """Although what draws is imported here."""
    monkeypatch.setattr(elsewhere, "_DRAWS", "a module that nobody imports")


@pytest.fixture
def drawing(in_a_process):
    with_process = Elsewhere(Order(SETTINGS, searches(), keys=3))
    yield with_process
    with_process.close()


def test_the_same_is_drawn(drawing):
    """Cases and steps, whichever is asked for first."""
    from tests.traffic.generation.machine import draw_steps

    assert drawing._process is not None
    assert drawing.drawn(STEPS) == draw_steps(SETTINGS, 3)
    for search in searches():
        assert drawing.drawn(search.name) == search.draw()


def test_what_was_not_ordered_is_not_drawn(drawing):
    """It is drawn here."""
    assert drawing.drawn("executePix.fuzzing") is None


def test_nobody_waits_for_a_process_that_ends(drawing):
    """A run that is stopped draws nothing any more, in any thread."""
    found = []
    waits = threading.Thread(target=lambda: found.append(drawing.drawn("executePix.fuzzing")))
    drawing.stop()
    waits.start()
    waits.join(10)

    assert (found, drawing.is_stopped) == ([None], True)


def test_a_run_that_is_stopped_draws_nothing_itself(in_a_process):
    """Neither cases nor steps: who waits for them goes on at once."""
    ending = Ending()
    client = SimpleNamespace(door=SimpleNamespace(ending=ending), of_part=lambda name: None)
    generation = Generation(client, PROFILE, SETTINGS, None, None)
    generation.order(["listAccounts"], steps=True)
    ending.stop()
    found = generation.draw_steps(), generation.draw("listAccounts", FUZZING).sent
    generation.close()

    assert found == ([], [])


def test_without_a_process_nothing_is_drawn_elsewhere(in_a_process, monkeypatch):
    """Where none can be started: it is drawn here."""
    monkeypatch.setattr(elsewhere.sys, "executable", str(Path(os.devnull) / "python"))
    drawing = Elsewhere(Order(SETTINGS, searches()))
    drawing.close()

    assert [drawing.drawn(search.name) for search in searches()] == [None] * len(OPERATIONS)


@pytest.mark.parametrize("order", [Order(SETTINGS), Order(SETTINGS, searches(), keys=3)], ids=["nothing", "imported"])
def test_no_process_is_started_for_less_than_it_takes(order, monkeypatch):
    """Nothing to draw, or everything is imported that draws."""
    monkeypatch.setattr(elsewhere, "_DRAWS", "pytest" if order.searches else "a module that nobody imports")

    assert Elsewhere(order)._process is None


class Deaf(SimpleNamespace):
    """A process that reads nothing and writes nothing."""

    def __init__(self, *_, env, **__):
        self.reads, writes = os.pipe()
        super().__init__(env=env, stdin=os.fdopen(writes, "wb"), stdout=None, kill=lambda: os.close(self.reads))


SECRETS = ("PIX_TOKEN", "HOMEBREW_GITHUB_API_TOKEN", "HOMEBANKING_TOKEN", "LANGSMITH_API_KEY", "PATH_TOKEN")


@pytest.fixture
def deaf(in_a_process, monkeypatch):
    """An order that no pipe holds, to a process that does not read it."""
    monkeypatch.setattr(elsewhere, "Popen", Deaf)
    for name in (*SECRETS, "LC_CTYPE", "PYTHONUTF8"):
        monkeypatch.setenv(name, "1")
    made = []
    making = threading.Thread(target=lambda: made.append(Elsewhere(Order(SETTINGS, searches() * 20_000))), daemon=True)
    making.start()
    making.join(60)
    yield made
    made[0].stop()


def test_nobody_waits_for_a_process_that_does_not_read(deaf):
    """It is still importing, or it has failed."""
    assert len(deaf) == 1


def test_the_process_gets_no_token(deaf):
    """Of the variables, it gets what Python needs. A name that only begins like one of these is another."""
    given = deaf[0]._process.env

    assert not given.keys() & set(SECRETS)
    assert given.keys() >= {"LC_CTYPE", "PATH", "PYTHONUTF8"}
    assert given["PATH"] == os.environ["PATH"]


def imported_by(*modules):
    """The packages that a process has which imports these modules."""
    asks = f"import sys, {', '.join(modules)}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    ended = subprocess.run(
        [sys.executable, "-c", asks], cwd=elsewhere._ROOT, capture_output=True, text=True, check=True
    )
    return set(ended.stdout.split())


def test_a_run_imports_what_draws_where_it_draws():
    """Else it would wait for the imports, although another process draws."""
    assert not imported_by("tests.traffic.run_traffic") & {"hypothesis", "schemathesis"}


def test_what_draws_imports_nothing_that_sends():
    """Nor what runs tests: that takes as long as the drawing."""
    drawing = imported_by("tests.traffic.generation.machine", "tests.traffic.generation.schema")

    assert drawing >= {"hypothesis", "schemathesis"}
    assert not drawing & {"requests", "urllib3", "pytest"}
