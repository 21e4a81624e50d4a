"""Kinds of values in a profile's file, with the words of messages about them, and longer examples."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, Field, GetPydanticSchema, ValidationInfo, WithJsonSchema

from spec.interface import KEY_TYPES
from spec.requirements import ledger

PERMISSIONS = {
    "read": "GET the accounts, a balance, the entries of an account and its keys. Changes nothing.",
    "register-keys": """\
POST /v1/pix/keys: registers the keys in pix_keys, and RANDOM keys, for the first of the accounts. Payments to a
registered key reach that account. With read, a run looks at the list of keys first and leaves a key alone that
is there already. A key that is registered stays, but for what delete-keys says.""",
    "delete-keys": """\
DELETE /v1/pix/keys: deletes the keys that this run made up, and those of pix_keys that it registered and that are
disposable. `python -m environments cleanup staging` deletes what earlier runs left. Needs
requests.deletePixKey.""",
    "create-pix": """\
POST /v1/pix: creates a PIX transaction with the body in requests.createPix. The interface document does not
show what that does: it may move money by itself.""",
    "transfer": """\
POST /v1/transfer/external, internal and p2p, with the bodies in requests: prepares transfers. The interface
document does not show whether money waits for the execution: a service may move it at once.""",
    "execute": """\
GET /v1/execute/pix/{transactionId}: confirms a prepared transfer. THIS MOVES MONEY, and cannot be undone.
Every code in transactions, and every one that is prepared, is executed once; at most limits.executions in a run.""",
    "fuzz": """\
Generated requests, valid and invalid ones, to the operations that are permitted besides, up to limits.requests.
They name synthetic accounts, keys and codes (pixconf-…), and never yours.""",
}
"""The permissions in the order in which they are added, and what each allows."""
_TRANSFER = {"value": 0.01, "date": "2026-12-01"}
INTERNAL = {"from": "{account}", "to": "ac-0002-31", **_TRANSFER, "description": "conformance suite"}
BODIES = {
    "deletePixKey": {"json": {"pixKey": "{key}", "pixKeyType": "{type}"}},
    "createPix": {"json": {"account": "{account}", "pixKey": "{key}", "value": 0.01}},
    "transferExternal": {"json": {"from": "{account}", "to": "98765432", **_TRANSFER}},
    "transferInternal": {"json": INTERNAL},
    "transferP2p": {"json": INTERNAL},
}


_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
"""A name of a header (RFC 9110 section 5.1)."""
_OWN_HEADER = re.compile(
    "authorization|proxy-authorization|host|content-.*|transfer-encoding|connection|te|upgrade|expect", re.IGNORECASE
)
TWICE = "one is listed twice; remove one of the two"
T = TypeVar("T")


def shown_as(example: Any) -> Any:
    """The value of the commented example."""
    return Field(examples=[example])


def expected(words: str) -> Any:
    """The end of the sentence "expected …", in our messages and in those of editors."""
    return Field(json_schema_extra={"errorMessage": f"expected {words}"})


def written_as(form: Any) -> GetPydanticSchema:
    """The form that a value has in the file, where the attribute has a wider type, or another one."""
    return GetPydanticSchema(lambda _, handler: handler(form))


def one_of(*names: str) -> GetPydanticSchema:
    """One of these texts."""
    return written_as(Literal.__getitem__(names))


def refused_if(is_wrong: Callable[[T], Any], words: str = "") -> AfterValidator:
    """A problem of a value: these words, or what is expected of it."""

    def checked(value: T) -> T:
        if is_wrong(value):
            raise ValueError(words)
        return value

    return AfterValidator(checked)


def printable(key: str) -> str:
    """A key as a message may show it. Without a space, YAML reads ``token:abc`` as a key."""
    name = key.partition(":")[0]
    return name if re.fullmatch(r"[A-Za-z_]{1,40}(-[A-Za-z0-9]{1,12})*", name) else "…"


def nearest(value: str, known: Collection[str], otherwise: str) -> str:
    """The known name that was probably meant, as a question; else another remedy."""
    by_letters = {name.lower(): name for name in known}
    near = get_close_matches(value.lower(), by_letters, 1)
    return f'did you mean "{by_letters[near[0]]}"?' if near else otherwise


def _is_no_segment(text: str) -> bool:
    """An identifier becomes one segment of a path."""
    return text != text.strip() or text in ("", ".", "..") or not text.isprintable()


def _beside_the_profile(path: Path, info: ValidationInfo) -> Path:
    """The absolute path. The context of the validation is the folder of the profile."""
    return Path(info.context or "", os.path.expanduser(path))


def _that_is_there(path: Path) -> Path:
    if not os.path.isfile(path):  # Path.is_file raises where a pasted token is too long a name
        raise ValueError("no such file; a path is relative to the folder of this profile")
    return path


def _requirement(name: str) -> str:
    if name not in ledger():
        raise ValueError(f"no such requirement; {nearest(name, ledger(), 'spec/requirements.yaml lists them')}")
    return name


def _with_known_placeholders(body: Any) -> Any:
    """``{acount}`` would go out as it is written. Braces around anything less alike are left alone."""
    known = ("account", "key", "type")
    for word in re.findall(r"\{([A-Za-z_]{2,20})\}", json.dumps(body)):
        if word not in known and (near := get_close_matches(word.lower(), known, 1)):
            raise ValueError(f'unknown placeholder {{{word}}}; did you mean "{{{near[0]}}}"?')
    return body


Level = Annotated[str, one_of("documented", "implied", "example", "robustness")]
Permission = Annotated[
    str, one_of(*PERMISSIONS), Field(json_schema_extra={"enumDescriptions": list(PERMISSIONS.values())})
]
KeyType = Annotated[str, one_of(*KEY_TYPES)]
Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0, le=86_400)]
Word = Annotated[str, Field(min_length=1)]
Identifier = Annotated[
    str, refused_if(_is_no_segment), expected("an identifier as text, in quotes where it is made of digits")
]
Identifiers = Annotated[
    tuple[Identifier, ...],
    refused_if(lambda each: len(each) > len({*each}), TWICE),
]
Body = Annotated[
    Any,
    refused_if(lambda value: not isinstance(value, dict | list)),
    AfterValidator(_with_known_placeholders),
    WithJsonSchema({"type": ["object", "array"]}),
    expected("a body written as YAML (a mapping or a list)"),
]
File = Annotated[
    Path,
    refused_if(Path().__eq__),
    AfterValidator(_beside_the_profile),
    expected("the path of a file, relative to the folder of this profile"),
]
FileThere = Annotated[File, AfterValidator(_that_is_there)]
Variable = Annotated[  # upper case only: a pasted token is then nearly always refused, and never shown as a "name"
    str,
    Field(pattern=r"^[A-Z_][A-Z0-9_]{0,63}$"),
    expected("the name (never the value) of an environment variable in upper case"),
]
Pointer = Annotated[str, Field(pattern=r"^(/([^~/]|~[01])*)+$"), expected("a JSON pointer")]
RequirementId = Annotated[
    str, AfterValidator(_requirement), expected("the id of a requirement, such as executePix.digit.type")
]
HeaderName = Annotated[
    str,
    refused_if(lambda name: not _HEADER.fullmatch(name) or _OWN_HEADER.fullmatch(name)),
    expected("the name of a header that the suite does not set itself (Authorization comes from auth)"),
]
