"""Files of a run: each is made from its document, and a further format is one line of `OUTPUTS`. SHA256SUMS lists them.

Each run has a folder. Only their owner reads the files, and `latest` leads to the last folder.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from reports.outputs.conformance_json import FILE, as_json
from reports.outputs.junit import junit
from reports.result.document import RunDocument

RUNS = Path(__file__).parents[1] / "runs"
PAGE = "report.html"
"""Written by pytest-html, before the others."""
SUMS = "SHA256SUMS"
OUTPUTS: Mapping[str, Callable[[RunDocument], str]] = {
    FILE: as_json,
    "junit.xml": junit,
}
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def runs_folder(environment: str) -> Path:
    """The folder that has a folder for each run of an environment: reports/runs/<environment>."""
    return RUNS / environment


def run_folder(environment: str, started: datetime) -> Path:
    """A new folder name for a run: reports/runs/<environment>/<UTC start time>-<suffix>."""
    return runs_folder(environment) / f"{started:%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"


class UnsafeFolderError(Exception):
    """Reason why nothing is written to a folder, and a remedy, in one line."""


def make_folder(folder: Path) -> None:
    """Make the folder and prove that it can be written, by its owner alone. Raises OSError and UnsafeFolderError."""
    link = next(filter(Path.is_symlink, (folder, *folder.parents)), None)
    if link and link.parent != Path(link.anchor):  # such as /tmp of macOS
        raise UnsafeFolderError(f"{link} is a symbolic link; name the folder that it leads to")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if folder.stat().st_mode & _OTHERS_WRITE:
        raise UnsafeFolderError(f"{folder} can be written by others; chmod go-w it, or name another folder")
    trial = folder / f".write-{secrets.token_hex(4)}"
    trial.touch(mode=0o600)
    trial.unlink()


def remove_outputs(folder: Path) -> None:
    """Remove the files of an earlier run: a run that is killed leaves none that could be taken for its own."""
    for name in (SUMS, PAGE, *OUTPUTS):
        with suppress(OSError):  # a folder stands there: writing says so
            (folder / name).unlink()


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


def no_link(path: str, flags: int) -> int:
    """An `opener` of open() that follows no symbolic link. The file is its owner's alone."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def digest(path: Path) -> str:
    """The SHA-256 of a file. Raises OSError."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def point_latest(folder: Path) -> None:
    """Let `latest` beside the folder lead to it. Raises OSError."""
    link = folder.with_name("latest")
    temporary = folder.with_name(f".latest-{secrets.token_hex(4)}")
    temporary.symlink_to(folder.name, target_is_directory=True)
    temporary.replace(link)


def write_outputs(folder: Path, document: RunDocument) -> dict[str, str]:
    """Write every file. One that cannot be made or written is removed and does not take the others with it: gives why,
    by its name."""
    failed = {name: _write(folder / name, make, document) for name, make in OUTPUTS.items()}
    return {name: why for name, why in failed.items() if why}


def _write(path: Path, make: Callable[[RunDocument], str], document: RunDocument) -> str:
    try:
        write(path, make(document))
    except Exception as error:  # a fault of the suite in one format is no reason to lose the report of a run
        with suppress(OSError):
            path.unlink()  # that of an earlier run
        return reason(error)
    return ""


def reason(error: Exception) -> str:
    """Reason why a file is not there: the words of the system, or the error in the suite."""
    return (isinstance(error, OSError) and error.strerror) or f"{type(error).__name__}: {error}"


def write_sums(folder: Path) -> None:
    """Write SHA256SUMS for the files that the run has written, if it could write any, for `sha256sum --check`. Raises
    OSError."""
    names = sorted(name for name in (*OUTPUTS, PAGE) if (folder / name).is_file())
    if names:
        write(folder / SUMS, "".join(f"{digest(folder / name)}  {name}\n" for name in names))
