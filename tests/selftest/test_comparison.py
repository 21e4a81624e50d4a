"""What changed between two runs: every pair of standings, what is comparable, and what is worse."""

import copy
import itertools

import pytest

from reports.__main__ import markdown, text
from reports.comparing.comparison import CHANGES, WORDS, Standing, compared, run_to_compare

ROW, OTHER = "executePix.document.masked", "executePix.name.type"
STANDINGS = {
    Standing.FAILS: {"verdict": "fail"},
    Standing.KNOWN: {"verdict": "fail", "known_failure": "masked from 2.4 on"},
    Standing.WARNS: {"verdict": "warn"},
    Standing.HOLDS: {"verdict": "pass"},
    Standing.UNTESTED: {"verdict": "not-exercised"},
}
RUN = {
    "suite": {"version": "0.1.0"},
    "environment": {"name": "staging", "base_url": "https://staging.example.test", "allow": ["read", "execute"]},
    "started": "2026-11-20T10:00:00Z",
    "verdict": "conformant",
    "selection": None,
    "requirements": [
        {"id": ROW, "level": "documented", "verdict": "pass"},
        {"id": OTHER, "level": "implied", "verdict": "pass"},
    ],
    "observed": {"executePix.unknownCode": {"": {"": ["404 application/json"]}}},
    "exchanges": [
        {"operation": "executePix", "result": 200, "elapsed_ms": 10.0},
        {"operation": "executePix", "result": 200, "elapsed_ms": 30.0},
        {"operation": "executePix", "result": "the connection was dropped", "elapsed_ms": 9000.0},
        {"operation": "(an undocumented path)", "result": 404, "elapsed_ms": 1.0},
    ],
}
"""A conformance.json of an older version: it has what a comparison needs, and no more."""


def changed(*, requirements=None, environment=None, **changes):
    """The run on another day, with these members in place of its own; requirements by id."""
    document = copy.deepcopy(RUN) | {"started": "2026-11-22T09:00:00Z"} | changes
    document["environment"] |= environment or {}
    for entry in document["requirements"]:
        entry.update((requirements or {}).get(entry["id"], {}))
    return document


def compare(now, was=RUN):
    """The comparison of two documents."""
    return compared(run_to_compare(was), run_to_compare(now))


def lists(comparison):
    """The lists of requirements that are not empty."""
    return {name: comparison[name] for name in WORDS if comparison[name]}


@pytest.mark.parametrize(("was", "now"), [*itertools.product(STANDINGS, repeat=2)], ids=lambda standing: standing.name)
def test_a_requirement_that_stands_elsewhere_is_in_one_list(was, now):
    """And one that stands where it stood is in none."""
    before = changed(requirements={ROW: STANDINGS[was]}, started=RUN["started"])
    found = compare(changed(requirements={ROW: STANDINGS[now]}), before)

    assert lists(found) == ({} if was == now else {CHANGES[was, now]: [ROW]})


def test_a_failure_that_is_not_seen_any_more_is_fixed_only_where_it_was_tested():
    """A requirement that was not exercised may still be broken; one that warns is no longer as it was, and not fixed."""
    failing = changed(requirements={ROW: {"verdict": "fail"}})

    assert compare(RUN, failing)["fixed"] == [ROW]
    assert all(
        compare(changed(requirements={ROW: {"verdict": verdict}}), failing)["fixed"] == []
        for verdict in ("warn", "not-exercised", "out-of-scope", "untestable", "fail")
    )


@pytest.mark.parametrize("known", [{}, {"known_failure": "masked from 2.4 on"}], ids=["failing", "known"])
def test_ids_of_one_run_alone_are_neither_fixed_nor_failing(known):
    """Suites of two versions have different requirements."""
    gone = {"id": "executePix.gone", "level": "documented", "verdict": "fail", **known}
    found = compare(RUN, RUN | {"requirements": [*RUN["requirements"], gone]})
    mirrored = compare(RUN | {"requirements": [*RUN["requirements"], gone]})

    assert (lists(found), found["worse"]) == ({"only_before": ["executePix.gone"]}, False)
    assert (lists(mirrored), mirrored["worse"]) == ({"only_now": ["executePix.gone"]}, False)


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


def test_the_profile_names_the_failing_levels():
    """Those of the later run count."""
    lost = changed(requirements={OTHER: {"verdict": "not-exercised"}}, environment={"fail_on": ["implied"]})

    assert compare(lost)["worse"]
    assert not compare(changed(environment={"fail_on": ["implied"]}))["worse"]


def test_a_failure_that_is_or_was_known_is_not_worse():
    """The service did what it did before, or what the profile expects."""
    known = changed(requirements={ROW: STANDINGS[Standing.KNOWN]})
    failing = changed(requirements={ROW: STANDINGS[Standing.FAILS]})

    assert [compare(known)["worse"], compare(failing, known)["worse"]] == [False, False]


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        ({"environment": {"name": "production"}}, ["environment"]),
        ({"environment": {"base_url": "https://prod.example.test"}}, ["origin"]),
        ({"environment": {"embedded": True}}, ["origin"]),
        ({"selection": "-k executePix"}, ["selection"]),
        ({"environment": {"allow": ["read"]}}, ["permissions"]),
        ({"provenance": {"ledger_sha256": "0" * 64}}, ["ledger"]),
        ({}, []),
        ({"environment": {"allow": ["execute", "read"]}}, []),
    ],
    ids=str,
)
def test_comparable_runs_have_the_same_environment_origin_selection_permissions_and_ledger(change, differs):
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


@pytest.mark.parametrize(
    ("was", "since"),
    [
        ("2026-11-20T10:00:00Z", "since 20 Nov"),
        ("2025-11-22T10:00:00Z", "since 22 Nov 2025"),
        ("2026-11-22T08:05:00Z", "since 08:05 UTC"),
    ],
)
def test_the_line_says_since_when(was, since):
    """The day, the time on the same day, and the year where it is another one."""
    assert str(compare(changed(), changed(started=was))["line"]) == f"{since}: no change"


def test_the_line_counts_what_changed():
    """In the order of importance, with words that need no explanation."""
    before = changed(requirements={OTHER: {"verdict": "fail"}}, started=RUN["started"])
    seen = {"executePix.unknownCode": {"": {"": ["410 text/html"]}}}
    now = changed(requirements={ROW: {"verdict": "fail"}}, observed=seen)
    other_place = changed(environment={"name": "production", "base_url": "https://prod.example.test"})

    assert str(compare(now, before)["line"]) == "since 20 Nov: 1 newly failing, 1 fixed, 1 observation differs"
    assert str(compare(changed(observed=seen))["line"]) == "since 20 Nov: no verdict changed, 1 observation differs"
    assert (
        str(compare(other_place)["line"]) == "compared with staging, 20 Nov (other environment and origin): no change"
    )


def test_observations_in_words_are_not_compared():
    """A file of another version has no others: the reader drops what is in another form."""
    before = {name: value for name, value in RUN.items() if name != "observed"}

    assert str(compare(changed(), before)["line"]) == "since 20 Nov: no change"


def test_an_observation_of_one_run_alone_does_not_differ():
    """Its requirement is newly or no longer exercised, or only in one of the two."""
    without = changed(observed={})

    assert compare(without)["observations"] == compare(RUN, without)["observations"] == []


def test_latency_is_side_by_side():
    """The median of the answers, by documented operation; nothing is judged."""
    slower = [{"operation": "executePix", "result": 200, "elapsed_ms": 5000}]
    other = [{"operation": "getBalance", "result": 200, "elapsed_ms": 7}]
    found = compare(changed(exchanges=slower + other))

    assert found["latency"] == {
        "executePix": {"was_ms": 10.0, "is_ms": 5000},
        "getBalance": {"was_ms": None, "is_ms": 7},
    }
    assert (str(found["line"]), found["worse"]) == ("since 20 Nov: no change", False)


def test_text_names_what_changed():
    """With the statement of each requirement, both runs, and what the exit status says."""
    seen = {"executePix.unknownCode": {"": {"": ["410 text/html"]}}}
    found = list(text(compare(changed(requirements={ROW: {"verdict": "fail"}}, observed=seen))))

    assert found == [
        "since 20 Nov: 1 newly failing, 1 observation differs",
        "  was: staging, 2026-11-20 10:00:00 UTC, conformant (suite 0.1.0)",
        "  is:  staging, 2026-11-22 09:00:00 UTC, conformant (suite 0.1.0)",
        "newly failing:",
        f"  {ROW}: The tax document of the counterparty is partly masked.",
        "observed differently:",
        "  executePix.unknownCode",
        "    was: 404 application/json",
        "    is:  410 text/html",
        "median latency in ms         was        is",
        "  executePix                10.0      10.0",
        "something got worse",
    ]


def test_markdown_holds_no_text_of_the_service():
    """A summary of a public pipeline is public: ids, counts and sentences of ours; what has a meaning is escaped."""
    name = "<b>*staging*</b> [x](javascript:1) `y` | z"
    was = changed(environment={"name": name, "base_url": "https://secret.example.test"}, started=RUN["started"])
    seen = {"executePix.unknownCode": {"": {"": ["410 text of the service"]}}}
    found = "\n".join(markdown(compare(changed(requirements={ROW: {"verdict": "fail"}}, observed=seen), was)))

    assert "text of the service" not in found
    assert "example.test" not in found
    assert "&lt;b&gt;\\*staging\\*&lt;/b&gt; \\[x\\](javascript:1) \\`y\\` \\| z" in found
    assert f"Newly failing: 1\n\n- `{ROW}`: The tax document of the counterparty is partly masked." in found
    assert found.endswith("\n\nsomething got worse")
