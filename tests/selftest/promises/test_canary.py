"""Canaries are planted everywhere, services echo them in every encoding, and nothing that leaves a run holds one."""

import html
import logging
import re
import stat
from copy import deepcopy
from dataclasses import replace

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
from tests.selftest.services.running import run, write_profile
from tests.selftest.services.serving import Raw
from tests.selftest.services.signed import CLAIMS, Signing, decoded

TOKEN = "Can4ry.t0ken-OF_the+run/9f8e7d=="
ACCOUNT, CODE = "canary-account-00417", "CANARY-CODE-8812"
KEYS = {"EMAIL": "canary.key@personal.example", "PHONE": "+5511987650123", "CPF": "39053344705"}
HEADER, PAYEE, PAYEES_KEY = "canary-gateway-secret-71", "canary-payee-77310", "canary.payee@personal.example"
SPILLED = f"{ACCOUNT} {CODE} {' '.join(KEYS.values())} {HEADER}"
VALUES = (ACCOUNT, CODE, *KEYS.values(), HEADER, PAYEE, PAYEES_KEY, "390.533.447-05", *PERSONAL.values())
PEOPLE = {"sub": "canary-subject-5523", "name": "Joana Canario Prado", "email": "joana.prado@personal.example"}
VERBOSE = ("-vv", "--tb=long", "-rA")
LOUD = (*VERBOSE, "-o", "log_cli=true", "--log-cli-level=DEBUG")


class SignedCanary(Signing):
    """Its token names a person."""

    CLAIMS = CLAIMS | PEOPLE


def profile_of(folder, base_url):
    """A profile whose every value is a canary. It is no sandbox, so that there is a journal."""
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
        limits={"requests": 120, "timeout": 60},
    )


def leaks(result, folder, canaries):
    """Which canaries stand where, in which encoding: in what was printed, and in every file that was written."""
    forms = {form for value in canaries if len(value) > 4 for form in encodings(value).values()}
    files = [path for path in (*folder.rglob("*"), *(RUNS / "profile").rglob("*")) if path.is_file()]
    places = {path.name: path.read_bytes().decode("utf-8", "replace") for path in files if path.name != "profile.yaml"}
    return [
        (form, name) for name, text in {**places, "output": result.output}.items() for form in forms if form in text
    ]


def canary_run(service, folder, *options, token=TOKEN, **variables):
    """A run with everything planted; its caches lie in the folder, too."""
    service.service.token = token
    given = {"PIX_TOKEN": token, "GATEWAY": HEADER, "SPILLED": SPILLED, "HYPOTHESIS_STORAGE_DIRECTORY": str(folder)}
    given |= {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    given |= {"BUILD_URL": f"https://jenkins.example.test/{HEADER}/{ACCOUNT}/1/"}
    log = f"--log-file={folder / 'log'}"
    return run(profile_of(folder, service.base_url), log, "--accept", "--new-journal", *options, **given, **variables)


def test_nothing_leaves_that_a_service_echoes(tmp_path):
    """In bodies of every kind, headers, cookies and redirects, with failures and all that pytest can print."""
    with EchoesInTurn() as raw:
        result = canary_run(raw, tmp_path, *LOUD, "-k", "executePix or listAccounts or transferInternal")

    assert leaks(result, tmp_path, (TOKEN, TOKEN[:16], TOKEN[16:], *VALUES)) == []
    assert result.document["traffic"]["requests"] > 30
    assert {path.name for path in result.folder.iterdir()} == {*OUTPUTS, PAGE, SUMS}


def test_nothing_leaves_of_a_signed_token_and_of_generated_traffic(tmp_path):
    """Neither the right token nor any that was made from it, nor their parts, nor whom they name; nor what is observed,
    what the journal keeps, and what Hypothesis keeps. All files are their owner's alone."""
    token = SignedCanary().token
    claims, signature = token.split(".")[1:]
    secret = (*wrong_tokens(token).values(), token, claims, signature, decoded(claims).decode(), *PEOPLE.values())
    with Echoes() as raw:
        part = ("-m", "property or not property", "--examples=1", "-k", "executePix or registerPixKey")
        result = canary_run(raw, tmp_path, *VERBOSE, *part, token=token)
    sent = {seen.header("Authorization").rpartition(" ")[2] for seen in raw.seen}
    beside = ("journal.jsonl", "journal.key", "summary.md")
    files = [*result.folder.iterdir(), *map(tmp_path.joinpath, beside)]

    assert leaks(result, tmp_path, (*secret, *VALUES)) == []
    assert len(sent & set(wrong_tokens(token).values())) > 8
    assert (tmp_path / "profile.observed.yaml").exists()
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


SESSION = "canary-session-447102"


class TrustsItsSession(Service):
    """The sandbox, which sets a cookie with each success, and lets in whoever sends it."""

    def authorize(self, request, operation):
        if SESSION not in request.header("Cookie"):
            super().authorize(request, operation)

    def finish(self, request, operation, response):
        response = super().finish(request, operation, response)
        cookie = ("Set-Cookie", f"SID={SESSION}; Path=/; HttpOnly")
        return replace(response, headers=(*response.headers, cookie)) if response.status == 200 else response


def test_no_session_leaves_that_a_service_has_set(tmp_path):
    """The finding that it is let in shows the request, and a variable in the place of the cookie."""
    with Server(TrustsItsSession(token=TOKEN)) as server:
        profile = write_profile(tmp_path, server.base_url)
        result = run(profile, *VERBOSE, "-k", "executePix.token.required", PIX_TOKEN=TOKEN)

    assert set(result.rows("fail")) == {"executePix.token.required"}
    assert leaks(result, tmp_path, (SESSION, TOKEN)) == []


OLD_KEY = "0b8c7a5e-41d3-4f6a-9c27-5e1f60d2b934"
UNLISTED = ("unlisted-account-8812", "UNLISTED-77310-4", "90417734")


class TellsMore(Service):
    """Half of its codes have a name that the profile does not give, in an answer of which only a part is shown. It lists
    accounts that the profile does not name, and a key that it once made, in other ways than as a value. Every answer
    tells all of them."""

    def __init__(self) -> None:
        super().__init__(token=TOKEN)
        self.codes: list[str] = []
        with self.database.transaction() as ledger:
            ledger.add_key(Key(OLD_KEY, "RANDOM", "ac-0001"))

    def new_code(self):
        self.codes.append(super().new_code())
        return self.codes[-1]

    def preparation_result(self, transfer):
        result = {**super().preparation_result(transfer), "terms": "lorem " * (LARGE // 6)}
        return {"idTransaction": result.pop("transactionId"), **result} if len(self.codes) % 2 else result

    def list_accounts(self, request):
        first, number, second = UNLISTED
        theirs = [{"id": first, "kind": "CHECKING"}, {"accountNumber": int(second), "iban": number, "kind": "SAVINGS"}]
        return {"accounts": [*super().list_accounts(request)["accounts"], *theirs]}

    def list_pix_keys(self, request, account_id):
        keys = [item["pixKey"] for item in super().list_pix_keys(request, account_id)["keys"]]
        named = {key.upper(): {"active": True} for key in keys}
        return {"all": ";".join(keys), "made": [key.replace("-", "") for key in keys], **named}

    def finish(self, request, operation, response):
        return replace(response, headers=(*response.headers, ("X-Told", " ".join((*UNLISTED, *self.codes)))))


def test_what_only_the_service_names_does_not_leave(tmp_path):
    """Codes that could still be executed, and accounts and keys of others. Names of members stay readable."""
    with Raw() as raw:
        raw.service = TellsMore()
        part = ("-k", "executePix or listAccounts or listPixKeys or createPix or transferP2p")
        result = run(write_profile(tmp_path, raw.base_url), *part, PIX_TOKEN=TOKEN)

    assert len(raw.service.codes) > 1
    assert leaks(result, tmp_path, (*raw.service.codes, *UNLISTED, OLD_KEY, OLD_KEY.replace("-", ""))) == []
    assert "accountNumber" in (result.folder / PAGE).read_text()


def people_named(result, *folders):
    """Which of the people of the service stand where, in any letter case: in files, and in what was printed."""
    files = {path for folder in (result.folder, *folders) for path in folder.rglob("*") if path.is_file()}
    texts = {path.name: path.read_bytes().decode("utf-8", "replace") for path in files} | {"output": result.output}
    return [(name, file) for file, text in texts.items() for name in NAMES if name.casefold() in text.casefold()]


@pytest.mark.parametrize("language", ["en", "pt-BR"])
def test_nobody_is_named_whom_a_service_names(language, tmp_path):
    """In status and type, in refusals in small letters, in names of members, in the status line, in headers that are
    shown, in an address that it redirects to, and in what is no HTTP."""
    with NamesPeople(TOKEN) as raw:
        result = canary_run(raw, tmp_path, *LOUD, "--accept", f"--report-language={language}")

    assert people_named(result, tmp_path) == []
    assert len(raw.seen) > 60
    assert re.search("erro [Aa]{4}|bloqueada|no account for|incorreta:|sem aaaaaa", (result.folder / PAGE).read_text())


@pytest.mark.parametrize("spill", ["failing tests", "an internal error", "a crash at the start", "a crash at the end"])
def test_nothing_leaves_when_the_suite_itself_fails(spill, tmp_path):
    """Exceptions, locals, prints, logs, warnings, skips and internal errors are redacted."""
    with Raw() as raw:
        plugin = ("-p", "tests.selftest.services.spilling", "-k", "executePix.id")
        result = canary_run(raw, tmp_path, *LOUD, *plugin, SPILL=spill)

    assert leaks(result, tmp_path, (TOKEN, *VALUES)) == []
    assert "spilled <token>" in result.output


def test_what_a_library_logs_is_a_text_of_a_service():
    """A library may log a header or a body as it came; its own words stay."""
    pen = Pen(Display(Secrets({"account": [ACCOUNT]})), quiet=True)
    made = logging.getLogRecordFactory()
    record = made("urllib3", 30, "", 1, f"Failed for {ACCOUNT}: %s, %d times", ("X-Name Maria", 3), None)
    pen.restore()

    assert record.getMessage() == "Failed for <account>: A-Aaaa Aaaaa, 3 times"


NEITHER_KEY_NOR_NUMBER = ("presente para Berenice", "cavalobranco", "Hermenegildo Tourinho", "plainclientcanary")
SHORT = ("8842", "554433", "q7", "91")


class AnswersCreated(Service):
    """A transfer that is prepared is answered with 201, which fails: the report shows the requests."""

    def finish(self, request, operation, response):
        is_prepared = request.method == "POST" and "/keys/" not in request.path and response.status == 200
        return replace(response, status=201) if is_prepared else response


def test_nothing_leaves_of_the_bodies_and_headers_of_a_profile(tmp_path):
    """Texts and numbers without a sign of a key or an account in them, also short and nested ones, and those in which an
    account is filled in. The line that reproduces has a variable, and says which key of the profile has its value. The
    amount, key types, booleans and null are shown."""
    gift, password, payee, client = NEITHER_KEY_NOR_NUMBER
    pin, one_time, short, number = SHORT
    told = {
        "pin": pin,
        "senha": password,
        "otp": int(one_time),
        "favorecido": {"nome": [payee], "x": short, "n": int(number)},
    }
    body = {
        "from": "{account}",
        "to": "24681357928",
        "value": 7.75,
        "date": 1767225600000,
        "aviso": "{account} " + password,
        "ok": True,
        "tipo": "EMAIL",
        **deepcopy(told),
    }
    create = {"account": "{account}", "pixKey": "contato@oficina.example", "value": 1.25, "message": gift, **told}
    prepare = {"operation": "createPix", "json": deepcopy(create), "code_at": "/data/transactionId"}
    with Server(AnswersCreated(token=TOKEN)) as server:
        profile = write_profile(
            tmp_path,
            server.base_url,
            transactions={"prepare": prepare},
            requests={"transferP2p": {"json": body}, "createPix": {"json": create}},
            fail_on=["implied"],
            headers={"X-Client": client, "X-Part": short},
        )
        result = run(profile, *VERBOSE, "-k", "createPix or transferP2p or executePix", PIX_TOKEN=TOKEN)
    assert result.status == 1, result.output
    lines = "\n".join(finding["reproduce"] for finding in result.document["findings"])
    sent = lines + html.unescape(re.sub("<[^>]+>", "", result.text(PAGE)))

    assert leaks(result, tmp_path, NEITHER_KEY_NOR_NUMBER) == []
    assert [value for value in SHORT if re.search(rf'": *\[?"?{value}\b', sent)] == []
    assert f"X-Part: {short}" not in sent
    assert all(text in sent for text in ('"value": 7.75', '"value": 1.25', '"tipo": "EMAIL"', '"ok": true'))
    for key in (
        "transferP2p.json.aviso", "transferP2p.json.date", "createPix.json.pin", "createPix.json.otp",
        "createPix.json.favorecido.nome.0", "createPix.json.favorecido.n", "createPix.json.message",
    ):  # fmt: skip
        assert f"profile.yaml, requests.{key}, " in sent
    assert "HEADER_X_CLIENT: profile.yaml, headers.X-Client, aaaa" in lines
