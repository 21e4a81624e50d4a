"""README's sample output, how a run ends against a service with one fault: `python -m tests.selftest.sample` writes it."""

import re
import tempfile
from pathlib import Path

from environments.sandbox import Service
from tests.selftest.recorded_runs import record

README = Path(__file__).parents[2] / "README.md"
IN_README = re.compile(r"(?<=```\n)NON-CONFORMANT.*?(?=```)", re.DOTALL)
ADDRESS, REPORT = "https://staging.example.test", "reports/runs/staging/latest"
DIGEST = re.compile(r"(?<=SHA256SUMS\) = )[0-9a-f]{64}")


class ShowsTheTaxDocument(Service):
    """The tax document is not masked."""

    def execution_result(self, transfer):
        return {**super().execution_result(transfer), "document": "12345678909"}


def sample() -> str:
    """The summary; address, folder and digest, which change, are those of an example."""
    with tempfile.TemporaryDirectory() as folder:
        ended = record(Path(folder), ShowsTheTaxDocument, "-q", "-k", "executePix.document")
    output = ended.output.replace(ended.run.base_url, ADDRESS).replace(str(ended.folder), REPORT)
    output = output.replace(f"{folder}/staging.yaml", "staging")
    return DIGEST.sub("9f86d081…b0f00a08", output).partition("\n---")[0].strip() + "\n"


if __name__ == "__main__":
    output = sample()
    README.write_text(IN_README.sub(lambda _: output, README.read_text("utf-8"), count=1), "utf-8")
