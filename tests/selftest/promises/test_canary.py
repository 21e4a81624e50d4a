"""No secret or personal value leaves a run, neither in its output nor in a file.

The tests plant canaries: values that occur nowhere else, in the profile, the token and the answers of services. The
services echo them in every encoding. Then all that the run wrote is searched for each canary in each encoding.
"""

import html
import logging
import re
import stat
from copy import deepcopy
from dataclasses import replace
from itertools import chain, product

import pytest

from environments.door.wrong_tokens import wrong_tokens
from environments.sandbox import Key, Server, Service
from environments.secret_values import Secrets
from reports.outputs.writing import OUTPUTS, PAGE, RUNS, SUMS
from reports.showing.show import Display
from spec.exchange import LARGE
from tests.harness.pen import Pen
from tests.selftest.services.echoing import PERSONAL, Echoes, EchoesInTurn, encodings
from tests.selftest.services.people import NAMES, NamesPeople
from tests.selftest.services.running import run_suite, write_profile
from tests.selftest.services.serving import SocketService
from tests.selftest.services.signed import CLAIMS, SignsItsToken, base64url_decoded

CANARY_TOKEN = "Can4ry.t0ken-OF_the+run/9f8e7d=="
ACCOUNT, CODE = "canary-account-00417", "CANARY-CODE-8812"
KEYS = {"EMAIL": "canary.key@personal.example", "PHONE": "+5511987650123", "CPF": "39053344705"}
HEADER, PAYEE, PAYEES_KEY = "canary-gateway-secret-71", "canary-payee-77310", "canary.payee@personal.example"
SPILLED = f"{ACCOUNT} {CODE} {' '.join(KEYS.values())} {HEADER}"
"""What a plugin prints and raises in the test of failures of the suite."""
CANARIES = (ACCOUNT, CODE, *KEYS.values(), HEADER, PAYEE, PAYEES_KEY, "390.533.447-05", *PERSONAL.values())
"""All canaries but the token: values of the profile, and personal values in answers of the services."""
PEOPLE = {"sub": "canary-subject-5523", "name": "Joana Canario Prado", "email": "joana.prado@personal.example"}
"""Claims of a token that name a person."""
VERBOSE = ("-vv", "--tb=long", "-rA")
"""Options with which pytest prints most."""
WITH_GENERATED_REQUESTS = ("-m", "property or not property", "--examples=1")
"""Options for all tests: those marked `property` judge generated requests, and self-tests leave them out by default."""
LOUD = (*VERBOSE, "-o", "log_cli=true", "--log-cli-level=DEBUG")
"""The same, and all log lines of libraries."""


class SignedCanary(SignsItsToken):
    """Its token names a person."""

    CLAIMS = CLAIMS | PEOPLE


def canary_profile(folder, base_url, requests=120):
    """The file of a profile in which every value is a canary: a value that must not leave the run.

    Its target is no sandbox (a service without real money), so that the run also writes a journal of the codes that it
    sends. `requests` is the limit of requests.
    """
    return write_profile(
        folder,
        base_url,
        sandbox=None,
        accounts=[ACCOUNT],
        pix_keys=[*({"type": name, "key": key} for name, key in KEYS.items()), {"type": "RANDOM", "key": ""}],
        transactions={"codes": [CODE]},
        requests={"transferInternal": {"json": {"to": {"number": PAYEE, "or": [PAYEES_KEY]}, "value": 1}}},
        headers={"X-Gateway": {"env": "GATEWAY"}},
        journal=str(folder / "journal.jsonl"),
        limits={"requests": requests, "timeout": 60},
    )


def secrets_in_files_and_output(result, folder, secrets):
    """Pairs of a secret in some encoding, and the file of the run that has it, or "output". Empty if none was found.

    The files are those in the folder, with the report, except for the profile itself. Secrets of up to four characters
    are left out, because such a text may be anywhere by chance.
    """
    long_secrets = [secret for secret in secrets if len(secret) > 4]
    forms = set(chain.from_iterable(encodings(secret).values() for secret in long_secrets))
    texts = {"output": result.output}
    for path in (*folder.rglob("*"), *(RUNS / "profile").rglob("*")):
        if path.is_file() and path.name != "profile.yaml":
            texts[path.name] = path.read_bytes().decode("utf-8", "replace")
    return [(form, place) for form, place in product(forms, texts) if form in texts[place]]


def run_with_canaries(service, folder, *options, token=CANARY_TOKEN, requests=120, **variables):
    """The result of a run whose profile, token and variables have canaries: values that must not leave the run.

    All files of the run are in the folder, also caches and logs. `options` are options of pytest, `variables` variables
    of the environment. `requests` is the limit of requests.
    """
    service.sandbox.token = token
    given_variables = {
        "PIX_TOKEN": token,
        "GATEWAY": HEADER,
        "SPILLED": SPILLED,
        "HYPOTHESIS_STORAGE_DIRECTORY": str(folder),
    }
    given_variables |= {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    given_variables |= {"BUILD_URL": f"https://jenkins.example.test/{HEADER}/{ACCOUNT}/1/"}
    log = f"--log-file={folder / 'log'}"
    return run_suite(
        canary_profile(folder, service.base_url, requests),
        log,
        "--accept",
        "--new-journal",
        *options,
        **given_variables,
        **variables,
    )


def test_nothing_leaves_that_a_service_echoes(tmp_path):
    """A run writes no token, code, account, key or personal value, although the service sends all of them back to it.

    Such values are canaries here: texts that occur nowhere else. The service repeats each request in bodies of every
    sort, in headers, cookies and redirects. So tests fail, and pytest prints as much as it can. Not even a half of the
    token is found.
    """
    with EchoesInTurn() as service:
        result = run_with_canaries(service, tmp_path, *LOUD, "-k", "executePix or listAccounts or transferInternal")

    token_and_its_halves = (CANARY_TOKEN, CANARY_TOKEN[:16], CANARY_TOKEN[16:])
    assert secrets_in_files_and_output(result, tmp_path, (*token_and_its_halves, *CANARIES)) == []
    assert result.document["traffic"]["requests"] > 30
    assert {path.name for path in result.folder.iterdir()} == {*OUTPUTS, PAGE, SUMS}


def test_no_file_has_a_part_of_a_signed_token(tmp_path):
    """No file and no output of a run has the token, a part of it, or a wrong token that was made from it.

    A signed token (JWT) has claims, which may name a person, and a signature. The service repeats each request in its
    answer. The files are the report, the journal (the codes that were sent), the observed behaviour, and caches. Only
    their owner can read them, and they have no other secret values of the profile either. The run sends more than eight
    wrong tokens, so there is something to hide.
    """
    token = SignedCanary().token
    claims, signature = token.split(".")[1:]
    parts_of_the_token = (
        *wrong_tokens(token).values(),
        token,
        claims,
        signature,
        base64url_decoded(claims).decode(),
        *PEOPLE.values(),
    )
    with Echoes() as service:
        options = (*VERBOSE, *WITH_GENERATED_REQUESTS, "-k", "executePix or registerPixKey")
        # With fewer requests, the times of the answers would decide whether the run observes any success.
        result = run_with_canaries(service, tmp_path, *options, token=token, requests=1000)
    credentials_sent = {request.header("Authorization").rpartition(" ")[2] for request in service.received}
    wrong_tokens_sent = credentials_sent & set(wrong_tokens(token).values())
    names_beside_report = ("journal.jsonl", "journal.key", "summary.md")
    files = [*result.folder.iterdir(), *map(tmp_path.joinpath, names_beside_report)]

    assert secrets_in_files_and_output(result, tmp_path, (*parts_of_the_token, *CANARIES)) == []
    assert len(wrong_tokens_sent) > 8
    assert (tmp_path / "profile.observed.yaml").exists()
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


SESSION = "canary-session-447102"


class TrustsItsSession(Service):
    """The sandbox, which sets a cookie with each success. A request with that cookie needs no valid token."""

    def authorize(self, request, operation):
        """Check the token, unless the request has the cookie."""
        if SESSION not in request.header("Cookie"):
            super().authorize(request, operation)

    def finish(self, request, operation, response):
        """Add the cookie to a successful answer."""
        response = super().finish(request, operation, response)
        if response.status != 200:
            return response
        cookie = ("Set-Cookie", f"SID={SESSION}; Path=/; HttpOnly")
        return replace(response, headers=(*response.headers, cookie))


def test_no_file_has_the_session_cookie_of_a_service(tmp_path):
    """No file of a run has the value of a session cookie that the service set.

    The service accepts its cookie in the place of a token, so the requirement that a token is needed fails. The report
    shows the request with the cookie, but not the value of the cookie.
    """
    with Server(TrustsItsSession(token=CANARY_TOKEN)) as server:
        profile = write_profile(tmp_path, server.base_url)
        result = run_suite(profile, *VERBOSE, "-k", "executePix.token.required", PIX_TOKEN=CANARY_TOKEN)

    assert set(result.messages_with_verdict("fail")) == {"executePix.token.required"}
    assert secrets_in_files_and_output(result, tmp_path, (SESSION, CANARY_TOKEN)) == []


OLD_KEY = "0b8c7a5e-41d3-4f6a-9c27-5e1f60d2b934"
ACCOUNTS_OF_OTHERS = ("unlisted-account-8812", "UNLISTED-77310-4", "90417734")


class TellsMore(Service):
    """Names codes, accounts and keys that the profile does not have, in places where the suite does not expect them.

    - Codes: every second code is in another member than transactions.prepare.code_at says. A long text stands before
      each code, so that a report does not show the whole answer.
    - Accounts: the list of accounts has two accounts of other people.
    - Keys: the list of keys has an old key in unusual spellings.

    A header of every answer has all codes and accounts.
    """

    def __init__(self) -> None:
        """The sandbox with the token of these tests, and with an old key at its first account."""
        super().__init__(token=CANARY_TOKEN)
        self.codes: list[str] = []
        with self.database.transaction() as ledger:
            ledger.add_key(Key(OLD_KEY, "RANDOM", "ac-0001"))

    def new_code(self):
        """A new transaction code, which is kept in `codes`."""
        code = super().new_code()
        self.codes.append(code)
        return code

    def preparation_result(self, transfer):
        """The answer to a preparation: a long text, and the code behind it, every second time in another member."""
        long_text = "lorem " * (LARGE // len("lorem "))
        result = super().preparation_result(transfer) | {"terms": long_text}
        if len(self.codes) % 2 == 1:
            code = result.pop("transactionId")
            return {"idTransaction": code, **result}
        return result

    def list_accounts(self, request):
        """The list of accounts, with two accounts of other people at its end."""
        id_of_first, iban_of_second, number_of_second = ACCOUNTS_OF_OTHERS
        accounts_of_others = [
            {"id": id_of_first, "kind": "CHECKING"},
            {"accountNumber": int(number_of_second), "iban": iban_of_second, "kind": "SAVINGS"},
        ]
        return {"accounts": super().list_accounts(request)["accounts"] + accounts_of_others}

    def list_pix_keys(self, request, account_id):
        """A list of keys that has each key in one long text, without hyphens, and in capitals as the name of a member."""
        keys = [item["pixKey"] for item in super().list_pix_keys(request, account_id)["keys"]]
        keys_as_names = {key.upper(): {"active": True} for key in keys}
        return {"all": ";".join(keys), "made": [key.replace("-", "") for key in keys], **keys_as_names}

    def finish(self, request, operation, response):
        """The answer with a header that has the accounts of other people and all codes."""
        identifiers = " ".join((*ACCOUNTS_OF_OTHERS, *self.codes))
        return replace(response, headers=(*response.headers, ("X-Told", identifiers)))


def test_no_file_has_codes_or_keys_that_only_the_service_names(tmp_path):
    """Codes, accounts and keys that an answer of the service names, and the profile does not, are nowhere in a report.

    Such a code could still be executed, and such accounts and keys belong to other people. The name of a JSON member
    that is an ordinary word, such as accountNumber, is shown.
    """
    with SocketService() as service:
        service.sandbox = TellsMore()
        options = ("-k", "executePix or listAccounts or listPixKeys or createPix or transferP2p")
        result = run_suite(write_profile(tmp_path, service.base_url), *options, PIX_TOKEN=CANARY_TOKEN)
    codes_in_answers = service.sandbox.codes
    forms_of_the_key = (OLD_KEY, OLD_KEY.replace("-", ""))

    assert len(codes_in_answers) > 1
    assert (
        secrets_in_files_and_output(result, tmp_path, (*codes_in_answers, *ACCOUNTS_OF_OTHERS, *forms_of_the_key)) == []
    )
    assert "accountNumber" in (result.folder / PAGE).read_text()


def people_found(result, *folders):
    """Pairs of a name of a person and the place that has the name, in any letter case: a file of the run, or "output".

    Empty if no name was found. `folders` are searched, too, beside the folder of the report.
    """
    texts = {"output": result.output}
    for folder in (result.folder, *folders):
        for path in folder.rglob("*"):
            if path.is_file():
                texts[path.name] = path.read_bytes().decode("utf-8", "replace")
    found = []
    for place, name in product(texts, NAMES):
        if name.casefold() in texts[place].casefold():
            found.append((name, place))
    return found


@pytest.mark.parametrize("language", ["en", "pt-BR"])
def test_no_name_of_a_person_in_an_answer_is_shown(language, tmp_path):
    """A run shows no name of a person whom an answer of the service names, in whatever part of the answer it stands.

    Such parts are the members status and type, refusals, names of members, the status line, headers and redirects. Some
    answers are not even HTTP. A harmless word of the same answers is shown; `aaaa` hides a word of four letters. The
    report has either language.
    """
    with NamesPeople(CANARY_TOKEN) as service:
        result = run_with_canaries(service, tmp_path, *LOUD, "--accept", f"--report-language={language}")

    page = (result.folder / PAGE).read_text()
    # one of them is enough, because the order in which requests arrive decides which answers the report cites
    harmless_words = ("erro Aaaa", "bloqueada", "no account for aaaa", "incorreta: aaaa", "sem aaaaaa")
    harmless_words_shown = [words for words in harmless_words if words in page]

    assert people_found(result, tmp_path) == []
    assert len(service.received) > 60  # after 12 lawful answers the service has 15 ways to name somebody, in turn
    assert harmless_words_shown != []


@pytest.mark.parametrize("spill", ["failing tests", "an internal error", "a crash at the start", "a crash at the end"])
def test_no_canary_is_printed_when_the_suite_itself_fails(spill, tmp_path):
    """If the suite itself fails or crashes, its output has a placeholder, such as `<token>`, in the place of each secret.

    A plugin of pytest puts canaries into exceptions, variables, prints, logs, warnings, skips and internal errors.
    Canaries are secret or personal values that occur nowhere else, so that the test can search for them.
    """
    with SocketService() as service:
        plugin = ("-p", "tests.selftest.services.spilling", "-k", "executePix.id")
        result = run_with_canaries(service, tmp_path, *LOUD, *plugin, SPILL=spill)

    assert secrets_in_files_and_output(result, tmp_path, (CANARY_TOKEN, *CANARIES)) == []
    assert "spilled <token>" in result.output


def test_log_lines_of_libraries_are_masked():
    """Texts that a library puts into a log line are shown as their shape: `A-Aaaa Aaaaa` for `X-Name Maria`.

    The reason is that a library may log a header of the service as it came. Numbers and the words of the library itself
    are shown. A known value, such as an account of the profile, becomes a placeholder: `<account>`.
    """
    account = "canary-account-00417"
    # A pen hides known values in everything that is printed. Until `restore` it also makes all log lines.
    pen = Pen(Display(Secrets({"account": [account]})), quiet=True)
    make_record = logging.getLogRecordFactory()
    record = make_record(
        name="urllib3",
        level=logging.WARNING,
        pathname="connection.py",
        lineno=1,
        msg=f"Failed for {account}: %s, %d times",
        args=("X-Name Maria", 3),
        exc_info=None,
    )
    pen.restore()

    assert record.getMessage() == "Failed for <account>: A-Aaaa Aaaaa, 3 times"


class AnswersCreated(Service):
    """Answers a prepared transfer with 201, which fails, so that the report shows the requests."""

    def finish(self, request, operation, response):
        """The answer of the sandbox, with the status 201 if a transfer was prepared."""
        is_prepared = request.method == "POST" and "/keys/" not in request.path and response.status == 200
        return replace(response, status=201) if is_prepared else response


VALUES_THAT_BOTH_BODIES_HIDE = {
    "pin": "8842",
    "senha": "cavalobranco",
    "otp": 554433,
    "favorecido": {"nome": ["Hermenegildo Tourinho"], "x": "q7", "n": 91},
}
"""Members of the bodies that the profile gives for createPix and transferP2p."""


@pytest.fixture(scope="module")
def result_with_bodies_and_headers(tmp_path_factory):
    """The result of a run whose profile has bodies and headers with values that nobody may see.

    The operations with these bodies fail, because the service answers them with 201, so the report shows the requests.
    """
    body_of_transfer = {
        "from": "{account}",
        "to": "24681357928",
        "value": 7.75,
        "date": 1767225600000,
        "aviso": "{account} cavalobranco",
        "ok": True,
        "tipo": "EMAIL",
        **deepcopy(VALUES_THAT_BOTH_BODIES_HIDE),
    }
    body_of_pix = {
        "account": "{account}",
        "pixKey": "contato@oficina.example",
        "value": 1.25,
        "message": "presente para Berenice",
        **deepcopy(VALUES_THAT_BOTH_BODIES_HIDE),
    }
    how_to_prepare = {"operation": "createPix", "json": deepcopy(body_of_pix), "code_at": "/data/transactionId"}
    changes = {
        "transactions": {"prepare": how_to_prepare},
        "requests": {"transferP2p": {"json": body_of_transfer}, "createPix": {"json": body_of_pix}},
        "fail_on": ["implied"],  # the level of the requirements that createPix and transferP2p are answered 200
        "headers": {"X-Client": "plainclientcanary", "X-Part": "q7"},
    }
    with Server(AnswersCreated(token=CANARY_TOKEN)) as server:
        profile = write_profile(tmp_path_factory.mktemp("run"), server.base_url, **changes)
        result = run_suite(profile, *VERBOSE, "-k", "createPix or transferP2p or executePix", PIX_TOKEN=CANARY_TOKEN)
    assert result.status == 1, result.output
    return result


def lines_that_send_again(result):
    """The lines of a shell with which the findings of a report send their requests again."""
    return "\n".join(finding["reproduce"] for finding in result.document["findings"])


def text_of_report(result):
    """The text of report.html without its markup, and the lines that send requests again."""
    return lines_that_send_again(result) + html.unescape(re.sub("<[^>]+>", "", result.text(PAGE)))


def is_shown_as_the_value_of_a_member(value, text):
    """True if a text has a JSON member with this value, such as `"n": 91`, or with an array that begins with it."""
    return re.search(rf'": *\[?"?{value}\b', text) is not None


def test_nothing_leaves_of_the_bodies_of_a_profile(result_with_bodies_and_headers):
    """A report shows no text and no number from the bodies that a profile has for requests.

    Short and nested values are hidden, too. A short value such as 91 may occur by chance, so it is searched only as the
    value of a JSON member. Amounts, key types and booleans are shown, because they are no secrets.
    """
    result = result_with_bodies_and_headers
    long_values = ("presente para Berenice", "cavalobranco", "Hermenegildo Tourinho")
    short_values = ("8842", "554433", "q7", "91")
    text = text_of_report(result)
    short_values_shown = [value for value in short_values if is_shown_as_the_value_of_a_member(value, text)]
    harmless_members = ('"value": 7.75', '"value": 1.25', '"tipo": "EMAIL"', '"ok": true')

    assert secrets_in_files_and_output(result, result.folder.parent, long_values) == []
    assert short_values_shown == []
    assert [member for member in harmless_members if member not in text] == []


def test_nothing_leaves_of_the_headers_of_a_profile(result_with_bodies_and_headers):
    """A report shows no value of a header that the profile has for all requests.

    The line that sends a request again has a variable in its place. A comment names the key of the profile that has the
    value, and the shape of the value: `aaaa` stands for lower-case letters.
    """
    result = result_with_bodies_and_headers

    assert secrets_in_files_and_output(result, result.folder.parent, ["plainclientcanary"]) == []
    assert "X-Part: q7" not in text_of_report(result)
    assert "HEADER_X_CLIENT: profile.yaml, headers.X-Client, aaaa" in lines_that_send_again(result)


@pytest.mark.parametrize(
    "key_of_the_profile",
    [
        "requests.transferP2p.json.aviso",
        "requests.transferP2p.json.date",
        "requests.createPix.json.pin",
        "requests.createPix.json.otp",
        "requests.createPix.json.favorecido.nome.0",
        "requests.createPix.json.favorecido.n",
        "requests.createPix.json.message",
    ],
)
def test_lines_that_send_again_name_the_key_of_a_hidden_value(key_of_the_profile, result_with_bodies_and_headers):
    """The lines that send a request again have a variable for each hidden value of a body.

    A comment says which key of the profile has the value, such as `profile.yaml, requests.createPix.json.pin`.
    """
    assert f"profile.yaml, {key_of_the_profile}, " in text_of_report(result_with_bodies_and_headers)
