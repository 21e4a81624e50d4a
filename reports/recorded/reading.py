"""Files of recorded traffic, judged one by one: in this process, in several, or by the workers of a Dask cluster.

The counts of a file say how many of its entries show what. They depend on the file and the profile alone, and can be
merged in any order. So another worker can judge a file again if its worker died.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from glob import escape, glob, has_magic
from importlib import import_module
from itertools import chain
from multiprocessing import get_context
from typing import Any

from environments.profiles.model import Profile, ProfileError
from reports.recorded.counts import FileCounter, RecordedCounts, merged_counts
from reports.recorded.entry import RecordedExchange, address_of, exchange_of
from reports.recorded.har import DamagedError, entries
from spec.message import say


def judge_files(arguments: Sequence[str]) -> int:
    """Start pytest in a new process to judge files of recorded traffic, and return its exit status.

    `arguments` are options of pytest and paths of files. If there is no path, an empty `--recorded=` is passed, which
    pytest refuses. Without it, pytest would start a run that sends requests.
    """
    options = [argument for argument in arguments if argument.startswith("-")]
    files = [argument for argument in arguments if not argument.startswith("-")]
    recorded = [f"--recorded={file}" for file in files] or ["--recorded="]
    return subprocess.call([sys.executable, "-m", "pytest", *recorded, *options])


def files_of(patterns: Sequence[str]) -> list[str]:
    """The files that a user means with paths, folders, globs such as `*.har`, and addresses such as `s3://…`.

    A file that is named twice is returned once. Raises ProfileError with the patterns for which there is no file.
    """
    files = {pattern: _files_at(pattern) for pattern in patterns}
    patterns_without_file = [pattern for pattern in files if not files[pattern]]
    if patterns_without_file:
        names = ", ".join(patterns_without_file)
        raise ProfileError(f"--recorded: no file there: {names}; expected HAR files, a folder or a glob")
    return list(dict.fromkeys(chain(*files.values())))


def _files_at(pattern: str) -> list[str]:
    """The file at a path, the HAR files in a folder and below it, or the files that a glob such as `*.har` matches.

    A path that exists is never treated as a glob, because Firefox gives its files names with brackets, which have a
    meaning in a glob.
    """
    if "://" in pattern:
        return _files_at_address(pattern)
    if os.path.isfile(pattern):
        return [pattern]
    if os.path.isdir(pattern):
        pattern = f"{escape(pattern)}/**/*.har"
    paths = glob(pattern, recursive=True)
    return sorted(path for path in paths if os.path.isfile(path))


def _files_at_address(pattern: str) -> list[str]:
    """The files at an address such as `s3://bucket/*.har`, which the library fsspec can read.

    Raises ProfileError if fsspec or a library for the scheme is missing, or if there is no access.
    """
    try:
        storage, path = _imported("fsspec.core").url_to_fs(pattern)
        if storage.isfile(path):
            return [pattern]
        is_glob = has_magic(pattern)
        if not is_glob:  # it names a file that does not exist
            return []
        return [file.full_name for file in _imported("fsspec").open_files(pattern)]
    except (ImportError, OSError, ValueError) as error:  # not installed, no access, or no such scheme
        raise ProfileError(f"--recorded: {error}") from None


def _imported(name: str) -> Any:
    """Import a library that only some users of recorded traffic need. Raises ProfileError if it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise ProfileError(f'--recorded: {package} is not installed: pip install "pix-conformance[recorded]"') from None


def counts_of_files(files: Sequence[str], profile: Profile, dask_scheduler: str | None = None) -> RecordedCounts:
    """Judge all files, and return for all of them how many entries show what: the merged counts.

    Processes on this machine judge the files. But if `dask_scheduler` is the address of a Dask cluster (several
    machines that share work), such as `tcp://10.0.0.1:8786`, the processes of that cluster do.
    """
    if len(files) == 1 and not dask_scheduler:  # one file needs no other process
        counts = counts_of_file(files[0], profile)
        return merged_counts(RecordedCounts(), counts)  # merging drops the keys beyond the limit
    # Other processes call it. An inner function could not be sent to them.
    judge = partial(counts_of_file, profile=profile)
    pool: Any = ProcessPoolExecutor(mp_context=get_context("spawn"))
    if dask_scheduler:
        pool = _imported("distributed").Client(dask_scheduler)
    counts = RecordedCounts()
    with pool:
        # Dask tries a file again if its process fails.
        executor = pool.get_executor(retries=3) if dask_scheduler else pool
        for counts_of_one_file in executor.map(judge, files):
            counts = merged_counts(counts, counts_of_one_file)
    return counts


def counts_of_file(file: str, profile: Profile) -> RecordedCounts:
    """Judge one file, and return how many of its entries show what.

    If the file is damaged, the entries before the damage are counted, and the damage itself is counted as unjudged.
    """
    counter = FileCounter(file, profile)
    base_url = address_of(profile.base_url)
    number = 0  # of the last entry that was read
    try:
        with _open_text(file) as text:
            for number, entry in enumerate(entries(text), 1):
                exchange = exchange_of(entry, number, base_url, profile.other_success_codes)
                if isinstance(exchange, RecordedExchange):
                    counter.judge(exchange)
                else:
                    counter.count_unjudged(exchange, number)
    except DamagedError as error:
        reason = error.args[0]
        counter.count_unjudged(reason, number + 1)  # the entry after the last one that was read is damaged
    except OSError as error:
        counter.count_unjudged(say("cannot be read: {why}", why=type(error).__name__), number + 1)
    return counter.finished()


def _open_text(file: str) -> Any:
    """Open the file at a path, or at an address such as `s3://…` that the library fsspec can read, as text.

    Bytes that are not UTF-8 raise no error. The caller closes the file.
    """
    if "://" in file:
        open_file = _imported("fsspec").open
        return open_file(file, "rt", compression="infer", encoding="utf-8-sig", errors="surrogateescape")
    return open(file, encoding="utf-8-sig", errors="surrogateescape")
