"""The examples of CONTRIBUTING.md work: a contributor who follows them adds a field, a rule and an endpoint.

The examples are blocks of code. The first line of a block is a comment that says into which file it goes, and where.
"""

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
"""A block of code in CONTRIBUTING.md: its indentation, the file, how and where it is inserted, and its text."""
UNTRANSLATED = re.compile(r'(msgid ((?:".*"\n)+)msgstr) ""\n(?!")')
"""An entry of a catalogue of texts whose translation is empty."""
ENTRY_OF_LIST_ACCOUNTS = re.compile(r"(?m)^- id: listAccounts\.(?:.*\n(?!- id:))*.*\n")
RENAMED_FOR_LIMITS = (
    ("listAccounts", "listLimits"),
    ("account list", "limit list"),
    ("lists accounts", "lists limits"),
    ("/v1/accounts", "/v1/limits"),
)
"""What is replaced in a requirement of listAccounts to make one of the new endpoint, listLimits."""
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
"""The tests of these files that are about the examples, for -k."""


def blocks():
    """The blocks of code in CONTRIBUTING.md. Each has four parts:

    - the path of the file into which it is inserted
    - how it is inserted, such as "above" or "in place of"
    - the line of the file above or in place of which it is inserted; empty for a new file
    - its text, without the indentation that the block has in the page
    """
    for indentation, path, how, line, text in BLOCK.findall((ROOT / "CONTRIBUTING.md").read_text("utf-8")):
        yield path, how, line, re.sub(f"(?m)^{indentation}", "", text)


def with_block(before, how, line, text):
    """The text of a file (`before`) with a block of code inserted, or as it is if the block is there already.

    `how` says how it is inserted at the line: "above", "two lines below", "in place of", or "a new file".
    """
    if text.strip() in before:
        return before
    if how == "in place of":
        new_lines = text.rstrip()
    elif how == "two lines below":
        new_lines = f"{line}\n\n\n{text.rstrip()}"
    else:  # above the line; in a new file the line and the text before are empty
        new_lines = text + line
    return before.replace(line, new_lines, 1)


def test_each_block_has_its_place():
    """Each block of code in CONTRIBUTING.md can be inserted where the page says: the line that it names exists in the
    file.

    The line may also come from an earlier block of the page.
    """
    text_by_path, without_a_place = {}, []
    for path, how, line, text in blocks():
        if path not in text_by_path:
            is_new_file = line == ""
            text_by_path[path] = "" if is_new_file else (ROOT / path).read_text("utf-8")
        if line not in text_by_path[path]:
            without_a_place.append(f"{path} has no {line}")
        text_by_path[path] = with_block(text_by_path[path], how, line, text)

    number_of_files = len(text_by_path)
    assert without_a_place == []
    assert number_of_files > 5


def with_copy_for_limits(match):
    """The entry of a requirement of listAccounts, and below it the same entry for the new endpoint, listLimits.

    `match` is the match of a regular expression that found the entry in requirements.yaml.
    """
    entry = match[0]
    copy_for_limits = entry
    for old, new in RENAMED_FOR_LIMITS:
        copy_for_limits = copy_for_limits.replace(old, new)
    return entry + copy_for_limits


def insert_all_blocks(folder):
    """Insert each block of CONTRIBUTING.md into its file in this copy of the project."""
    for path, how, line, text in blocks():
        file = folder / path
        before = file.read_text("utf-8") if file.exists() else ""
        file.write_text(with_block(before, how, line, text), "utf-8")


def copy_requirements_of_list_accounts(requirements):
    """Copy the requirements of listAccounts for the new endpoint listLimits, in the file `requirements`.

    CONTRIBUTING.md asks for the copies in words, and has no block of code for them. Nothing is done if the copies are
    in the file already.
    """
    entries = requirements.read_text("utf-8")
    if "listLimits" not in entries:
        requirements.write_text(ENTRY_OF_LIST_ACCOUNTS.sub(with_copy_for_limits, entries), "utf-8")


def translate_new_texts(catalogue):
    """Give each text without a translation its own text with "pt: " before it as translation, in this catalogue file.

    A contributor would write a real translation there.
    """
    catalogue.write_text(UNTRANSLATED.sub(r'\1 "pt: "\n\2', catalogue.read_text("utf-8")), "utf-8")


@pytest.mark.slow
@pytest.mark.skipif(os.environ.get("PIX_PROOF") != "exhaustive", reason="make proof runs it")
def test_the_worked_examples_can_be_followed(tmp_path):
    """If a contributor follows the examples of CONTRIBUTING.md in a copy of the project, its tests pass.

    The examples add a field, a rule and an endpoint. The selected self-tests include the proof, which tries a faulty
    service for each new requirement.
    """
    folder = tmp_path / "copy"
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(".git", ".venv", ".*cache", "runs", "*.pyc.*"))
    (folder / ".venv").symlink_to(sys.prefix)

    def call(*command, **variables):
        """What a command prints that is run in the copy with these variables. It must end with exit status 0."""
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
