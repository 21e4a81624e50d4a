"""Writes requirements.txt: what a run needs, in the versions of constraints.txt, with the hash of each wheel.

`python .ci/lock.py` in the virtual environment. pip looks each wheel up, for every version of Python and every platform
that the head of the file names. The file names no address of an index.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLATFORMS = (
    ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"),
    ("manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"),
    ("macosx_11_0_arm64", "macosx_14_0_arm64", "macosx_10_12_universal2"),
)
HEAD = """\
# What a run needs, as wheels, with their hashes: for CPython {versions}, Linux (x86-64, aarch64) and macOS (arm64).
# `python .ci/lock.py` writes this file from pyproject.toml and constraints.txt. To install it:
# pip install --require-hashes --only-binary=:all: --requirement requirements.txt
"""


def wheels(version: str, platforms: tuple[str, ...], wanted: list[str]) -> Iterator[tuple[str, str]]:
    """Each package with its version, such as `babel==2.18.0`, and the hash of the wheel that pip would install."""
    command = [
        sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--target=.",
        "--report=-", f"--python-version={version}", "--implementation=cp",
        *(f"--platform={name}" for name in platforms), "--only-binary=:all:",
        f"--constraint={ROOT / 'constraints.txt'}", *wanted,
    ]  # fmt: skip
    for each in json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)["install"]:
        name = re.sub(r"[-_.]+", "-", each["metadata"]["name"]).lower()
        yield f"{name}=={each['metadata']['version']}", each["download_info"]["archive_info"]["hashes"]["sha256"]


def main() -> None:
    """Write the file."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    hashes = defaultdict[str, set[str]](set)
    for version in versions:
        for platforms in PLATFORMS:
            for pin, digest in wheels(version, platforms, project["dependencies"]):
                hashes[pin].add(digest)
    lines = [
        " \\\n    ".join([pin, *(f"--hash=sha256:{one}" for one in sorted(hashes[pin]))]) for pin in sorted(hashes)
    ]
    (ROOT / "requirements.txt").write_text(
        HEAD.format(versions=f"{versions[0]} to {versions[-1]}") + "\n".join(lines) + "\n", "utf-8"
    )


if __name__ == "__main__":
    main()
