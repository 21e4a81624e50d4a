"""Success that is neither the text true nor the text false: always, or only where it says no."""

from __future__ import annotations

from tests.selftest.proof.mutants.making_faults import UNREGISTERED, SomeRegistrations
from tests.selftest.proof.registry import broken

TEXTS = {
    "Yes": "yes", "One": "1", "Empty": "", "Ok": "OK",
    "Padded": " true ", "Quoted": '"true"', "Sim": "sim",
}  # fmt: skip
_CASE = ("registerPixKey.Success.letterCase",)
for _name, _text in TEXTS.items():
    broken(
        "Success of another text", f"Success{_name}", f"Success is the text {_text!r}.", SomeRegistrations,
        "registerPixKey.Success.text", warns=("registerPixKey.Success.example",),
        hides=_CASE if _name == "Padded" else (*_CASE, *UNREGISTERED),
        meant=lambda self, registration: True, change=lambda self, data, text=_text: data | {"Success": text},
    )  # fmt: skip
for _name, _value in {
    "No": "no", "Empty": "", "Zero": "0", "Pending": "pending", "AsBoolean": False, "AsNull": None, "AsInteger": 0,
}.items():  # fmt: skip
    _what = "text" if isinstance(_value, str) else "type"
    broken(
        f"Success of another {_what}", f"Failure{_name}", f"Success is {_value!r} where a registration is declined.",
        SomeRegistrations, f"registerPixKey.Success.{_what}",
        meant=lambda self, registration: not registration.accepted,
        change=lambda self, data, value=_value: data | {"Success": value},
    )  # fmt: skip
for _name, _changed, _meant in (
    ("SuccessCapitalised", str.capitalize, lambda self, registration: True),
    ("SuccessInCapitals", str.upper, lambda self, registration: True),
    ("SuccessCapitalisedForEmail", str.capitalize, lambda self, registration: registration.key.type == "EMAIL"),
    ("FailureCapitalised", str.capitalize, lambda self, registration: not registration.accepted),
):
    broken(
        "Success in another letter case", _name, f"Success is written with {_changed.__name__}().", SomeRegistrations,
        warns=_CASE, meant=_meant, change=lambda self, data, changed=_changed: data | {"Success": changed(data["Success"])},
    )  # fmt: skip
