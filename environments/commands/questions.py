"""What a profile needs, as questions in the order in which permissions are added.

Each has an option of the same meaning. A permission is given by supplying what it needs; `execute` and `fuzz` are asked
for by name.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from environments.profiles.checked_yaml import SCHEMA
from spec.interface import operations

Data = dict[str, Any]
Put = Callable[[Data, Sequence[str]], None]
TOKEN_ENV = "PIX_TOKEN"
_PERMISSIONS = SCHEMA["properties"]["allow"]["items"]
_PREPARING = ("createPix", "transferInternal", "transferP2p", "transferExternal")
"""Whose body prepares transfers, the first that is supplied."""
_TRANSFERS = {"transferExternal": ("description",), "transferInternal": (), "transferP2p": ()}
"""The operations that one body is for, and which of its members are documented for the others alone."""


class AnswerError(Exception):
    """An answer that cannot be taken: each problem in one line. None of them repeats the answer."""

    def __init__(self, *problems: str) -> None:
        super().__init__(problems[0])
        self.problems = problems


@dataclass(frozen=True)
class Question:
    """`put` takes the answers over into the data of the profile. Without an answer `default` is taken; where that is
    empty, the profile goes without. `follows` says whether there is anything to ask; some have an option alone."""

    option: str
    text: str
    put: Put
    permission: str = ""
    default: str = ""
    follows: Callable[[Data], bool] = lambda data: True
    repeats: bool = False
    is_needed: bool = False
    is_flag: bool = False

    @property
    def dest(self) -> str:
        """The name under which argparse keeps the option."""
        return self.option.removeprefix("--").replace("-", "_")

    @property
    def prompt(self) -> str:
        """What is shown to who is asked."""
        text = self.text + ", with commas" * self.repeats
        return text + (": " if self.is_needed else f" [{'y/N' if self.is_flag else self.default or 'none'}]: ")

    @property
    def help(self) -> str:
        """What is said of the option."""
        allows = f" (allows {self.permission})" * (self.permission != "read" and not self.is_flag)
        return self.text + "; may be repeated" * self.repeats + allows * bool(self.permission)

    @property
    def meaning(self) -> str:
        """What the permission means that an answer gives."""
        return str(_PERMISSIONS["x-descriptions"].get(self.permission, ""))


def _key(name: str) -> Put:
    def put(data: Data, answers: Sequence[str]) -> None:
        data[name] = answers[0]

    return put


def _auth(name: str) -> Put:
    def put(data: Data, answers: Sequence[str]) -> None:
        try:
            data["auth"] = {name: shlex.split(answers[0]) if name == "token_command" else answers[0]}
        except ValueError:
            raise AnswerError("expected a command with its arguments, its quotes in pairs") from None

    return put


def _accounts(data: Data, answers: Sequence[str]) -> None:
    data["accounts"] = list(answers)


def _pix_keys(data: Data, answers: Sequence[str]) -> None:
    pairs = [answer.partition("=") for answer in answers]
    data["pix_keys"] = [{"type": kind.strip(), "key": key.strip()} for kind, _, key in pairs]
    _allow(data, "register-keys")


def _body(operation: str, permission: str) -> Put:
    def put(data: Data, answers: Sequence[str]) -> None:
        data.setdefault("requests", {})[operation] = {"json": _json(answers[0])}
        _allow(data, permission)

    return put


def _transfers(data: Data, answers: Sequence[str]) -> None:
    body = _json(answers[0])
    requests = data.setdefault("requests", {})
    for operation, without in _TRANSFERS.items():
        bare = {name: value for name, value in body.items() if name not in without} if isinstance(body, dict) else body
        requests[operation] = {"json": bare}
    _allow(data, "transfer")


def _json(answer: str) -> Any:
    try:
        return json.loads(answer, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise AnswerError('expected a body as JSON, such as {"account": "{account}", "value": 0.01}') from None


def _refuse(constant: str) -> None:
    """NaN and Infinity are no JSON (RFC 8259 section 6)."""
    raise ValueError(constant)


def _code_at(data: Data, answers: Sequence[str]) -> None:
    operation = next((name for name in _PREPARING if name in data.get("requests", {})), "")
    if not operation:
        raise AnswerError("needs the body of an operation that prepares transfers, such as --create-pix-body")
    prepare = {"operation": operation, "json": data["requests"][operation]["json"], "code_at": answers[0]}
    data.setdefault("transactions", {})["prepare"] = prepare


def _codes(data: Data, answers: Sequence[str]) -> None:
    data.setdefault("transactions", {})["codes"] = list(answers)


def _permission(name: str) -> Put:
    return lambda data, _: _allow(data, name)


def _allow(data: Data, permission: str) -> None:
    allowed = {*data["allow"], permission}
    data["allow"] = [one for one in _PERMISSIONS["enum"] if one in allowed]


def _never(data: Data) -> bool:
    return False


def _prepares(data: Data) -> bool:
    return not data.get("requests", {}).keys().isdisjoint(_PREPARING)


_BODY = "body of {}, as JSON; {{account}}, {{key}} and {{type}} in it are filled in"
QUESTIONS: tuple[Question, ...] = (
    Question("--base-url", "address of the service, without /v1", _key("base_url"), is_needed=True),
    Question("--token-file", "a file with the access token", _auth("token_file"), follows=_never),
    Question("--token-command", "a command that prints the access token", _auth("token_command"), follows=_never),
    Question(
        "--token-env", "name of the environment variable with the access token, never the token", _auth("token_env"),
        default=TOKEN_ENV, follows=lambda data: "token_env" in data["auth"],
    ),
    Question("--account", "accounts that the token may see", _accounts, "read", repeats=True),
    Question(
        "--pix-key", "keys of yours that may be registered, such as EMAIL=qa@example.com, RANDOM", _pix_keys,
        "register-keys", repeats=True,
    ),
    Question(
        "--delete-body", _BODY.format("DELETE /v1/pix/keys"), _body("deletePixKey", "delete-keys"), "delete-keys",
        follows=lambda data: "pix_keys" in data,
    ),
    Question("--create-pix-body", _BODY.format("POST /v1/pix"), _body("createPix", "create-pix"), "create-pix"),
    Question(
        "--transfer-body", "one body of POST /v1/transfer/external, internal and p2p, each of which gets it, as JSON; "
        "{account}, {key} and {type} in it are filled in", _transfers, "transfer",
    ),
    *(
        Question(
            f"--transfer-{name.removeprefix('transfer').lower()}-body",
            _BODY.format(f"{operations()[name].method} {operations()[name].path}") + "; in place of --transfer-body",
            _body(name, "transfer"), "transfer", follows=_never,
        )
        for name in _TRANSFERS
    ),
    Question(
        "--code-at", "where the answer to such a body has the transaction code, as a JSON pointer", _code_at,
        default="/data/transactionId", follows=_prepares,
    ),
    Question("--execute", "allow execute, which moves money", _permission("execute"), "execute", is_flag=True),
    Question(
        "--code", "codes of prepared transfers to execute", _codes, repeats=True,
        follows=lambda data: "execute" in data["allow"] and "transactions" not in data,
    ),
    Question("--fuzz", "allow fuzz", _permission("fuzz"), "fuzz", is_flag=True),
)  # fmt: skip
