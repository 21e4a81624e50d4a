"""The files of a run: each is made from its document, and a further format is one line here. SHA256SUMS lists them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from reports.formats.conformance_json import FILE, Document, as_json
from reports.formats.junit import junit
from reports.writing import digest, write

PAGE = "report.html"
"""Written by pytest-html, after the others."""
SUMS = "SHA256SUMS"
OUTPUTS: Mapping[str, Callable[[Document], str]] = {
    FILE: as_json,
    "junit.xml": junit,
}


def write_outputs(folder: Path, document: Document) -> dict[str, str]:
    """Write every file. One that cannot be made or written is removed and does not take the others with it: gives why,
    by its name."""
    failed = {name: _write(folder / name, make, document) for name, make in OUTPUTS.items()}
    return {name: why for name, why in failed.items() if why}


def _write(path: Path, make: Callable[[Document], str], document: Document) -> str:
    try:
        write(path, make(document))
    except Exception as error:  # a fault of the suite in one format is no reason to lose the report of a run
        with suppress(OSError):
            path.unlink()  # that of an earlier run
        return reason(error)
    return ""


def reason(error: Exception) -> str:
    """Why a file is not there: what the system says, or what failed in the suite."""
    return (isinstance(error, OSError) and error.strerror) or f"{type(error).__name__}: {error}"


def write_sums(folder: Path) -> str:
    """Write SHA256SUMS for the files that the run has written, for `sha256sum --check`. Gives its own digest; empty for
    a run that could write none. Raises OSError."""
    names = sorted(name for name in (*OUTPUTS, PAGE) if (folder / name).is_file())
    if not names:
        (folder / SUMS).unlink(missing_ok=True)  # that of an earlier run
        return ""
    write(folder / SUMS, "".join(f"{digest(folder / name)}  {name}\n" for name in names))
    return digest(folder / SUMS)
