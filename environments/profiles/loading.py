"""Loading of a profile: its file is found, read, checked and made into a ``Profile``. Nothing is sent.

A profile is a YAML file that describes one service: its address, and what a run may do there. The module also says what
a profile permits but does not supply. Every run and every command begin here. `python -m environments.profiles.loading`
prints profile.schema.json, with which editors check a profile.

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

from environments.profiles.addresses import normalized_address
from environments.profiles.model import (
    EMBEDDED,
    ENVIRONMENTS,
    RECORD,
    Profile,
    ProfileError,
    ProfileFile,
    path_in_messages,
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
"""A text in quotes in a message of PyYAML. It comes from the file, so it may be a secret. Group `plain` has a value if
the text is no secret: short punctuation, such as `':'`, or a word of PyYAML, such as `'<stream end>'`."""
_KEY_OR_INDEX = re.compile(r"[A-Za-z_]{1,40}(-[A-Za-z0-9]{1,12})*|\d{1,3}")
"""A step in the path of a value that an error message may show: a key such as `token_env` or the header `X-Api-Key`, or
the index of a list item. Tokens are longer words, or have digits between letters. The limits are a choice."""


class _Loader(yaml.SafeLoader):
    """A loader for YAML 1.2 without aliases and without duplicate keys."""

    yaml_implicit_resolvers: ClassVar[dict[Any, Any]] = {}  # type: ignore[misc]  # as PyYAML has it

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Read the next value of the YAML file. Refuses an alias (`*name`), which repeats another value.

        Aliases of aliases could make a small file huge in memory. The loader of PyYAML calls this for each value.
        """
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem="an alias; write it out", problem_mark=event.start_mark)
        return super().compose_node(parent, index)

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """Read a mapping of the YAML file. Refuses a key that is there twice, because one value would be ignored."""
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
        """The number of the line in the file, counted from 1, at which a value is written, for error messages.

        `place` has the names of keys and the numbers of list items that lead to the value from the outside, such as
        `("limits", "rate")`. If there is no such value, it is the line of the last key or item that exists.
        """
        if self.root is None:  # the file is empty
            return 1
        node = self.root
        line = node.start_mark.line
        for step in place:
            key_node, value_node = _nodes_at(node, step)
            if key_node is None or value_node is None:
                break
            line = key_node.start_mark.line
            node = value_node
        return line + 1  # PyYAML counts lines from 0


def _nodes_at(node: yaml.Node, step: str | int) -> tuple[yaml.Node | None, yaml.Node | None]:
    """The nodes of a key and of its value, if `node` is a mapping. Both are None if it has no such key.

    If `node` is a list, `step` is the number of an item. An item has no key, so its node is returned twice.
    """
    if isinstance(node, yaml.MappingNode) and isinstance(step, str):
        for key_node, value_node in node.value:
            if key_node.value == step:
                return key_node, value_node
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int):
        return node.value[step], node.value[step]
    return None, None


def parse_yaml(text: str, name: str) -> ParsedYaml:
    """The data of a YAML file. `name` is the name of the file for error messages. Raises ProfileError.

    An error message shows no value of the file, because the value may be a secret.
    """
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        data = None if root is None else loader.construct_document(root)
        # A profile has only data that JSON can have. This line raises an error for anything else, such as NaN, a set,
        # or half of a surrogate pair, which UTF-8 cannot encode.
        json_text = json.dumps(data, ensure_ascii=False, allow_nan=False).encode()
        return ParsedYaml(json.loads(json_text), root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = _without_quoted_texts(error.problem or "not YAML")
        line = mark.line + 1 if mark else 1  # PyYAML counts lines from 0
        raise ProfileError(f"{name}:{line}: {problem}") from None
    except (yaml.YAMLError, RecursionError, KeyError, TypeError, ValueError):
        raise ProfileError(f"{name}: a value or a character that cannot be read, or nested too deeply") from None


def _without_quoted_texts(message: str) -> str:
    """A message of PyYAML in which each quoted text of the file is replaced by `…`, because it may be a secret.

    For example, `found undefined tag handle '!abc!'` becomes `found undefined tag handle …`.
    """
    return _QUOTED.sub(_quoted_text_or_ellipsis, message)


def _quoted_text_or_ellipsis(quoted: re.Match[str]) -> str:
    """A quoted text in a message of PyYAML, unchanged if it is punctuation or a word of PyYAML, else `…`."""
    is_no_secret = quoted["plain"] is not None
    return quoted[0] if is_no_secret else _NOT_REPEATED


_FILE = TypeAdapter(ProfileFile)
"""Checks the data of a file, and makes the profile."""
_KEYS_OF_PROFILE = {key.name for key in fields(ProfileFile)}
"""The keys at the top of a profile."""
_UNKNOWN_KEY = "unexpected_keyword_argument"
"""The name of that error in pydantic."""
_NOT_REPEATED = "…"
"""Shown instead of a key that resembles no known key: it may be a secret that was pasted in the wrong place."""
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
        """A default value in the schema. A set is sorted, because otherwise the schema would change from run to run."""
        return sorted(dft) if isinstance(dft, frozenset) else super().encode_default(dft)


@cache
def editor_schema() -> dict[str, Any]:
    """The JSON Schema of a profile, with which editors complete and explain its keys.

    It names draft-07 of JSON Schema, because more editors know that version. pydantic writes it for a newer version,
    but the only difference here is `$defs`, which editors accept.
    """
    return {"$schema": "http://json-schema.org/draft-07/schema#", **_FILE.json_schema(schema_generator=_Generator)}


def load(environment: str, *, folder: Path = ENVIRONMENTS, base_url: str | None = None) -> Profile:
    """Read and check a profile. ``environment`` is its name in ``folder``, such as "staging", or the path of its file.

    If ``base_url`` is given, it replaces the address in the file. Raises ``ProfileError`` with every problem.
    """
    path = path_of(environment, folder)
    try:
        text = path.read_bytes().decode("utf-8-sig")  # without a byte order mark, which some editors write
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        remedy = f"the environments in {path_in_messages(folder)} are: {', '.join(_names_in(folder)) or 'none'}"
        raise ProfileError(f"{path_in_messages(path)}: cannot be read ({reason}); {remedy}") from None
    return profile_of(text, path, base_url)


def _names_in(folder: Path) -> list[str]:
    """The names of the profiles in a folder, such as `staging` for staging.yaml. Records of behaviour are left out."""
    return sorted(file.stem for file in folder.glob("*.yaml") if not file.name.endswith(RECORD))


def profile_of(text: str, path: Path, base_url: str | None = None) -> Profile:
    """Check the text of a profile's file, and make the profile of it.

    ``path`` is the path of the file. If ``base_url`` is given, it replaces the address in the text. Raises
    ``ProfileError`` with every problem.
    """
    name = path_in_messages(path)
    parsed = parse_yaml(text, name)  # the data, and the lines of the file that it comes from
    if not isinstance(parsed.data, dict):
        raise ProfileError(f"{name}: expected keys such as base_url and auth at the top")
    # A key has no value (None) if every line below it is a comment. Then the default value is used.
    data = {key: value for key, value in parsed.data.items() if value is not None or key not in _KEYS_OF_PROFILE}
    redirection_note = None
    if base_url is not None:
        data, redirection_note = _with_address_replaced(data, base_url, name)
    # What the checks of single settings need to know besides the setting itself.
    context = {"folder": path.absolute().parent, "base_url": str(data.get("base_url"))}
    try:
        # The data is passed as JSON, because pydantic is strict here: only from JSON it makes tuples and sets of lists,
        # and dates and paths of texts.
        file = _FILE.validate_json(json.dumps(data), context=context)
    except ValidationError as error:
        problems = [_problem_in_words(details, parsed, name, base_url) for details in _unknown_keys_first(error)]
        raise ProfileError(*dict.fromkeys(problems)) from None
    profile = Profile(**vars(file), name=path.stem, path=path, redirection_note=redirection_note)
    limits_in_file = data.get("limits") or {}
    if profile.is_sandbox and "transfers" not in limits_in_file:
        return _with_a_transfer_for_each_request(profile)
    return profile


def _unknown_keys_first(error: ValidationError) -> list[Any]:
    """The details of each problem that pydantic found in a profile, those about unknown keys first.

    A key that seems to be missing may only be misspelled, so the unknown key tells the user more.
    """
    all_details = error.errors(include_url=False)
    # False is sorted before True, and all others keep their order.
    return sorted(all_details, key=lambda details: details["type"] != _UNKNOWN_KEY)


def _with_a_transfer_for_each_request(profile: Profile) -> Profile:
    """The profile of a sandbox, changed so that a run may prepare as many transfers as it may send requests.

    Every request may prepare a transfer, because the service may accept every invalid body. On a sandbox no money is
    real, so that does no harm.
    """
    return replace(profile, limits=replace(profile.limits, transfers=profile.limits.requests))


def _with_address_replaced(data: dict[str, Any], base_url: str, name: str) -> tuple[dict[str, Any], str | None]:
    """The data of a profile after --base-url replaced its address, and a note about that.

    The setting `sandbox` is removed in any case, because nobody has said that the address of --base-url is a sandbox.

    | address in the profile | what else is changed | note |
    |---|---|---|
    | embedded (the sandbox of the suite) | the address; keys, codes and bodies are removed; it only reads | a text |
    | different from that of --base-url | the address | the empty text |
    | the same as that of --base-url | nothing | None |

    Keys, codes and bodies in a profile of the embedded sandbox are made up, so they must not be sent to another
    service. `name` is the file for the note.
    """
    new_address = {"base_url": base_url, "sandbox": None}
    if data.get("base_url") == EMBEDDED:
        kept_data = {key: value for key, value in data.items() if key not in _MADE_UP_FOR_THE_SANDBOX}
        note = (
            f"--base-url: {name} is for the embedded sandbox, this run only reads; keys, codes and bodies stay "
            f"there. `python -m environments new NAME` writes a profile for {normalized_address(base_url)}"
        )
        return kept_data | {"allow": ["read"]} | new_address, note
    is_same_address = normalized_address(base_url) == normalized_address(str(data.get("base_url")))
    note_on_address = None if is_same_address else ""  # see the table
    return data | new_address, note_on_address


def text_of_new_profile(values: Mapping[str, str], path: Path) -> str:
    """The text of a new profile: the commented example, in which the lines of the given keys are made active.

    In the first line of each key the `#` is removed. The line gets the given value; if that is empty, it keeps the
    value of the example. `path` is the path of the new file. Raises ``ProfileError`` if a value is wrong.
    """
    # The first line of the example names the schema. Editors look for the schema from the folder of the new file.
    path_to_schema = os.path.relpath(SCHEMA_FILE, path.absolute().parent)
    text = EXAMPLE_FILE.read_text("utf-8").replace(SCHEMA_FILE.name, path_to_schema)
    for key, value in values.items():
        line = rf"(?m)^(?P<indent> *)#?(?P<key>{key}:)(?P<value>.*)"
        # `re.sub` reads a backslash in the new text as an escape, so each is doubled.
        new_value = f" {value}".replace("\\", r"\\") if value else r"\g<value>"
        text = re.sub(line, rf"\g<indent>\g<key>{new_value}", text, count=1)
    profile_of(text, path)  # raises if a value is wrong
    return text


def _problem_in_words(error: Any, parsed: ParsedYaml, file: str, base_url: str | None) -> str:
    """One line about an error that pydantic found: ``qa.yaml:7: limits.rate: Input should be a valid number``.

    `base_url` is the address of the command line. An error in it has no line in the file, so the option is named.
    """
    place, message = _place_and_message(error)
    if base_url is not None and place == ("base_url",):
        return f"--base-url: {message}"
    line = parsed.line_of(error["loc"])
    place_in_words = ".".join(map(_printable_step, place))  # such as `limits.rate`
    return f"{file}:{line}: {place_in_words}: {message}"


def _place_and_message(error: Any) -> tuple[tuple[Any, ...], str]:
    """Where in a profile the error is that pydantic found, and what is wrong: `("limits", "rate")`, "expected …".

    Some messages of pydantic are replaced by clearer ones.
    """
    place = error["loc"]  # keys and numbers of list items, from the outside
    message = error["msg"].removeprefix("Value error, ")
    is_unknown_key = error["type"] == _UNKNOWN_KEY
    is_about_a_name = place[-1] == "[key]" and not is_unknown_key  # pydantic adds this word if a name is wrong
    if is_about_a_name:
        return _place_of_wrong_name(place[:-1]), message
    if place[0] == "requests":
        return _place_and_message_for_wrong_body(place)
    if is_unknown_key:
        return _place_and_message_for_unknown_key(place)
    if error["type"] == "too_short":
        return place, "expected at least one"
    return place, message


def _place_of_wrong_name(place: tuple[Any, ...]) -> tuple[Any, ...]:
    """The place of a name that the user chose and that is wrong: `("requests", "deletePixkey")`.

    A name under `requests` that resembles no operation is replaced by `…`, because it may be a secret that was pasted.
    """
    is_operation = place[0] == "requests"
    if is_operation and not get_close_matches(place[-1], operations(), 1):
        return (*place[:-1], _NOT_REPEATED)
    return place


def _place_and_message_for_wrong_body(place: tuple[Any, ...]) -> tuple[tuple[Any, ...], str]:
    """Place and message for an error in the body of an operation: `("requests", "createPix")`, "expected a body …".

    The message has an example of a body, because the user sees more from it than from the message of pydantic. The
    place within the body is left out, because the names of its members may be data.
    """
    body = "{pixKey: '{key}'}" if "deletePixKey" in place else "{from: '{account}', to: RECEIVER, value: 0.01}"
    return place[:2], f"expected a body written as YAML, such as {{json: {body}}}"


def _place_and_message_for_unknown_key(place: tuple[Any, ...]) -> tuple[tuple[Any, ...], str]:
    """Place and message for a key that a profile does not have, such as `("limits", "rat")`, "unknown key; …".

    A key that resembles no known one is replaced by `…`, because it may be a secret that was pasted there.
    """
    nearest = get_close_matches(place[-1], _known_keys(), 1)  # at most one known key with a similar name
    if not nearest:
        place = (*place[:-1], _NOT_REPEATED)
    if place[0] == "auth":  # probably somebody wrote the token itself
        return place, "unknown key; secrets are named, never written: use token_env, token_command or token_file"
    if nearest:
        return place, f'unknown key; did you mean "{nearest[0]}"?'
    return place, "unknown key"


def _known_keys() -> list[str]:
    """The names of all keys that a profile may have, at any depth. A similar one is suggested for an unknown key."""
    schema = editor_schema()
    keys = list(schema["properties"])
    for part in schema["$defs"].values():  # such as `limits`, which has keys of its own
        keys += part["properties"]
    return keys


def _printable_step(step: str | int) -> str:
    """A key or the index of a list item as an error message may show it; `…` if it may be a secret.

    YAML reads `token:abc`, without a space, as one key. Only the part before the colon is shown.
    """
    name = str(step).partition(":")[0]
    return name if _KEY_OR_INDEX.fullmatch(name) else _NOT_REPEATED


def path_of(environment: str, folder: Path = ENVIRONMENTS) -> Path:
    """The path of a profile's file: ``folder/staging.yaml`` for "staging"; a text that is a path is that path."""
    is_path = re.search(r"[/\\]|\.ya?ml$", environment)
    return Path(environment) if is_path else folder / f"{environment}.yaml"


def name_for_commands(profile: Profile) -> str:
    """The words by which a command line names this profile, quoted for a shell: `staging --base-url=https://…`.

    The option --base-url is included only if the user gave one and it replaced the address of the profile. Messages use
    this function to suggest a command.
    """
    path = profile.path
    is_in_usual_folder = path.absolute().parent == ENVIRONMENTS  # then its name is enough, else the path is needed
    name = quote(path.stem if is_in_usual_folder else path_in_messages(path))
    address_was_replaced = profile.redirection_note is not None
    if address_was_replaced:
        return f"{name} --base-url={quote(profile.base_url)}"
    return name


def reasons_for_incomplete_run(profile: Profile, sent_before: Collection[str] = ()) -> Iterator[str]:
    """What a profile permits without supplying what is needed for it: a line for each thing that is missing.

    For example a profile permits executions but has no transaction code. A run would leave requirements untested.
    `sent_before` are codes that are not sent again, because an earlier run sent them according to the journal (the file
    with the codes that runs sent).
    """
    allowed = profile.allow
    if not profile.accounts and allowed & {"read", "register-keys", "delete-keys"}:
        yield NO_ACCOUNT
    if not profile.pix_keys and "register-keys" in allowed:
        yield NOTHING_TO_REGISTER.format("pix_keys")
    if "delete-keys" in allowed and "register-keys" not in allowed:  # a run deletes only keys that it registered
        yield NO_REGISTRATION
    missing_line = missing_for_deletions(profile)
    if "delete-keys" in allowed and missing_line:
        yield missing_line
    codes = profile.transactions.codes
    codes_not_sent_before = set(codes) - set(sent_before)
    has_a_code = bool(profile.transactions.prepare or codes_not_sent_before)  # `prepare` makes new codes
    if "execute" in allowed and not has_a_code:
        yield SENT_BEFORE if codes else NO_CODE


def missing_for_deletions(profile: Profile) -> str:
    """The line that the profile lacks so that a run may delete keys; empty if it lacks none.

    Outside a sandbox a run must be able to read the list of keys, and find the keys in it, because the list shows
    whether a deletion removed another key.
    """
    if "deletePixKey" not in profile.requests:
        return NO_DELETION
    if profile.is_sandbox:
        return ""
    if profile.key_at is None:
        return NO_KEY_AT
    return "" if "read" in profile.allow else NO_LIST


if __name__ == "__main__":
    print(json.dumps(editor_schema(), indent=2, ensure_ascii=False))
