"""Loads a profile: its file is found, read, checked and made into a ``Profile``. Nothing is sent.

Whatever is wrong is a ``ProfileError`` of one line, before any request; also what no single key shows: keys that do not
go together, addresses, files, placeholders.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import is_dataclass, replace
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from types import UnionType
from typing import Any, cast, get_args, get_origin, get_type_hints

from environments.profiles.checked_yaml import SCHEMA, problems_of_shape, read
from environments.profiles.profile import (
    EMBEDDED,
    ENVIRONMENTS,
    RECORD,
    Auth,
    Profile,
    ProfileError,
    Transactions,
    address_problems,
    host_of,
    in_one_form,
    is_loopback,
    shown,
)
from spec.interface import operations
from spec.requirements import ledger

_PLACEHOLDERS = ("account", "key", "type")


def problems(profile: Profile) -> Iterator[str]:
    """Each problem in one line, the most important first."""
    if profile.base_url != EMBEDDED:
        yield from (f"base_url: {problem}" for problem in base_url_problems(profile, profile.base_url))
        if profile.auth == Auth():
            yield "auth: missing; expected one of token_env, token_command and token_file"
    if profile.sandbox is not None and not profile.is_sandbox:
        yield f"sandbox: not the host of base_url; write {host_of(profile.base_url)}, or leave it out"
    if profile.proxy:
        yield from (f"proxy: {problem}" for problem in address_problems(profile.proxy, insecure=True, exact=True))
        yield from _clear_text_problems(profile, profile.base_url)
    yield from _missing_files(profile)
    yield from _header_problems(profile)
    yield from (f"known_failures: {problem}" for problem in _known_failure_problems(profile))
    yield from _body_problems(profile)


def base_url_problems(profile: Profile, base_url: str) -> Iterator[str]:
    """What is wrong with an address of the service, by what the profile permits."""
    return address_problems(base_url, insecure=profile.insecure, exact=profile.base_url_is_exact)


def _clear_text_problems(profile: Profile, base_url: str) -> Iterator[str]:
    """A proxy reads what goes to it over http://, token and codes, also where the target is this machine."""
    if base_url.startswith("http:") and profile.proxy and not (profile.insecure or is_loopback(profile.proxy)):
        yield "proxy: http:// shows the token to the proxy; use https://, or set insecure: true in the profile"


def _missing_files(profile: Profile) -> Iterator[str]:
    certificates = {f"tls.{name}": getattr(profile.tls, name) for name in ("ca_bundle", "client_cert", "client_key")}
    for where, file in {"auth.token_file": profile.auth.token_file, **certificates}.items():
        if file and not os.path.isfile(file):  # Path.is_file raises where a pasted token is too long a name
            yield f"{where}: no such file; a path is relative to {shown(profile.path.absolute().parent)}"


def _header_problems(profile: Profile) -> Iterator[str]:
    """Names of headers have no letter case (RFC 9110 section 5.1)."""
    names = [header.name.lower() for header in profile.headers]
    if len(names) != len(set(names)):
        yield "headers: one header is listed twice, in different letter case; remove one of the two"
    if (profile.correlation_header or "").lower() in names:
        yield "correlation_header: is in headers too; remove it there"


def _known_failure_problems(profile: Profile) -> Iterator[str]:
    for entry, times in Counter(entry.id for entry in profile.known_failures).items():
        if entry not in ledger():
            near = get_close_matches(entry, ledger(), 1)
            yield f"{entry}: no such requirement" + (
                f'; did you mean "{near[0]}"?' if near else "; spec/requirements.yaml lists them"
            )
        if times > 1:
            yield f"{entry}: listed {times} times; keep one"


def _body_problems(profile: Profile) -> Iterator[str]:
    bodies = {f"requests.{operation}.json": body.json for operation, body in profile.requests.items()}
    if prepare := profile.transactions.prepare:
        bodies["transactions.prepare.json"] = prepare.json
        permission = operations()[prepare.operation].permission
        if permission not in profile.allow:
            remedy = f"add {permission} to allow, or remove prepare"
            yield f"transactions.prepare: {prepare.operation} is not permitted; {remedy}"
    for where, body in bodies.items():
        yield from (f"{where}: {problem}" for problem in _placeholder_problems(body))


def _placeholder_problems(body: Any) -> Iterator[str]:
    """``{acount}`` would go out as it is written. Braces around anything less alike are left alone."""
    for word in re.findall(r"\{([A-Za-z_]{2,20})\}", json.dumps(body)):
        near = get_close_matches(word.lower(), _PLACEHOLDERS, 1)
        if near and word not in _PLACEHOLDERS:
            yield f'unknown placeholder {{{word}}}; did you mean "{{{near[0]}}}"?'


def load(environment: str, *, folder: Path = ENVIRONMENTS, base_url: str | None = None) -> Profile:
    """The profile named ``environment`` in ``folder``, or at that path; ``base_url`` replaces its address.

    Raises ``ProfileError``.
    """
    path = path_of(environment, folder)
    profile = made_of(read(path, folder), path)
    return profile if base_url is None else _redirected(profile, base_url)


def made_of(data: Any, path: Path) -> Profile:
    """The profile that holds these data. Raises ``ProfileError`` with every problem."""
    found = problems_of_shape(data)
    broken = {key for key, _ in found}
    if "" not in broken:
        profile = _profile(path, data, broken)
        told = ((re.split(r"[.:]", problem)[0], problem) for problem in problems(profile))
        found += ((key, problem) for key, problem in told if key not in broken)
    if found:
        raise _refusal(shown(path), [problem for _, problem in found])
    return profile


def _profile(path: Path, data: Mapping[str, Any], broken: Collection[str]) -> Profile:
    """The profile with what stands for its broken keys, so that the others are checked, too."""
    whole = {key: value for key, value in data.items() if key not in broken}
    whole = {key: value for key, value in _STANDS_FOR.items() if key in broken} | whole
    whole |= {"name": path.stem, "path": path, "base_url": in_one_form(whole["base_url"]), "headers": _headers(whole)}
    made: Profile = _made(Profile, whole, path.absolute().parent)
    return made


_STANDS_FOR: Mapping[str, Any] = {
    "base_url": "https://a.test",
    "allow": SCHEMA["properties"]["allow"]["items"]["enum"],
}
"""What other keys are checked beside, where it is broken itself."""


def _refusal(name: str, lines: list[str]) -> ProfileError:
    more = f" ({len(lines) - 1} more in this file)" if lines[1:] else ""
    return ProfileError(f"{name}: {lines[0]}{more}", [f"{name}: {line}" for line in lines])


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
    """What names the profile at ``path`` on the command line: the opposite of ``path_of``."""
    return path.stem if path.absolute().parent == ENVIRONMENTS else shown(path)


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
    """The profile with the address of ``--base-url``, which is no sandbox. What was made up for the embedded sandbox
    stays there."""
    address = in_one_form(base_url)
    for problem in (*base_url_problems(profile, address), *_clear_text_problems(profile, address)):
        raise ProfileError(f"--base-url: {problem}")
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
