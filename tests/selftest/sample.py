"""The two outputs of runs that README.md shows: of a run without a failure, and of a service with one fault.

`python -m tests.selftest.sample` writes both into README.md. A self-test compares them with the output of today.
"""

import re
import tempfile
from difflib import SequenceMatcher
from itertools import zip_longest
from pathlib import Path

from environments.sandbox import Service
from spec.requirements import LEVELS, requirements
from tests.selftest.shared_runs import run_with_files

FAILING_LEVELS = ("documented", "robustness")
"""Levels of requirements at which a deviation fails a run by default."""
README = Path(__file__).parents[2] / "README.md"
IN_README = re.compile(r"(?<=```\n)NON-CONFORMANT.*?(?=```)", re.DOTALL)
"""The output of the run with a failure, in the text of README.md."""
GOOD_IN_README = re.compile(r"(?<=```\n)CONFORMANT.*?(?=```)", re.DOTALL)
"""The output of the run without a failure, in the text of README.md."""
ADDRESS = "https://staging.example.test"
"""The address that README.md shows in the place of the real one."""
REPORT = "reports/runs/staging/latest"
"""The folder of reports that README.md shows in the place of the real one."""
BEGINNINGS_BY_SUBJECT = {
    "the verdict, the permissions and the counts": "NON-CONFORMANT",
    "the target, the transfers and the requests": "staging at ",
    "which requirement fails, and how it is said": ("FAIL ", "     "),
    "which requirements are warned about": "WARN ",
    "how many requirements of a level were tested": "  ",
    "which files are written": "report: ",
    "what to do next": "next: ",
    "the exit status": "verdict: ",
}
"""By subject of a line of the summary, how such a line begins. The first subject that fits a line counts."""


class ShowsTheTaxDocument(Service):
    """The tax document is not masked."""

    def execution_result(self, transfer):
        """The execution result of the sandbox, with a whole tax document."""
        return {**super().execution_result(transfer), "document": "12345678909"}


def summary_of_good_run() -> str:
    """The summary that a run against the sandbox prints: no requirement fails, and each testable one is tested.

    It is put together here, without a run. The numbers of requirements are those of today. The numbers of transfers and
    requests are examples, because they differ from run to run.
    """
    at_failing_levels = [row for row in requirements().values() if row.level in FAILING_LEVELS]
    testable = len([requirement for requirement in at_failing_levels if not requirement.untestable])
    lines = [
        f"CONFORMANT, everything permitted: no failure, {testable} of {testable} requirements tested",
        "sandbox at http://127.0.0.1:8080: 23 transfers executed, 1294 requests; generated with --seed=1",
        *map(_level_line, LEVELS),
        "report: reports/runs/sandbox/latest/report.html",
        "verdict: CONFORMANT, exit status 0",
    ]
    return "\n".join(lines) + "\n"


def _level_line(level: str) -> str:
    """The line of a summary about the requirements at one level: "  documented   123 pass, 4 untestable"."""
    requirements_of_level = [requirement for requirement in requirements().values() if requirement.level == level]
    untestable = [requirement for requirement in requirements_of_level if requirement.untestable]
    number_of_tested = len(requirements_of_level) - len(untestable)
    verdict = "observed" if level == "not-shown" else "pass"
    counts = [f"{number_of_tested} {verdict}"]
    if untestable:
        counts.append(f"{len(untestable)} untestable")
    return f"  {level:<12} {', '.join(counts)}"


def summary_of_failing_run() -> str:
    """Run the suite against a service with one fault, and return the summary that it prints, without the table below it.

    Its address and its folder of reports are replaced by examples, because they differ from run to run.
    """
    with tempfile.TemporaryDirectory() as folder:
        result = run_with_files(Path(folder), ShowsTheTaxDocument, "-q", "-k", "executePix.document")
    output = result.output.replace(result.run.base_url, ADDRESS).replace(str(result.folder), REPORT)
    output = output.replace(f"{folder}/staging.yaml", "staging")
    return output.partition("\n---")[0].strip() + "\n"


def subject_of(line: str) -> str:
    """What a line of the summary is about: "the exit status" for "verdict: CONFORMANT, exit status 0"."""
    for subject, beginning in BEGINNINGS_BY_SUBJECT.items():
        if line.startswith(beginning):
            return subject
    return "another line"


def differences_from_readme(in_readme: str, now: str) -> list[str]:
    """The lines of a summary that differ between README.md and a run of today, each with its subject and both texts.

    For example "the exit status: README.md has 'verdict: …', a run says 'verdict: …'". None stands for a line that only
    one of both has.
    """
    old_lines, new_lines = in_readme.splitlines(), now.splitlines()
    differences = []
    matcher = SequenceMatcher(None, old_lines, new_lines, autojunk=False)
    for _, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        for old, new in zip_longest(old_lines[old_start:old_end], new_lines[new_start:new_end]):
            if old != new:
                subject = subject_of(new or old or "")
                differences.append(f"{subject}: README.md has {old!r}, a run says {new!r}")
    return differences


if __name__ == "__main__":
    good_summary = summary_of_good_run()
    failing_summary = summary_of_failing_run()
    # As functions, because a backslash in a text that replaces a match would have a meaning.
    text = GOOD_IN_README.sub(lambda _: good_summary, README.read_text("utf-8"), count=1)
    README.write_text(IN_README.sub(lambda _: failing_summary, text, count=1), "utf-8")
