"""The threat model of the redaction, row by row: what it promises is kept, and what is out of scope is known."""

import base64
import json
import re
from urllib.parse import quote

import pytest

import reports.redaction
from environments.secrets import Secrets
from reports.redaction import Redactor
from spec.interface import personal_fields
from tests.selftest.test_redaction import ENCODINGS

TOKEN, ACCOUNT, NAME = "s3cr3t-T0ken/with+odd=Chars.9xQ", "konto-ÄB-4711", "Joana Prado"
ROWS = dict(re.findall(r"^\| ((?!value \||---)[^|]+) \| (.+) \|$", reports.redaction.__doc__, re.MULTILINE))


@pytest.fixture
def pen():
    """A redactor that knows a token and an account, and has seen a personal member."""
    secrets = Secrets({"account": [ACCOUNT, "7"]})
    secrets.learn_token(TOKEN)
    pen = Redactor(secrets, personal_fields())
    pen.learn_from(json.dumps({"name": NAME}).encode())
    return pen


def of_a_secret(pen):
    half = len(TOKEN) // 2 + 1
    forms = (*(encoded(TOKEN) for encoded in ENCODINGS.values()), TOKEN[:half], TOKEN[-half:], TOKEN[3:11])
    return [form for form in forms if form in pen.text(f"x {form} y")], pen.text("odd") == "odd"


def of_a_listed_value(pen):
    forms = [*(encoded(ACCOUNT) for encoded in ENCODINGS.values()), base64.b64encode(ACCOUNT.encode()).decode()]
    return [form for form in forms if form in pen.text(f"x {form} y")], pen.text("7 of 17") == "7 of 17"


def of_credentials(pen):
    sent = (("Authorization", "Basic dXNlcjpwdw"), ("Cookie", "sid=5523"), ("Location", "https://u:pw@host/"))
    return [value for _, value in pen.headers(sent) if re.search("dXNl|5523|pw", value)], True


def of_a_personal_member(pen):
    bodies = ('{"x": [{"NAME": "Rui Alves"}]}', '{"name": "Rui Alves', "name=Rui+Alves", "<name>Rui Alves</name>")
    shown = [pen.body(body.encode()) for body in bodies]
    return [body for body in shown if re.search("Rui|Alves", body)], "Aaa Aaaaa" in shown[0]


def of_a_refusal(pen):
    shown = pen.body(b'{"Message": "account 00412 of Rui Alves is blocked"}', refusal=True)
    return re.findall(r"Rui|Alves|\d{2}412", shown), "account 99999 of Aaa Aaaaa is blocked" in shown


def of_a_personal_value_elsewhere(pen):
    forms = (NAME, NAME.upper(), quote(NAME), NAME.replace(" ", "+"))
    packed = base64.b64encode(NAME.encode()).decode()
    return [form for form in forms if form in pen.text(form)], packed in pen.text(packed)


def of_what_looks_personal(pen):
    forms = ("390.533.447-05", "16.727.230/0001-97", "rui@banco.example", "+55 11 98765-1234")
    return [form for form in forms if form in pen.text(f"x {form} y")], pen.text("Rui Alves") == "Rui Alves"


def of_unsafe_characters(pen):
    return re.findall("[\x00\x1b\u202e\ud800]", pen.text("\x00\x1b\u202e\ud800")), pen.text("\n\t") == "\n\t"


PROOFS = {
    "token, its claims": of_a_secret,
    "account, key, code": of_a_listed_value,
    "credentials and cookies": of_credentials,
    "personal members of bodies": of_a_personal_member,
    "personal members of refusals": of_a_refusal,
    "values of personal members": of_a_personal_value_elsewhere,
    "CPF, CNPJ": of_what_looks_personal,
    "control characters": of_unsafe_characters,
}


def test_every_row_has_a_proof():
    """And every proof a row."""
    assert [[start for start in PROOFS if row.startswith(start)] for row in ROWS] == [[start] for start in PROOFS]


@pytest.mark.parametrize("proof", PROOFS.values(), ids=PROOFS)
def test_what_a_row_promises(proof, pen):
    """No form of the row is shown, and what is out of its scope stays as it was."""
    shown, others_stay = proof(pen)

    assert shown == []
    assert others_stay
