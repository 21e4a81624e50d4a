"""What changed between two runs: which requirements, what is comparable, and what is worse."""

import copy

import pytest

from reports.__main__ import text
from reports.comparison import CHANGES, compared

ROW, OTHER = "executePix.document.masked", "executePix.name.type"
STANDINGS = {
    "fails": {"verdict": "fail"},
    "known": {"verdict": "fail", "known_failure": "masked from 2.4 on"},
    "warns": {"verdict": "warn"},
    "holds": {"verdict": "pass"},
    "untested": {"verdict": "not-exercised"},
}
RUN = {
    "format": "1.3",
    "suite": {"version": "0.1.0"},
    "environment": {
        "name": "staging",
        "base_url": "https://staging.example.test",
        "embedded": False,
        "allow": ["read", "execute"],
        "fail_on": ["documented", "robustness"],
    },
    "started": "2026-11-20T10:00:00Z",
    "verdict": "conformant",
    "selection": None,
    "requirements": [
        {"id": ROW, "level": "documented", "verdict": "pass"},
        {"id": OTHER, "level": "implied", "verdict": "pass"},
    ],
}
"""What is read of a conformance.json, and no more."""


def changed(*, requirements=None, environment=None, **changes):
    """The run on another day, with these members in place of its own; requirements by id."""
    document = copy.deepcopy(RUN) | {"started": "2026-11-22T09:00:00Z"} | changes
    document["environment"] |= environment or {}
    for entry in document["requirements"]:
        entry.update((requirements or {}).get(entry["id"], {}))
    return document


def compare(now, was=RUN):
    """The comparison of two documents."""
    return compared(was, now, str)


def lists(comparison):
    """The lists of requirements that are not empty."""
    return {name: comparison[name] for name in CHANGES if comparison[name]}


@pytest.mark.parametrize(
    ("was", "now", "change"),
    [
        ("holds", "fails", "newly_failing"),
        ("untested", "fails", "newly_failing"),
        ("known", "fails", "newly_failing"),
        ("fails", "holds", "fixed"),
        ("fails", "known", "newly_warning"),
        ("holds", "known", "newly_warning"),
        ("known", "holds", "no_longer_warning"),
        ("known", "warns", None),
        ("warns", "holds", "no_longer_warning"),
        ("fails", "untested", "no_longer_exercised"),
        ("holds", "untested", "no_longer_exercised"),
        ("untested", "holds", "newly_exercised"),
        ("untested", "warns", "newly_exercised"),
        ("holds", "holds", None),
    ],
)
def test_a_requirement_that_stands_elsewhere_is_in_one_list(was, now, change):
    """One that stands where it stood is in none; a known failure stands with the warnings."""
    before = changed(requirements={ROW: STANDINGS[was]}, started=RUN["started"])
    found = compare(changed(requirements={ROW: STANDINGS[now]}), before)

    assert lists(found) == ({change: [ROW]} if change else {})


def test_what_only_one_run_is_about_did_not_change():
    """Suites of two versions have different requirements."""
    gone = {"id": "executePix.gone", "level": "documented", "verdict": "fail"}
    more = RUN | {"requirements": [*RUN["requirements"], gone]}

    assert [(lists(found), found["worse"]) for found in (compare(RUN, more), compare(more))] == [({}, False)] * 2


@pytest.mark.parametrize(
    ("row", "verdict", "worse"),
    [
        (ROW, "fail", True),
        (ROW, "not-exercised", True),
        (ROW, "out-of-scope", True),
        (ROW, "warn", False),
        (OTHER, "fail", True),
        (OTHER, "not-exercised", False),
    ],
)
def test_worse_is_newly_failing_or_no_longer_exercised_at_a_failing_level(row, verdict, worse):
    """A warning is not worse, nor what no verdict of the run depends on."""
    assert compare(changed(requirements={row: {"verdict": verdict}}))["worse"] is worse


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        ({"environment": {"name": "production"}}, ["environment"]),
        ({"environment": {"base_url": "https://prod.example.test"}}, ["origin"]),
        ({"environment": {"embedded": True}}, ["origin"]),
        ({"selection": "-k executePix"}, ["selection"]),
        ({"environment": {"allow": ["read"]}}, ["permissions"]),
        ({}, []),
        ({"environment": {"allow": ["execute", "read"]}}, []),
    ],
    ids=str,
)
def test_comparable_runs_have_the_same_environment_origin_selection_and_permissions(change, differs):
    """The line names what is different."""
    found = compare(changed(**change))

    assert (found["differs"], found["comparable"]) == (differs, not differs)
    assert all(word in str(found["line"]) for word in differs)


def test_the_embedded_sandbox_is_one_origin():
    """Its port is another one in each run."""
    was, now = (
        changed(environment={"embedded": True, "base_url": f"http://127.0.0.1:{port}"}) for port in (4711, 4712)
    )

    assert compare(now, was)["comparable"]


def test_the_line_counts_what_changed():
    """In the order of importance, with words that need no explanation."""
    before = changed(requirements={OTHER: {"verdict": "fail"}}, started=RUN["started"])
    now = changed(requirements={ROW: {"verdict": "fail"}})
    other_place = changed(environment={"name": "production", "base_url": "https://prod.example.test"})

    assert str(compare(now, before)["line"]) == "since 2026-11-20 10:00:00 UTC: 1 newly failing, 1 fixed"
    assert (
        str(compare(other_place)["line"])
        == "compared with staging, 2026-11-20 10:00:00 UTC (other environment and origin): no change"
    )


def test_text_names_what_changed():
    """With the statement of each requirement, and what the exit status says."""
    assert list(text(compare(changed(requirements={ROW: {"verdict": "fail"}})))) == [
        "since 2026-11-20 10:00:00 UTC: 1 newly failing",
        "newly failing:",
        f"  {ROW}: The tax document of the counterparty is partly masked.",
        "something got worse",
    ]
