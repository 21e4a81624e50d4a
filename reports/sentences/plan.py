"""The plan of a run as text (--plan): the requests that it would send, by operation and purpose, and the hard limits.

`tests/traffic/planning.py` makes the `Plan`: it runs the same scenarios as a run, and a replacement for the network
answers their requests as documented. This module only writes the text.

A code is a transaction code: an execution with it confirms a transfer of money. A code is supplied if the profile lists
it. The journal is a file with the codes that earlier runs sent, so that no run sends a code again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from environments.door.limits import OPERATIONS_WITH_DOCUMENTED_TOKEN, TIMES_FOR_SYNTHETIC
from environments.door.wrong_tokens import NO_HEADER, RESTORABLE_FORMS, permitted_credential_forms
from environments.profiles.model import PixKey, Profile
from reports.sentences.wording import joined_with_and, permission_needed_for
from spec.exchange import VALID, Exchange
from spec.interface import PREPARING_OPERATIONS, SYNTHETIC_PREFIX, operations
from spec.json_text import as_bytes
from spec.message import Text


@dataclass(frozen=True)
class Plan:
    """The requests that a run would send, and the reasons why it would not send others."""

    exchanges: Sequence[Exchange] = ()
    operations_not_permitted: frozenset[str] = frozenset()  # those of the selection that the profile does not permit
    needs_an_execution: bool = False  # a selected requirement needs an execution
    codes_sent_before: Sequence[str] = ()  # codes that are not sent, because the journal has them from an earlier run
    limits_reached: Sequence[Text] = ()  # limits that leave requests out, in words
    # Lines such as "executePix, an execution: 2 of 6, more with transactions.prepare.count (2)": what is tested with
    # few requests, how many, and the line of the profile that gives more.
    situations_with_few_exchanges: Sequence[str] = ()
    journal_trouble: str = ""  # why the journal cannot be used; empty if it can

    def requests_to(self, *names: str) -> list[Exchange]:
        """The planned requests to these operations. The name `""` selects requests to undocumented paths."""
        return [exchange for exchange in self.exchanges if exchange.operation in names]


def plan_lines(plan: Plan, profile: Profile, journal: str, selected: str | None) -> Iterator[str]:
    """The text of --plan in lines, so that a person sees before a run what it would send, and what could move money.

    `journal` is a line about the file with the codes that earlier runs sent. `selected` says which requirements the
    user selected; None means all.
    """
    yield from _lines_about_requests(plan, profile, f"only {selected}, " if selected else "")
    yield from _lines_about_wrong_tokens(plan, profile)
    yield from _lines_about_keys(plan, profile)
    yield from _lines_about_transfers(plan, profile)
    yield "what moves money:"
    yield from (f"  {line}" for line in _lines_about_executions(plan, profile))
    yield f"journal: {journal}"
    if plan.situations_with_few_exchanges:
        yield "few requests, so that a requirement may pass although one server of several is faulty:"
        yield from (f"  {line}" for line in plan.situations_with_few_exchanges)
    yield from _lines_about_out_of_scope(plan, profile)
    limits = profile.limits
    yield (
        f"budgets: {limits.requests} requests, {limits.executions} executions, {limits.duration:g} s, "
        f"rate {limits.rate or 'unlimited'}, {limits.timeout:g} s and {limits.response_bytes} bytes for one answer"
    )


def _lines_about_requests(plan: Plan, profile: Profile, selected: str) -> Iterator[str]:
    """Lines about the target, and about the number of requests to each operation, by purpose (why they are sent).

    `selected` is a part of the first line, such as `only executePix, `; empty if the user selected nothing.
    """
    target = _target_in_words(profile)
    yield f"nothing was sent; a run with {profile.path} would send to {target}, {selected}if answered as documented:"
    if profile.redirection_note:  # a sentence on what --base-url changed, except for the address
        yield f"  {profile.redirection_note}"
    for operation in operations().values():
        yield from _lines_about_requests_to(plan, operation.id, f"{operation.method} {operation.path}")
    yield from _lines_about_requests_to(plan, "", "to see how an unknown path is answered")
    yield f"  {'total':<17} {len(plan.exchanges):>5}  about; at most limits.requests ({profile.limits.requests}) in all"
    yield "  A few of these numbers depend on the keys in answers of listPixKeys, whose form is not documented."
    yield "  A run repeats a request if the service asks for it (429, 502, 503, 504). It repeats a request once if the"
    yield "  connection drops, and once to reproduce a finding. It repeats a read to see whether the token has expired."
    yield "  It repeats an execution only if the connection was refused, because then no money can have moved."


def _target_in_words(profile: Profile) -> str:
    """The target in words: its address, whether --base-url named it, and whether it is a sandbox."""
    is_address_of_profile = profile.redirection_note is None
    source_of_address = "" if is_address_of_profile else " (of --base-url, not that of the profile)"
    sandbox_or_not = "a sandbox" if profile.is_sandbox else "not a sandbox"
    return f"{profile.base_url}{source_of_address}, {sandbox_or_not}"


def _lines_about_requests_to(plan: Plan, name: str, description: str) -> Iterator[str]:
    """A line with the number of planned requests to an operation, then a line for each purpose (why they are sent).

    The first line also has the `description` of the operation, such as `GET /v1/accounts`, and how many of the requests
    are generated: drawn at random, and not written by hand. The name `""` selects requests to undocumented paths. No
    lines if there are no requests.
    """
    exchanges = plan.requests_to(name)
    if not exchanges:
        return
    number_of_generated = len([exchange for exchange in exchanges if exchange.is_generated])
    generated = f", {number_of_generated} of them generated" if number_of_generated else ""
    yield f"  {name or 'unknown paths':<17} {len(exchanges):>5}  {description}{generated}"
    yield from _lines_about_purposes(exchanges)


def purposes_in_words(exchanges: Iterable[Exchange]) -> Iterator[str]:
    """Why these requests are sent: for each operation a line with its purposes, each once.

    For example `registerPixKey: a key for the first time; the same key again`.
    """
    purposes_by_operation: defaultdict[str, list[str]] = defaultdict(list)
    for exchange in exchanges:
        if exchange.purpose and exchange.purpose.value not in purposes_by_operation[exchange.operation]:
            purposes_by_operation[exchange.operation].append(exchange.purpose.value)
    for operation, purposes in purposes_by_operation.items():
        yield f"{operation or 'unknown paths'}: {'; '.join(purposes)}"


def _lines_about_purposes(exchanges: Sequence[Exchange]) -> Iterator[str]:
    """A line for each purpose of these requests, with its number of requests."""
    times = Counter(exchange.purpose for exchange in exchanges if exchange.purpose)
    for purpose, number in times.items():
        yield f"  {'':<17} {number:>5}  {purpose.value}"


def _lines_about_wrong_tokens(plan: Plan, profile: Profile) -> Iterator[str]:
    """Lines about requests with a wrong access token, which show whether the service checks tokens.

    They say how many such requests are allowed, in which ways the tokens are wrong ("the token cut short"), and how
    many go to each operation. The two operations with a documented token get every kind of wrong token, so for them a
    line also says which kinds are left out.
    """
    unauthorized = [exchange for exchange in plan.exchanges if exchange.credential != VALID]  # wrong token, or none
    with_wrong_token = [exchange for exchange in unauthorized if _has_token(exchange)]
    yield _line_about_limit_of_wrong_tokens(profile) if with_wrong_token else "wrong tokens: none"
    yield from _lines_about_kinds(unauthorized)
    number_by_operation = Counter(exchange.operation for exchange in with_wrong_token)
    for name, number in number_by_operation.items():
        credentials = [exchange.credential for exchange in unauthorized if exchange.operation == name]
        yield f"  {name}: {number} requests with a wrong token, and {len(credentials) - number} without a token"
        if name in OPERATIONS_WITH_DOCUMENTED_TOKEN:
            yield from _line_about_kinds_left_out(plan, profile, name, credentials)


def _has_token(exchange: Exchange) -> bool:
    """True if a planned request has a header Authorization that is not empty."""
    headers = dict(exchange.request.headers)
    return headers.get("Authorization", "") != ""


def _lines_about_kinds(unauthorized: Sequence[Exchange]) -> Iterator[str]:
    """A line for each way in which tokens are wrong, such as "the token cut short".

    One more line has the unusual forms of the requests, such as a token in the address. `unauthorized` are requests
    with a wrong token or without a token.
    """
    for credential in dict.fromkeys(exchange.credential for exchange in unauthorized):
        # Whoever reads a log of the service can restore the right token from such a form, for example from the token in
        # other letter case. So the user must permit it.
        shows_the_token = credential in RESTORABLE_FORMS
        reason = "; it shows the right token to whoever reads it, so it needs fuzz in allow" if shows_the_token else ""
        if credential != NO_HEADER:
            yield f"  {credential}{reason}"
    # The spelling of an exchange has the marks of an unusual form, such as "the token in the address".
    unusual_forms = dict.fromkeys(chain(*(exchange.spelling for exchange in unauthorized)))
    if unusual_forms:
        yield f"  in unusual forms: {', '.join(unusual_forms)}"


def _line_about_kinds_left_out(plan: Plan, profile: Profile, name: str, credentials: Sequence[str]) -> Iterator[str]:
    """At most one line: the kinds of wrong tokens that are not sent to an operation, and why.

    A kind says how the token is wrong, such as "the token cut short". `name` is the operation, and `credentials` are
    the kinds that are sent to the operation.
    """
    left_out = [form.name for form in permitted_credential_forms(profile) if form.name not in credentials]
    if not left_out:
        return
    # A request with a wrong token has the code or key of a valid request. If there is no valid request, no code or key
    # is available. If there is one, only the limit can be the reason.
    has_code_or_key = any(exchange.valid for exchange in plan.requests_to(name))
    why = "no room in limits.wrong_tokens for" if has_code_or_key else "no code to send with"
    yield f"  {name}: {why} {', '.join(left_out)}"


def _line_about_limit_of_wrong_tokens(profile: Profile) -> str:
    """A line that says how many requests with a wrong token may be sent to which operations (limits.wrong_tokens).

    Two operations need a token according to the interface document. Twice as many requests may have identifiers that
    the suite made up (synthetic ones), because these can move no money.
    """
    most_for_each = profile.limits.wrong_tokens
    names = " and ".join(OPERATIONS_WITH_DOCUMENTED_TOKEN)
    limit = f"at most {most_for_each} to each of {names} (limits.wrong_tokens)"
    limit += f", and {TIMES_FOR_SYNTHETIC * most_for_each} with synthetic identifiers"
    return f"wrong tokens, {limit}; to other operations in requests that change nothing:"


def _lines_about_keys(plan: Plan, profile: Profile) -> Iterator[str]:
    """Lines about the PIX keys that the run would register, and whether it deletes each key afterwards."""
    yield "keys:"
    if not plan.requests_to("registerPixKey"):
        yield "  none is registered"
        return
    for place, key in enumerate(profile.pix_keys, 1):  # the text names a key by its place in the list, not its value
        value = as_bytes(key.key or key.type)  # a RANDOM key has no value, so its requests are found by the type
        number = len([exchange for exchange in plan.exchanges if value in exchange.request.body])
        registration = f"registered if no list of keys has it yet, in {number} requests"
        yield f"  {key.type}, number {place} of pix_keys: {registration}; {_deletion_in_words(key, profile)}"
    end = "is deleted" if profile.may_delete_keys else _why_keys_are_not_deleted(profile)
    synthetic_keys = f"{SYNTHETIC_PREFIX}…@example.com"
    if "fuzz" in profile.allow:
        synthetic_keys += f", and generated keys that begin with {SYNTHETIC_PREFIX}"
    yield f"  {synthetic_keys}: if the service registers such a key, the key {end}"
    yield "  no other key is deleted"


def _why_keys_are_not_deleted(profile: Profile) -> str:
    """Why a key that the run registers is not deleted: the permissions and settings that a deletion would need.

    Outside a sandbox a deletion needs two more things: the permission to read, and the setting `key_at`, which says
    where an answer of listPixKeys has the keys. With both, the run sees in lists whether a deletion removed a key of a
    customer, and then deletes nothing more.
    """
    needs = "delete-keys in allow and requests.deletePixKey"
    if profile.is_sandbox:
        return f"stays: a deletion needs {needs}"
    return f"stays: outside a sandbox a deletion needs {needs}, key_at, and read in allow"


def _deletion_in_words(key: PixKey, profile: Profile) -> str:
    """Whether the run deletes a key of the profile after it registered the key, in words.

    A key may be deleted if the profile says that it is disposable, or if the target is a sandbox. A key that the
    service made (type RANDOM) belongs to nobody else, so it may always be deleted. But its value must be certain then:
    `Key` in the answer to the registration, and the list of keys at `key_at`, must have the same value.
    """
    if not profile.may_delete_keys:
        return _why_keys_are_not_deleted(profile)
    may_be_deleted = key.disposable or profile.is_sandbox
    is_made_by_service = key.type == "RANDOM" and not key.key
    if is_made_by_service:  # the service chooses its value, so the value has to be found before a deletion
        if may_be_deleted:
            return "deleted if the answer (Key) or a list of keys (key_at) has its value"
        return "deleted if the answer (Key) and a list of keys (key_at) have the same value"
    if may_be_deleted:
        return "deleted each time, unless a list showed it before the run"
    return "stays: it is not disposable"


def _lines_about_transfers(plan: Plan, profile: Profile) -> Iterator[str]:
    """Lines about the requests to create PIX transactions and transfers, some of which may move money by themselves.

    The last line says which requests may show nothing about a service outside a sandbox.
    """
    exchanges = plan.requests_to(*PREPARING_OPERATIONS)
    limit = profile.limits.transfers
    number = len(exchanges)
    yield f"transfers: at most {min(number, limit)} may succeed (limits.transfers: {limit}; bodies: {number})"
    for name in PREPARING_OPERATIONS:
        number_of_valid = len([exchange for exchange in plan.requests_to(name) if exchange.valid])
        if number_of_valid:
            yield f"  {name}: {number_of_valid} with the body of the profile, which may move money by itself"
    if not all(exchange.valid for exchange in exchanges):
        amount = "of any amount" if profile.is_sandbox else "of at most the amount of the profile"
        yield f"  invalid and generated bodies: with synthetic accounts ({SYNTHETIC_PREFIX}…), {amount}"
    to_operations_with_a_body = plan.requests_to("registerPixKey", "deletePixKey", *PREPARING_OPERATIONS)
    sends_malformed_bodies = "fuzz" in profile.allow and bool(to_operations_with_a_body)
    if sends_malformed_bodies and not profile.is_sandbox:
        # Such a body names an account that nobody has. If the service answers "no such account" before it looks at the
        # body, the run cannot see whether the service checks the body.
        yield "unseen outside a sandbox: malformed bodies, if a service first looks up their synthetic account"


def _lines_about_executions(plan: Plan, profile: Profile) -> Iterator[str]:
    """Lines about the transaction codes that the run would execute, which moves money, and those that it would not.

    Codes are not printed. A code of the profile is named by its place in the list `transactions.codes`. The journal is
    the file with the codes that earlier runs sent, so that no code is executed twice.
    """
    supplied = profile.transactions.codes
    valid = [exchange for exchange in plan.requests_to("executePix") if exchange.valid]
    in_sequences = [exchange for exchange in valid if exchange.is_generated]  # generated requests form sequences
    yield from _lines_about_codes(plan, supplied)
    if plan.codes_sent_before:  # codes that an earlier run sent, according to the journal
        numbers_in_list = _codes_in_words(plan.codes_sent_before, supplied)
        yield f"not sent, because the journal says that an earlier run sent it: {numbers_in_list}"
    yield from map(str, plan.limits_reached)  # limits of the profile that leave requests out
    if in_sequences:
        steps = "as steps of sequences; some of them are executed a second time"
        yield f"{len(in_sequences)} more that the run prepares, {steps}"
    if valid and not profile.is_sandbox:
        # Outside a sandbox an execution moves real money. So each code is executed once, and never while another
        # execution is on the wire.
        yield "unseen outside a sandbox: answers to two executions that are mixed up, a code that moves money twice"
    if not valid and not plan.codes_sent_before:
        yield f"no execution: {_why_no_execution(plan)}"


def _lines_about_codes(plan: Plan, supplied: Sequence[str]) -> Iterator[str]:
    """Lines about the transaction codes that the run would execute with the valid token, each once.

    They also say how many requests with a wrong token, or without one, have the same code before that execution. A
    service that ignores tokens moves the money then. `supplied` are the codes that the profile lists; the run prepares
    the other codes itself.
    """
    executions = plan.requests_to("executePix")
    # Generated executions are steps of sequences, which have lines of their own.
    from_scenarios = [exchange for exchange in executions if exchange.valid and not exchange.is_generated]
    execution_by_code = {exchange.request.last_segment: exchange for exchange in from_scenarios}
    supplied_and_executed = [code for code in execution_by_code if code in supplied]
    number_of_prepared = len(execution_by_code) - len(supplied_and_executed)
    if supplied_and_executed:
        yield f"each once: {_codes_in_words(supplied_and_executed, supplied)}"
    if number_of_prepared:
        yield f"each once: {number_of_prepared} that the run prepares"
    for code, execution in execution_by_code.items():
        without_valid_token = _exchanges_without_valid_token(plan, code)
        earlier_ones = [exchange for exchange in without_valid_token if exchange.number < execution.number]
        if earlier_ones:
            name = _codes_in_words([code], supplied) if code in supplied else "a code that the run prepares"
            times = "once" if len(earlier_ones) == 1 else f"{len(earlier_ones)} times"
            yield (
                f"{name}: sent {times} without the valid token before its execution; a service that ignores tokens "
                "executes it then"
            )


def _exchanges_without_valid_token(plan: Plan, code: str) -> list[Exchange]:
    """The planned executions of this transaction code with a wrong token or without a token."""
    executions = [exchange for exchange in plan.requests_to("executePix") if exchange.request.last_segment == code]
    return [exchange for exchange in executions if exchange.credential != VALID]


def _why_no_execution(plan: Plan) -> str:
    """The first reason that applies why a run would execute no transfer: permission, selection, journal, or no code.

    The journal is the file with the codes that earlier runs sent. If it cannot be used, no code is sent.
    """
    if "executePix" in plan.operations_not_permitted:
        return "it needs execute in allow"
    if not plan.needs_an_execution:
        return "nothing that was selected needs one"
    if plan.journal_trouble:
        return "the next line says why; --plan --new-journal prints what a run with --new-journal would send"
    return "there is no code in transactions.codes, and no transactions.prepare"


def _codes_in_words(codes: Sequence[str], supplied: Sequence[str]) -> str:
    """Transaction codes by their places in the list of the profile: `number 1 and number 3 of transactions.codes`.

    The codes themselves are not printed, because whoever knows a code may execute it. `supplied` is the list.
    """
    numbers = [f"number {supplied.index(code) + 1}" for code in codes]
    return f"{joined_with_and(numbers)} of transactions.codes"


def _lines_about_out_of_scope(plan: Plan, profile: Profile) -> Iterator[str]:
    """Lines about the operations to which a run sends nothing, each with the permission that the profile lacks."""
    not_permitted = [operation for operation in operations().values() if operation.id in plan.operations_not_permitted]
    yield "out of scope:" if not_permitted else "out of scope: no operation"
    for operation in not_permitted:
        yield f"  {operation.id:<17} {permission_needed_for(operation)}"
    if "fuzz" not in profile.allow:
        yield "  generated and malformed requests: need fuzz in allow, except registrations with an empty or cut-off"
        yield "  body at a synthetic account, or with an undocumented key type"
