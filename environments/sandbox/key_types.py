"""The format that the sandbox asks of a key of each type (the document shows none)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from stdnum.br import cnpj, cpf


def is_phone(key: str) -> bool:
    """E.164: a plus sign and up to fifteen digits."""
    return re.fullmatch(r"\+[1-9][0-9]{7,14}", key) is not None


def is_email(key: str) -> bool:
    """One address of at most 77 characters, as the central bank's directory has it."""
    return len(key) <= 77 and re.fullmatch(r"[\w.!#$%&'*+/=?^`{|}~-]+@[\w-]+(\.[\w-]+)+", key, re.ASCII) is not None


def is_random(key: str) -> bool:
    """A UUID, or nothing: then the service makes the key."""
    return key == "" or re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", key) is not None


def is_cnpj(key: str) -> bool:
    """Fourteen characters without punctuation, with right check digits; letters since July 2026."""
    return re.fullmatch(r"[0-9A-Z]{12}[0-9]{2}", key) is not None and cnpj.is_valid(key)


def is_cpf(key: str) -> bool:
    """Eleven digits without punctuation, with right check digits."""
    return re.fullmatch(r"[0-9]{11}", key) is not None and cpf.is_valid(key)


FORMATS: Mapping[str, Callable[[str], bool]] = {
    "PHONE": is_phone,
    "EMAIL": is_email,
    "RANDOM": is_random,
    "CNPJ": is_cnpj,
    "CPF": is_cpf,
}
