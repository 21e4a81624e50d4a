"""Which self-tests are about a module of the product.

`spec/facts.py` is tested by `tests/selftest/spec/test_facts.py`, and by files beside it whose name goes on, such as
`test_facts_of_lists.py`. Three tables name the self-tests of all other modules. The docstring of each such module ends
with the same names: "Self-tests: promises/test_money.py.", as paths below tests/selftest. test_house.py compares both.

This module imports nothing of ours, because the mutation tester reads it from another Python.
"""

import ast
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SELFTESTS = Path("tests/selftest")
PRODUCT = ("spec", "environments", "reports", "tests/harness", "tests/traffic", "tests/conformance")
NOT_MIRRORED = ("promises", "proof")
"""Folders of self-tests about whole runs, and about services of the proof."""

WITH_A_NEIGHBOUR: Mapping[str, str] = {
    "environments/commands/suggestions.py": "environments/commands/test_check.py",
    "environments/door/client.py": "environments/door/test_door.py",
    "environments/door/limits.py": "environments/door/test_run_end.py",
    "environments/door/liveness.py": "environments/door/test_backoff.py",
    "environments/door/outgoing.py": "environments/door/test_door.py",
    "environments/profiles/addresses.py": "environments/profiles/test_loading.py",
    "environments/profiles/model.py": "environments/profiles/test_loading.py",
    "environments/profiles/parts.py": "environments/profiles/test_loading.py",
    "environments/sandbox/double_entry.py": "environments/test_sandbox.py",
    "environments/sandbox/server.py": "environments/test_sandbox.py",
    "environments/sandbox/service.py": "environments/test_sandbox.py",
    "reports/result/document.py": "reports/outputs/test_conformance_json.py",
    "reports/result/json_schemas.py": "reports/outputs/test_conformance_json.py",
    "reports/result/published.py": "reports/outputs/test_conformance_json.py",
    "reports/result/run_verdict.py": "reports/result/test_verdicts.py",
    "reports/outputs/page/figures.py": "reports/outputs/page/test_rendering.py",
    "reports/recorded/content.py": "reports/recorded/test_entry.py",
    "reports/recorded/har.py": "reports/recorded/test_entry.py",
    "spec/rules/results.py": "spec/test_rules.py",
    "spec/rules/success.py": "spec/test_rules.py",
    "tests/harness/watching.py": "harness/test_judging.py",
    "tests/traffic/observed_values.py": "traffic/test_observations.py",
    "tests/traffic/keys/purposes.py": "traffic/keys/test_listed.py",
}
"""Modules that do one thing together with another one, and the self-test of both."""

BY_WHOLE_RUNS: Mapping[str, tuple[str, ...]] = {
    "environments/door/guard.py": ("promises/test_money.py", "environments/door/test_journal.py"),
    "environments/door/key_changes.py": ("promises/test_keys_of_others.py",),
    "environments/door/preflight.py": ("promises/test_preflight.py",),
    "environments/door/prepared.py": ("promises/test_transfers.py",),
    "environments/door/opening.py": ("promises/test_promises.py", "environments/door/test_journal.py"),
    "reports/result/run.py": ("reports/result/test_verdicts.py", "reports/sentences/test_headline.py"),
    "reports/outputs/terminal.py": ("reports/result/test_causes.py", "promises/test_command_line.py"),
    "spec/rules/reproduction.py": ("promises/test_passing_trouble.py", "traffic/test_judgements.py"),
    "tests/conformance/conftest.py": ("harness/test_selection.py",),
    "tests/conformance/test_deletion.py": ("promises/test_keys.py",),
    "tests/conformance/test_execution.py": ("promises/test_money.py",),
    "tests/conformance/test_existence.py": ("promises/test_passing_trouble.py",),
    "tests/conformance/test_observations.py": ("traffic/test_observations.py",),
    "tests/conformance/test_robustness.py": ("promises/test_unseen_off_a_sandbox.py",),
    "tests/conformance/test_stateful.py": ("promises/test_generated_traffic.py",),
    "tests/harness/finishing.py": ("promises/test_preflight.py", "promises/test_reproducing.py"),
    "tests/harness/pen.py": ("promises/test_canary.py",),
    "tests/harness/reporter.py": ("promises/test_exit_status.py",),
    "tests/harness/session.py": ("promises/test_stopped_runs.py",),
    "tests/harness/starting.py": ("promises/test_command_line.py", "promises/test_preflight.py"),
    "tests/traffic/case.py": ("promises/test_transfers.py",),
    "tests/traffic/collecting.py": ("promises/test_generated_traffic.py",),
    "tests/traffic/enough.py": ("reports/sentences/test_plan.py",),
    "tests/traffic/invalid.py": ("promises/test_transfers.py",),
    "tests/traffic/keys/refused_types.py": ("traffic/keys/test_listed.py", "promises/test_keys.py"),
    "tests/traffic/keys/registration.py": ("promises/test_keys.py",),
    "tests/traffic/money/twice.py": ("promises/test_transfers.py",),
    "tests/traffic/neighbours.py": ("traffic/test_at_times.py", "reports/sentences/test_plan.py"),
    "tests/traffic/phases.py": ("harness/test_selection.py", "promises/test_stopped_runs.py"),
    "tests/traffic/planning.py": ("reports/sentences/test_plan.py", "reports/sentences/test_explanation.py"),
    "tests/traffic/refused_credentials.py": ("promises/test_open_token_checks.py",),
    "tests/traffic/robustness.py": ("promises/test_unseen_off_a_sandbox.py",),
    "tests/traffic/scenario.py": ("reports/sentences/test_plan.py",),
    "tests/traffic/undescribed.py": ("traffic/test_observations.py",),
}
"""Modules that only a whole run can test, and the self-tests with such runs. If a pure function of such a module gets a
test, that test stands in a file of its own, and the module is deleted here."""

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "environments/__main__.py": (
        "environments/test_command_line.py",
        "environments/commands/test_check.py",
        "environments/commands/test_cleanup.py",
        "environments/commands/test_journal.py",
        "environments/commands/test_new.py",
    ),
    "environments/sandbox/__main__.py": ("environments/test_command_line.py", "environments/test_sandbox.py"),
    "reports/__main__.py": (
        "environments/test_command_line.py",
        "reports/observed/test_comparison.py",
        "reports/recorded/test_reading.py",
    ),
    "spec/__main__.py": ("test_documentation.py",),
}
"""The `__main__.py` files, and the self-tests that call their commands."""


@cache
def modules() -> list[str]:
    """The modules of the product, as paths from the root: every Python file except for `__init__.py`."""
    paths = []
    for product_folder in PRODUCT:
        # os.walk does not fail if a folder vanishes meanwhile, such as a folder that a run makes in reports/runs.
        for folder, _, files in os.walk(ROOT / product_folder):
            python_files = [Path(folder, file) for file in files if file.endswith(".py") and file != "__init__.py"]
            paths += [file.relative_to(ROOT).as_posix() for file in python_files]
    return sorted(paths)


def own_test(module: str) -> Path:
    """The path from the root that the self-test of a module has, or would have if there was one.

    For example tests/selftest/spec/test_log.py for "spec/log.py".
    """
    path = Path(module.removeprefix("tests/"))
    return SELFTESTS / path.parent / f"test_{path.stem.removeprefix('test_')}.py"


def tests_in_tables(module: str) -> tuple[str, ...]:
    """The self-tests that a table names for a module, as paths below tests/selftest. Empty if no table has the module."""
    if module in WITH_A_NEIGHBOUR:
        return (WITH_A_NEIGHBOUR[module],)
    return BY_WHOLE_RUNS.get(module) or COMMANDS.get(module, ())


def tests_of(module: str) -> list[Path]:
    """The self-tests of a module as paths from the root: its own and those whose names go on, or those of a table.

    For `rendering.py` these are test_rendering.py and also test_rendering_exchanges.py, unless there is a module
    `rendering_exchanges.py`. The tables are for modules without a self-test of their own.
    """
    own = own_test(module)
    if not (ROOT / own).exists():
        return [SELFTESTS / test for test in tests_in_tables(module)]

    tests_of_folder = {own_test(other).stem for other in modules() if own_test(other).parent == own.parent}
    tests = [own]
    for path in sorted((ROOT / own).parent.glob(f"{own.stem}_*.py")):
        if not _is_about_another_module(path.stem, tests_of_folder, own.stem):
            tests.append(path.relative_to(ROOT))
    return tests


def _is_about_another_module(name: str, tests_of_folder: set[str], own_name: str) -> bool:
    """True if a self-test belongs to another module, although its name begins with `own_name`.

    For example test_rendering_exchanges, if `tests_of_folder` has a test of that name or test_rendering_exch. All names
    are without ".py". `tests_of_folder` are the own tests of all modules of the folder.
    """
    for other_name in tests_of_folder:
        is_longer = len(other_name) > len(own_name)
        if is_longer and f"{name}_".startswith(f"{other_name}_"):
            return True
    return False


def self_tests_line(module: str) -> str:
    """The last paragraph that the docstring of a module must have, if a table names its self-tests.

    For example "Self-tests: promises/test_money.py."
    """
    return f"Self-tests: {', '.join(tests_in_tables(module))}."


def last_paragraph(module: str) -> str:
    """The last paragraph of the docstring of a module, on one line.

    It names the self-tests of the module if their place does not: "Self-tests: promises/test_money.py."
    """
    source = (ROOT / module).read_text("utf-8")
    docstring = ast.get_docstring(ast.parse(source)) or ""
    paragraph = docstring.split("\n\n")[-1]
    return " ".join(paragraph.split())
