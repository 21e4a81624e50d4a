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
    if isinstance(value, dict):
        return {name: _shuffled(value[name]) for name in random.sample(sorted(value), len(value))}
    return value


def _all_escaped(text):
    written = re.sub(r'"((?:[^"\\]|\\.)*)"', lambda found: json.dumps(_codes(json.loads(found.group()))), text)
    return written.replace("\\\\u", "\\u")


def _codes(text):
    units = text.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02X}" for at in range(0, len(units), 2))


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
    """The sandbox with another way to write JSON."""

    GETS_THE_REQUESTS_OF_THE_SANDBOX = True

    def render(self, status, body, headers=()):
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

    def changed(self, request, response):
        others = ((name, value) for name, value in response.headers if name.lower() != "content-type")
        return Response(response.status, response.body, (("content-type", next(self.ways)), *others))


variant("media type")(LabelsInTurn)
declare_variant(
    "media type", "LabelsOfTheBank", "The Content-Type is a media type of the bank.", LabelsInTurn,
    WAYS=("application/vnd.bank.pix.v1+json",),
)  # fmt: skip


class Pads(Service):
    """The sandbox, whose executions carry a member of some size."""

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
    """Reads answer an object whose member names are long and many."""

    OPERATIONS = ("listPixKeys", "listEntries")

    def changed(self, request, response):
        return Response(
            200, json.dumps({"code": 0, "data": {"k" * at: at for at in range(400)}}).encode(), response.headers
        )
