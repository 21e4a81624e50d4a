"""Answers of the operations whose responses the interface document does not show, and their refusals."""

from environments.sandbox import Refusal, Service
from spec.interface import PREPARING_OPERATIONS, READ_OPERATIONS
from tests.selftest.proof.registry import declare_variant, ids_of_operation, variant
from tests.selftest.proof.variants.conforming_making import (
    RewritesAnswers,
    empty_answer,
    html_answer,
    json_answer,
    text_answer,
)

_REFUSED = ("json", "status", "envelope.*", "shape")
ANSWERS = {
    "AnEmptyArray": (lambda: json_answer(200, []), ()),
    "AnArray": (lambda: json_answer(200, [{"id": "1", "status": "DONE"}, {"id": "2"}]), ()),
    "ABareObject": (lambda: json_answer(200, {"total": 0, "items": []}), ()),
    "ANumber": (lambda: json_answer(200, 12.5), ()),
    "AnArrayInTheEnvelope": (lambda: json_answer(200, {"code": 0, "data": []}), ()),
    "AnEnvelopeOfNull": (lambda: json_answer(200, {"code": 0, "data": None}), ()),
    "Text": (lambda: text_answer(200, "nothing to show"), ("envelope.shape",)),
    "Csv": (lambda: text_answer(200, "date;value\n2026-01-01;1,00\n", "text/csv"), ("envelope.shape",)),
    "Html": (lambda: html_answer(200, "Extrato"), ("envelope.shape",)),
    "Nothing": (lambda: empty_answer(204), ("envelope.shape",)),
    "An201": (lambda: json_answer(201, {"code": 0, "data": {}}), ()),
    "An202": (lambda: json_answer(202, {"code": 0, "data": {"status": "RECEIVED"}}), ()),
    "A206": (lambda: json_answer(206, {"code": 0, "data": {}}), ()),
    "ACode": (lambda: json_answer(200, {"code": 5, "data": {}}), _REFUSED),
    "A302": (lambda: empty_answer(302, (("Location", "/v2"),)), (*_REFUSED, "exists")),
    "A400": (lambda: json_answer(400, {"error": "a parameter is missing"}), _REFUSED),
    "A404OfItsOwn": (lambda: json_answer(404, {"error": "nothing here today"}), (*_REFUSED, "exists")),
    "A409": (lambda: text_answer(409, "not now"), _REFUSED),
    "A422": (lambda: json_answer(422, {"errors": [{"field": "value"}]}), _REFUSED),
}


class AnswersSo(RewritesAnswers):
    """The sandbox, where `answer` makes each successful answer to a read and to a prepared transfer."""

    OPERATIONS = (*READ_OPERATIONS, *PREPARING_OPERATIONS)

    def changed_answer(self, request, response):
        is_success = response.status == 200
        return self.answer() if is_success else response


for _name, (_answer, _rows) in ANSWERS.items():
    declare_variant(
        "undescribed answer", f"TheOthersAnswer{_name}", f"What the document does not describe answers {_name}.", AnswersSo,
        answer=staticmethod(_answer),
        hides=(
            *(f"{_operation}.{_row}" for _operation in (*READ_OPERATIONS, *PREPARING_OPERATIONS) for _row in _rows),
            "executePix.status.transitions", "executePix.value.matches",
        ),
    )  # fmt: skip


@variant("undescribed answer")
class UnknownAccountsAreEmpty(Service):
    """Reads of an unknown account are answered like those of an empty account: 200 with empty data."""

    def finish(self, request, operation, response):
        is_of_unknown_account = operation in READ_OPERATIONS and response.status == 404
        return json_answer(200, {"code": 0, "data": {}}) if is_of_unknown_account else response


@variant("undescribed answer", hides=ids_of_operation("listEntries", *_REFUSED))
class EntriesNeedADate(Service):
    """Entries are listed for a day, and the day is a query that the document does not show: 400 without it."""

    def list_entries(self, request, account_id):
        if "date=" not in request.query:
            raise Refusal(400, "Which day?")
        return super().list_entries(request, account_id)


@variant("undescribed answer", hides=ids_of_operation("listAccounts", *_REFUSED))
class AccountsHaveASlashAtTheEnd(RewritesAnswers):
    """GET /v1/accounts is moved permanently to the same path with a slash at its end."""

    OPERATIONS = ("listAccounts",)

    def changed_answer(self, request, response):
        return empty_answer(308, (("Location", "/v1/accounts/"),)) if response.status == 200 else response


@variant(
    "undescribed answer",
    hides=(
        *(f"{write}.{row}" for write in PREPARING_OPERATIONS for row in _REFUSED),
        "executePix.status.transitions",
        "executePix.value.matches",
    ),
)
class PreparesNothing(Service):
    """createPix and the transfers refuse every body with 422."""

    def prepare(self, operation, request):
        raise Refusal(422, "No transfer is possible today.")


@variant("undescribed answer", hides=("executePix.value.matches",))
class TransfersMoveTheMoneyAtOnce(Service):
    """createPix and the transfers move the money at once, so that their codes cannot be executed again."""

    def prepare(self, operation, request):
        """Prepare a transfer and execute it. The result has the status DONE."""
        result = super().prepare(operation, request)
        self.confirm(str(result["transactionId"]))
        return result | {"status": "DONE"}
