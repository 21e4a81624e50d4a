"""Files of recorded traffic, judged one by one: in this process, in several, or by the workers of a Dask cluster.

The tally of a file depends on the file and the profile alone, and tallies merge in any order. So another worker can
judge a file again if its worker died.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial, reduce
from glob import escape, glob, has_magic
from importlib import import_module
from itertools import chain
from multiprocessing import get_context
from typing import Any

from environments.profiles.model import Profile, ProfileError
from reports.recorded.entry import RecordedExchange, address_of, exchange_of
from reports.recorded.har import DamagedError, entries
from reports.recorded.tally import Tally, TallyMaker, merge
from spec.message import say


def judge_files(arguments: Sequence[str]) -> int:
    """Start pytest with options and files of recorded traffic, and return its exit status.

    Without a file, an empty --recorded makes pytest refuse the command line. A run that sends requests never starts.
    """
    options = [argument for argument in arguments if argument.startswith("-")]
    files = [argument for argument in arguments if not argument.startswith("-")]
    recorded = [f"--recorded={file}" for file in files] or ["--recorded="]
    return subprocess.call([sys.executable, "-m", "pytest", *recorded, *options])


def files_of(patterns: Sequence[str]) -> list[str]:
    """The files that the paths, folders, globs and addresses lead to, each once.

    Raises ProfileError with the paths that lead to no file.
    """
    files = {pattern: _files_at(pattern) for pattern in patterns}
    empty = [pattern for pattern in files if not files[pattern]]
    if empty:
        raise ProfileError(f"--recorded: no file there: {', '.join(empty)}; expected HAR files, a folder or a glob")
    return list(dict.fromkeys(chain(*files.values())))


def _files_at(pattern: str) -> list[str]:
    """The file at a path, the HAR files in a folder, or the files that a glob matches.

    A path that exists is never taken as a glob, because the names that Firefox gives to files have brackets.
    """
    if "://" in pattern:
        return _files_at_address(pattern)
    if os.path.isfile(pattern):
        return [pattern]
    if os.path.isdir(pattern):
        pattern = f"{escape(pattern)}/**/*.har"
    return sorted(filter(os.path.isfile, glob(pattern, recursive=True)))


def _files_at_address(pattern: str) -> list[str]:
    """The files at an address such as `s3://bucket/*.har`. The library fsspec knows the schemes."""
    try:
        storage, path = _library("fsspec.core").url_to_fs(pattern)
        if storage.isfile(path):
            return [pattern]
        if not has_magic(pattern):
            return []
        return [file.full_name for file in _library("fsspec").open_files(pattern)]
    except (ImportError, OSError, ValueError) as error:  # not installed, no access, or no such scheme
        raise ProfileError(f"--recorded: {error}") from None


def _library(name: str) -> Any:
    """A library that only some users of recorded traffic need. ProfileError if it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise ProfileError(f'--recorded: {package} is not installed: pip install "pix-conformance[recorded]"') from None


def tally_of_all(files: Sequence[str], profile: Profile, scheduler: str | None = None) -> Tally:
    """The tally of all files. With a `scheduler`, an address of Dask, the workers of its cluster judge them."""
    if len(files) == 1 and not scheduler:
        return merge(Tally(), tally_of(files[0], profile))  # merging drops keys beyond the limit, see `merge`
    judge = partial(tally_of, profile=profile)  # not a function within this one, because another process runs it
    pool: Any = ProcessPoolExecutor(mp_context=get_context("spawn"))
    if scheduler:
        pool = _library("distributed").Client(scheduler)
    with pool:
        executor = pool.get_executor(retries=3) if scheduler else pool  # a file whose worker raises is tried again
        return reduce(merge, executor.map(judge, files), Tally())


def tally_of(file: str, profile: Profile) -> Tally:
    """The tally of one file: counts of what its entries show. A file that is damaged counts up to the damage."""
    maker = TallyMaker(file, profile)
    base_url = address_of(profile.base_url)
    number = 0  # of the last entry that was read
    try:
        with _open_text(file) as text:
            for number, entry in enumerate(entries(text), 1):
                exchange = exchange_of(entry, number, base_url)
                if isinstance(exchange, RecordedExchange):
                    maker.judge(exchange)
                else:
                    maker.count_gap(exchange, number)
    except DamagedError as error:
        maker.count_gap(error.args[0], number + 1)
    except OSError as error:
        maker.count_gap(say("cannot be read: {why}", why=type(error).__name__), number + 1)
    return maker.finished()


def _open_text(file: str) -> Any:
    """Open a file as text, at a path or at an address such as `s3://…` that the library fsspec knows.

    Bytes that are not UTF-8 do not fail. The caller closes it.
    """
    if "://" in file:
        open_file = _library("fsspec").open
        return open_file(file, "rt", compression="infer", encoding="utf-8-sig", errors="surrogateescape")
    return open(file, encoding="utf-8-sig", errors="surrogateescape")
