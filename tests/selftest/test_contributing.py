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
MODEL = re.compile(r"(?m)^- id: listAccounts\.(?:.*\n(?!- id:))*.*\n")
OF_LIMITS = (
    ("listAccounts", "listLimits"),
    ("account list", "limit list"),
    ("lists accounts", "lists limits"),
    ("/v1/accounts", "/v1/limits"),
)
PROVED_BY = (
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
OF_THE_EXAMPLES = (
    "(ExecutionFee or ListLimits or listLimits or catalogue or an_entry or refused_everywhere or told_apart "
    "or (requirement or rule) and not test_proof) "
    "and not a_replay_is and not a_run_shows"
)


def add(folder, path, how, anchor, text):
    """Take a block into a file of the copy, at the place that its first line names, unless somebody followed it."""
    file = folder / path
    before = file.read_text("utf-8") if anchor else ""
    if anchor and text.strip() in before:
        return
    assert anchor in before, f"{path} has no {anchor}"
    block = {"in place of": text.rstrip(), "two lines below": f"{anchor}\n\n\n{text.rstrip()}"}
    file.write_text(before.replace(anchor, block.get(how, text + anchor), 1), "utf-8")


def of_limits(entry):
    """A requirement on listAccounts, and below it the same one on listLimits."""
    copied = entry[0]
    for old, new in OF_LIMITS:
        copied = copied.replace(old, new)
    return entry[0] + copied


@pytest.mark.slow
@pytest.mark.skipif(os.environ.get("PIX_PROOF") != "exhaustive", reason="make proof runs it")
def test_the_worked_examples_can_be_followed(tmp_path):
    """Their tests pass in a copy of the project, the proof of each new requirement included."""
    folder = tmp_path / "copy"
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(".git", ".venv", ".*cache", "runs", "*.pyc.*"))
    (folder / ".venv").symlink_to(sys.prefix)

    def call(*command, **variables):
        done = subprocess.run(
            command, cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout[-5000:] + done.stderr
        return done.stdout

    for indentation, *place, text in BLOCK.findall((ROOT / "CONTRIBUTING.md").read_text("utf-8")):
        add(folder, *place, re.sub(f"(?m)^{indentation}", "", text))
    requirements = folder / "spec/requirements.yaml"
    if "listLimits" not in (entries := requirements.read_text("utf-8")):
        requirements.write_text(MODEL.sub(of_limits, entries), "utf-8")
    (folder / "spec/requirements.md").write_text(call(sys.executable, "-m", "spec"), "utf-8")
    call("make", "--old-file=.venv/ready", "messages")
    catalogue = folder / "reports/locale/pt_BR/LC_MESSAGES/report.po"
    catalogue.write_text(UNTRANSLATED.sub(r'\1 "pt: "\n\2', catalogue.read_text("utf-8")), "utf-8")

    for check in (("ruff", "check", "."), ("ruff", "format", "--check", "."), ("mypy", "spec")):
        call(sys.executable, "-m", *check)
    pytest_ = (sys.executable, "-m", "pytest", "-q")
    run = call(*pytest_, "--no-report", "-k", "executePix.fee or listLimits")
    call(
        *pytest_,
        *(f"tests/selftest/{name}" for name in PROVED_BY),
        "-k",
        OF_THE_EXAMPLES,
        PIX_PROOF="exhaustive",
    )

    assert "no failure, 8 of 8 requirements tested" in run
