"""Where reports go: a folder for each run, files that only their owner reads, their digests, and `latest`."""

from __future__ import annotations

import hashlib
import os
import secrets
from datetime import datetime
from pathlib import Path

RUNS = Path(__file__).parent / "runs"


def run_folder(environment: str, started: datetime) -> Path:
    """A new folder name for a run: reports/runs/<environment>/<UTC start time>-<suffix>."""
    return RUNS / environment / f"{started:%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"


def make_folder(folder: Path) -> None:
    """Make the folder and prove that it can be written. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    trial = folder / f".write-{secrets.token_hex(4)}"
    trial.touch(mode=0o600)
    trial.unlink()


def make_writable(folder: Path) -> Path | None:
    """Make the folder where it is missing, and give it; None where it cannot be written."""
    try:
        make_folder(folder)
    except OSError:
        return None
    return folder


def write(path: Path, text: str) -> None:
    """Write a whole file at once, readable by its owner alone. Raises OSError."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def digest(path: Path) -> str:
    """The SHA-256 of a file. Raises OSError."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def point_latest(folder: Path) -> None:
    """Let `latest` beside the folder lead to it. Raises OSError."""
    link = folder.with_name("latest")
    temporary = folder.with_name(f".latest-{secrets.token_hex(4)}")
    temporary.symlink_to(folder.name, target_is_directory=True)
    temporary.replace(link)
