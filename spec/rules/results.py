"""Rules on the values of the two documented results: the execution result, then the key registration result."""

from __future__ import annotations

import re

from spec.answers import find
from spec.exchange import Exchange
from spec.findings import Finding, finding
from spec.interface import KEY_TYPES
from spec.json_text import leaves_of, pointer, read_json
from spec.key_list import plain
from spec.message import Value
from spec.rules.table import (
    InconclusiveError,
    data_in,
    envelope_in,
    first_names,
    json_in,
    member_in,
    names_in,
    pointer_to,
    rule,
    text_in,
    type_of,
)
from spec.rules.tax_document import is_fully_masked, is_fully_visible, is_unmasked, lost_its_zeros


@rule("executePix.id.matches")
def id_is_the_code_that_was_sent(exchange: Exchange) -> Finding | None:
    """The field id of the execution result is the transaction code that was sent."""
    return None if text_in(exchange, "id") == exchange.request.last_segment else _of("id", "other-id", exchange)


@rule("executePix.document.masked")
def document_is_masked(exchange: Exchange) -> Finding | None:
    """The tax document of the counterparty is partly masked."""
    document = text_in(exchange, "document")
    if is_fully_visible(document):
        return _of("document", "document-clear", exchange, digits=sum(map(str.isdigit, document)))
    if lost_its_zeros(document):
        return _of("document", "document-zeros", exchange, digits=sum(map(str.isdigit, document)))
    place, _ = member_in(envelope_in(exchange), "data")
    documented = {(place, name) for name in names_in(exchange)}
    leaves = dict(leaves_of(json_in(exchange)))
    other = [path for path in leaves if path not in documented and is_unmasked(document, str(leaves[path]))]
    key = (find(data_in(exchange), "key") or [""])[0]
    if not other or is_unmasked(document, str(leaves.get((place, key)))):  # a key may be the tax document
        return None
    return finding("document-visible", *[pointer(*path) for path in other])


@rule("executePix.document.partly")
def document_is_partly_visible(exchange: Exchange) -> Finding | None:
    """Part of the tax document of the counterparty is visible."""
    return _of("document", "document-masked", exchange) if is_fully_masked(text_in(exchange, "document")) else None


@rule("executePix.type.kind")
def type_is_a_key_type(exchange: Exchange) -> Finding | None:
    """The field type of the execution result is PHONE, EMAIL, RANDOM, CNPJ or CPF: for an e-mail address EMAIL."""
    types = ["EMAIL"] if re.fullmatch("[^@]+@[^@]+", str(data_in(exchange).get("key"))) else KEY_TYPES
    return None if text_in(exchange, "type") in types else _of("type", "no-key-type", exchange, types=", ".join(types))


@rule("executePix.type.example")
def type_of_the_example(exchange: Exchange) -> Finding | None:
    """The interface document shows one value for the field type of the execution result: PHONE."""
    return None if text_in(exchange, "type") == "PHONE" else _of("type", "type-not-PHONE", exchange)


@rule("executePix.status.example")
def status_of_the_example(exchange: Exchange) -> Finding | None:
    """The interface document shows one value for the field status of the execution result: DONE."""
    return None if text_in(exchange, "status") == "DONE" else _of("status", "status-not-DONE", exchange)


@rule("executePix.error.example")
def error_of_the_example(exchange: Exchange) -> Finding | None:
    """The interface document shows one value for the field error of a successful execution result: null."""
    found = member_in(data_in(exchange), "error")[1]
    return None if found is None else _of("error", "error-not-null", exchange, type=type_of(found))


# -- the key registration result -----------------------------------------------------------------------------------

_BOOLEANS = ("true", "false")


@rule("registerPixKey.Success.text")
def success_is_true_or_false(exchange: Exchange) -> Finding | None:
    """The field Success of the key registration result is the text true or the text false."""
    return None if _success(exchange) in _BOOLEANS else _of("Success", "no-boolean-text", exchange)


@rule("registerPixKey.Success.letterCase")
def success_is_in_lower_case(exchange: Exchange) -> Finding | None:
    """The field Success of the key registration result is written in lower-case letters, without blanks around it."""
    if _success(exchange) not in _BOOLEANS:
        raise InconclusiveError("Success is neither the text true nor the text false")
    return None if text_in(exchange, "Success") in _BOOLEANS else _of("Success", "capitals-or-blanks", exchange)


@rule("registerPixKey.Success.example")
def success_of_the_example(exchange: Exchange) -> Finding | None:
    """The interface document shows one value for the field Success of the key registration result: the text true."""
    return None if _success(exchange) == "true" else _of("Success", "success-not-true", exchange)


def _success(exchange: Exchange) -> str:
    """Success as it is read: letter case and blanks around it apart."""
    return text_in(exchange, "Success").strip().lower()


@rule("registerPixKey.fields.upperCase")
def names_start_with_a_capital(exchange: Exchange) -> Finding | None:
    """The name of each documented field of the key registration result starts with an upper-case letter."""
    if not (found := names_in(exchange)):
        raise InconclusiveError("no documented field")
    lower = [name for name in found if not name[:1].isupper()]
    pointers = [pointer_to(data_in, name, exchange) for name in lower]
    return finding("lower-case-names", *pointers, names=first_names(lower)) if lower else None


@rule("registerPixKey.Key.matches")
def key_is_the_key_that_was_sent(exchange: Exchange) -> Finding | None:
    """The field Key of the key registration result is the key that was sent, or null."""
    received, body = data_in(exchange).get("Key", ""), read_json(exchange.request.body).value
    sent = body.get("pixKey") if isinstance(body, dict) and body.get("pixKeyType") != "RANDOM" else ""
    if received is None:
        return None
    if not (isinstance(sent, str) and isinstance(received, str) and plain(sent) and plain(received)):
        raise InconclusiveError("no result with the key as it was sent")
    if _is_named(sent, received):
        return None
    if _HIDDEN.search(received):
        raise InconclusiveError("the key may be hidden in part")
    return _of("Key", "other-key", exchange)


_HIDDEN = re.compile(r"[*•●#…?]+|x{3,}|\.{2,}|_{2,}|-{2,}", re.IGNORECASE)


def _is_named(sent: str, received: str) -> bool:
    """True if one holds the other, or what is visible of it, in any punctuation and letter case: a country code may be
    left out or added."""
    return plain(sent) in plain(received) or all(plain(text) in plain(sent) for text in _HIDDEN.split(received))


@rule("registerPixKey.Key.example")
def key_of_the_example(exchange: Exchange) -> Finding | None:
    """The interface document shows one value for the field Key of a RANDOM key registration: null."""
    if b'"RANDOM"' not in exchange.request.body:
        raise InconclusiveError("no result for a RANDOM key")
    found = member_in(data_in(exchange), "Key")[1]
    return None if found is None else _of("Key", "key-not-null", exchange, type=type_of(found))


def _of(field: str, code: str, exchange: Exchange, **parameters: Value) -> Finding:
    """A finding on a field of the result."""
    return finding(code, pointer_to(data_in, field, exchange), **parameters)
