"""Rules on the values of the execution result."""

from __future__ import annotations

from spec.exchange import Exchange
from spec.findings import Finding, finding
from spec.interface import KEY_TYPES
from spec.message import Text, say
from spec.rules.table import InconclusiveError, data_in, pointer_to, rule, text_in, type_of
from spec.rules.tax_document import is_fully_masked, is_fully_visible


@rule("executePix.id.matches")
def id_is_the_code_that_was_sent(exchange: Exchange) -> Finding | None:
    """The field id of the execution result is the transaction code that was sent."""
    received, sent = data_in(exchange).get("id"), exchange.request.last_segment
    if not isinstance(received, str):
        raise InconclusiveError("no execution result with an id")
    return None if received == sent else _of("id", "other-id", exchange)


@rule("executePix.document.masked")
def document_is_masked(exchange: Exchange) -> Finding | None:
    """The tax document of the counterparty is partly masked."""
    visible = is_fully_visible(text_in(exchange, "document"))
    return _of("document", "document-visible", exchange) if visible else None


@rule("executePix.document.partly")
def document_is_partly_visible(exchange: Exchange) -> Finding | None:
    """Part of the tax document of the counterparty is visible."""
    fully_masked = is_fully_masked(text_in(exchange, "document"))
    return _of("document", "document-masked", exchange) if fully_masked else None


@rule("executePix.type.kind")
def type_is_a_key_type(exchange: Exchange) -> Finding | None:
    """The field type of the execution result is PHONE, EMAIL, RANDOM, CNPJ or CPF."""
    documented = text_in(exchange, "type") in KEY_TYPES
    return None if documented else _of("type", "no-key-type", exchange, types=", ".join(KEY_TYPES))


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
    data = data_in(exchange)
    if "error" not in data:
        raise InconclusiveError(say("{name} is missing", name="error"))
    found = data["error"]
    return None if found is None else _of("error", "error-not-null", exchange, type=type_of(found))


def _of(field: str, code: str, exchange: Exchange, **parameters: Text) -> Finding:
    """A finding on a field of the result."""
    return finding(code, pointer_to(data_in, field, exchange), **parameters)
