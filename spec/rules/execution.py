"""Rules on the values of the execution result."""

from __future__ import annotations

from spec.exchange import Exchange
from spec.interface import KEY_TYPES
from spec.rules.table import InconclusiveError, data_in, rule, text_in, type_of
from spec.rules.tax_document import is_fully_masked, is_fully_visible


@rule("executePix.id.matches")
def id_is_the_code_that_was_sent(exchange: Exchange) -> str:
    """The field id of the execution result is the transaction code that was sent."""
    received, sent = data_in(exchange).get("id"), exchange.request.last_segment
    if not isinstance(received, str):
        raise InconclusiveError("no execution result with an id")
    return "" if received == sent else "expected id to be the code that was sent, got another one"


@rule("executePix.document.masked")
def document_is_masked(exchange: Exchange) -> str:
    """The tax document of the counterparty is partly masked."""
    visible = is_fully_visible(text_in(exchange, "document"))
    return "expected a masked tax document, got one with every character visible" if visible else ""


@rule("executePix.document.partly")
def document_is_partly_visible(exchange: Exchange) -> str:
    """Part of the tax document of the counterparty is visible."""
    fully_masked = is_fully_masked(text_in(exchange, "document"))
    return "expected a partly visible tax document, got one with every character masked" if fully_masked else ""


@rule("executePix.type.kind")
def type_is_a_key_type(exchange: Exchange) -> str:
    """The field type of the execution result is PHONE, EMAIL, RANDOM, CNPJ or CPF."""
    documented = text_in(exchange, "type") in KEY_TYPES
    return "" if documented else f"expected type to be one of {', '.join(KEY_TYPES)}, got another text"


@rule("executePix.type.example")
def type_of_the_example(exchange: Exchange) -> str:
    """The interface document shows one value for the field type of the execution result: PHONE."""
    return "" if text_in(exchange, "type") == "PHONE" else "expected type PHONE, got another text"


@rule("executePix.status.example")
def status_of_the_example(exchange: Exchange) -> str:
    """The interface document shows one value for the field status of the execution result: DONE."""
    return "" if text_in(exchange, "status") == "DONE" else "expected status DONE, got another text"


@rule("executePix.error.example")
def error_of_the_example(exchange: Exchange) -> str:
    """The interface document shows one value for the field error of a successful execution result: null."""
    data = data_in(exchange)
    if "error" not in data:
        raise InconclusiveError("error is missing")
    return "" if data["error"] is None else f"expected error to be null, got {type_of(data['error'])}"
