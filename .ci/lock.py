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
    """Pairs of a package with its version, such as `babel==2.18.0`, and the hash of the wheel that pip would install.

    `version` is a version of Python. `platforms` are the names that one platform has in file names of wheels, such as
    `manylinux_2_17_x86_64` and `manylinux2014_x86_64`. `wanted` are the requirements of the project. Nothing is
    installed, because of --dry-run. pip demands --target if a --platform is given.
    """
    command = [
        sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--target=.",
        "--report=-", f"--python-version={version}", "--implementation=cp",
        *(f"--platform={name}" for name in platforms), "--only-binary=:all:",
        f"--constraint={ROOT / 'constraints.txt'}", *wanted,
    ]  # fmt: skip
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    for package in report["install"]:
        metadata = package["metadata"]
        name = re.sub(r"[-_.]+", "-", metadata["name"]).lower()  # the usual spelling of names (PEP 503)
        yield f"{name}=={metadata['version']}", package["download_info"]["archive_info"]["hashes"]["sha256"]


def main() -> None:
    """Write requirements.txt: every package with its version, and the hashes of its wheels.

    pip looks the wheels up for every version of Python that pyproject.toml names, and for every platform.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    hashes = defaultdict[str, set[str]](set)  # by package with its version, such as `babel==2.18.0`
    for version in versions:
        for platforms in PLATFORMS:
            for pin, digest in wheels(version, platforms, project["dependencies"]):
                hashes[pin].add(digest)
    entries = []
    for pin in sorted(hashes):
        options = [f"--hash=sha256:{digest}" for digest in sorted(hashes[pin])]
        entries.append(" \\\n    ".join([pin, *options]))  # one entry over several lines
    head = HEAD.format(versions=f"{versions[0]} to {versions[-1]}")
    (ROOT / "requirements.txt").write_text(head + "\n".join(entries) + "\n", "utf-8")


if __name__ == "__main__":
    main()
