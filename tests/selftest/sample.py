"""README's sample output, of a good run and of one against a service with one fault: `python -m tests.selftest.sample`
writes both."""

import re
import tempfile
from difflib import SequenceMatcher
from itertools import zip_longest
from pathlib import Path

from environments.sandbox import Service
from spec.requirements import LEVELS, requirements
from tests.selftest.shared_runs import run_with_files

FAILING = ("documented", "robustness")
"""Levels that fail a run by default."""
README = Path(__file__).parents[2] / "README.md"
IN_README = re.compile(r"(?<=```\n)NON-CONFORMANT.*?(?=```)", re.DOTALL)
GOOD_IN_README = re.compile(r"(?<=```\n)CONFORMANT.*?(?=```)", re.DOTALL)
ADDRESS, REPORT = "https://staging.example.test", "reports/runs/staging/latest"
LINES = {
    "the verdict, the permissions and the counts": "NON-CONFORMANT",
    "the target, the transfers and the requests": "staging at ",
    "which requirement fails, and how it is said": ("FAIL ", "     "),
    "which requirements are warned about": "WARN ",
    "how many requirements of a level were tested": "  ",
    "which files are written": "report: ",
    "what to do next": "next: ",
    "the exit status": "verdict: ",
}
"""What a line of the summary is about, by its begin. The first that fits counts."""


class ShowsTheTaxDocument(Service):
    """The tax document is not masked."""

    def execution_result(self, transfer):
        return {**super().execution_result(transfer), "document": "12345678909"}


def good_run() -> str:
    """The summary of a run against the sandbox in which every testable requirement holds. How many requests it sends
    differs from run to run."""
    failing = [requirement for requirement in requirements().values() if requirement.level in FAILING]
    testable = sum(not requirement.untestable for requirement in failing)
    lines = [
        f"CONFORMANT, everything permitted: no failure, {testable} of {testable} requirements tested",
        "sandbox at http://127.0.0.1:8080: 23 transfers executed, 1294 requests; generated with --seed=1",
        *map(_level_line, LEVELS),
        "report: reports/runs/sandbox/latest/report.html",
        "verdict: CONFORMANT, exit status 0",
    ]
    return "\n".join(lines) + "\n"


def _level_line(level: str) -> str:
    """The line of a summary about one level: "  documented   123 pass, 4 untestable"."""
    requirements_of_level = [requirement for requirement in requirements().values() if requirement.level == level]
    untestable = [requirement for requirement in requirements_of_level if requirement.untestable]
    verdict = "observed" if level == "not-shown" else "pass"
    counts = [f"{len(requirements_of_level) - len(untestable)} {verdict}"]
    if untestable:
        counts.append(f"{len(untestable)} untestable")
    return f"  {level:<12} {', '.join(counts)}"


def sample() -> str:
    """The summary of a run against a service with one fault. Its address and folder are replaced by examples."""
    with tempfile.TemporaryDirectory() as folder:
        result = run_with_files(Path(folder), ShowsTheTaxDocument, "-q", "-k", "executePix.document")
    output = result.output.replace(result.run.base_url, ADDRESS).replace(str(result.folder), REPORT)
    output = output.replace(f"{folder}/staging.yaml", "staging")
    return output.partition("\n---")[0].strip() + "\n"


def about(line: str) -> str:
    """The subject of a line of the summary, such as "the exit status"."""
    for subject, beginning in LINES.items():
        if line.startswith(beginning):
            return subject
    return "another line"


def changes(in_readme: str, now: str) -> list[str]:
    """The lines of a summary that differ from those in README.md, each with its subject and both versions."""
    old_lines, new_lines = in_readme.splitlines(), now.splitlines()
    differences = []
    matcher = SequenceMatcher(None, old_lines, new_lines, autojunk=False)
    for _, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        for old, new in zip_longest(old_lines[old_start:old_end], new_lines[new_start:new_end]):
            if old != new:
                differences.append(f"{about(new or old or '')}: README.md has {old!r}, a run says {new!r}")
    return differences


if __name__ == "__main__":
    good, failing = good_run(), sample()
    text = GOOD_IN_README.sub(lambda _: good, README.read_text("utf-8"), count=1)
    README.write_text(IN_README.sub(lambda _: failing, text, count=1), "utf-8")
