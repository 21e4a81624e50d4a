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
    """The number of requirements of a level that hold, or that are observed, and of those that no exchange can show."""
    of_level = [requirement for requirement in requirements().values() if requirement.level == level]
    untestable = sum(bool(requirement.untestable) for requirement in of_level)
    verdict = "observed" if level == "not-shown" else "pass"
    counts = [f"{len(of_level) - untestable} {verdict}", f"{untestable} untestable"]
    return f"  {level:<12} {', '.join(counts if untestable else counts[:1])}"


def sample() -> str:
    """The summary; address and folder, which change, are those of an example."""
    with tempfile.TemporaryDirectory() as folder:
        ended = run_with_files(Path(folder), ShowsTheTaxDocument, "-q", "-k", "executePix.document")
    output = ended.output.replace(ended.run.base_url, ADDRESS).replace(str(ended.folder), REPORT)
    output = output.replace(f"{folder}/staging.yaml", "staging")
    return output.partition("\n---")[0].strip() + "\n"


def about(line: str) -> str:
    """What a line of the summary says of a run."""
    return next((what for what, begins in LINES.items() if line.startswith(begins)), "another line")


def changes(in_readme: str, now: str) -> list[str]:
    """What became different in a run since README.md was written: what it is about, and both lines."""
    old, new = in_readme.splitlines(), now.splitlines()
    found = []
    for _, first, after, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for was, line in zip_longest(old[first:after], new[start:end]):
            if was != line:
                found.append(f"{about(line or was or '')}: README.md has {was!r}, a run says {line!r}")
    return found


if __name__ == "__main__":
    good, failing = good_run(), sample()
    text = GOOD_IN_README.sub(lambda _: good, README.read_text("utf-8"), count=1)
    README.write_text(IN_README.sub(lambda _: failing, text, count=1), "utf-8")
