"""A profile: the settings of a run, which say what service it tests, with which data, and what it may do there.

`ProfileFile` is the pydantic model of a profile's file. It is the only place that says what a key means and may hold:
validation, the commented example, new profiles and the schema for editors come from it. The docstring below a field is
its description. What is secret or personal stays out of every ``repr``.

Self-tests: environments/profiles/test_loading.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, ValidationInfo, field_validator
from pydantic.dataclasses import dataclass as pydantic_dataclass

from environments.profiles.addresses import check_address, check_proxy, normalized_address
from environments.profiles.parts import (
    PERMISSIONS,
    Auth,
    File,
    Header,
    HeaderName,
    HeaderValue,
    Identifiers,
    KeyType,
    KnownFailure,
    Level,
    Limits,
    Permission,
    PixKey,
    Pointer,
    Prepare,
    RequestBody,
    Tls,
    Transactions,
    Variable,
    headers_of,
    one_of,
    written_as,
)
from spec.interface import PREPARING_OPERATIONS, operations

__all__ = [
    "Auth", "Header", "KnownFailure", "Limits", "PixKey", "Prepare", "RequestBody", "Tls", "Transactions",
]  # fmt: skip

ENVIRONMENTS = Path(__file__).parents[1]
"""The folder of the profiles that are named without a path."""
EMBEDDED = "embedded"
"""The base_url of a profile whose target is the embedded sandbox."""
FAIL = "fail"
"""Value of the key `drift` with which a run fails if the service no longer behaves as a user accepted (--accept)."""
RECORD = ".observed.yaml"
"""Ending of the name of a record: what was observed of an environment and accepted. It is no profile."""


class ProfileError(Exception):
    """Fault of a profile: what is wrong, where, what was expected and what to do, in one printable line.

    `problems` has a line for each problem. The message tells the first of them, and counts the others.
    """

    def __init__(self, *problems: str) -> None:
        """Make an error of these problems, each in one line for the user. At least one problem is needed."""
        self.problems = [_on_one_line(problem) for problem in problems]
        message = self.problems[0]
        number_of_others = len(problems) - 1
        if number_of_others:
            message += f" ({number_of_others} more in this file)"
        super().__init__(message)


def _on_one_line(text: str) -> str:
    """The text in which each character that cannot be printed, such as a line end, is replaced by a blank."""
    return "".join(character if character.isprintable() else " " for character in text)


def today() -> date:
    """The present day in UTC. Last days of known failures are compared with it."""
    return datetime.now(UTC).date()


# Values may be secret, so errors do not repeat them. The patterns of parts.py have lookaheads, which need python-re.
_CONFIG = ConfigDict(
    extra="forbid", strict=True, hide_input_in_errors=True, use_attribute_docstrings=True, regex_engine="python-re"
)


@pydantic_dataclass(frozen=True, kw_only=True, config=_CONFIG)
class ProfileFile:
    """A profile: one service, what the suite may do there, and with what.

    1. `python -m environments new staging --base-url=https://…` writes this file as environments/staging.yaml.
    2. export PIX_TOKEN=…
    3. `python -m environments check staging` tells what is wrong with it.
    4. pytest --environment=staging

    A run only reads, unless more of `allow` is switched on. A line that begins with # and no space is switched off:
    remove the # to use it. A misspelled or missing key is named in one line before anything is sent. Secrets are named
    here, never written. Put digits in quotes: without them 1234 is a number.
    """

    base_url_is_exact: bool = False
    """true permits an address that ends in /v1, for a service whose paths start with /v1/v1."""
    insecure: bool = False
    """true permits http:// to another machine. The token can be read on the way."""
    base_url: str
    """Address of the service, without /v1: every path of the interface begins with it already. An address that ends in
    /v1 is refused. http:// is refused for any other machine than this one: anybody on the way can read the token."""
    sandbox: str | None = None
    """base_url again, whole, such as https://staging.example.test, if nothing there is worth anything: no money, no
    person, no key. Then a run makes up numbers as keys, deletes what it registered, executes a transfer twice and two
    at the same time, and keeps no journal. A host alone is not enough, because other environments may share it. A
    loopback address alone is not a sandbox, because it may lead to staging. `base_url: embedded` is one."""
    auth: Annotated[Auth, Field(validate_default=True)] = field(default_factory=Auth)
    """Source of the access token: exactly one of these three. The token stands alone, without "Bearer"."""
    allow: Annotated[frozenset[Permission], Field(min_length=1)] = frozenset({"read"})
    """Requests that the suite may send, by operation and never by method: a GET executes a transfer.
    What is not permitted is listed in the report as out of scope, and nothing is sent for it.

    read: GET the accounts, a balance, the entries of an account and its keys. Changes nothing.

    register-keys: POST /v1/pix/keys registers the keys in pix_keys, and RANDOM keys, for the first of the accounts.
    Payments to a registered key reach that account. With read, a run looks at the list of keys first and leaves a key
    alone that is there already. A registered key stays unless delete-keys permits its deletion.

    delete-keys: DELETE /v1/pix/keys deletes the keys that this run made up, and those of pix_keys that it registered
    and that are disposable. `python -m environments cleanup staging` deletes what earlier runs left. Needs
    requests.deletePixKey and, off a sandbox, key_at and read.

    create-pix: POST /v1/pix creates a PIX transaction with the body in requests.createPix. The interface document does
    not show what that does, so it may move money by itself.

    transfer: POST /v1/transfer/external, internal and p2p, with the bodies in requests, prepare transfers. The
    interface document does not show whether money waits for the execution: a service may move it at once.

    execute: GET /v1/execute/pix/{transactionId} confirms a prepared transfer. THIS MOVES MONEY, and cannot be undone.
    Every code in transactions, and every one that is prepared, is executed once; at most limits.executions in a run.

    fuzz: Generated requests, valid and invalid, to the other permitted operations, up to limits.requests. They name
    synthetic keys and codes (pixconf-…). They name your accounts only in reads, and to register and delete these."""
    accounts: Identifiers = field(default=(), repr=False)
    """Accounts that the token may see, as they stand in the path. Without one, requirements about balance, entries and
    keys are not exercised."""
    pix_keys: tuple[PixKey, ...] = field(default=(), repr=False)
    """Keys that you own and that may be registered: PHONE, EMAIL, RANDOM, CNPJ, CPF. For RANDOM the service makes it.
    A key stays registered, and is listed, unless it is disposable: then the run deletes it, unless a list showed it
    before the run. A disposable RANDOM entry says that nobody else registers keys at this account meanwhile, so that a
    new key in the list belongs to the run."""
    key_at: Pointer | None = None
    """Place of the keys in the answer of listPixKeys, as a JSON pointer such as /data/keys/*/key; * stands for every
    item. Without it, a key is in the list if one of its texts is the key, and off a sandbox nothing is deleted."""
    not_for_this_account: frozenset[KeyType] = frozenset()
    """Key types that the first of the accounts may not have: [CNPJ] for a person. They are out of scope."""
    transactions: Transactions = field(default_factory=Transactions)
    """Codes of transfers to execute. One is enough for a whole run; more codes show more key types.
    A code is executed once and never again, also by later runs, because the journal remembers it."""
    requests: Mapping[Annotated[str, one_of("deletePixKey", *PREPARING_OPERATIONS)], RequestBody] = field(
        default_factory=dict
    )
    """Bodies of the operations whose shape the interface document does not show, as your service wants them.
    {account}, {key} and {type} in their texts are filled in from the lists above."""
    other_success_codes: frozenset[int] = frozenset()
    """Values of code, beside 0, with which your service says that a request succeeded: [1], for instance. The interface
    document shows 0 alone, so any other integer is taken for a refusal unless it is named here."""
    headers: Annotated[
        tuple[Header, ...],
        written_as(Annotated[dict[HeaderName, HeaderValue], AfterValidator(headers_of)]),
    ] = ()
    """Headers that a gateway asks for, beside Authorization. A secret one comes from the environment."""
    correlation_header: HeaderName | None = None
    """A header with a fresh id for each request, such as X-Request-Id. The report shows it, so that the bank
    finds it in its logs."""
    tls: Tls = field(default_factory=Tls)
    """Certificates (PEM files, relative to the folder of this file)."""
    proxy: str | None = None
    """A proxy is used only if it is named here, such as http://proxy.example.test:3128: proxy variables and
    .netrc of the machine are not read."""
    also_at: tuple[str, ...] = ()
    """Further addresses of this service that a pipeline may be given with --base-url, such as those of previews. It
    refuses any other one, because the token is sent there. On the command line --base-url needs no entry."""
    journal: File | None = None
    """The file that remembers the codes that were sent, as digests, and beside it the registered keys. Without it, one
    file for each user of a machine, under $XDG_STATE_HOME/pix-conformance. Name a place that lasts if CI starts from
    nothing on each run."""
    journal_key_env: Variable | None = None
    """The environment variable with the key of the journal's digests, for pipelines, such as PIX_JOURNAL_KEY; else the
    key is a file beside the journal."""
    limits: Limits = field(default_factory=Limits)
    """The most that a run may do. These are the defaults."""
    fail_on: Annotated[frozenset[Level], Field(min_length=1)] = frozenset({"documented", "robustness"})
    """Levels that fail a run, of: documented, implied, example, robustness. What the interface document does not show
    never fails."""
    min_coverage: Annotated[float | None, Field(ge=0, le=1)] = None
    """The share of the selected testable requirements at failing levels, such as 0.9, that a run must have tested. A
    run below it is incomplete (exit 6), so that a lost line of `allow` is noticed."""
    drift: Annotated[str, one_of("warn", FAIL)] = "warn"
    """Effect of drift: behaviour that the interface document does not show differs from the record that pytest --accept
    wrote beside this file. By default it is a warning; with fail, it fails the run (exit 1)."""
    language: Annotated[str, one_of("en", "pt-BR")] = "en"
    """The language of report.html: en (English) or pt-BR (Brazilian Portuguese). The terminal and the files for
    programs are in English. --report-language=pt-BR overrides it."""
    known_failures: tuple[KnownFailure, ...] = ()
    """Requirements that are known to fail. They are reported, but do not fail the run up to the day `until`.
    If one passes again, a warning names the entry to delete; with `strict: true` it fails the run."""

    @field_validator("base_url")
    @classmethod
    def _check_base_url(cls, text: str, info: ValidationInfo) -> str:
        """Check the address of the service. Returns it in the form in which requests are sent to it.

        `insecure` and `base_url_is_exact` may permit unusual addresses.
        """
        address = normalized_address(text)
        if address != EMBEDDED:
            exact = _is_permitted_by("base_url_is_exact", info)
            check_address(address, insecure=_is_permitted_by("insecure", info), exact=exact)
        return address

    @field_validator("sandbox")
    @classmethod
    def _check_sandbox(cls, sandbox: str | None, info: ValidationInfo) -> str | None:
        """Check that `sandbox` repeats the whole base_url. Returns it in the form in which requests are sent to it.

        A profile of a sandbox permits more. Somebody may copy it and change only its base_url to a real bank. Then both
        differ, which is an error.
        """
        address: str | None = info.data.get("base_url")  # absent if it is wrong itself
        if sandbox is None or address is None:
            return None
        if normalized_address(sandbox) != address:
            raise ValueError(
                f"expected the whole base_url again, {address}, if nothing there is worth anything; or null"
            )
        return address

    @field_validator("auth")
    @classmethod
    def _check_auth(cls, auth: Auth, info: ValidationInfo) -> Auth:
        """Check that the profile names exactly one source of the access token: a variable, a command or a file.

        The embedded sandbox needs none, because the suite gives it a token.
        """
        sources = [auth.token_env, auth.token_command, auth.token_file]
        number_of_sources = len([source for source in sources if source])
        is_missing = number_of_sources == 0 and _address_as_written(info) != EMBEDDED
        if number_of_sources > 1 or is_missing:
            raise ValueError("expected exactly one of token_env, token_command and token_file")
        return auth

    @field_validator("transactions")
    @classmethod
    def _check_transactions(cls, transactions: Transactions, info: ValidationInfo) -> Transactions:
        """Check that the profile permits the operation with which transfers are to be prepared.

        If `allow` is wrong itself, it is missing in `info.data`, and this check accepts every operation.
        """
        prepare = transactions.prepare
        if prepare:
            needed_permission = operations()[prepare.operation].permission
            permitted = info.data.get("allow", PERMISSIONS)
            if needed_permission not in permitted:
                raise ValueError(
                    f"{prepare.operation} is not permitted; add {needed_permission} to allow, or remove prepare"
                )
        return transactions

    @field_validator("also_at")
    @classmethod
    def _check_also_at(cls, addresses: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        """Check the further addresses of the service by the same rules as base_url.

        Returns them in the form in which requests are sent to them, so that they can be compared as texts.
        """
        insecure = _is_permitted_by("insecure", info)
        exact = _is_permitted_by("base_url_is_exact", info)
        normalized = tuple(map(normalized_address, addresses))
        for address in normalized:
            check_address(address, insecure=insecure, exact=exact)
        return normalized

    @field_validator("proxy")
    @classmethod
    def _check_proxy(cls, proxy: str | None, info: ValidationInfo) -> str | None:
        """Check that the proxy has a valid address, and cannot read the token on its way to the service."""
        if proxy:
            check_proxy(proxy, _address_as_written(info), insecure=_is_permitted_by("insecure", info))
        return proxy


def _address_as_written(info: ValidationInfo) -> str:
    """The address of the service, as the file or --base-url has it, even if it is wrong.

    `profile_of` puts it into `info.context`. In `info.data`, which has the settings that pydantic has checked so far,
    it is missing if it is wrong.
    """
    address: str = info.context["base_url"]  # type: ignore[index]
    return address


def _is_permitted_by(setting: str, info: ValidationInfo) -> bool:
    """True if a setting that permits an unusual address, such as `insecure`, is true, or if its own value is wrong.

    A setting whose value is wrong is missing in `info.data`, the settings that pydantic has checked so far. The user
    gets an error about that setting. An error about the address as well would only confuse.
    """
    is_true: bool = info.data.get(setting, True)
    return is_true


@dataclass(frozen=True, kw_only=True)
class Profile(ProfileFile):
    """One environment: its file as the command line changed it. Paths are absolute, except ``path``."""

    name: str
    path: Path
    """The file as it was named."""
    redirection_note: str | None = None
    """What ``--base-url`` changed in the profile, apart from ``sandbox``, which it always removes:

    - None: nothing, because the address is that of the file.
    - Empty: only the address was replaced.
    - A sentence: settings were removed, too, because they were made up for the embedded sandbox.
    """

    @property
    def is_sandbox(self) -> bool:
        """True if the profile says that money, people and keys at the target are not real, so that a run may do more.

        The target is the embedded sandbox, or the profile repeats its whole base_url under `sandbox`.
        """
        return self.base_url in (EMBEDDED, self.sandbox)

    @property
    def may_delete_keys(self) -> bool:
        """True if a run may delete keys: the profile permits it, and has the body of the request.

        Outside a sandbox the profile must also permit reading, and say where a list has its keys: a list must show
        after each deletion that no other key was deleted.
        """
        if "delete-keys" not in self.allow or "deletePixKey" not in self.requests:
            return False
        can_read_lists = self.key_at is not None and "read" in self.allow
        return self.is_sandbox or can_read_lists

    @property
    def record(self) -> Path:
        """The path of the file with the behaviour that the user accepted, beside the profile: staging.observed.yaml."""
        return self.path.with_name(f"{self.path.stem}{RECORD}")


def filled_in(template: Any, **values: str) -> Any:
    """A copy of a JSON value in whose strings ``{account}``, ``{key}`` and ``{type}`` are replaced by these values.

    ``filled_in({"to": "{key}"}, key="a@example.com")`` returns ``{"to": "a@example.com"}``.
    """
    text = json.dumps(template)
    for name, value in values.items():
        value_without_quotes = json.dumps(value)[1:-1]  # escaped, because it is written within a JSON string
        text = text.replace("{" + name + "}", value_without_quotes)
    return json.loads(text)


def path_in_messages(path: Path) -> str:
    """The path as a message shows it: relative to the current folder if the file is inside that folder."""
    folder = Path.cwd()
    if path.is_relative_to(folder):
        return str(path.relative_to(folder))
    return str(path)
