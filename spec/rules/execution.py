"""Rules on the values of the execution result."""

from __future__ import annotations

from spec.exchange import Exchange
from spec.interface import KEY_TYPES
from spec.rules.table import Contrast, InconclusiveError, data_in, rule, text_in, type_of
from spec.rules.tax_document import is_fully_masked, is_fully_visible


@rule("executePix.id.matches")
def id_is_the_code_that_was_sent(exchange: Exchange) -> str:
    """The field id of the execution result is the transaction code that was sent."""
    received, sent = data_in(exchange).get("id"), exchange.request.last_segment
    if not isinstance(received, str):
        raise InconclusiveError("no execution result with an id")
    return "" if received == sent else Contrast("id to be the code that was sent", "another one")


@rule("executePix.document.masked")
def document_is_masked(exchange: Exchange) -> str:
    """The tax document of the counterparty is partly masked."""
    visible = is_fully_visible(text_in(exchange, "document"))
    return Contrast("a masked tax document", "one with every character visible") if visible else ""


@rule("executePix.document.partly")
def document_is_partly_visible(exchange: Exchange) -> str:
    """Part of the tax document of the counterparty is visible."""
    fully_masked = is_fully_masked(text_in(exchange, "document"))
    return Contrast("a partly visible tax document", "one with every character masked") if fully_masked else ""


@rule("executePix.type.kind")
def type_is_a_key_type(exchange: Exchange) -> str:
    """The field type of the execution result is PHONE, EMAIL, RANDOM, CNPJ or CPF."""
    documented = text_in(exchange, "type") in KEY_TYPES
    return "" if documented else Contrast(f"type to be one of {', '.join(KEY_TYPES)}", "another text")


@rule("executePix.type.example")
def type_of_the_example(exchange: Exchange) -> str:
    """The interface document shows one value for the field type of the execution result: PHONE."""
    return "" if text_in(exchange, "type") == "PHONE" else Contrast("type PHONE", "another text")


@rule("executePix.status.example")
def status_of_the_example(exchange: Exchange) -> str:
    """The interface document shows one value for the field status of the execution result: DONE."""
    return "" if text_in(exchange, "status") == "DONE" else Contrast("status DONE", "another text")


@rule("executePix.error.example")
def error_of_the_example(exchange: Exchange) -> str:
    """The interface document shows one value for the field error of a successful execution result: null."""
    data = data_in(exchange)
    if "error" not in data:
        raise InconclusiveError("error is missing")
    return "" if data["error"] is None else Contrast("error to be null", type_of(data["error"]))
