"""Rules on the values of the key registration result."""

from __future__ import annotations

from spec.answers import find
from spec.exchange import Exchange
from spec.interface import operations
from spec.rules.table import Contrast, InconclusiveError, data_in, first_names, rule, text_in, type_of

_BOOLEANS = ("true", "false")


@rule("registerPixKey.Success.text")
def success_is_true_or_false(exchange: Exchange) -> str:
    """The field Success of the key registration result is the text true or the text false."""
    is_boolean = text_in(exchange, "Success").lower() in _BOOLEANS
    return "" if is_boolean else Contrast("Success to be the text true or false", "another text")


@rule("registerPixKey.Success.letterCase")
def success_is_in_lower_case(exchange: Exchange) -> str:
    """The field Success of the key registration result is written in lower-case letters."""
    success = text_in(exchange, "Success")
    if success.lower() not in _BOOLEANS:
        raise InconclusiveError("Success is neither the text true nor the text false")
    return "" if success in _BOOLEANS else Contrast("Success in lower-case letters", "capitals")


@rule("registerPixKey.Success.example")
def success_of_the_example(exchange: Exchange) -> str:
    """The interface document shows one value for the field Success of the key registration result: the text true."""
    return "" if text_in(exchange, "Success").lower() == "true" else Contrast("Success true", "another text")


@rule("registerPixKey.fields.upperCase")
def names_start_with_a_capital(exchange: Exchange) -> str:
    """The name of each documented field of the key registration result starts with an upper-case letter."""
    data = data_in(exchange)
    found = [member[0] for field in operations()["registerPixKey"].result if (member := find(data, field.name))]
    if not found:
        raise InconclusiveError("no documented field")
    lower = [name for name in found if not name[:1].isupper()]
    return Contrast("names that start with an upper-case letter", first_names(lower)) if lower else ""


@rule("registerPixKey.Key.example")
def key_of_the_example(exchange: Exchange) -> str:
    """The interface document shows one value for the field Key of a RANDOM key registration: null."""
    data = data_in(exchange)
    if "Key" not in data or b'"RANDOM"' not in exchange.request.body:
        raise InconclusiveError("no result for a RANDOM key")
    return "" if data["Key"] is None else Contrast("Key to be null for a RANDOM key", type_of(data["Key"]))
