"""Loads a profile: its file is found, read, checked and made into a ``Profile``. Nothing is sent. Says what a profile
permits and does not supply, too. `python -m environments.profiles.loading` prints profile.schema.json, for editors.

Whatever is wrong is a ``ProfileError``, before any request, with every problem in one line: file, line, key, what was
expected and what to do. No message repeats a value, because any value may be a secret or personal data.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from shlex import quote
from typing import Any, ClassVar

import yaml
from pydantic import TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema

from environments.profiles.addresses import in_one_form
from environments.profiles.model import (
    EMBEDDED,
    ENVIRONMENTS,
    RECORD,
    Profile,
    ProfileError,
    ProfileFile,
    shown,
)
from spec.interface import operations

_KINDS = {
    "null": r"~|null|Null|NULL|",
    "bool": r"true|True|TRUE|false|False|FALSE",
    "int": r"-?(0|[1-9]\d*)",
    "float": r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?",
}
"""Values that are no text without quotes (YAML 1.2, section 10.3). YAML 1.1 reads 010 as 8 and 1:30 as 90."""
_QUOTED = re.compile(r"""(['"])(?:(?P<plain>.{1,2}|<[a-z ]+>)|.*?)\1""")
"""Text that PyYAML quotes comes from the file and may be a secret; punctuation and <stream end> are none."""


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: ClassVar[dict[Any, Any]] = {}  # type: ignore[misc]  # as PyYAML has it

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """A node that is no alias: nothing is larger than it is written."""
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem="an alias; write it out", problem_mark=event.start_mark)
        return super().compose_node(parent, index)

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """A mapping whose keys are unique."""
        node = super().compose_mapping_node(anchor)
        keys: list[Any] = []
        for key, _ in node.value:
            if key.value in keys:
                raise yaml.MarkedYAMLError(problem="a duplicate key; keep one of the two", problem_mark=key.start_mark)
            keys.append(key.value)
        return node


for _name, _form in _KINDS.items():
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", re.compile(rf"(?:{_form})$"), None)


@dataclass(frozen=True)
class Document:
    """Data of a file, and the nodes that know its lines."""

    data: Any
    root: yaml.Node | None

    def line_of(self, place: Sequence[str | int]) -> int:
        """The line of the key or item at a place, or of the one around it."""
        node, mark = self.root, self.root and self.root.start_mark
        for step in place:
            if isinstance(node, yaml.MappingNode) and isinstance(step, str):
                key, node = next((pair for pair in node.value if pair[0].value == step), (None, None))
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
                key = node = node.value[step]
            else:
                break
            mark = key.start_mark if key else mark
        return mark.line + 1 if mark else 1


def document(text: str, name: str) -> Document:
    """The text of a file of that name. Raises ProfileError."""
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        data = None if root is None else loader.construct_document(root)
        written = json.dumps(data, ensure_ascii=False, allow_nan=False).encode()  # no NaN, no half of a character
        return Document(json.loads(written), root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = _QUOTED.sub(lambda quoted: quoted[0] if quoted["plain"] else "…", error.problem or "not YAML")
        raise ProfileError(f"{name}:{mark.line + 1 if mark else 1}: {problem}") from None
    except (yaml.YAMLError, RecursionError, KeyError, TypeError, ValueError):
        raise ProfileError(f"{name}: a value or a character that cannot be read, or nested too deeply") from None


_FILE = TypeAdapter(ProfileFile)
_KEYS = {key.name for key in fields(ProfileFile)}
"""Without a value, such as where all below it is switched off, a key keeps its default."""
_UNKNOWN = "unexpected_keyword_argument"
_NOT_REPEATED = "…"
"""Stands for a key that resembles no known one: it may be a value that was pasted in the wrong place."""
SCHEMA_FILE, EXAMPLE_FILE = ENVIRONMENTS / "profile.schema.json", ENVIRONMENTS / "staging.example.yaml"
_OF_THE_SANDBOX = ("pix_keys", "transactions", "requests")

NO_ACCOUNT = "no account: supply accounts"
NOTHING_TO_REGISTER = "nothing to register: supply {}"
NO_REGISTRATION = "only a key that the run registered is deleted: add register-keys to allow"
NO_DELETION = "no body for a deletion: supply requests.deletePixKey, such as {json: {pixKey: '{key}'}}"
NO_KEY_AT = (
    "off a sandbox, a key is deleted only if a list shows that no other key is gone: set key_at to the place where "
    "listPixKeys shows the keys, such as /data/keys/*/key"
)
NO_LIST = "off a sandbox, a key is deleted only if a list shows that no other key is gone: add read to allow"
NO_CODE = "no transaction code: supply transactions.codes or transactions.prepare"
SENT_BEFORE = "every transaction code was sent by an earlier run: prepare new ones"


class _Generator(GenerateJsonSchema):
    """JSON Schema as pydantic writes it. The order of a set is always the same."""

    def encode_default(self, dft: Any) -> Any:
        return sorted(dft) if isinstance(dft, frozenset) else super().encode_default(dft)


@cache
def editor_schema() -> dict[str, Any]:
    """JSON Schema draft-07, with which editors complete and explain the keys: of what is newer, pydantic uses $defs
    alone."""
    return {"$schema": "http://json-schema.org/draft-07/schema#", **_FILE.json_schema(schema_generator=_Generator)}


def load(environment: str, *, folder: Path = ENVIRONMENTS, base_url: str | None = None) -> Profile:
    """The profile named ``environment`` in ``folder``, or at that path; ``base_url`` replaces its address.

    Raises ``ProfileError``.
    """
    path = path_of(environment, folder)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, ValueError) as error:
        names = sorted(file.stem for file in folder.glob("*.yaml") if not file.name.endswith(RECORD))
        there = f"the environments in {shown(folder)} are: {', '.join(names) or 'none'}"
        reason = getattr(error, "strerror", "it is not UTF-8")
        raise ProfileError(f"{shown(path)}: cannot be read ({reason}); {there}") from None
    return profile_of(text, path, base_url)


def profile_of(text: str, path: Path, base_url: str | None = None) -> Profile:
    """The profile that a text holds. What was made up for the embedded sandbox does not follow it to another address.
    Raises ``ProfileError`` with every problem."""
    name, redirected = shown(path), None
    read = document(text, name)
    if not isinstance(read.data, dict):
        raise ProfileError(f"{name}: expected keys such as base_url and auth at the top")
    data = {key: value for key, value in read.data.items() if value is not None or key not in _KEYS}
    if base_url is not None:
        redirected = "" if in_one_form(base_url) != in_one_form(str(data.get("base_url"))) else None
        if data.get("base_url") == EMBEDDED:
            data = {key: value for key, value in data.items() if key not in _OF_THE_SANDBOX} | {"allow": ["read"]}
            redirected = (
                f"--base-url: {name} is for the embedded sandbox, this run only reads; keys, codes and bodies stay "
                f"there. `python -m environments new NAME` writes a profile for {in_one_form(base_url)}"
            )
        data |= {"base_url": base_url, "sandbox": None}
    try:  # as JSON, which has no tuples, sets, dates and paths, so that even where it is strict pydantic makes them
        context = {"folder": path.absolute().parent, "base_url": str(data.get("base_url"))}
        file = _FILE.validate_json(json.dumps(data), context=context)
    except ValidationError as error:  # what is missing may be there under an unknown key, which comes first
        told = sorted(error.errors(include_url=False), key=lambda each: each["type"] != _UNKNOWN)
        raise ProfileError(*dict.fromkeys(_problem(each, read, name, base_url) for each in told)) from None
    profile = Profile(**vars(file), name=path.stem, path=path, redirected=redirected)
    names_transfers = "transfers" in (data.get("limits") or {})
    if names_transfers or not profile.is_sandbox:
        return profile
    # Nothing there is worth anything, and a service may accept every invalid body.
    return replace(profile, limits=replace(profile.limits, transfers=profile.limits.requests))


def from_example(values: Mapping[str, str], path: Path) -> str:
    """The commented example for a file at `path`, with the first line of each key switched on: with its value, or as it
    stands where that is empty. Raises ``ProfileError``."""
    schema = os.path.relpath(SCHEMA_FILE, path.absolute().parent)
    text = EXAMPLE_FILE.read_text("utf-8").replace(SCHEMA_FILE.name, schema)
    for key, value in values.items():
        written = f" {value}".replace("\\", r"\\") if value else r"\3"
        text = re.sub(rf"(?m)^( *)#?({key}:)(.*)", rf"\1\2{written}", text, count=1)
    profile_of(text, path)
    return text


def _problem(error: Any, read: Document, file: str, base_url: str | None) -> str:
    """A problem with its place, such as ``qa.yaml:7: limits.rate: Input should be a valid number``."""
    place, said = error["loc"], error["msg"].removeprefix("Value error, ")
    line = read.line_of(place)
    if error["type"] == _UNKNOWN:
        known = [name for part in (editor_schema(), *editor_schema()["$defs"].values()) for name in part["properties"]]
        nearest = get_close_matches(place[-1], known, 1)
        said = "unknown key" + "".join(f'; did you mean "{near}"?' for near in nearest)
        place = (*place[:-1], place[-1] if nearest else _NOT_REPEATED)
        if place[0] == "auth":
            said = "unknown key; secrets are named, never written: use token_env, token_command or token_file"
    elif error["type"] == "too_short":
        said = "expected at least one"
    if place[-1] == "[key]":  # as pydantic marks a key that is wrong itself
        place = place[:-1]
        if place[0] == "requests" and not get_close_matches(place[-1], operations(), 1):
            place = (*place[:-1], _NOT_REPEATED)
    elif place[0] == "requests":
        body = "{pixKey: '{key}'}" if "deletePixKey" in place else "{from: '{account}', to: RECEIVER, value: 0.01}"
        place, said = place[:2], f"expected a body written as YAML, such as {{json: {body}}}"
    where = f"{file}:{line}: {'.'.join(map(_printable, place))}"
    return f"{where if base_url is None or place != ('base_url',) else '--base-url'}: {said}"


def _printable(step: str | int) -> str:
    """A key as a message may show it. Without a space, YAML reads ``token:abc`` as a key."""
    name = str(step).partition(":")[0]
    return name if re.fullmatch(r"[A-Za-z_]{1,40}(-[A-Za-z0-9]{1,12})*|\d{1,3}", name) else _NOT_REPEATED


def path_of(environment: str, folder: Path = ENVIRONMENTS) -> Path:
    """``folder/<name>.yaml``, or the path itself where it is one."""
    return Path(environment) if re.search(r"[/\\]|\.ya?ml$", environment) else folder / f"{environment}.yaml"


def named(profile: Profile) -> str:
    """The profile on the command line, with the address that replaces its own: the opposite of ``load``."""
    path = profile.path
    name = quote(path.stem if path.absolute().parent == ENVIRONMENTS else shown(path))
    return name if profile.redirected is None else f"{name} --base-url={quote(profile.base_url)}"


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
    if "delete-keys" in allowed and (missing := missing_for_deletions(profile)):
        yield missing
    codes = profile.transactions.codes
    if "execute" in allowed and not profile.transactions.prepare and not set(codes) - set(sent_before):
        yield SENT_BEFORE if codes else NO_CODE


def missing_for_deletions(profile: Profile) -> str:
    """The line of the profile without which a run that may delete keys deletes none; empty if it has all."""
    if "deletePixKey" not in profile.requests:
        return NO_DELETION
    if profile.is_sandbox:
        return ""
    if profile.key_at is None:
        return NO_KEY_AT
    return "" if "read" in profile.allow else NO_LIST


if __name__ == "__main__":
    print(json.dumps(editor_schema(), indent=2, ensure_ascii=False))
