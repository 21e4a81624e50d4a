"""Files of a run. Each is made from the document of the run; a further format is one line of `OUTPUTS`.

Each run has a folder, and `latest` leads to the last one. Only their owner may read the files. SHA256SUMS has the
digest of each, so it is written last.

If a file cannot be written, the run is not green. The others, except the page, are then written anew, so that they say
so.
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
"""The page. pytest-html writes it, before the other files."""
SUMS = "SHA256SUMS"
OUTPUTS: Mapping[str, Callable[[RunDocument], str]] = {
    FILE: as_json,
    "junit.xml": junit,
}
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
"""Bits of a mode that permit the group, or everybody, to write."""


def runs_folder(environment: str) -> Path:
    """The folder of an environment, which has a folder for each of its runs: reports/runs/<environment>."""
    return RUNS / environment


def run_folder(environment: str, started: datetime) -> Path:
    """A new folder for a run: reports/runs/<environment>/<UTC start time>-<random suffix>.

    The time has microseconds, so that folders that are sorted by name are in the order of their runs. The suffix tells
    two runs apart that start in the same microsecond.
    """
    return runs_folder(environment) / f"{started:%Y%m%dT%H%M%S.%fZ}-{secrets.token_hex(2)}"


class UnsafeFolderError(Exception):
    """Reason why nothing is written to a folder, and a remedy, in one line."""


def make_folder(folder: Path) -> None:
    """Make the folder, and check that it can be written, and by its owner alone. Raises OSError and UnsafeFolderError.

    Through a symbolic link a report could be written to a place that somebody else chose. Only links in the root folder
    are followed, such as /tmp of macOS.
    """
    links = _links_on_the_way(folder)
    if links:
        raise UnsafeFolderError(f"{links[0]} is a symbolic link; name the folder that it leads to")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if folder.stat().st_mode & _OTHERS_WRITE:
        raise UnsafeFolderError(f"{folder} can be written by others; chmod go-w it, or name another folder")
    file_to_try = folder / f".write-{secrets.token_hex(4)}"
    file_to_try.touch(mode=0o600)
    file_to_try.unlink()


def _links_on_the_way(folder: Path) -> list[Path]:
    """The symbolic links on the path to a folder, itself included, but for those in the root folder."""
    links = [path for path in (folder, *folder.parents) if path.is_symlink()]
    return [link for link in links if link.parent != Path(link.anchor)]


def remove_outputs(folder: Path) -> None:
    """Remove the files of an earlier run, so that nobody takes them for those of a run that is killed."""
    for name in (SUMS, PAGE, *OUTPUTS):
        with suppress(OSError):  # if it cannot be removed, writing it fails later, and says so
            (folder / name).unlink()


def write(path: Path, text: str) -> None:
    """Write a file, readable by its owner alone. Nobody ever sees a part of it. Raises OSError."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def no_link(path: str, flags: int) -> int:
    """An `opener` of open() that follows no symbolic link. A new file is readable by its owner alone."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def digest(path: Path) -> str:
    """The SHA-256 of a file. Raises OSError."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def point_latest(folder: Path) -> None:
    """Make the link `latest` beside the folder lead to this folder. Raises OSError."""
    link = folder.with_name("latest")
    temporary = folder.with_name(f".latest-{secrets.token_hex(4)}")
    temporary.symlink_to(folder.name, target_is_directory=True)
    temporary.replace(link)  # in one step, so that there is always a link


def write_outputs(folder: Path, document: RunDocument) -> dict[str, str]:
    """Write every file but the page. Returns the reasons, by file name, why files could not be made or written."""
    reasons = {}
    for name, make in OUTPUTS.items():
        why = _write_output(folder / name, make, document)
        if why:
            reasons[name] = why
    return reasons


def _write_output(path: Path, make: Callable[[RunDocument], str], document: RunDocument) -> str:
    """Make the text of one file and write it. Returns the reason if that fails, else an empty text."""
    try:
        write(path, make(document))
    except Exception as error:  # a fault of the suite in one format is no reason to lose the others
        with suppress(OSError):
            path.unlink()  # the file of an earlier run
        return reason(error)
    return ""


def reason(error: Exception) -> str:
    """Reason why a file is missing: the words of the operating system, or an error in the suite."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"{type(error).__name__}: {error}"


def write_sums(folder: Path) -> None:
    """Write SHA256SUMS for the files that the run wrote, as `sha256sum --check` reads it, if it wrote any.

    Raises OSError.
    """
    names = sorted(name for name in (*OUTPUTS, PAGE) if (folder / name).is_file())
    if names:
        write(folder / SUMS, "".join(f"{digest(folder / name)}  {name}\n" for name in names))
