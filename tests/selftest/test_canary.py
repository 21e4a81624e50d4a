"""Canaries are planted everywhere, services echo them in every encoding, and nothing that leaves a run holds one."""

import logging
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from environments.door.wrong_tokens import wrong_tokens
from environments.sandbox import Data, Key, Server, Service, Transfer
from environments.secret_values import Secrets
from reports.show import Display
from reports.writing import OUTPUTS, PAGE, RUNS, SUMS
from spec.exchange import LARGE
from tests.harness.pen import Pen
from tests.selftest.services import echoing
from tests.selftest.services.running import run, write_profile
from tests.selftest.services.serving import Raw
from tests.selftest.services.signed import CLAIMS, Signing, decoded

TOKEN = "Can4ry.t0ken-OF_the+run/9f8e7d=="
ACCOUNT, CODE = "canary-account-00417", "CANARY-CODE-8812"
EMAIL, PHONE, CPF = "canary.key@personal.example", "+5511987650123", "39053344705"
HEADER = "canary-gateway-secret-71"
SPILLED = f"{ACCOUNT} {CODE} {EMAIL} {PHONE} {CPF} {HEADER}"
PAYEE, PAYEES_KEY = "canary-payee-77310", "canary.payee@personal.example"
VALUES = (
    TOKEN,
    ACCOUNT,
    CODE,
    EMAIL,
    PHONE,
    CPF,
    HEADER,
    PAYEE,
    PAYEES_KEY,
    "390.533.447-05",
    *echoing.PERSONAL.values(),
)
CANARIES = {
    f"{value} {name}": form for value in VALUES if len(value) > 4 for name, form in echoing.encodings(value).items()
} | {"first half of the token": TOKEN[: len(TOKEN) // 2], "second half of the token": TOKEN[len(TOKEN) // 2 :]}
VERBOSE = ("-vv", "--tb=long", "-rA")
LOUD = (*VERBOSE, "-o", "log_cli=true", "--log-cli-level=DEBUG")
PEOPLE = {"sub": "canary-subject-5523", "name": "Joana Canario Prado", "email": "joana.prado@personal.example"}


class SignedCanary(Signing):
    """Its token names a person."""

    CLAIMS = CLAIMS | PEOPLE


SERVICES = (
    echoing.Echoes,
    echoing.EchoesInText,
    echoing.EchoesInHtml,
    echoing.EchoesAsNames,
    echoing.EchoesInARedirect,
    echoing.EchoesInBrokenJson,
)


def profile_of(folder, base_url):
    """A profile whose every value is a canary. It is no sandbox, so that there is a journal."""
    return write_profile(
        folder,
        base_url,
        sandbox=None,
        accounts=[ACCOUNT],
        pix_keys=[
            {"type": "EMAIL", "key": EMAIL},
            {"type": "PHONE", "key": PHONE},
            {"type": "CPF", "key": CPF},
            {"type": "RANDOM", "key": ""},
        ],
        transactions={"codes": [CODE]},
        requests={"transferInternal": {"json": {"to": {"number": PAYEE, "or": [PAYEES_KEY]}, "value": 1}}},
        headers={"X-Gateway": {"env": "GATEWAY"}},
        journal=str(folder / "journal.jsonl"),
    )


def leaks(result, folder, canaries=CANARIES):
    """Which canaries stand where: in what was printed, and in every file that was written."""
    written = [path for path in (*folder.rglob("*"), *_of_the_run(folder)) if path.is_file()]
    places = {
        str(path): path.read_bytes().decode("utf-8", "replace") for path in written if path.name != "profile.yaml"
    }
    places["output"] = result.output
    return [f"{name} in {place}" for place, text in places.items() for name, form in canaries.items() if form in text]


def _of_the_run(folder: Path):
    return (RUNS / "profile").rglob("*")


def canary_run(service, folder, *options, token=TOKEN, **variables):
    """A run with everything planted; its caches lie in the folder, too."""
    service.service.token = token
    given = {"PIX_TOKEN": token, "GATEWAY": HEADER, "SPILLED": SPILLED, "HYPOTHESIS_STORAGE_DIRECTORY": str(folder)}
    given |= {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    given |= {"BUILD_URL": f"https://jenkins.example.test/{HEADER}/{ACCOUNT}/1/"}
    log = f"--log-file={folder / 'log'}"
    new = [] if (folder / "journal.jsonl").exists() else ["--new-journal"]
    return run(profile_of(folder, service.base_url), log, "--accept", *new, *options, **given, **variables)


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.__name__)
def test_nothing_leaves_that_a_service_echoes(service, tmp_path):
    """In bodies of every kind, headers, cookies and redirects, with failures and all that pytest can print."""
    with service() as raw:
        result = canary_run(raw, tmp_path, *LOUD)

    assert leaks(result, tmp_path) == []
    assert result.document["traffic"]["requests"] > 50
    assert (tmp_path / "summary.md").exists()
    assert (tmp_path / "profile.observed.yaml").exists() == bool(result.document["granted"])
    assert {path.name for path in result.folder.iterdir()} == {*OUTPUTS, PAGE, SUMS}


@pytest.mark.parametrize("service", [echoing.Echoes, echoing.EchoesAsAMediaType], ids=lambda made: made.__name__)
def test_nothing_leaves_with_generated_traffic(service, tmp_path):
    """What is sent and counted, what the journal keeps, and what Hypothesis keeps, is redacted."""
    with service() as raw:
        result = canary_run(raw, tmp_path, *VERBOSE, "-m", "property or not property", "--examples=2")

    assert leaks(result, tmp_path) == []


def signed_canaries():
    """A signed token, and all that must not be told of it and of the wrong ones that are made from it."""
    token = SignedCanary().token
    claims = token.split(".")[1]
    secret = {**wrong_tokens(token), "the token": token, "its claims": claims, "its signature": token.split(".")[2]}
    said = {"the claims decoded": decoded(claims).decode(), **{f"the {name} claimed": PEOPLE[name] for name in PEOPLE}}
    return token, {
        f"{name} {encoding}": form
        for name, value in (secret | said).items()
        for encoding, form in echoing.encodings(value).items()
    }


def test_nothing_leaves_of_a_signed_token_and_the_wrong_ones(tmp_path):
    """Neither the right one nor any that was made from it, nor their parts, nor whom they name."""
    token, canaries = signed_canaries()
    with echoing.EchoesWhatATokenSays() as raw:
        result = canary_run(raw, tmp_path, "-k", "executePix.token or registerPixKey.token", token=token)
    sent = {seen.header("Authorization").split()[-1] for seen in raw.seen if seen.header("Authorization")}

    assert len(sent & set(wrong_tokens(token).values())) > 10
    assert leaks(result, tmp_path, canaries) == []


class NamesCodesItsOwnWay(Service):
    """Its transfers are prepared under another name than the one that the profile gives for POST /v1/pix."""

    def __init__(self, token: str) -> None:
        super().__init__(token=token)
        self.codes: list[str] = []

    def new_code(self) -> str:
        self.codes.append(super().new_code())
        return self.codes[-1]

    def preparation_result(self, transfer: Transfer) -> Data:
        result = super().preparation_result(transfer)
        return {"idTransaction": result.pop("transactionId"), **result} if len(self.codes) % 2 else result


def test_codes_that_could_be_executed_do_not_leave(tmp_path):
    """A reader of the report cannot execute the transfers that the run prepared to see whether an endpoint exists."""
    with Raw() as raw:
        raw.service = NamesCodesItsOwnWay(TOKEN)
        result = run(write_profile(tmp_path, raw.base_url), PIX_TOKEN=TOKEN)

    assert len(raw.service.codes) == 4
    assert leaks(result, tmp_path, {code: code for code in raw.service.codes}) == []


class AnswersAtLength(Service):
    """What prepares a transfer is answered with more than is shown, and every answer tells the codes so far."""

    def __init__(self, token: str) -> None:
        super().__init__(token=token)
        self.codes: list[str] = []

    def new_code(self) -> str:
        self.codes.append(super().new_code())
        return self.codes[-1]

    def preparation_result(self, transfer: Transfer) -> Data:
        return {**super().preparation_result(transfer), "terms": "lorem " * (LARGE // 6)}

    def finish(self, request, operation, response):
        return replace(response, headers=(*response.headers, ("X-Told", " ".join(self.codes))))


def test_codes_in_large_answers_do_not_leave(tmp_path):
    """A reader of the start of the answer, or of another one, cannot execute the transfer."""
    with Raw() as raw:
        raw.service = AnswersAtLength(TOKEN)
        result = run(write_profile(tmp_path, raw.base_url), PIX_TOKEN=TOKEN)

    assert len(raw.service.codes) == 4
    assert leaks(result, tmp_path, {code: code for code in raw.service.codes}) == []


UNLISTED = ("unlisted-account-8812", "UNLISTED-77310-4", "90417734")


class NamesMoreAccounts(Service):
    """Its list has accounts that the profile does not name, and every answer tells one of them."""

    def list_accounts(self, request) -> Data:
        listed = super().list_accounts(request)["accounts"]
        first, number, second = UNLISTED
        theirs = [{"id": first, "kind": "CHECKING"}, {"accountNumber": int(second), "iban": number, "kind": "SAVINGS"}]
        return {"accounts": [*listed, *theirs]}

    def finish(self, request, operation, response):
        return replace(response, headers=(*response.headers, ("X-Told", " ".join(UNLISTED))))


@pytest.mark.parametrize("accounts", [["ac-0001"], None], ids=["one account", "none"])
def test_accounts_that_only_the_service_names_do_not_leave(accounts, tmp_path):
    """A narrow profile reads with a token that sees more than it lists. Names of members stay readable."""
    with Raw() as raw:
        raw.service = NamesMoreAccounts(token=TOKEN)
        profile = write_profile(
            tmp_path, raw.base_url, accounts=accounts, allow=["read"], requests=None, transactions=None
        )
        result = run(profile, PIX_TOKEN=TOKEN)
    page = (result.folder / PAGE).read_text()

    assert leaks(result, tmp_path, {account: account for account in UNLISTED}) == []
    assert "accountNumber" in page


OLD_KEY = "0b8c7a5e-41d3-4f6a-9c27-5e1f60d2b934"


class ListsKeysAsItLikes(Service):
    """The account had a key that a service once made, and the list has no member whose name says that it holds keys."""

    def __init__(self, listed) -> None:
        super().__init__()
        self.listed = listed
        with self.database.transaction() as ledger:
            ledger.add_key(Key(OLD_KEY, "RANDOM", "ac-0001"))

    def list_pix_keys(self, request, account_id) -> Data:
        return self.listed([item["pixKey"] for item in super().list_pix_keys(request, account_id)["keys"]])


@pytest.mark.parametrize(
    "listed",
    [
        lambda keys: {"chaves": keys},
        lambda keys: {key.upper(): {"active": True} for key in keys},
        lambda keys: {"all": ";".join(keys)},
        lambda keys: {"made": [key.replace("-", "") for key in keys]},
    ],
    ids=["texts", "names", "one text", "no dashes"],
)
def test_made_keys_of_the_account_do_not_leave(listed, tmp_path):
    """The interface document does not show what a list of keys looks like. The keys in it belong to somebody."""
    service = ListsKeysAsItLikes(listed)
    service.token = "Tok-3n.Of-The_Service"
    with Server(service) as server:
        result = run(write_profile(tmp_path, server.base_url), "-k", "listPixKeys")

    assert leaks(result, tmp_path, {form: form for form in (OLD_KEY, OLD_KEY.upper(), OLD_KEY.replace("-", ""))}) == []


@pytest.mark.parametrize("spill", ["failing tests", "an internal error", "a crash at the start", "a crash at the end"])
def test_nothing_leaves_when_the_suite_itself_fails(spill, tmp_path):
    """Exceptions, locals, prints, logs, warnings, skips and internal errors are redacted."""
    with Raw() as raw:
        plugin = ("-p", "tests.selftest.services.spilling", "-k", "executePix.id or executePix.name")
        result = canary_run(raw, tmp_path, *LOUD, *plugin, SPILL=spill)

    assert leaks(result, tmp_path) == []
    assert "spilled" in result.output


def test_files_are_private(tmp_path):
    """What a run writes is readable by its owner alone."""
    with Raw() as raw:
        result = canary_run(raw, tmp_path, "-k", "executePix.document.type")
    files = [*result.folder.iterdir(), tmp_path / "journal.jsonl", tmp_path / "journal.key"]

    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_what_a_library_logs_is_a_text_of_a_service():
    """A library may log a header or a body as it came; its own words stay."""
    pen = Pen(Display(Secrets({"account": [ACCOUNT]})))
    made = logging.getLogRecordFactory()
    record = made("urllib3", 30, "", 1, f"Failed for {ACCOUNT}: %s, %d times", ("X-Name Maria", 3), None)
    pen.put_down()

    assert record.getMessage() == "Failed for <account>: A-Name Aaaaa, 3 times"
