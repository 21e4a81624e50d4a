"""What CONTRIBUTING.md adds by way of example, a field, a rule and an endpoint, is added as it stands there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(
    r'(?ms)^( *)```\w+\n *# (\S+), (above|two lines below|in place of|a new file)(?: "([^\n]*)")?\n(.*?)^ *```'
)
UNTRANSLATED = re.compile(r'(msgid ((?:".*"\n)+)msgstr) ""\n(?!")')
ENTRY_OF_LIST_ACCOUNTS = re.compile(r"(?m)^- id: listAccounts\.(?:.*\n(?!- id:))*.*\n")
RENAMED_FOR_LIMITS = (
    ("listAccounts", "listLimits"),
    ("account list", "limit list"),
    ("lists accounts", "lists limits"),
    ("/v1/accounts", "/v1/limits"),
)
TESTS_OF_THE_EXAMPLES = (
    "spec/test_requirements.py",
    "spec/test_rules.py",
    "reports/outputs/page/test_rendering_exchanges.py",
    "environments/test_sandbox.py",
    "reports/sentences/test_explanation.py",
    "reports/sentences/test_language.py",
    "test_documentation.py",
    "promises/test_preflight.py",
    "proof/test_proof.py",
)
SELECTION_OF_EXAMPLES = (
    "(ExecutionFee or ListLimits or listLimits or catalogue or an_entry or refused_everywhere or told_apart "
    "or (requirement or rule) and not test_proof) "
    "and not a_replay_gives and not a_run_shows"
)


def blocks():
    """The blocks of CONTRIBUTING.md: the file, how and where the block is inserted, and its text without
    indentation.
    """
    for indentation, *place, text in BLOCK.findall((ROOT / "CONTRIBUTING.md").read_text("utf-8")):
        yield *place, re.sub(f"(?m)^{indentation}", "", text)


def with_block(before, how, anchor, text):
    """The text of a file with the block inserted at its place, or as it is if the block is there already."""
    if text.strip() in before:
        return before
    block = {"in place of": text.rstrip(), "two lines below": f"{anchor}\n\n\n{text.rstrip()}"}
    return before.replace(anchor, block.get(how, text + anchor), 1)


def test_each_block_has_its_place():
    """Each block of code in CONTRIBUTING.md can be inserted where the page says: the line that it names exists in the
    file.

    The line may also come from an earlier block of the page.
    """
    texts, without_a_place = {}, []
    for path, how, anchor, text in blocks():
        if path not in texts:
            texts[path] = (ROOT / path).read_text("utf-8") if anchor else ""
        if anchor not in texts[path]:
            without_a_place.append(f"{path} has no {anchor}")
        texts[path] = with_block(texts[path], how, anchor, text)

    number_of_files = len(texts)
    assert without_a_place == []
    assert number_of_files > 5


def with_copy_for_limits(entry):
    """A requirement of listAccounts, and the same one of listLimits below it."""
    copied = entry[0]
    for old, new in RENAMED_FOR_LIMITS:
        copied = copied.replace(old, new)
    return entry[0] + copied


def insert_all_blocks(folder):
    """Insert each block of CONTRIBUTING.md into its file in this copy of the project."""
    for path, *place, text in blocks():
        before = (folder / path).read_text("utf-8") if (folder / path).exists() else ""
        (folder / path).write_text(with_block(before, *place, text), "utf-8")


def copy_requirements_of_list_accounts(requirements):
    """Copy the requirements of listAccounts for the new endpoint, as the page asks in words. There is no block for it.

    Nothing is done if the copies are in the file already.
    """
    entries = requirements.read_text("utf-8")
    if "listLimits" not in entries:
        requirements.write_text(ENTRY_OF_LIST_ACCOUNTS.sub(with_copy_for_limits, entries), "utf-8")


def translate_new_texts(catalogue):
    """Give each text of the catalogue that has no translation the translation "pt: ", as a contributor would do."""
    catalogue.write_text(UNTRANSLATED.sub(r'\1 "pt: "\n\2', catalogue.read_text("utf-8")), "utf-8")


@pytest.mark.slow
@pytest.mark.skipif(os.environ.get("PIX_PROOF") != "exhaustive", reason="make proof runs it")
def test_the_worked_examples_can_be_followed(tmp_path):
    """Whoever follows the examples of CONTRIBUTING.md in a copy of the project gets a project whose tests pass.

    The examples add a field, a rule and an endpoint. The selected self-tests include the proof, which tries a faulty
    service for each new requirement.
    """
    folder = tmp_path / "copy"
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(".git", ".venv", ".*cache", "runs", "*.pyc.*"))
    (folder / ".venv").symlink_to(sys.prefix)

    def call(*command, **variables):
        process = subprocess.run(
            command, cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True, check=False
        )
        assert process.returncode == 0, process.stdout[-5000:] + process.stderr
        return process.stdout

    insert_all_blocks(folder)
    copy_requirements_of_list_accounts(folder / "spec/requirements.yaml")
    (folder / "spec/requirements.md").write_text(call(sys.executable, "-m", "spec"), "utf-8")
    call("make", "--old-file=.venv/ready", "messages")  # --old-file: nothing is installed
    translate_new_texts(folder / "reports/locale/pt_BR/LC_MESSAGES/report.po")

    for check in (("ruff", "check", "."), ("ruff", "format", "--check", "."), ("mypy", "spec")):
        call(sys.executable, "-m", *check)
    pytest_ = (sys.executable, "-m", "pytest", "-q")
    run = call(*pytest_, "--no-report", "-k", "executePix.fee or listLimits")
    call(
        *pytest_,
        *(f"tests/selftest/{name}" for name in TESTS_OF_THE_EXAMPLES),
        "-k",
        SELECTION_OF_EXAMPLES,
        PIX_PROOF="exhaustive",
    )

    # 4 requirements of the field fee (with notNegative, the example of a rule), and 4 of listLimits: it exists, and is robust
    assert "no failure, 8 of 8 requirements tested" in run
