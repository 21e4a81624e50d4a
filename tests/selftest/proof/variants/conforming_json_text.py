"""The same JSON written in another way: whitespace, order, escapes, sizes and media types."""

import json
import random
import re

from environments.sandbox import Response, Service
from tests.selftest.proof.registry import declare_variant, variant
from tests.selftest.proof.variants.conforming_making import (
    ActsInTurn,
    AddsFieldsInTurn,
    RewritesAnswers,
    WritesNumbersVerbatim,
    number_as_written,
)
from tests.selftest.proof.variants.conforming_scopes import UNREAD


def _shuffled(value):
    """The JSON value with the members of each object in an order drawn at random."""
    if isinstance(value, dict):
        names = random.sample(sorted(value), len(value))
        return {name: _shuffled(value[name]) for name in names}
    return value


def _all_escaped(text):
    r"""JSON in whose strings every character is an escape: "id" is written "\u0069\u0064"."""
    return re.sub(r'"((?:[^"\\]|\\.)*)"', _escaped_string, text)


def _escaped_string(match):
    """A string of JSON, with its quotes, in which every character is an escape."""
    units = json.loads(match.group()).encode("utf-16-be")
    escapes = [f"\\u{units[at]:02x}{units[at + 1]:02X}" for at in range(0, len(units), 2)]
    return f'"{"".join(escapes)}"'


WRITTEN = {
    "Pretty": lambda value: json.dumps(value, indent=4, ensure_ascii=False),
    "PrettyWithTabs": lambda value: json.dumps(value, indent="\t"),
    "WithCrLf": lambda value: json.dumps(value, indent=2).replace("\n", "\r\n"),
    "Compact": lambda value: json.dumps(value, separators=(",", ":")),
    "Sorted": lambda value: json.dumps(value, sort_keys=True),
    "InAnyOrder": lambda value: json.dumps(_shuffled(value)),
    "DataFirst": lambda value: json.dumps(dict(reversed(value.items()))),
    "WithANewLine": lambda value: json.dumps(value) + "\n",
    "WithSpaceAround": lambda value: "\r\n\t  " + json.dumps(value) + "  \n\n\n",
    "WithSpaceInside": lambda value: json.dumps(value, separators=(" ,\n", "\t:  ")),
    "InAscii": lambda value: json.dumps(value, ensure_ascii=True),
    "AllEscaped": lambda value: _all_escaped(json.dumps(value, ensure_ascii=False)),
    "WithEscapedSlashes": lambda value: json.dumps(value).replace("/", "\\/"),
    "AfterMuchSpace": lambda value: " " * 100_000 + json.dumps(value),
}


class Writes(Service):
    """The sandbox, which writes JSON in another way: as `written` does."""

    GETS_THE_REQUESTS_OF_THE_SANDBOX = True

    def render(self, status, body, headers=()):
        """An answer with a JSON body, which means the same as that of the sandbox."""
        response = super().render(status, body, headers)
        return Response(status, self.written(body).encode(), response.headers)


class WritesInTurn(Writes, ActsInTurn):
    """JSON is written in another way each time."""

    WAYS = tuple(WRITTEN.values())

    def written(self, value):
        return next(self.ways)(value)


variant("JSON text")(WritesInTurn)
for _name in ("Pretty", "InAnyOrder", "AllEscaped", "WithSpaceAround", "WithCrLf"):
    declare_variant(
        "JSON text", f"Json{_name}", f"JSON is written {_name}.", Writes,
        written=staticmethod(WRITTEN[_name]),
    )  # fmt: skip

declare_variant(
    "JSON text", "TextsWithHalfAPair", "Names and messages hold half of a surrogate pair, escaped.", AddsFieldsInTurn,
    EXECUTIONS=({"name": "\ud83d", "message": "a\ude00\ud83db"},), REGISTRATIONS=({"Message": "\udfff"},),
    render=lambda self, status, body, headers=(): Response(
        status, json.dumps(body).encode(), (("Content-Type", "application/json"), *headers)
    ),
)  # fmt: skip

for _name, _code in {"0.0": "0.0", "Minus0": "-0", "0e5": "0e5", "0E-3": "0E-3"}.items():
    declare_variant(
        "JSON text", f"CodeIs{_name.replace('.', 'Point')}".replace("-", "Minus"), f"The code of a success is {_code}.", WritesNumbersVerbatim,
        envelope=lambda self, operation, data, code=0, _code=_code: {"code": code or number_as_written(_code), "data": data},
    )  # fmt: skip

MEDIA_TYPES = (
    "application/json; charset=utf-8",
    "application/json;charset=UTF-8",
    "application/json;charset=utf8",
    'application/json; charset="utf-8"',
    "application/json; charset=us-ascii",
    "APPLICATION/JSON",
    '  application/json ; odata.metadata=minimal ; x="a;b"',
    "application/json;",
    "application/vnd.bank.pix.v1+json",
    "application/hal+json; charset=utf-8",
)


class LabelsInTurn(RewritesAnswers, ActsInTurn):
    """Every answer to an operation has another Content-Type, each of which says JSON."""

    WAYS = MEDIA_TYPES
    GETS_THE_REQUESTS_OF_THE_SANDBOX = True

    def changed_answer(self, request, response):
        """The answer with the next Content-Type in the place of its own."""
        other_headers = [(name, value) for name, value in response.headers if name.lower() != "content-type"]
        headers = (("content-type", next(self.ways)), *other_headers)
        return Response(response.status, response.body, headers)


variant("media type")(LabelsInTurn)
declare_variant(
    "media type", "LabelsOfTheBank", "The Content-Type is a media type of the bank.", LabelsInTurn,
    WAYS=("application/vnd.bank.pix.v1+json",),
)  # fmt: skip


class Pads(Service):
    """The sandbox, whose execution results have a further member of SIZE characters."""

    SIZE = 0
    GETS_THE_REQUESTS_OF_THE_SANDBOX = True

    def execution_result(self, transfer):
        return super().execution_result(transfer) | {"receipt": "A" * self.SIZE}


for _size, _parts in {1: {}, 4: {"slow": True}, 6: {"hides": UNREAD}}.items():
    declare_variant(
        "size", f"ExecutionsOf{_size}Mb", f"An execution is answered with {_size} MB; 5 are read.", Pads,
        SIZE=_size * 1_000_000, **_parts,
    )  # fmt: skip


@variant("size")
class RegistrationsOf200Kb(Service):
    """A registration is answered with 200 kB."""

    def registration_message(self, registration):
        return super().registration_message(registration) * 5_000


@variant("JSON text", hides=("listPixKeys.refusal", "listEntries.refusal"))
class ListsHaveLongNames(RewritesAnswers):
    """The lists of keys and entries are objects with 400 members, whose names have up to 399 characters."""

    OPERATIONS = ("listPixKeys", "listEntries")

    def changed_answer(self, request, response):
        members = {"k" * length: length for length in range(400)}
        body = json.dumps({"code": 0, "data": members})
        return Response(200, body.encode(), response.headers)
