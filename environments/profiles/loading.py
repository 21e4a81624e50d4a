"""Loads a profile: its file is found, read, checked and made into a ``Profile``. Nothing is sent.

Whatever is wrong is a ``ProfileError``, before any request, with every problem in one line: file, line, key, what was
expected and what to do.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import fields, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from environments.profiles.addresses import check_address, check_proxy, in_one_form
from environments.profiles.checked_yaml import Document, document
from environments.profiles.problems import lines_of
from environments.profiles.profile import (
    EMBEDDED,
    ENVIRONMENTS,
    RECORD,
    Profile,
    ProfileError,
    ProfileFile,
    Transactions,
    shown,
)

_FILE = TypeAdapter(ProfileFile)
_KEYS = {key.name for key in fields(ProfileFile)}
"""Without a value, such as where all below it is switched off, a key keeps its default."""
_TOP = "expected keys such as base_url and auth at the top"


def load(environment: str, *, folder: Path = ENVIRONMENTS, base_url: str | None = None) -> Profile:
    """The profile named ``environment`` in ``folder``, or at that path; ``base_url`` replaces its address.

    Raises ``ProfileError``.
    """
    path = path_of(environment, folder)
    profile = made_of(document(_text(path, folder), shown(path)), path)
    return profile if base_url is None else _redirected(profile, base_url)


def made_of(read: Document, path: Path) -> Profile:
    """The profile that a document holds. Raises ``ProfileError`` with every problem."""
    name = shown(path)
    if not isinstance(read.data, dict):
        raise ProfileError(f"{name}: {'empty; ' * (read.data is None)}{_TOP}")
    try:  # as JSON, which has no tuples, sets, dates and paths, so that even where it is strict pydantic makes them
        data = {key: value for key, value in read.data.items() if value is not None or key not in _KEYS}
        file = _FILE.validate_json(json.dumps(data), context=path.absolute().parent)
    except ValidationError as error:
        lines = [f"{name}{line}" for line in lines_of(error, read)]
        more = f" ({len(lines) - 1} more in this file)" if lines[1:] else ""
        raise ProfileError(lines[0] + more, lines) from None
    return Profile(**vars(file), name=path.stem, path=path)


def _text(path: Path, folder: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        files = [file for ending in ("yaml", "yml") for file in folder.glob(f"*.{ending}")]
        names = sorted({file.stem for file in files if not file.name.endswith(RECORD)})
        there = f"the environments in {shown(folder)} are: {', '.join(names) or 'none'}"
        raise ProfileError(f"{shown(path)}: no such file; {there}") from None
    except OSError as error:
        raise ProfileError(f"{shown(path)}: cannot be read ({error.strerror}); expected a YAML file") from None
    except UnicodeDecodeError as error:
        raise ProfileError(f"{shown(path)}: not UTF-8 at byte {error.start + 1}; save it as UTF-8") from None


def path_of(environment: str, folder: Path = ENVIRONMENTS) -> Path:
    """``folder/<name>.yaml`` (or .yml), or the path itself where it is one. Raises ``ProfileError`` for a record."""
    if re.search(r"[/\\]|\.ya?ml$", environment):
        path = Path(environment)
    else:
        long, short = (folder / f"{environment}.{ending}" for ending in ("yaml", "yml"))
        path = short if os.path.exists(short) and not os.path.exists(long) else long
    if path.name.endswith(RECORD):
        profile = shown(path.with_name(f"{path.name.removesuffix(RECORD)}.yaml"))
        raise ProfileError(f"{shown(path)}: the record of what was observed, and no profile; name {profile}")
    return path


def named(path: Path) -> str:
    """The name of the profile at ``path`` on the command line: the opposite of ``path_of``."""
    return path.stem if path.absolute().parent == ENVIRONMENTS else shown(path)


def _redirected(profile: Profile, base_url: str) -> Profile:
    """The profile with the address of ``--base-url``, which is no sandbox. What was made up for the embedded sandbox
    stays there."""
    address = in_one_form(base_url)
    try:
        check_address(address, insecure=profile.insecure, exact=profile.base_url_is_exact)
        if profile.proxy:
            check_proxy(profile.proxy, address, insecure=profile.insecure)
    except ValueError as error:
        raise ProfileError(f"--base-url: {error}") from None
    moved = replace(profile, base_url=address, sandbox=None)
    if profile.base_url != EMBEDDED:
        return moved
    said = f"--base-url: {shown(profile.path)} is for the embedded sandbox, this run only reads; keys and codes"
    return replace(
        moved,
        allow=frozenset({"read"}),
        pix_keys=(),
        transactions=Transactions(),
        requests={},
        redirected=f"{said} stay there. `python -m environments new NAME` writes a profile for {address}",
    )
