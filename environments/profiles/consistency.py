"""What no single key of a profile shows: keys that do not go together, addresses, files, placeholders."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from environments.profiles.address import EMBEDDED, address_problems
from environments.profiles.profile import Auth, Profile, shown
from spec.interface import operations

_PLACEHOLDERS = ("account", "key", "type")


def problems(profile: Profile) -> Iterator[str]:
    """Each problem in one line, the most important first."""
    if profile.base_url != EMBEDDED:
        yield from (f"base_url: {problem}" for problem in base_url_problems(profile, profile.base_url))
        if profile.auth == Auth():
            yield "auth: missing; expected one of token_env, token_command and token_file"
    if profile.proxy:
        yield from (f"proxy: {problem}" for problem in address_problems(profile.proxy, insecure=True, exact=True))
    yield from _missing_files(profile)
    yield from _header_problems(profile)
    for entry, times in Counter(entry.id for entry in profile.known_failures).items():
        if times > 1:
            yield f"known_failures: {entry}: listed {times} times; keep one"
    yield from _body_problems(profile)


def base_url_problems(profile: Profile, base_url: str) -> Iterator[str]:
    """What is wrong with an address of the service, by what the profile permits."""
    return address_problems(base_url, insecure=profile.insecure, exact=profile.base_url_is_exact)


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
