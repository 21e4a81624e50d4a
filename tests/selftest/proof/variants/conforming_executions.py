"""What an execution may answer: statuses, dates, amounts, masks of documents, and codes that have expired."""

from collections import Counter
from itertools import count

from environments.sandbox import Refusal, Service
from tests.selftest.proof.registry import declare_variant, variant
from tests.selftest.proof.variants.conforming_making import (
    ActsInTurn,
    AddsFieldsInTurn,
    RefusesDifferently,
    RemembersThePast,
    json_answer,
    number_as_written,
    profile_path,
)
from tests.selftest.proof.variants.conforming_scopes import EXECUTION


@variant("number")
class IdsAndCodesAreNumbers(Service):
    """Transaction codes are numbers from 1 on, and the ids of transactions are other numbers, from 2 on."""

    def __init__(self):
        super().__init__()
        self.codes = count(1)
        self.ids = count(2)

    def new_code(self):
        return str(next(self.codes))

    def execution_result(self, transfer):
        return super().execution_result(transfer) | {"id": str(next(self.ids))}


OF_A_FIELD = {
    "StatusesInTurn": (
        "The status is another one each time.", "status", ("PROCESSING", "done", "", "Concluída", "OK", "D" * 5_000),
    ),
    "ErrorsInTurn": (
        "The error is a text each time, and an empty one.", "error", ("", "null", "none", "x" * 5_000, "{}", "0"),
    ),
    "DatesInTurn": (
        "The date is in seconds, in microseconds, a day, zero, negative, and has a fraction.", "date",
        (1_767_312_000, 1_767_312_000_123_456, 20260101, 0, -62_135_596_800, 1.7e9 + 0.25),
    ),
    "DatesWithExponentsInTurn": (
        "The date has an exponent, a point and zeros, or many digits.", "date",
        tuple(map(number_as_written, ("1.767312E+12", "1767312e6", "1767312000.000", "1e-3", "9" * 400, "1e400"))),
    ),
    "AmountsInTurn": (
        "The value is in cents, zero, negative, binary, an integer, and large.", "value",
        (15_000, 0, -10.5, 0.1 + 0.2, 1, 10**30),
    ),
    "AmountsWithExponentsInTurn": (
        "The value has an exponent or zeros, is minus zero, and beyond what a double holds.", "value",
        tuple(map(number_as_written, ("1.5e2", "10.00", "-0.0", "1E-7", "1e400", "99999999999999999999.99"))),
    ),
    "AccountTypesInTurn": (
        "The account type is an integer in any form.", "accountType",
        tuple(map(number_as_written, ("1.0", "1e2", "0", "-1", "7" * 6_000, "20E-1"))),
    ),
    "TypeAlwaysPhone": ("Every transfer went to a PHONE key.", "type", ("PHONE",)),
}  # fmt: skip
IN_TURN = {
    **{name: (fact, tuple({field: value} for value in values)) for name, (fact, field, values) in OF_A_FIELD.items()},
    "TextsInTurn": (
        "Texts are empty, long, in any script, or look like something else.",
        (
            dict.fromkeys(("bank", "branch", "message", "name", "digit", "account", "key"), ""),
            dict.fromkeys(("bank", "branch", "message", "name"), "ç" * 20_000),
            {"name": "محمد 张伟 Ωμέγα 🏦\u202e", "message": "\x00\t\r\n\u2028</script>\"'\\"},
            {"digit": "true", "branch": "null", "account": "0", "bank": "1.5", "message": "DONE"},
            {"bank": "00000000", "branch": "1", "digit": "XX", "key": "+55*********01"},
            dict.fromkeys(("bank", "branch", "account"), " "),
        ),
    ),
    "RefusedWithAnError": ("Every execution is REFUSED with an error.", ({"status": "REFUSED", "error": "no funds"},)),
}

for _name, (_fact, _ways) in IN_TURN.items():
    declare_variant(
        "execution result", _name, _fact, AddsFieldsInTurn, EXECUTIONS=_ways, GETS_THE_REQUESTS_OF_THE_SANDBOX=True
    )
declare_variant(
    "execution result", "DateInManyDigits", "The date has more digits than are worth computing with.",
    AddsFieldsInTurn, EXECUTIONS=({"date": number_as_written("9" * 2_000)},),
)  # fmt: skip


class Expired(Service):
    """The sandbox, where the codes in CODES have expired. They are codes of the profile, and get STATUS."""

    CODES = ()
    STATUS = 404

    def confirm(self, code):
        """Execute the transfer with this code. Raises Refusal for an expired code."""
        if code in self.CODES:
            raise Refusal(self.STATUS, "There is no such transaction code.")
        return super().confirm(code)


SUPPLIED = tuple(f"SBX-{key_type}-1" for key_type in ("PHONE", "EMAIL", "RANDOM", "CNPJ", "CPF"))
EXPIRED = {
    "TheFirstCodeGets404": (404, SUPPLIED[:1]),
    "TheFirstCodeGets409": (409, SUPPLIED[:1]),
    "TheFirstCodeGets410": (410, SUPPLIED[:1]),
    "TheFirstCodeGets422": (422, SUPPLIED[:1]),
    "TheLastCodeGets410": (410, SUPPLIED[-1:]),
    "AllCodesButTheLastGet404": (404, SUPPLIED[:-1]),
    "AllCodesButTheFirstGet422": (422, SUPPLIED[1:]),
    "AllSuppliedCodesGet400": (400, SUPPLIED),
    "AllSuppliedCodesGet404": (404, SUPPLIED),
}
PERHAPS_SPENT = ("executePix.token.required",)
"""Not exercised: a code was refused after wrong tokens, which perhaps spent it. The run prints an alert."""
for _name, (_status, _codes) in EXPIRED.items():
    declare_variant(
        "expired", _name, f"Expired codes get {_status}: {', '.join(_codes)}.", Expired, CODES=_codes, STATUS=_status,
        hides=PERHAPS_SPENT,
    )  # fmt: skip


@variant("expired", hides=EXECUTION)
class NoFunds(Service):
    """No account has the money for any transfer: 422."""

    def check_funds(self, ledger, transfer):
        raise Refusal(422, "The balance of the paying account is too low.")


@variant("expired", hides=EXECUTION)
class EveryCodeWasExecutedBefore(RefusesDifferently):
    """Every code was executed long ago. The answer has status 200 and code 17, and says so."""

    def check_prepared(self, transfer):
        """Refuse every transfer, without a text, so that `is_affected` knows this refusal."""
        raise Refusal(409, "")

    def is_affected(self, refusal):
        """True of the refusals of `check_prepared`."""
        return not refusal.error

    def answer_to_refusal(self, refusal):
        return json_answer(
            200, {"code": 17, "data": {"message": "Já executada", "before": {"id": "x", "status": "DONE"}}}
        )


@variant("expired")
class AnExpiredCodeGetsAResult(Service):
    """An expired code gets a whole execution result, with the status EXPIRED and an error."""

    def execution_result(self, transfer):
        """The result of an execution. The first two codes of the profile have expired."""
        result = super().execution_result(transfer)
        if result["id"] in SUPPLIED[:2]:
            result |= {"status": "EXPIRED", "error": "the code expired"}
        return result


@variant("expired", hides=PERHAPS_SPENT)
class AnExpiredCodeIsACodeIn200(Expired):
    """Expired codes get status 200 with code 17 in the envelope, and null as data."""

    CODES = SUPPLIED[1:4]

    def refusal(self, refusal):
        """The answer to a refused request: a 200 if the code is unknown or has expired."""
        if refusal.error == "There is no such transaction code.":
            return json_answer(200, {"code": 17, "data": None})
        return super().refusal(refusal)


@variant("refused execution")
class TransfersToCompaniesAreBlocked(Service):
    """A court has blocked all transfers to companies, so each gets 451 (RFC 7725). The others are executed."""

    def check_funds(self, ledger, transfer):
        """Refuse a transfer to a company, whose tax document has 14 digits."""
        if len(transfer.payee.document) == 14:
            raise Refusal(451, "A court has blocked transfers to this payee.")
        super().check_funds(ledger, transfer)


class CancelsCodes(Service):
    """The sandbox, which cancels a code that came with wrong tokens: 410 to all that ask for it later.

    `WRONG_TOKENS` is the number of requests with a wrong token that cancel a code.
    """

    WRONG_TOKENS = 1

    def __init__(self):
        super().__init__()
        self.wrong_tokens_by_code = Counter()

    def authorize(self, request, operation):
        """Check the token, and count each wrong one that comes with a transaction code."""
        try:
            super().authorize(request, operation)
        except Refusal:
            if operation == "executePix" and request.header("Authorization"):
                self.wrong_tokens_by_code[request.path.rpartition("/")[2]] += 1
            raise

    def check_prepared(self, transfer):
        """Refuse a transfer whose code was cancelled."""
        if self.wrong_tokens_by_code[transfer.id] >= self.WRONG_TOKENS:
            raise Refusal(410, "This code was cancelled.")
        super().check_prepared(transfer)


for _number, _name in ((1, "OneWrongTokenCancelsACode"), (3, "ThreeWrongTokensCancelACode")):
    declare_variant(
        "refused execution", _name, f"A code that came {_number} times with a wrong token gets 410.", CancelsCodes,
        WRONG_TOKENS=_number, hides=PERHAPS_SPENT,
    )  # fmt: skip
declare_variant(
    "refused execution", "OneWrongTokenWouldCancelACode",
    "A code that came with a wrong token gets 410, but the profile has the limit that the alert names.", CancelsCodes,
    environment=profile_path("few_wrong_tokens"),
)  # fmt: skip


@variant("repeated execution")
class RepeatsTheResult(Service):
    """A code that was executed gets the same result again, and no money moves."""

    GETS_THE_REQUESTS_OF_THE_SANDBOX = True

    def check_prepared(self, transfer):
        """Refuse no transfer because it was executed before."""

    def confirm(self, code):
        """Execute a transfer, or return the transfer that was executed with this code before."""
        with self.database.transaction() as ledger:
            transfer = ledger.transfer(code)
        was_executed = transfer is not None and transfer.status == "DONE"
        return transfer if was_executed else super().confirm(code)


@variant("repeated execution")
class ARepeatIsACodeIn200(Service):
    """A code that was executed before gets status 200 with code 409 in the envelope."""

    GETS_THE_REQUESTS_OF_THE_SANDBOX = True

    def refusal(self, refusal):
        if refusal.status == 409:
            return json_answer(200, {"code": 409, "data": {}})
        return super().refusal(refusal)


@variant("expired", hides=("executePix.token.required",))
class ABadTokenSpendsTheCode(RemembersThePast):
    """A code that came with a wrong token is cancelled, to be safe: later executions of it get 410."""

    def authorize(self, request, operation):
        """Check the token, and note the path of a request with a wrong one. Refuse an execution whose path was noted."""
        try:
            super().authorize(request, operation)
        except Refusal:
            self.past.append(request.path)
            raise
        if request.path in self.past and operation == "executePix":
            raise Refusal(410, "The code was cancelled.")


@variant("repeated execution", hides=EXECUTION)
class ExecutesLaterWithACodeOfItsOwn(AddsFieldsInTurn):
    """An execution gets code 2 in the envelope and the status PROCESSING, which is no success that the document shows."""

    EXECUTIONS = ({"status": "PROCESSING"},)

    def envelope(self, operation, data, code=0):
        """The envelope of an answer, with code 2 for an execution."""
        return super().envelope(operation, data, 2 if operation == "executePix" else code)


# -- how a tax document is partly hidden: the document says that it is, and not how

SIGNS = {
    "Stars": "*", "CapitalX": "X", "SmallX": "x", "Hashes": "#", "Bullets": "•", "Circles": "●", "OpenCircles": "○",
    "Underscores": "_", "Dashes": "-", "Blocks": "█", "Shades": "▒", "Dots": ".", "MiddleDots": "·", "Questions": "?",
    "Tildes": "~", "Crosses": "×", "Locks": "🔒", "LongDashes": "—", "Ellipses": "…",
    "HtmlEntities": "&bull;", "Spaces": " ", "Slashes": "/", "Ats": "@", "Pipes": "|",
}  # fmt: skip
MASKS = {
    "LastTwo": lambda document: document[-2:],
    "FirstThree": lambda document: document[:3],
    "MiddleOnly": lambda document: document[3:9],
    "MiddleWithPoints": lambda document: f"{document[3:6]}.{document[6:9]}",
    "CutInFront": lambda document: f"...{document[6:9]}-{document[9:11]}",
    "CutBehind": lambda document: f"{document[:4]}…",
    "OneStarOnly": lambda document: f"*{document[1:]}",
    "OneStarAtTheEnd": lambda document: f"{document[:-1]}*",
    "OneXInTheMiddle": lambda document: f"{document[:5]}x{document[6:]}",
    "OneStarAndAll": lambda document: f"*{document}",
    "EveryOther": lambda document: "".join(sign if i % 2 else "*" for i, sign in enumerate(document)),
    "AlwaysTen": lambda document: f"*******{document[-3:]}",
    "AWord": lambda document: f"[hidden]{document[-2:]}",
    "ASentence": lambda document: f"ends in {document[-4:]}",
    "AHashAndTwo": lambda document: f"sha256:5f2b…/{document[-2:]}",
    "InPunctuation": lambda document: f"***.***.*{document[7:9]}-{document[9:11]}",
    "BesideAProtocol": lambda document: f"***{document[3:9]}** (protocolo 20260721123)",
    "BesideANumberInFront": lambda document: f"98765432100 / ***.{document[3:6]}.{document[6:9]}-**",
    "BesideAHash": lambda document: f"***{document[3:9]}** 5f2b8c9d0e1a77",
    "BesideAnotherMask": lambda document: f"***{document[3:9]}** / *********{document[-2:]}",
    "BesideATime": lambda document: f"***.{document[3:6]}.{document[6:9]}-** 12/05/2026 10:11:12.123",
    "BesideAPhoneNumber": lambda document: f"***{document[3:9]}** +55 11 91234-5678",
    "AllAndANumber": lambda document: "*********** 20260721123",
    "CutAndANumber": lambda document: f"{document[3:6]} 20260721123",
    "WithALabel": lambda document: f"CPF/CNPJ: ***{document[3:7]}***",
}


def _masked_with(sign):
    """A function that hides the first three and the last five characters of a document with this sign: ***456*****."""
    return lambda document: f"{sign * 3}{document[3:-5]}{sign * 5}"


class MasksInTurn(ActsInTurn):
    """The sandbox, whose executions hide a part of the tax document in another way each time."""

    GETS_THE_REQUESTS_OF_THE_SANDBOX = True

    def execution_result(self, transfer):
        """The result of an execution, with the document as the next way masks it."""
        mask = next(self.ways)
        return super().execution_result(transfer) | {"document": mask(transfer.payee.document)}


ALL = {**{name: _masked_with(sign) for name, sign in SIGNS.items()}, **MASKS}
AT_ONCE = 6
"""Masks that one variant has: a run makes about six executions."""
for _start in range(0, len(ALL), AT_ONCE):
    _names = list(ALL)[_start : _start + AT_ONCE]
    declare_variant(
        "mask", f"MasksFrom{_names[0]}To{_names[-1]}", f"Documents are hidden by {', '.join(_names)}, in turn.",
        MasksInTurn, WAYS=tuple(ALL[name] for name in _names),
    )  # fmt: skip
