"""The envelope: code and data missing, of a wrong type or misspelled, and the whole in another shape."""

from __future__ import annotations

import json
from typing import Any

from spec.interface import operations
from tests.selftest.proof.mutants.fields_faults import misspellings, wrong_types
from tests.selftest.proof.mutants.making_faults import SUBJECT, UNREGISTERED, Envelopes, fixed
from tests.selftest.proof.registry import broken

TYPES = {"code": ("integer",), "data": ("object",)}
_FITS_OBJECT = "Object"
_WITHOUT_DATA = {
    "executePix": ("fields.extra", "envelope.result"),
    "registerPixKey": ("fields.extra", "fields.upperCase", "envelope.result"),
    "deletePixKey": (),
}
"""What goes unseen without an object data, beyond the fields that stand in it."""


def _hidden(operation: str, name: str) -> tuple[str, ...]:
    """What cannot be judged without the member: its example, or everything that stands in data."""
    if name == "code":
        return (f"{operation}.envelope.code.example",) if operations()[operation].result else ()
    return _all_fields(operation)


def _all_fields(operation: str) -> tuple[str, ...]:
    names = [f"{field.name}.*" for field in operations()[operation].result]
    return tuple(f"{operation}.{what}" for what in (*_WITHOUT_DATA[operation], *names))


def _unseen(operation: str, name: str, value: Any) -> tuple[str, ...]:
    """Where Success cannot be read the suite takes no key for registered, and deletes none."""
    return UNREGISTERED if operation == "registerPixKey" and name == "data" else ()


def _member(operation: str, name: str) -> None:
    row = f"{operation}.envelope.{name}"
    named = f"{SUBJECT[operation]}Envelope{name.capitalize()}"
    hides = (*_hidden(operation, name), *_unseen(operation, name, None))
    broken(
        "envelope member missing",
        f"{named}Missing",
        f"The envelope has no {name}.",
        Envelopes,
        f"{row}.present",
        hides=(f"{row}.type", f"{row}.spelling", *hides),
        OPERATIONS=(operation,),
        wrap=fixed(lambda envelope: {key: value for key, value in envelope.items() if key != name}),
    )
    for word, value in wrong_types(TYPES[name]).items():
        if word != _FITS_OBJECT or name == "code":
            broken(
                "envelope member of a wrong type",
                f"{named}As{word}",
                f"The {name} of the envelope is of the type {word.lower()}.",
                Envelopes,
                f"{row}.type",
                hides=hides,
                OPERATIONS=(operation,),
                wrap=fixed(lambda envelope, value=value: envelope | {name: value}),
            )
    for spelling in misspellings(name):
        broken(
            "envelope member misspelled",
            f"{named}Spelled_{spelling}",
            f"The {name} of the envelope is spelled {spelling}.",
            Envelopes,
            f"{row}.spelling",
            OPERATIONS=(operation,),
            wrap=fixed(
                lambda envelope, spelling=spelling: {
                    spelling if key == name else key: value for key, value in envelope.items()
                }
            ),
        )


def _shapes(operation: str) -> None:
    of, row = SUBJECT[operation], f"{operation}.envelope"
    both = (f"{row}.code.present", f"{row}.data.present")
    inside = (f"{row}.code.*", f"{row}.data.*", *_all_fields(operation))
    shapes = {
        "Bare": ("The data stands there without its envelope.", lambda envelope: envelope["data"]),
        "Nested": ("The envelope stands inside another object.", lambda envelope: {"response": envelope}),
        "InAnArray": ("The envelope stands in an array.", lambda envelope: [envelope]),
        "AsText": ("The envelope is text that holds JSON.", json.dumps),
        "Null": ("The answer is null.", lambda envelope: None),
    }
    for name, (text, wrap) in shapes.items():
        rows = both if name in ("Bare", "Nested") else (f"{row}.object",)
        unseen = UNREGISTERED if operation == "registerPixKey" and name in ("AsText", "Null") else ()
        broken(
            "envelope of another shape",
            f"{of}Envelope{name}",
            text,
            Envelopes,
            *rows,
            hides=(*inside, *unseen),
            OPERATIONS=(operation,),
            wrap=fixed(wrap),
        )


_CASE = {"executePix": (), "registerPixKey": ("registerPixKey.fields.upperCase",)}


def _doubled(operation: str) -> None:
    names = [field.name for field in operations()[operation].result]
    broken(
        "envelope of another shape",
        f"{SUBJECT[operation]}EnvelopeDoubled",
        "The data holds the envelope once more.",
        Envelopes,
        f"{operation}.envelope.result",
        *(f"{operation}.{name}.present" for name in names),
        warns=(f"{operation}.fields.extra",),
        hides=(*(f"{operation}.{name}.*" for name in names), *_CASE[operation]),
        OPERATIONS=(operation,),
        wrap=fixed(lambda envelope: {"code": 0, "data": envelope}),
    )


def _data_as_text(operation: str) -> None:
    broken(
        "envelope of another shape",
        f"{SUBJECT[operation]}DataAsJsonText",
        "The data is text that holds JSON.",
        Envelopes,
        f"{operation}.envelope.data.type",
        hides=(*_all_fields(operation), *_unseen(operation, "data", "")),
        OPERATIONS=(operation,),
        wrap=fixed(lambda envelope: envelope | {"data": json.dumps(envelope["data"])}),
    )


def _data_in_an_array(operation: str) -> None:
    broken(
        "envelope of another shape",
        f"{SUBJECT[operation]}DataInAnArray",
        "The data is an array with the result in it.",
        Envelopes,
        f"{operation}.envelope.data.type",
        hides=_all_fields(operation),
        OPERATIONS=(operation,),
        wrap=fixed(lambda envelope: envelope | {"data": [envelope["data"]]}),
    )


for _operation in SUBJECT:
    _member(_operation, "code")
    _member(_operation, "data")
    _shapes(_operation)
    _data_as_text(_operation)
    _data_in_an_array(_operation)
for _operation in ("executePix", "registerPixKey"):
    _doubled(_operation)
