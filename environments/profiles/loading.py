"""Loads a profile: its file is found, read, checked and made into a ``Profile``. Nothing is sent.

Whatever is wrong is a ``ProfileError`` of one line, before any request.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass, replace
from datetime import date
from pathlib import Path
from types import UnionType
from typing import Any, cast, get_args, get_origin, get_type_hints

from environments.profiles.address import EMBEDDED, in_one_form, is_loopback
from environments.profiles.checked_yaml import read
from environments.profiles.consistency import base_url_problems, problems
from environments.profiles.profile import Profile, ProfileError, shown


def load(environment: str, *, folder: Path, base_url: str | None = None) -> Profile:
    """The profile named ``environment`` in ``folder``, or at that path; ``base_url`` replaces its address.

    Raises ``ProfileError``.
    """
    path = _find(environment, folder)
    data = read(path, folder)
    data |= {"name": path.stem, "path": path, "base_url": in_one_form(data["base_url"]), "headers": _headers(data)}
    profile: Profile = _made(Profile, data, path.absolute().parent)
    for problem in problems(profile):
        raise ProfileError(f"{shown(path)}: {problem}")
    return profile if base_url is None else _redirected(profile, base_url)


def _find(environment: str, folder: Path) -> Path:
    """``folder/<name>.yaml`` (or .yml), or the path itself where it is one."""
    if re.search(r"[/\\]|\.ya?ml$", environment):
        return Path(environment)
    long, short = (folder / f"{environment}.{ending}" for ending in ("yaml", "yml"))
    return short if os.path.exists(short) and not os.path.exists(long) else long


def _headers(data: Mapping[str, Any]) -> list[dict[str, str]]:
    values = (data.get("headers") or {}).items()
    return [{"name": name, **({"text": value} if isinstance(value, str) else value)} for name, value in values]


def _made(kind: Any, value: Any, folder: Path) -> Any:
    """A checked value as the type that a field of a profile has; what is null keeps its default."""
    origin, (inner, *rest) = get_origin(kind), get_args(kind) or (None,)
    if is_dataclass(kind):
        fields = get_type_hints(kind)
        said = {key: _made(fields[key], item, folder) for key, item in value.items() if item is not None}
        return cast("type[Any]", kind)(**said)
    if origin is UnionType:  # such as Path | None
        return _made(inner, value, folder)
    if origin is Mapping:
        return {key: _made(rest[0], item, folder) for key, item in value.items()}
    if origin in (tuple, frozenset):
        return origin(_made(inner, item, folder) for item in value)
    if kind is Path and isinstance(value, str):
        return folder / os.path.expanduser(value)
    return _CONVERSIONS.get(kind, lambda value: value)(value)


_CONVERSIONS: Mapping[Any, Callable[[Any], Any]] = {int: int, float: float, date: date.fromisoformat}
"""To JSON Schema, 5.0 is a whole number and 30 is a number like any other."""


def _redirected(profile: Profile, base_url: str) -> Profile:
    """The profile with the address of ``--base-url``. What is allowed on the sandbox stays local."""
    address = in_one_form(base_url)
    for problem in base_url_problems(profile, address):
        raise ProfileError(f"--base-url: {problem}")
    if profile.base_url == EMBEDDED and not is_loopback(address):
        reason = f"{shown(profile.path)} is for the embedded sandbox, and its permissions and data stay there"
        raise ProfileError(f"--base-url: {reason}; name the profile of this target with --environment")
    return replace(profile, base_url=address)
