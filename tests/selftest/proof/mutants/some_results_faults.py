"""Faults of a field that show for one key type, or for some values, only; and Success of another text."""

from environments.sandbox import Service
from tests.selftest.proof.mutants.making_faults import (
    HIDES_REGISTRATION,
    ChangesSomeExecutions,
    ChangesSomeRegistrations,
    without_self,
)
from tests.selftest.proof.registry import declare_mutant, mutant

FAULTS = {
    "Missing": ("present", "is missing", lambda data, name: {key: data[key] for key in data if key != name}),
    "Capitals": ("spelling", "is in capitals", lambda data, name: _renamed(data, name, name.upper())),
    "Null": ("type", "is null", lambda data, name: data | {name: None}),
    "Text": ("type", "is text", lambda data, name: data | {name: str(data[name])}),
    "Integer": ("type", "is an integer", lambda data, name: data | {name: int(data[name])}),
    "Fraction": ("type", "has a fraction", lambda data, name: data | {name: data[name] + 0.5}),
    "Boolean": ("type", "is a boolean", lambda data, name: data | {name: data[name] == "true"}),
    "Array": ("type", "is an array", lambda data, name: data | {name: [data[name]]}),
    "Object": ("type", "is an object", lambda data, name: data | {name: {"value": data[name]}}),
}
EXECUTIONS = {
    "Phone": ("of a PHONE key", lambda transfer: transfer.key_type == "PHONE"),
    "Email": ("of an EMAIL key", lambda transfer: transfer.key_type == "EMAIL"),
    "Random": ("of a RANDOM key", lambda transfer: transfer.key_type == "RANDOM"),
    "Cnpj": ("of a CNPJ key", lambda transfer: transfer.key_type == "CNPJ"),
    "Cpf": ("of a CPF key", lambda transfer: transfer.key_type == "CPF"),
    "Cents": ("of an amount with cents", lambda transfer: transfer.cents % 100 != 0),
    "WholeReais": ("of whole reais", lambda transfer: transfer.cents % 100 == 0),
    "Large": ("of a large amount", lambda transfer: transfer.cents >= 1_000_000_00),
    "OneCent": ("of one cent", lambda transfer: transfer.cents == 1),
    "NoMessage": ("without a message", lambda transfer: not transfer.message),
    "Quotes": ("with quotes in its message", lambda transfer: '"' in transfer.message),
    "NumericDigit": ("to an account with a numeric digit", lambda transfer: transfer.payee.digit.isdigit()),
    "DigitX": ("to an account with the digit X", lambda transfer: transfer.payee.digit == "X"),
    "LeadingZero": ("to a branch with a leading zero", lambda transfer: transfer.payee.branch[0] == "0"),
}
REGISTRATIONS = {
    "Phone": ("of a PHONE key", lambda registration: registration.key.type == "PHONE"),
    "Email": ("of an EMAIL key", lambda registration: registration.key.type == "EMAIL"),
    "Cnpj": ("of a CNPJ key", lambda registration: registration.key.type == "CNPJ"),
    "Cpf": ("of a CPF key", lambda registration: registration.key.type == "CPF"),
    "Made": ("of a key that the service makes", lambda registration: registration.made),
    "Declined": ("that is declined", lambda registration: not registration.accepted),
    "TenthOrLater": ("after the ninth", lambda registration: registration.number >= 10),
}
FAULTY_EXECUTIONS = {
    "Phone": "name Null",
    "Email": "bank Null, date Text",
    "Random": "key Missing, id Missing",
    "Cnpj": "branch Missing, accountType Capitals, document Null",
    "Cpf": "type Missing, key Integer",
    "Cents": "value Text",
    "WholeReais": "value Text",
    "Large": "value Text, status Missing",
    "OneCent": "value Null, error Missing",
    "NoMessage": "message Missing, message Null",
    "Quotes": "message Object",
    "NumericDigit": "digit Integer",
    "DigitX": "digit Null",
    "LeadingZero": "branch Integer",
}
FAULTY_REGISTRATIONS = {
    "Phone": "Success Boolean",
    "Email": "Message Missing",
    "Cnpj": "DocumentNumber Text",
    "Cpf": "Key Integer",
    "Made": "Key Missing, Key Object",
    "Declined": "Message Missing, Message Null, Message Capitals, DocumentNumber Missing",
    "TenthOrLater": "DocumentNumber Text",
}
_ASKED = {
    ("Cents", "value Text"): {"hides": ("executePix.value.matches",)},
    ("Made", "Key Missing"): {"hides": ("registerPixKey.Key.example",)},
    ("Made", "Key Object"): {"warns": ("registerPixKey.Key.example",)},
}
"""What else is to be said: the one value shown is that of a key that the service makes, and the run prepares an amount with
cents."""


def _renamed(data, name, other):
    return {other if key == name else key: value for key, value in data.items()}


def _some(operation, subject, base, when, condition, faulty):
    field, fault = faulty.split()
    (phrase, meant), (row, how, change) = when[condition], FAULTS[fault]
    declare_mutant(
        f"shows for some {subject}s", f"{condition}{subject.capitalize()}{field[0].upper()}{field[1:]}{fault}",
        f"The field {field} of {'an' if subject[0] == 'e' else 'a'} {subject} {phrase} {how}.", base,
        f"{operation}.{field}.{row}", meant=without_self(meant), change=without_self(lambda data: change(data, field)),
        **_ASKED.get((condition, faulty), {}),
    )  # fmt: skip


for _condition, _faults in FAULTY_EXECUTIONS.items():
    for _faulty in _faults.split(", "):
        _some("executePix", "execution", ChangesSomeExecutions, EXECUTIONS, _condition, _faulty)
for _condition, _faults in FAULTY_REGISTRATIONS.items():
    for _faulty in _faults.split(", "):
        _some("registerPixKey", "registration", ChangesSomeRegistrations, REGISTRATIONS, _condition, _faulty)


# -- the answer of the request before


@mutant("answer of the request before", "registerPixKey.Key.matches")
class KeyIsOfTheRegistrationBefore(Service):
    """Key shows the key of the registration before."""

    earlier = None

    def registration_key(self, registration):
        key = super().registration_key(registration)
        shown, self.earlier = self.earlier if key else None, key or self.earlier
        return shown


@mutant("answer of the request before", "executePix.id.matches")
class IdIsOfTheExecutionBefore(Service):
    """The id is that of the execution before."""

    earlier = None

    def execution_result(self, transfer):
        shown, self.earlier = self.earlier or transfer.id, transfer.id
        return super().execution_result(transfer) | {"id": shown}


# -- Success that is neither the text true nor the text false: always, or only where it says no

TEXTS = {
    "Yes": "yes", "One": "1", "Empty": "", "Quoted": '"true"',
}  # fmt: skip
_CASE = ("registerPixKey.Success.letterCase",)
for _name, _text in TEXTS.items():
    declare_mutant(
        "Success of another text", f"Success{_name}", f"Success is the text {_text!r}.", ChangesSomeRegistrations,
        "registerPixKey.Success.text", warns=("registerPixKey.Success.example",),
        hides=(*_CASE, *HIDES_REGISTRATION),
        meant=lambda self, registration: True, change=lambda self, data, text=_text: data | {"Success": text},
    )  # fmt: skip
for _name, _value in {
    "No": "no", "Empty": "", "Zero": "0", "Pending": "pending", "AsBoolean": False, "AsNull": None, "AsInteger": 0,
}.items():  # fmt: skip
    _what = "text" if isinstance(_value, str) else "type"
    declare_mutant(
        f"Success of another {_what}", f"Failure{_name}", f"Success is {_value!r} where a registration is declined.",
        ChangesSomeRegistrations, f"registerPixKey.Success.{_what}",
        meant=lambda self, registration: not registration.accepted,
        change=lambda self, data, value=_value: data | {"Success": value},
    )  # fmt: skip
for _name, _changed, _meant in (
    ("SuccessCapitalised", str.capitalize, lambda self, registration: True),
    ("SuccessInCapitals", str.upper, lambda self, registration: True),
    ("SuccessPadded", " {} ".format, lambda self, registration: True),
    ("SuccessCapitalisedForEmail", str.capitalize, lambda self, registration: registration.key.type == "EMAIL"),
    ("FailureCapitalised", str.capitalize, lambda self, registration: not registration.accepted),
):
    declare_mutant(
        "Success in another letter case", _name, f"Success is written with {_changed.__name__}().", ChangesSomeRegistrations,
        warns=_CASE, meant=_meant, change=lambda self, data, changed=_changed: data | {"Success": changed(data["Success"])},
    )  # fmt: skip
