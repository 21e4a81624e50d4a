"""Loads a profile: its file is found, read, checked and made into a ``Profile``. Nothing is sent. Says what a profile
permits and does not supply, too.

Whatever is wrong is a ``ProfileError``, before any request, with every problem in one line: file, line, key, what was
expected and what to do. No message repeats a value, because any value may be a secret or personal data.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from environments.profiles.addresses import check_address, check_proxy, in_one_form
from environments.profiles.checked_yaml import Document, document
from environments.profiles.explained import rule_of
from environments.profiles.model import (
    EMBEDDED,
    ENVIRONMENTS,
    RECORD,
    Profile,
    ProfileError,
    ProfileFile,
    Transactions,
    shown,
)
from environments.profiles.parts import nearest

_FILE = TypeAdapter(ProfileFile)
_KEYS = {key.name for key in fields(ProfileFile)}
"""Without a value, such as where all below it is switched off, a key keeps its default."""
_UNKNOWN = "unexpected_keyword_argument"

NO_ACCOUNT = "no account: supply accounts"
NOTHING_TO_REGISTER = "nothing to register: supply {}"
NO_REGISTRATION = "only a key that the run registered is deleted: add register-keys to allow"
NO_DELETION = "no body for a deletion: supply requests.deletePixKey"
NO_CODE = "no transaction code: supply transactions.codes or transactions.prepare"
SENT_BEFORE = "every transaction code was sent by an earlier run: prepare new ones"


def load(environment: str, *, folder: Path = ENVIRONMENTS, base_url: str | None = None) -> Profile:
    """The profile named ``environment`` in ``folder``, or at that path; ``base_url`` replaces its address.

    Raises ``ProfileError``.
    """
    path = path_of(environment, folder)
    profile = profile_of(_text(path, folder), path)
    return profile if base_url is None else _redirected(profile, base_url)


def profile_of(text: str, path: Path) -> Profile:
    """The profile that a text holds. Raises ``ProfileError`` with every problem."""
    name = shown(path)
    read = document(text, name)
    if not isinstance(read.data, dict):
        raise ProfileError(f"{name}: expected keys such as base_url and auth at the top")
    try:  # as JSON, which has no tuples, sets, dates and paths, so that even where it is strict pydantic makes them
        data = {key: value for key, value in read.data.items() if value is not None or key not in _KEYS}
        file = _FILE.validate_json(json.dumps(data), context=path.absolute().parent)
    except ValidationError as error:  # what is missing may be there under an unknown key, which comes first
        told = sorted(error.errors(include_url=False), key=lambda each: each["type"] != _UNKNOWN)
        raise ProfileError(*dict.fromkeys(f"{name}:{_line(each, read)}" for each in told)) from None
    return Profile(**vars(file), name=path.stem, path=path)


def _line(error: Any, read: Document) -> str:
    """A problem with its place, such as ``7: limits.rate: Input should be a valid number``."""
    place, kind, said = error["loc"], error["type"], error["msg"].removeprefix("Value error, ")
    if kind == _UNKNOWN:
        said = f"unknown key; {nearest(place[-1], rule_of(*place[:-1])['properties'])}"
        if place[0] == "auth":
            said = "unknown key; secrets are named, never written: use token_env, token_command or token_file"
    elif kind == "literal_error":
        known = re.findall("'(.*?)'", error["ctx"]["expected"])
        said = f"unknown {'key' if place[-1] == '[key]' else 'value'}; {nearest(str(error['input']), known)}"
    elif kind in ("missing", "too_short"):
        said = "missing"
    if place[-1] == "[key]" and kind != _UNKNOWN:  # as pydantic marks a key that is wrong itself
        place = place[:-1]
    return f"{read.line_of(place)}: {'.'.join(map(_printable, place))}: {said}"


def _printable(step: str | int) -> str:
    """A key as a message may show it. Without a space, YAML reads ``token:abc`` as a key."""
    name = str(step).partition(":")[0]
    return name if re.fullmatch(r"[A-Za-z_]{1,40}(-[A-Za-z0-9]{1,12})*|\d{1,3}", name) else "…"


def _text(path: Path, folder: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        names = sorted(file.stem for file in folder.glob("*.yaml") if not file.name.endswith(RECORD))
        there = f"the environments in {shown(folder)} are: {', '.join(names) or 'none'}"
        raise ProfileError(f"{shown(path)}: no such file; {there}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", "it is not UTF-8")
        raise ProfileError(f"{shown(path)}: cannot be read ({reason}); expected a YAML file") from None


def path_of(environment: str, folder: Path = ENVIRONMENTS) -> Path:
    """``folder/<name>.yaml``, or the path itself where it is one. Raises ``ProfileError`` for a record."""
    path = Path(environment) if re.search(r"[/\\]|\.ya?ml$", environment) else folder / f"{environment}.yaml"
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


def gaps(profile: Profile, sent_before: Collection[str] = ()) -> Iterator[str]:
    """Each reason for which a run of everything would be incomplete. `sent_before` are the codes that the journal keeps
    from being sent."""
    allowed = profile.allow
    if not profile.accounts and allowed & {"read", "register-keys", "delete-keys"}:
        yield NO_ACCOUNT
    if not profile.pix_keys and "register-keys" in allowed:
        yield NOTHING_TO_REGISTER.format("pix_keys")
    if "delete-keys" in allowed and "register-keys" not in allowed:
        yield NO_REGISTRATION
    if "delete-keys" in allowed and not profile.deletes_keys:
        yield NO_DELETION
    codes = profile.transactions.codes
    if "execute" in allowed and not profile.transactions.prepare and not set(codes) - set(sent_before):
        yield SENT_BEFORE if codes else NO_CODE
