"""Successful answers that are no JSON, that only look like it, or that have another status than 200."""

from environments.sandbox import Response
from tests.selftest.proof.mutants.making_faults import (
    HIDES_REGISTRATION,
    NAME_OF_OPERATION,
    ChangesAnswers,
    declare_mutant_of,
    without_self,
)
from tests.selftest.proof.registry import ids_of_operation

HTML = ("Content-Type", "text/html; charset=utf-8")


def _body(change):
    """A change of an answer: its body is what `change` makes of it."""
    return without_self(lambda response: Response(response.status, change(response.body), response.headers))


NOT_JSON = {
    "IsHtml": ("The answer is a page of HTML.", without_self(lambda _: Response(200, b"<!doctype html><p>OK</p>", (HTML,)))),
    "IsEmpty": ("The answer has no body.", _body(lambda body: b"")),
    "IsTruncated": ("The last character of the answer is missing.", _body(lambda body: body[:-1])),
    "HasTrailingText": ("Text follows the JSON.", _body(lambda body: body + b" OK")),
    "IsLatin1": ("The bytes are Latin-1.", _body(lambda body: b'{"note": "\xe7\xe3o", ' + body[1:])),
    "HasSingleQuotes": ("Names and texts are in single quotes.", _body(lambda body: body.replace(b'"', b"'"))),
    "IsBlank": ("The body of the answer is white space.", _body(lambda body: b" \r\n")),
    "IsPlainText": ("The answer is a word.", _body(lambda body: b"OK")),
    "IsXml": ("The answer is XML.", _body(lambda body: b"<?xml version='1.0'?><code>0</code>")),
    "HasASecondValue": ("A second JSON value follows the first.", _body(lambda body: body + b"{}")),
    "HasATrailingComma": ("A comma stands before the last brace.", _body(lambda body: body[:-1] + b",}")),
    "IsUtf16": ("The bytes are UTF-16.", _body(lambda body: body.decode().encode("utf-16"))),
}  # fmt: skip
_RESULT = ("*.present", "*.type", "*.spelling", "*.example", "fields.*")
_EXECUTION = ("document.*", "*.matches", "type.kind", "status.values", "accountType.meaning", "date.unit")
_OF = {
    "executePix": (*_RESULT, *_EXECUTION),
    "registerPixKey": (*_RESULT, "Success.text", "Success.letterCase", "Key.matches"),
    "deletePixKey": (),
}


class BrokenOnTheWire(ChangesAnswers):
    """The sandbox, whose answers have a header that does not fit their body, such as a wrong Content-Length."""

    ON_THE_WIRE = True


def hidden_if_unreadable(operation):
    """The requirements that are not exercised if no successful answer to the operation can be read."""
    hides = ids_of_operation(operation, "json.*", "envelope.*", *_OF[operation])
    return (*hides, *HIDES_REGISTRATION) if operation == "registerPixKey" else hides


def _with_status(status):
    """A change of an answer: it has this status. With 204 (No Content) it has no body."""
    return without_self(lambda response: Response(status, b"" if status == 204 else response.body, response.headers))


NUMBER_TRIED_ONCE = 6
"""The last faults of NOT_JSON, each of which is tried with one operation only."""


def _faults_for_operation(index):
    """The faults of NOT_JSON that are tried with the operation of this number: most of them, and its share of the last."""
    names = list(NOT_JSON)
    tried_with_each = names[:-NUMBER_TRIED_ONCE]
    tried_once = names[-NUMBER_TRIED_ONCE:]
    return tried_with_each + tried_once[index :: len(NAME_OF_OPERATION)]


for _index, _operation in enumerate(NAME_OF_OPERATION):
    for _name in _faults_for_operation(_index):
        _text, _alter = NOT_JSON[_name]
        declare_mutant_of(
            "not JSON",
            _operation,
            _name,
            _text,
            ChangesAnswers,
            "json",
            hides=hidden_if_unreadable(_operation),
            alter=_alter,
        )
    for _word in ("NaN", "Infinity"):
        declare_mutant_of(
            "not JSON", _operation, f"Has{_word}", f"A number is {_word}.", ChangesAnswers, "json",
            hides=ids_of_operation(_operation, "envelope.code.*"),
            alter=_body(lambda body, word=_word: body.decode().replace("0", word, 1).encode()),
        )  # fmt: skip
    for _name, _text, _header in (
        ("SaysGzip", "The content coding is gzip, and the body is not.", ("Content-Encoding", "gzip")),
        ("SaysBr", "The content coding is br, and the body is not.", ("Content-Encoding", "br")),
        ("NamesNoLength", "Content-Length is no number.", ("Content-Length", "two")),
        ("PromisesMore", "Content-Length is more than the body has.", ("Content-Length", "9999")),
    ):
        declare_mutant_of(
            "not JSON", _operation, _name, _text, BrokenOnTheWire, "json", hides=hidden_if_unreadable(_operation),
            alter=without_self(lambda it, header=_header: Response(200, it.body, (*it.headers, header, ("Connection", "close")))),
        )  # fmt: skip
    for _status, _fails, _hides in (
        (201, ("status",), ()),
        (202, ("status",), ()),
        (204, ("status", "json"), hidden_if_unreadable(_operation)),
    ):
        declare_mutant_of(
            "another status", _operation, f"Answers{_status}", f"A success has the status {_status}.", ChangesAnswers, *_fails,
            hides=_hides, alter=_with_status(_status),
        )  # fmt: skip
