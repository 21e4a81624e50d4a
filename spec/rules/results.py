"""Rules on the values of the two documented results: the execution result, then the key registration result.

The docstring of a rule is its requirement. Source: interface document, Resources and their fields.

Self-tests: spec/test_rules.py.
"""

from __future__ import annotations

import re
from typing import Any

from spec.exchange import Exchange
from spec.findings import Finding, finding
from spec.interface import KEY_TYPES
from spec.json_text import leaves_of, pointer, read_json
from spec.key_list import plain
from spec.message import Value
from spec.rules.table import (
    InconclusiveError,
    data_in,
    documented_names_in,
    envelope_in,
    json_in,
    member_in,
    names_for_message,
    pointer_to,
    rule,
    spelling_of,
    text_in,
    type_in_words,
)
from spec.rules.tax_document import is_fully_masked, is_fully_visible, lacks_leading_zeros, shows_document_in_full


@rule("executePix.id.matches")
def id_is_the_code_that_was_sent(exchange: Exchange) -> Finding | None:
    """The field id of the execution result is the transaction code that was sent."""
    code_that_was_sent = exchange.request.last_segment  # the path parameter
    if text_in(exchange, "id") == code_that_was_sent:
        return None
    return _finding_on("id", "other-id", exchange)


@rule("executePix.document.masked")
def document_is_masked(exchange: Exchange) -> Finding | None:
    """The tax document of the counterparty is partly masked."""
    document = text_in(exchange, "document")
    digits = [character for character in document if character.isdigit()]
    number_of_digits = len(digits)  # the report names the number, and never the digits
    if is_fully_visible(document):
        return _finding_on("document", "document-clear", exchange, digits=number_of_digits)
    # 01234567890 was stored as a number and became 1234567890. All its digits but the zeros are visible.
    if lacks_leading_zeros(document):
        return _finding_on("document", "document-zeros", exchange, digits=number_of_digits)
    # The document is masked. But an undocumented member of the answer may show it in full.
    body = json_in(exchange)
    leaves = dict(leaves_of(body))  # values that hold no other value, by their path
    data_name = spelling_of(envelope_in(exchange), "data")
    key_name = spelling_of(data_in(exchange), "key")
    key = str(leaves.get((data_name, key_name)))
    key_is_the_document = shows_document_in_full(key, masked_document=document)
    if key_is_the_document:  # no statement says that a PIX key is masked
        return None
    # Other documented members, such as the account, are not looked at: no statement says that they hide the document.
    documented_paths = {(data_name, name) for name in documented_names_in(exchange)}
    pointers_to_document = []
    for path, value in leaves.items():
        is_undocumented = path not in documented_paths
        if is_undocumented and shows_document_in_full(str(value), masked_document=document):
            pointers_to_document.append(pointer(*path))
    if not pointers_to_document:
        return None
    return finding("document-visible", *pointers_to_document)


@rule("executePix.document.partly")
def document_is_partly_visible(exchange: Exchange) -> Finding | None:
    """Part of the tax document of the counterparty is visible."""
    if is_fully_masked(text_in(exchange, "document")):
        return _finding_on("document", "document-masked", exchange)
    return None


@rule("executePix.type.kind")
def type_is_a_key_type(exchange: Exchange) -> Finding | None:
    """The field type of the execution result is PHONE, EMAIL, RANDOM, CNPJ or CPF: for an e-mail address EMAIL."""
    key = str(data_in(exchange).get("key"))
    is_email_address = re.fullmatch("[^@]+@[^@]+", key) is not None
    right_types = ("EMAIL",) if is_email_address else KEY_TYPES  # the types of other keys cannot be told from the key
    if text_in(exchange, "type") in right_types:
        return None
    return _finding_on("type", "no-key-type", exchange, types=", ".join(right_types))


@rule("executePix.type.example")
def type_of_the_example(exchange: Exchange) -> Finding | None:
    """The interface document shows one value for the field type of the execution result: PHONE."""
    if text_in(exchange, "type") == "PHONE":
        return None
    return _finding_on("type", "type-not-PHONE", exchange)


@rule("executePix.status.example")
def status_of_the_example(exchange: Exchange) -> Finding | None:
    """The interface document shows one value for the field status of the execution result: DONE."""
    if text_in(exchange, "status") == "DONE":
        return None
    return _finding_on("status", "status-not-DONE", exchange)


@rule("executePix.error.example")
def error_of_the_example(exchange: Exchange) -> Finding | None:
    """The interface document shows one value for the field error of a successful execution result: null."""
    _, error = member_in(data_in(exchange), "error")
    if error is None:
        return None
    return _finding_on("error", "error-not-null", exchange, type=type_in_words(error))


# -- the key registration result -----------------------------------------------------------------------------------

_BOOLEAN_TEXTS = ("true", "false")
"""The texts that the field `Success` may have."""


@rule("registerPixKey.Success.text")
def success_is_true_or_false(exchange: Exchange) -> Finding | None:
    """The field Success of the key registration result is the text true or the text false."""
    # "True" and " true " are a warning of another requirement, because the document shows one value only.
    if _success_in_lower_case(exchange) in _BOOLEAN_TEXTS:
        return None
    return _finding_on("Success", "no-boolean-text", exchange)


@rule("registerPixKey.Success.letterCase")
def success_is_in_lower_case(exchange: Exchange) -> Finding | None:
    """The field Success of the key registration result is written in lower-case letters, without blanks around it."""
    if _success_in_lower_case(exchange) not in _BOOLEAN_TEXTS:  # another rule reports that
        raise InconclusiveError("Success is neither the text true nor the text false")
    if text_in(exchange, "Success") in _BOOLEAN_TEXTS:
        return None
    return _finding_on("Success", "capitals-or-blanks", exchange)


@rule("registerPixKey.Success.example")
def success_of_the_example(exchange: Exchange) -> Finding | None:
    """The interface document shows one value for the field Success of the key registration result: the text true."""
    if _success_in_lower_case(exchange) == "true":
        return None
    return _finding_on("Success", "success-not-true", exchange)


def _success_in_lower_case(exchange: Exchange) -> str:
    """The text of the field Success in lower case and without blanks around it.

    Rules about the value use it. Another rule reports capitals and blanks, so that each deviation is reported once.
    """
    return text_in(exchange, "Success").strip().lower()


@rule("registerPixKey.fields.upperCase")
def names_start_with_a_capital(exchange: Exchange) -> Finding | None:
    """The name of each documented field of the key registration result starts with an upper-case letter."""
    names = documented_names_in(exchange)
    if not names:
        raise InconclusiveError("no documented field")
    wrong_names = [name for name in names if not name[:1].isupper()]
    if not wrong_names:
        return None
    pointers = [pointer_to(data_in, name, exchange) for name in wrong_names]
    return finding("lower-case-names", *pointers, names=names_for_message(wrong_names))


@rule("registerPixKey.Key.matches")
def key_is_the_key_that_was_sent(exchange: Exchange) -> Finding | None:
    """The field Key of the key registration result is the key that was sent, or null."""
    key_in_answer = data_in(exchange).get("Key", "")
    if key_in_answer is None:  # null, as in the example of the interface document
        return None
    key_in_request = _key_in_request(exchange)
    # The registration of a RANDOM key sends no key. And the answer may have a text such as "-" in the place of a key.
    both_can_be_compared = _has_letters_or_digits(key_in_request) and _has_letters_or_digits(key_in_answer)
    if not both_can_be_compared:
        raise InconclusiveError("no result with the key as it was sent")
    if _are_the_same_key(key_in_request, key_in_answer):
        return None
    # A masked key may have words beside it. In `m***a (EMAIL)`, the answer to the key maria@b.example, "(EMAIL)" is no
    # part of the key, so the comparison failed although the key is the same. Nobody can tell that from another key.
    key_may_be_masked = _MASK.search(key_in_answer) is not None
    if key_may_be_masked:
        raise InconclusiveError("the key may be hidden in part")
    return _finding_on("Key", "other-key", exchange)


_MASK = re.compile(r"[*•●#…?]+|x{3,}|\.{2,}|_{2,}|-{2,}", re.IGNORECASE)
"""Signs of a mask, which hide characters of a key. A letter x, a dot, a hyphen or an underscore is a sign only if it is
repeated, because a key may have one of them."""


def _key_in_request(exchange: Exchange) -> Any:
    """The member pixKey in the body of the request; None if the object has no such member.

    Empty for a RANDOM key, because the service chooses its value. Empty, too, if the body is no JSON object.
    """
    body = read_json(exchange.request.body).value
    if not isinstance(body, dict) or body.get("pixKeyType") == "RANDOM":
        return ""
    return body.get("pixKey")


def _has_letters_or_digits(key: object) -> bool:
    """True if a value is a text with a letter or a digit, so that it can be compared as a key."""
    return isinstance(key, str) and bool(plain(key))


def _are_the_same_key(key_in_request: str, key_in_answer: str) -> bool:
    """True if the key in the answer is the key in the request, whole or with a mask, such as `+55*******4321`.

    Punctuation and letter case do not count. One of the two may have a country code that the other lacks, so it is
    enough if one is part of the other.
    """
    plain_key_in_request = plain(key_in_request)  # without punctuation and letter case
    visible_parts = _MASK.split(key_in_answer)  # one part if nothing is masked
    if plain_key_in_request in plain(key_in_answer):
        return True
    return all(plain(part) in plain_key_in_request for part in visible_parts)


@rule("registerPixKey.Key.example")
def key_of_the_example(exchange: Exchange) -> Finding | None:
    """The interface document shows one value for the field Key of a RANDOM key registration: null."""
    if b'"RANDOM"' not in exchange.request.body:  # the example is about a RANDOM key
        raise InconclusiveError("no result for a RANDOM key")
    _, key = member_in(data_in(exchange), "Key")
    if key is None:
        return None
    return _finding_on("Key", "key-not-null", exchange, type=type_in_words(key))


def _finding_on(field: str, code: str, exchange: Exchange, **parameters: Value) -> Finding:
    """A finding about a field of `data` in the answer. `code` names its template in findings.yaml."""
    return finding(code, pointer_to(data_in, field, exchange), **parameters)
