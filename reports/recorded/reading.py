"""Files of recorded traffic, judged one by one: in this process, in several, or by the workers of a Dask cluster.

What is said of a file depends on the file and the profile alone, and merges in any order: a file whose worker died is
judged again by another one.
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
from multiprocessing import get_context
from typing import Any

from environments.profiles.model import Profile, ProfileError
from reports.recorded.entry import RecordedExchange, address_of, exchange_of
from reports.recorded.har import DamagedError, entries
from reports.recorded.tally import Counting, Tally, merge
from spec.message import say


def judge_files(given: Sequence[str]) -> int:
    """Have pytest judge the files, with the options that are given. Without a file it says so, and starts no run that
    sends."""
    files = [f"--recorded={each}" for each in given if each[:1] != "-"] or ["--recorded="]
    return subprocess.call([sys.executable, "-m", "pytest", *files, *(each for each in given if each[:1] == "-")])


def files_of(patterns: Sequence[str]) -> list[str]:
    """The files that the paths, folders, globs and addresses lead to. Raises ProfileError, which names each that leads
    to none."""
    files = {pattern: _files_at(pattern) for pattern in patterns}
    empty = [pattern for pattern in files if not files[pattern]]
    if empty:
        raise ProfileError(f"--recorded: no file there: {', '.join(empty)}; expected HAR files, a folder or a glob")
    return list(dict.fromkeys(file for found in files.values() for file in found))


def _files_at(pattern: str) -> list[str]:
    """The files at a path, in a folder, or that a pattern matches. A path that exists is no pattern: the names of
    Firefox have brackets."""
    if "://" in pattern:
        return _files_at_address(pattern)
    if os.path.isfile(pattern):
        return [pattern]
    if os.path.isdir(pattern):
        pattern = f"{escape(pattern)}/**/*.har"
    return sorted(filter(os.path.isfile, glob(pattern, recursive=True)))


def _files_at_address(pattern: str) -> list[str]:
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
    """A library that only some users of recorded traffic need."""
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise ProfileError(f'--recorded: {package} is not installed: pip install "pix-conformance[recorded]"') from None


def tally_of_all(files: Sequence[str], profile: Profile, scheduler: str | None = None) -> Tally:
    """Judge the files, with a scheduler by the workers of its cluster."""
    judge = partial(tally_of, profile=profile)
    if len(files) == 1 and not scheduler:
        return merge(Tally(), judge(files[0]))
    pool: Any = ProcessPoolExecutor(mp_context=get_context("spawn"))
    if scheduler:
        pool = _library("distributed").Client(scheduler)
    with pool:
        executor = pool.get_executor(retries=3) if scheduler else pool  # of what raises
        return reduce(merge, executor.map(judge, files), Tally())


def tally_of(file: str, profile: Profile) -> Tally:
    """Judge one file as far as it can be read."""
    counting, number, base_url = Counting(file, profile), 0, address_of(profile.base_url)
    try:
        opened: Any = partial(open, file)
        if "://" in file:
            opened = partial(_library("fsspec").open, file, "rt", compression="infer")
        with opened(encoding="utf-8-sig", errors="surrogateescape") as text:
            for number, entry in enumerate(entries(text), 1):
                found = exchange_of(entry, number, base_url)
                if isinstance(found, RecordedExchange):
                    counting.take(found)
                else:
                    counting.miss(found, number)
    except DamagedError as error:
        counting.miss(error.args[0], number + 1)
    except OSError as error:
        counting.miss(say("cannot be read: {why}", why=type(error).__name__), number + 1)
    return counting.finished()
