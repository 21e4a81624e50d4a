"""Faults of a field that show only for one key type or for some values, and registrations with a wrong Success."""

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
_FURTHER_VERDICTS = {
    ("Cents", "value Text"): {"hides": ("executePix.value.matches",)},
    ("Made", "Key Missing"): {"hides": ("registerPixKey.Key.example",)},
    ("Made", "Key Object"): {"warns": ("registerPixKey.Key.example",)},
}
"""Further verdicts of some mutants, by condition and fault.

The interface document shows one value of Key, that of a key which the service makes. The amount that the run prepares has
cents.
"""


def _renamed(data, name, new_name):
    """The members of a result, with another name for one of them, in the same order."""
    return {new_name if key == name else key: value for key, value in data.items()}


def _declare_faulty_field(operation, subject, base, conditions, condition, field_and_fault):
    """Declare a mutant with a fault of one field in some results.

    For example, `condition` is "Phone" and `field_and_fault` is "name Null": the field name of the execution of a PHONE
    key is null. `conditions` are EXECUTIONS or REGISTRATIONS, and `subject` is "execution" or "registration".
    """
    field, fault = field_and_fault.split()
    condition_in_words, is_affected = conditions[condition]
    row, fault_in_words, change = FAULTS[fault]
    article = "an" if subject == "execution" else "a"
    declare_mutant(
        f"shows for some {subject}s", f"{condition}{subject.capitalize()}{field[0].upper()}{field[1:]}{fault}",
        f"The field {field} of {article} {subject} {condition_in_words} {fault_in_words}.", base,
        f"{operation}.{field}.{row}", is_affected=without_self(is_affected), change=without_self(lambda data: change(data, field)),
        **_FURTHER_VERDICTS.get((condition, field_and_fault), {}),
    )  # fmt: skip


for _condition, _faults in FAULTY_EXECUTIONS.items():
    for _faulty in _faults.split(", "):
        _declare_faulty_field("executePix", "execution", ChangesSomeExecutions, EXECUTIONS, _condition, _faulty)
for _condition, _faults in FAULTY_REGISTRATIONS.items():
    for _faulty in _faults.split(", "):
        _declare_faulty_field(
            "registerPixKey", "registration", ChangesSomeRegistrations, REGISTRATIONS, _condition, _faulty
        )


# -- the answer of the request before


@mutant("answer of the request before", "registerPixKey.Key.matches")
class KeyIsOfTheRegistrationBefore(Service):
    """Key shows the key of the registration before."""

    last_key = None

    def registration_key(self, registration):
        """The member Key of the answer: the key of the registration before. It stays null if it is null by right."""
        key = super().registration_key(registration)
        if key is None:
            return None
        earlier_key, self.last_key = self.last_key, key
        return earlier_key


@mutant("answer of the request before", "executePix.id.matches")
class IdIsOfTheExecutionBefore(Service):
    """The id is that of the execution before."""

    last_id = None

    def execution_result(self, transfer):
        """The result of an execution with the id of the one before. The first result has its own id."""
        earlier_id = self.last_id or transfer.id
        self.last_id = transfer.id
        return super().execution_result(transfer) | {"id": earlier_id}


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
        is_affected=lambda self, registration: True, change=lambda self, data, text=_text: data | {"Success": text},
    )  # fmt: skip
for _name, _value in {
    "No": "no", "Empty": "", "Zero": "0", "Pending": "pending", "AsBoolean": False, "AsNull": None, "AsInteger": 0,
}.items():  # fmt: skip
    _what = "text" if isinstance(_value, str) else "type"
    declare_mutant(
        f"Success of another {_what}", f"Failure{_name}", f"Success is {_value!r} where a registration is declined.",
        ChangesSomeRegistrations, f"registerPixKey.Success.{_what}",
        is_affected=lambda self, registration: not registration.accepted,
        change=lambda self, data, value=_value: data | {"Success": value},
    )  # fmt: skip
for _name, _changed, _is_affected in (
    ("SuccessCapitalised", str.capitalize, lambda self, registration: True),
    ("SuccessInCapitals", str.upper, lambda self, registration: True),
    ("SuccessPadded", " {} ".format, lambda self, registration: True),
    ("SuccessCapitalisedForEmail", str.capitalize, lambda self, registration: registration.key.type == "EMAIL"),
    ("FailureCapitalised", str.capitalize, lambda self, registration: not registration.accepted),
):
    declare_mutant(
        "Success in another letter case", _name, f"Success is written with {_changed.__name__}().", ChangesSomeRegistrations,
        warns=_CASE, is_affected=_is_affected, change=lambda self, data, changed=_changed: data | {"Success": changed(data["Success"])},
    )  # fmt: skip
