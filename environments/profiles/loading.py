"""Loading of a profile: its file is found, read, checked and made into a ``Profile``. Nothing is sent.

The module also says what a profile permits without supplying what is needed for it. Every start of a run and every
command ask it. `python -m environments.profiles.loading` prints profile.schema.json, for editors.

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

_FORMS_BY_TAG = {
    "null": r"~|null|Null|NULL|",
    "bool": r"true|True|TRUE|false|False|FALSE",
    "int": r"-?(0|[1-9]\d*)",
    "float": r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?",
}
"""Forms of the values that are no text without quotes (YAML 1.2, section 10.3). PyYAML has those of YAML 1.1, which
reads 010 as 8 and 1:30 as 90."""
_QUOTED = re.compile(r"""(['"])(?:(?P<plain>.{1,2}|<[a-z ]+>)|.*?)\1""")
"""A text in quotes in a message of PyYAML. It comes from the file, so it may be a secret. Group `plain`: it is short
punctuation or a word of PyYAML such as <stream end>, which is no secret."""


class _Loader(yaml.SafeLoader):
    """A loader for YAML 1.2 without aliases and without duplicate keys."""

    yaml_implicit_resolvers: ClassVar[dict[Any, Any]] = {}  # type: ignore[misc]  # as PyYAML has it

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """A node that is no alias. Aliases of aliases could make a small file huge in memory."""
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


for _tag, _form in _FORMS_BY_TAG.items():
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_form})$"), None)


@dataclass(frozen=True)
class ParsedYaml:
    """Data of a YAML file, and the nodes that know its lines."""

    data: Any
    root: yaml.Node | None

    def line_of(self, place: Sequence[str | int]) -> int:
        """The number of the line with the key or item at a place, from 1.

        `place` has names of keys and numbers of items, from the outside. If it leads to nothing, it is the line of the
        last key or item on the way.
        """
        node = self.root
        mark = node.start_mark if node else None
        for step in place:
            if isinstance(node, yaml.MappingNode) and isinstance(step, str):
                key_node, node = next((pair for pair in node.value if pair[0].value == step), (None, None))
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
                key_node = node = node.value[step]
            else:
                break
            if key_node:
                mark = key_node.start_mark
        return mark.line + 1 if mark else 1


def parse_yaml(text: str, name: str) -> ParsedYaml:
    """Parse the text of a YAML file. Raises ProfileError, which gives the file this name."""
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        data = None if root is None else loader.construct_document(root)
        json_text = json.dumps(data, ensure_ascii=False, allow_nan=False).encode()  # no NaN, no half of a character
        return ParsedYaml(json.loads(json_text), root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = _QUOTED.sub(lambda quoted: quoted[0] if quoted["plain"] else "…", error.problem or "not YAML")
        raise ProfileError(f"{name}:{mark.line + 1 if mark else 1}: {problem}") from None
    except (yaml.YAMLError, RecursionError, KeyError, TypeError, ValueError):
        raise ProfileError(f"{name}: a value or a character that cannot be read, or nested too deeply") from None


_FILE = TypeAdapter(ProfileFile)
"""Checks the data of a file, and makes the profile."""
_KEYS = {key.name for key in fields(ProfileFile)}
"""The keys at the top of a profile."""
_UNKNOWN_KEY = "unexpected_keyword_argument"
"""The name of that error in pydantic."""
_NOT_REPEATED = "…"
"""Stands for a key that resembles no known one: it may be a value that was pasted in the wrong place."""
SCHEMA_FILE = ENVIRONMENTS / "profile.schema.json"
EXAMPLE_FILE = ENVIRONMENTS / "staging.example.yaml"
_MADE_UP_FOR_THE_SANDBOX = ("pix_keys", "transactions", "requests")
"""Keys whose values in a profile of the embedded sandbox mean nothing anywhere else."""

# What a profile lacks for what it permits, and what to set.
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
        """A default as JSON. A set has no order of its own, so it is sorted."""
        return sorted(dft) if isinstance(dft, frozenset) else super().encode_default(dft)


@cache
def editor_schema() -> dict[str, Any]:
    """The JSON Schema with which editors complete and explain the keys.

    It is called draft-07, which more editors know. Of newer drafts pydantic uses $defs alone, which editors accept.
    """
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
        known_environments = f"the environments in {shown(folder)} are: {', '.join(names) or 'none'}"
        reason = getattr(error, "strerror", "it is not UTF-8")
        raise ProfileError(f"{shown(path)}: cannot be read ({reason}); {known_environments}") from None
    return profile_of(text, path, base_url)


def profile_of(text: str, path: Path, base_url: str | None = None) -> Profile:
    """The profile that a text holds. ``base_url`` replaces its address.

    Raises ``ProfileError`` with every problem.
    """
    name = shown(path)
    parsed = parse_yaml(text, name)
    if not isinstance(parsed.data, dict):
        raise ProfileError(f"{name}: expected keys such as base_url and auth at the top")
    # A key has no value if everything below it is switched off. It keeps its default then.
    data = {key: value for key, value in parsed.data.items() if value is not None or key not in _KEYS}
    redirected = None
    if base_url is not None:
        data, redirected = _redirected(data, base_url, name)
    context = {"folder": path.absolute().parent, "base_url": str(data.get("base_url"))}
    try:
        # As JSON, which has no tuples, sets, dates and paths: pydantic makes them of lists and texts, although strict.
        file = _FILE.validate_json(json.dumps(data), context=context)
    except ValidationError as error:
        # Unknown keys come first: what is missing may be there under an unknown key.
        errors = sorted(error.errors(include_url=False), key=lambda problem: problem["type"] != _UNKNOWN_KEY)
        raise ProfileError(*dict.fromkeys(_problem(problem, parsed, name, base_url) for problem in errors)) from None
    profile = Profile(**vars(file), name=path.stem, path=path, redirected=redirected)
    names_transfers = "transfers" in (data.get("limits") or {})
    if names_transfers or not profile.is_sandbox:
        return profile
    # On a sandbox nothing has a value. A service may accept every invalid body, and each may prepare a transfer.
    return replace(profile, limits=replace(profile.limits, transfers=profile.limits.requests))


def _redirected(data: dict[str, Any], base_url: str, name: str) -> tuple[dict[str, Any], str | None]:
    """The data of a profile for another address, and the note about it, as `Profile.redirected` has it.

    The values that were made up for the embedded sandbox do not follow to another address.
    """
    new_address = {"base_url": base_url, "sandbox": None}
    if data.get("base_url") == EMBEDDED:
        kept = {key: value for key, value in data.items() if key not in _MADE_UP_FOR_THE_SANDBOX}
        note = (
            f"--base-url: {name} is for the embedded sandbox, this run only reads; keys, codes and bodies stay "
            f"there. `python -m environments new NAME` writes a profile for {in_one_form(base_url)}"
        )
        return kept | {"allow": ["read"]} | new_address, note
    is_same_address = in_one_form(base_url) == in_one_form(str(data.get("base_url")))
    return data | new_address, None if is_same_address else ""


def from_example(values: Mapping[str, str], path: Path) -> str:
    """The commented example for a file at `path`, with the first line of each of these keys switched on.

    The line gets the given value; if that is empty, it keeps the value of the example. Raises ``ProfileError``.
    """
    schema = os.path.relpath(SCHEMA_FILE, path.absolute().parent)
    text = EXAMPLE_FILE.read_text("utf-8").replace(SCHEMA_FILE.name, schema)
    for key, value in values.items():
        line = rf"(?m)^(?P<indent> *)#?(?P<key>{key}:)(?P<value>.*)"
        new_value = f" {value}".replace("\\", r"\\") if value else r"\g<value>"
        text = re.sub(line, rf"\g<indent>\g<key>{new_value}", text, count=1)
    profile_of(text, path)  # raises if a value is wrong
    return text


def _problem(error: Any, parsed: ParsedYaml, file: str, base_url: str | None) -> str:
    """One line for an error of pydantic: ``qa.yaml:7: limits.rate: Input should be a valid number``.

    `base_url` is that of the command line, which stands in no line of the file.
    """
    place, message = _place_and_message(error)
    if base_url is not None and place == ("base_url",):
        return f"--base-url: {message}"
    line = parsed.line_of(error["loc"])
    return f"{file}:{line}: {'.'.join(map(_printable, place))}: {message}"


def _place_and_message(error: Any) -> tuple[tuple[Any, ...], str]:
    """The place of an error of pydantic, without anything that may be a pasted secret, and what is wrong there."""
    place = error["loc"]
    message = error["msg"].removeprefix("Value error, ")
    if error["type"] == _UNKNOWN_KEY:
        nearest = get_close_matches(place[-1], _known_keys(), 1)
        message = "unknown key" + "".join(f'; did you mean "{key}"?' for key in nearest)
        place = (*place[:-1], place[-1] if nearest else _NOT_REPEATED)
        if place[0] == "auth":
            message = "unknown key; secrets are named, never written: use token_env, token_command or token_file"
    elif error["type"] == "too_short":
        message = "expected at least one"
    if place[-1] == "[key]":  # as pydantic marks a key that is wrong itself
        place = place[:-1]
        if place[0] == "requests" and not get_close_matches(place[-1], operations(), 1):
            place = (*place[:-1], _NOT_REPEATED)
    elif place[0] == "requests":  # whatever is wrong with a body
        body = "{pixKey: '{key}'}" if "deletePixKey" in place else "{from: '{account}', to: RECEIVER, value: 0.01}"
        place = place[:2]
        message = f"expected a body written as YAML, such as {{json: {body}}}"
    return place, message


def _known_keys() -> list[str]:
    """All keys of a profile, those inside of other keys included."""
    schema = editor_schema()
    keys = list(schema["properties"])
    for part in schema["$defs"].values():
        keys += part["properties"]
    return keys


def _printable(step: str | int) -> str:
    """A key or the number of an item, if a message may show it; else `…`.

    A form of `NAME:VALUE` loses the value: YAML reads ``token:abc``, without a space, as one key.
    """
    name = str(step).partition(":")[0]
    return name if re.fullmatch(r"[A-Za-z_]{1,40}(-[A-Za-z0-9]{1,12})*|\d{1,3}", name) else _NOT_REPEATED


def path_of(environment: str, folder: Path = ENVIRONMENTS) -> Path:
    """``folder/<name>.yaml``; for a text that is a path, the path itself."""
    is_path = re.search(r"[/\\]|\.ya?ml$", environment)
    return Path(environment) if is_path else folder / f"{environment}.yaml"


def name_for_commands(profile: Profile) -> str:
    """The profile as a command line names it, with --base-url if that replaced its address; ``load`` reads it."""
    path = profile.path
    name = quote(path.stem if path.absolute().parent == ENVIRONMENTS else shown(path))
    return name if profile.redirected is None else f"{name} --base-url={quote(profile.base_url)}"


def gaps(profile: Profile, sent_before: Collection[str] = ()) -> Iterator[str]:
    """Each reason why a run of everything that the profile permits would be incomplete.

    `sent_before` are the codes that the journal keeps from being sent.
    """
    allowed = profile.allow
    if not profile.accounts and allowed & {"read", "register-keys", "delete-keys"}:
        yield NO_ACCOUNT
    if not profile.pix_keys and "register-keys" in allowed:
        yield NOTHING_TO_REGISTER.format("pix_keys")
    if "delete-keys" in allowed and "register-keys" not in allowed:
        yield NO_REGISTRATION
    missing_line = missing_for_deletions(profile)
    if "delete-keys" in allowed and missing_line:
        yield missing_line
    codes = profile.transactions.codes
    has_a_code = bool(profile.transactions.prepare or set(codes) - set(sent_before))
    if "execute" in allowed and not has_a_code:
        yield SENT_BEFORE if codes else NO_CODE


def missing_for_deletions(profile: Profile) -> str:
    """What to set, because a run deletes no key without it; empty if the profile has all that deletions need."""
    if "deletePixKey" not in profile.requests:
        return NO_DELETION
    if profile.is_sandbox:
        return ""
    if profile.key_at is None:
        return NO_KEY_AT
    return "" if "read" in profile.allow else NO_LIST


if __name__ == "__main__":
    print(json.dumps(editor_schema(), indent=2, ensure_ascii=False))
