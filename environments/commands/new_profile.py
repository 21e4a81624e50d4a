"""The text of a new profile: the commented example with the given options filled in. It holds no secret."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from environments.profiles.checked_yaml import Document
from environments.profiles.explained import SCHEMA_FILE, example
from environments.profiles.kinds import PERMISSIONS
from environments.profiles.loading import made_of, named, path_of
from environments.profiles.profile import ENVIRONMENTS, ProfileError, shown

_REPEATED: Mapping[str, Any] = {"action": "append", "default": []}
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "--base-url": {"required": True, "metavar": "URL", "help": "address of the service, without /v1"},
    "--token-env": {"metavar": "NAME", "help": "environment variable with the access token; PIX_TOKEN by default"},
    "--token-file": {"metavar": "FILE", "help": "a file with the access token"},
    "--token-command": {"metavar": "COMMAND", "help": "a command that prints the access token"},
    "--account": {"metavar": "ID", "help": "an account that the token may see; may be repeated", **_REPEATED},
    "--pix-key": {"metavar": "TYPE=KEY", "help": "a key of yours to register, or RANDOM; may be repeated", **_REPEATED},
    "--code": {"metavar": "CODE", "help": "the code of a prepared transfer; may be repeated", **_REPEATED},
    "--allow": {
        "choices": [*PERMISSIONS],
        "help": "a permission beside read; may be repeated; execute MOVES MONEY",
        **_REPEATED,
    },
}
"""The options for argparse. Everything else is switched on in the file."""
_TOKEN = re.compile(r"(?i)\bbearer\s+\S{8}|\beyJ[\w-]{8,}\.[\w.-]{8,}", re.ASCII)
"""A token behind its scheme, and a signed one (RFC 7519 section 3.1: its header begins with eyJ)."""
_NAME = re.compile(r"\w[\w .-]*")


def path_of_new(name: str) -> Path:
    """Where a new profile goes. Raises ProfileError where that is no name of one: its reports have it, too."""
    path = path_of(name)
    if path.suffix not in (".yaml", ".yml") or not _NAME.fullmatch(path.stem) or name.endswith(os.sep):
        raise ProfileError(f"{shown(path)}: expected a name such as staging, or a path that ends in .yaml")
    return path


def text_of_new(path: Path, options: Mapping[str, Any]) -> str:
    """The profile as YAML. Raises ProfileError with every problem; none repeats what an option says."""
    said = _said(options)
    text = example(said, os.path.relpath(ENVIRONMENTS / SCHEMA_FILE, path.absolute().parent))
    token = os.environ.get(said["auth"].get("token_env", ""), "").strip()
    if (token and token in str(options)) or _TOKEN.search(str(options)):
        raise ProfileError(f"{shown(path)}: an option looks like an access token; leave it out: a profile holds none")
    made_of(Document(yaml.safe_load(text)), path)
    return text


def _said(options: Mapping[str, Any]) -> dict[str, Any]:
    """What the options say, as the data of a profile."""
    allowed = {"read", *(options["allow"])}
    pairs = [text.partition("=") for text in options["pix_key"]]
    said = {
        "base_url": options["base_url"],
        "auth": _auth(options),
        "allow": [name for name in PERMISSIONS if name in allowed],
        "accounts": options["account"],
        "pix_keys": [{"type": kind.strip(), "key": key.strip()} for kind, _, key in pairs],
        "transactions": options["code"] and {"codes": options["code"]},
    }
    return {name: value for name, value in said.items() if value}


def _auth(options: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: options[name] for name in ("token_env", "token_file", "token_command") if options[name]}
    if "token_command" in given:
        try:
            given["token_command"] = shlex.split(given["token_command"])
        except ValueError:
            raise ProfileError("--token-command: expected a command with its arguments, its quotes in pairs") from None
    return given or {"token_env": "PIX_TOKEN"}


def next_steps(path: Path, options: Mapping[str, Any]) -> list[str]:
    """What was written, and what to do next."""
    name, auth = shlex.quote(named(path)), _auth(options)
    return [
        f"wrote {shown(path)}: what it does not allow is explained in it and switched off",
        *([f"  export {auth['token_env']}=…"] if "token_env" in auth else []),
        f"  python -m environments check {name}",
        f"  pytest --environment={name} --plan",
    ]
