"""Files of a run. Each is made from the document of the run. `OUTPUTS` has one line for each format.

Each run has a folder of its own, and the link `latest` leads to the folder of the last run. Only the owner of the files
may read them. SHA256SUMS has the digests of all other files, so it is written last.

If a file cannot be written, the run is not green. Then all other files except the page are written once more, because
their verdict has changed.
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
"""The folder with the reports of all runs, by environment."""
PAGE = "report.html"
"""The page. pytest-html writes it, before the other files."""
SUMS = "SHA256SUMS"
"""The file with the SHA-256 of all other files of a report, in the form that `sha256sum --check` reads."""
OUTPUTS: Mapping[str, Callable[[RunDocument], str]] = {
    FILE: as_json,
    "junit.xml": junit,
}
"""The files that are made from the document of a run, each with the function that makes its text."""
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
"""Bits of a mode that permit the group, or everybody, to write."""


def runs_folder(environment: str) -> Path:
    """The folder that holds the folders of all runs of an environment: reports/runs/<environment>."""
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
    """Make the folder for the report, and check that this user can write to it and that nobody else can.

    The report has confidential data. Through a symbolic link it could be written to a place that somebody else chose.
    Only links in the root folder are allowed, such as /tmp of macOS. Raises OSError and UnsafeFolderError.
    """
    links = _links_on_the_way(folder)
    if links:
        raise UnsafeFolderError(f"{links[0]} is a symbolic link; name the folder that it leads to")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    others_can_write = folder.stat().st_mode & _OTHERS_WRITE
    if others_can_write:
        raise UnsafeFolderError(f"{folder} can be written by others; chmod go-w it, or name another folder")
    # A file is written at once, so that a full or read-only disk is found before the run and not at its end.
    file_to_try = folder / f".write-{secrets.token_hex(4)}"
    file_to_try.touch(mode=0o600)
    file_to_try.unlink()


def _links_on_the_way(folder: Path) -> list[Path]:
    """The folder and the folders around it that are symbolic links.

    Links directly in the root folder are left out, because only the administrator can make these.
    """
    links = [path for path in (folder, *folder.parents) if path.is_symlink()]
    return [link for link in links if link.parent != Path(link.anchor)]


def remove_outputs(folder: Path) -> None:
    """Remove the files of an earlier run from a folder.

    If this run is killed before it writes its files, nobody must think that the old files are those of this run.
    """
    for name in (SUMS, PAGE, *OUTPUTS):
        with suppress(OSError):  # if it cannot be removed, writing it fails later, and says so
            (folder / name).unlink()


def write_private_file(path: Path, text: str) -> None:
    """Write a text file that only its owner can read. Raises OSError.

    The text is written to a temporary file, which then gets the name. So a reader never sees half of the text.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def open_unless_link(path: str, flags: int) -> int:
    """A function for the argument `opener` of `open()`: it opens a file, but fails if the path is a symbolic link.

    Through a link somebody could make the suite write to another file. Only the owner can read a new file.
    """
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def sha256_of_file(path: Path) -> str:
    """The SHA-256 of a file in hexadecimal digits, by which a reader can notice a later change. Raises OSError."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def point_latest(folder: Path) -> None:
    """Make the symbolic link `latest`, in the parent folder, lead to the folder of this run. Raises OSError."""
    link = folder.with_name("latest")
    temporary = folder.with_name(f".latest-{secrets.token_hex(4)}")
    temporary.symlink_to(folder.name, target_is_directory=True)
    temporary.replace(link)  # in one step, so that there is always a link


def write_outputs(folder: Path, document: RunDocument) -> dict[str, str]:
    """Write every file of the report except report.html, which pytest-html writes.

    Returns the reason for each file that could not be written, by file name: `{"junit.xml": "No space left on device"}`
    """
    reasons = {}
    for name, make_text in OUTPUTS.items():
        why = _write_output(folder / name, make_text, document)
        if why:
            reasons[name] = why
    return reasons


def _write_output(path: Path, make_text: Callable[[RunDocument], str], document: RunDocument) -> str:
    """Write one file of the report with the text that `make_text` returns for the document of the run.

    If that fails, an old file at this path is removed, and the reason is returned; else an empty text is returned.
    """
    try:
        write_private_file(path, make_text(document))
    except Exception as error:  # a fault of the suite in one format is no reason to lose the others
        with suppress(OSError):
            path.unlink()  # the file of an earlier run
        return why_not_written(error)
    return ""


def why_not_written(error: Exception) -> str:
    """Why a file could not be written: the words of the operating system, else the name and text of the error."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"{type(error).__name__}: {error}"


def write_sums(folder: Path) -> None:
    """Write SHA256SUMS with the digest of each file of the report, so that a reader can notice a later change.

    `sha256sum --check` reads it. If the run wrote no file, SHA256SUMS is not written. Raises OSError.
    """
    names = sorted(name for name in (*OUTPUTS, PAGE) if (folder / name).is_file())
    lines = [f"{sha256_of_file(folder / name)}  {name}\n" for name in names]  # two blanks, as `sha256sum` writes them
    if lines:
        write_private_file(folder / SUMS, "".join(lines))
