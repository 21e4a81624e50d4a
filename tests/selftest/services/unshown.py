"""A conforming service that differs from the sandbox wherever the interface document does not show what a service does."""

import json
from dataclasses import replace

from environments.sandbox import Refusal, Response, Service
from spec.interface import READ_OPERATIONS

READS_WITHOUT_TOKEN = ("getBalance", "listEntries")
WRITES_PERHAPS_WITHOUT_TOKEN = ("createPix", "transferExternal", "transferInternal", "transferP2p", "deletePixKey")


class ChoosesOtherwiseIfUndocumented(Service):
    """A conforming service that differs from the sandbox in things that the document does not show: refusals, values
    in results, operations without a token, and registrations. SEEN_IN names the requirements that show it.
    """

    KEY_FORMATS = dict.fromkeys(Service.KEY_FORMATS, lambda key: True)  # any text is a key of each type

    STATUSES = {400: 422, 401: 403, 415: 406}  # by the status of the sandbox, the status of this service
    SEEN_IN = {
        *(
            f"{operation}.refusal"
            for operation in ("executePix", "registerPixKey", *WRITES_PERHAPS_WITHOUT_TOKEN, *READ_OPERATIONS)
        ),
        *("executePix.status.values", "executePix.date.unit", "executePix.accountType.meaning", "general.deprecation"),
        "executePix.status.transitions",
        *(f"{operation}.token" for operation in READS_WITHOUT_TOKEN),
        *("general.otherTokens", "executePix.unknownCode", "general.sizeLimit", "general.codeValues"),
        *("registerPixKey.repeated", "registerPixKey.pixKeyType.numeric", "registerPixKey.body.required"),
        *("registerPixKey.account.relation", "registerPixKey.pixKey.format"),
    }

    def finish(self, request, operation, response):
        """The answer of the sandbox with other headers, another body or another status.

        The list of accounts is deprecated. Refusals of balances and entries have other bodies, all others other
        statuses.
        """
        if operation == "listAccounts":
            dates = (("Deprecation", "@1767225600"), ("Sunset", "Fri, 01 Jan 2027 00:00:00 GMT"))
            other_headers = [(name, value) for name, value in response.headers if name != "WWW-Authenticate"]
            return replace(response, headers=(*other_headers, *dates))
        if operation == "listEntries" and response.status >= 400:
            return Response(response.status, b"", ())
        if operation == "getBalance" and response.status >= 400:
            problem = {"type": "about:blank", "title": "Refused", "status": response.status, "detail": request.path}
            return Response(
                response.status, json.dumps(problem).encode(), (("Content-Type", "application/problem+json"),)
            )
        if operation == "executePix" and response.status == 404:
            return replace(response, status=422)
        return replace(response, status=self.STATUSES.get(response.status, response.status))

    def execution_result(self, transfer):
        """The result of an execution with the date in seconds, another account type, and the status CONFIRMED."""
        result = super().execution_result(transfer)
        return result | {
            "date": result["date"] // 1000,
            "accountType": result["accountType"] * 10,
            "status": "CONFIRMED",
        }

    def preparation_result(self, transfer):
        """The result of preparing a transfer, with the status PENDING."""
        return super().preparation_result(transfer) | {"status": "PENDING"}

    def authorize(self, request, operation):
        """Check the token. Balances, entries and p2p transfers need no token."""
        if operation not in (*READS_WITHOUT_TOKEN, "transferP2p"):
            super().authorize(request, operation)

    def check_size(self, request):
        """Raise Refusal (413) if the body is larger than 100,000 bytes. The sandbox has another limit."""
        if len(request.body) > 100_000:
            raise Refusal(413, "The body is too large.")

    def check_body_account(self, body, account_id):
        """Raise Refusal if the field account is missing or no text. It may name another account than the path does."""
        if not isinstance(body.get("account"), str):
            super().check_body_account(body, account_id)
            raise Refusal(400, "The field account is missing.")

    def key_type(self, body):
        """The key type that a registration names. "1" is PHONE, and "3" is EMAIL."""
        key_type_by_number = {"1": "PHONE", "3": "EMAIL"}
        sent_type = body.get("pixKeyType")
        return super().key_type(body | {"pixKeyType": key_type_by_number.get(sent_type, sent_type)})

    def registration_success(self, registration):
        """The member Success of the answer: "true" even for a key that is registered already."""
        return "true"

    def envelope(self, operation, data, code=0):
        """The envelope of an answer. Its code is 0 for a success, and 1 for every refusal."""
        is_success = code == 0
        return super().envelope(operation, data, 0 if is_success else 1)
