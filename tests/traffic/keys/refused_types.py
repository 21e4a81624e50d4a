"""Key types that the service refuses: what is sent to find out why, and the judgement on each type.

The registration scenario calls `send_refused_types_again`, and tests/conformance/test_registration.py asks for the
judgements. The source is the list of key types in the interface document, POST /v1/pix/keys/{accountId}.

A refusal of a documented type is certainly wrong only if the service registers a key of another type for the same
account before and after it. Otherwise the account may be full. If the service understands no registration at all, it
may need more than the interface document says, such as another field.

A service understands a registration if it answers with a registration result, or says that the key is registered
already (409).

Self-tests: traffic/keys/test_listed.py, promises/test_keys.py.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from environments.profiles.model import Profile
from spec.answers import ABOUT_THE_REQUEST, RefusalKind, answer_in_words, refusal_or_failure, registered
from spec.exchange import Exchange
from spec.facts import is_surely_no_data
from spec.findings import Judgement, deviates, finding, holds, inconclusive
from spec.key_list import UUID
from spec.log import Log
from spec.message import Message, Text, joined, say
from spec.observed import is_answered_like
from tests.traffic.case import EXTRA_HEADERS
from tests.traffic.keys.listed import KeyLists, refused_but_registered
from tests.traffic.keys.purposes import (
    REGISTER,
    Registering,
    accepted_registrations,
    body_sent,
    first_registrations,
    is_refused_for_its_content,
    is_understood,
    key_sent,
    registrations_for,
    registrations_of_free_keys,
    type_sent,
    understood_registrations,
    valid_registrations,
)
from tests.traffic.keys.registrar import Registrar
from tests.traffic.keys.types_refused_at_times import deviation_if_type_is_refused_at_times

_OTHER_NAMES = {
    "pixKey": ("key", "PixKey", "pix_key", "chave"),
    "pixKeyType": ("type", "PixKeyType", "pix_key_type", "keyType", "tipo"),
    "account": ("accountId", "Account", "account_id", "conta"),
}
"""Other names that a service might have for the fields of the body."""
_FIELDS_OF_EARLIER_VERSIONS = ("from", "to", "value", "date", "description")
"""Fields that the body had once: "Versioning" in the interface document, registration of a key."""
_ACCOUNT_MAY_BE_FULL = say("the account may hold no more keys: delete some, or name another account")
_CALLER_MAY_BE_REFUSED = say(
    "keys of other types get the same 403, so the type is not the reason: the token may lack the scope, or one of "
    "several nodes refuses it"
)
"""What the user may do if the service may have refused a key type because the account is full."""
_KEY_MAY_BE_LISTED = say(
    "the list shows such a key: perhaps its owner has to confirm it, or the account may have only one such key"
)
"""Why a refused key type is no deviation, if a list shows its key."""
_WAITS_S = (0.0, 0.2, 0.5)
"""Waits before the repetitions of a refused registration: it is sent again once after each of them, because the account
may be busy for a moment. In all they are well below a second, because every refused type waits so long."""
_MOST_REPETITIONS = len(_WAITS_S)
"""How often a refused registration is sent again at most."""
_MOST_NAMES = 24
"""Words of a refusal that are sent as names of fields: enough for all that a service asks for in one answer."""
_MOST_BYTES_READ = 2_000
"""Bytes of a refusal in which such words are looked for. Longer answers are pages rather than messages."""
_REFUSALS_PERHAPS_ABOUT_THE_TYPE = {*ABOUT_THE_REQUEST, RefusalKind.FORBIDDEN}
"""Refusals that may be about the key type. Any other one is about the token, the rate or the load."""


# -- what is sent ---------------------------------------------------------------------------------------------------


def send_refused_types_again(registrar: Registrar) -> None:
    """Send more registrations, to find out why the service refused documented key types.

    If it accepted nothing at all, it may need more than is documented, so registrations with further parts are sent.
    Then each refused type is sent again, because the account may have been busy or full.
    """
    log, profile = registrar.log, registrar.profile
    refused = [exchange for exchange in first_registrations(log) if is_refused_for_its_content(exchange)]
    nothing_is_accepted = not understood_registrations(log) and not refused_but_registered(log, profile)
    if refused and nothing_is_accepted:
        _find_what_is_needed(registrar, refused[0])
    for key_type in dict.fromkeys(key.type for key in profile.pix_keys):
        _send_type_again(registrar, key_type)


def _send_type_again(registrar: Registrar, key_type: str) -> None:
    """Repeat the refused registration of a key type; if it is refused again, register a key of another type again.

    If the other type is accepted before and after the refused one, the type is the reason. If it is refused now, too,
    the account may be full. Nothing is sent if another reason is known:

    - The type was not refused, or the refused registration registered its key.
    - The service needs more than is documented.
    - The refusal is about the token, the rate or the load.
    """
    log, profile = registrar.log, registrar.profile
    registrations = _first_registrations_of(log, key_type)
    if not registrations or _understood_or_registered(log, profile, registrations):
        return
    refused = registrations[-1]
    refusal = refusal_or_failure(refused)
    if deviations_if_more_is_needed(log) or refusal not in _REFUSALS_PERHAPS_ABOUT_THE_TYPE:
        return

    # A 400, 422 or 415 may be passing, because an account may be busy. After any other refusal, such as a 403
    # (forbidden), a repetition would show nothing new. Then only the list is read: it may show that the refused key is
    # registered.
    may_be_passing = refusal in (RefusalKind.CONTENT, RefusalKind.MEDIA_TYPE)
    # If the run cannot find the value of a RANDOM key, it cannot delete the key. Then it asks for no second one.
    may_ask_again = key_type != "RANDOM" or not registrar.has_random_key_of_unknown_value()
    if not may_be_passing or not may_ask_again:
        registrar.read_key_list()
        return
    was_understood = _repeat_until_understood(registrar, refused)
    if was_understood:
        return
    registrar.read_key_list()
    if not _may_be_listed_afterwards(log, profile, refused):
        _register_another_type_again(registrar, key_type)


def _repeat_until_understood(registrar: Registrar, refused: Exchange) -> bool:
    """Send a refused registration again several times, each time after a longer wait.

    The account may have been busy for a moment. Returns True as soon as the service understands the registration: it
    answers with a registration result, or says that the key is registered already. Then the key is deleted, if the run
    may delete it.
    """
    for wait_s in _WAITS_S:
        time.sleep(wait_s)
        answer = registrar.register(body_sent(refused), Registering.AFTER_A_REFUSAL)
        if is_understood(answer):
            registrar.delete_key_of(answer)
            return True
    return False


def _register_another_type_again(registrar: Registrar, key_type: str) -> None:
    """Send an accepted registration of another key type again, to see whether the account still takes keys.

    The key of this registration is deleted before, so that the service has no reason to refuse it now. The other type
    may also be one that the interface document leaves open, such as a number. If no key can be deleted, nothing is
    sent.
    """
    log = registrar.log
    registrations = accepted_registrations(log) + _registrations_of_lower_case_and_number_types(log)
    for accepted in filter(registered, registrations):
        if type_sent(accepted) == key_type:
            continue
        key_is_free = registrar.delete_key_of(accepted)
        if key_is_free:
            purpose = Registering.OF_ANOTHER_TYPE
            answer = registrar.register(body_sent(accepted), purpose, valid=accepted.valid)
            registrar.delete_key_of(answer)
            return


def _find_what_is_needed(registrar: Registrar, refused: Exchange) -> None:
    """Find out whether the service accepts a registration only if it has more than is documented, such as a field.

    1. Send registrations with one difference each from the documented one, until one is accepted.
    2. Then send the documented one again, up to three times. If it is always refused as before, the difference is
       needed. The first other answer ends this, because then something else was the reason.
    """
    was_accepted = _register_with_a_difference(registrar, refused)
    if not was_accepted:
        return
    for wait_s in _WAITS_S:
        time.sleep(wait_s)
        answer = registrar.register(body_sent(refused), Registering.WITHOUT_THE_DIFFERENCE)
        if not is_answered_like(answer, refused):
            return


def _register_with_a_difference(registrar: Registrar, refused: Exchange) -> bool:
    """Send the refused registration again, each time with one difference from the documented request.

    A difference is another name of a field, or a further header, for instance. Ends at the first registration that is
    accepted, and deletes its key. Returns True if one is accepted, and False if all are refused.
    """
    for difference in _differences(refused):
        purpose = Registering.WITH_A_DIFFERENCE
        answer = registrar.register(body_sent(refused), purpose, **difference.options, valid=False)
        if registered(answer):
            registrar.delete_key_of(answer)
            return True
    return False


# -- the judgements -------------------------------------------------------------------------------------------------


def judgement_on_key_type(log: Log, profile: Profile, key_type: str, why_not_tried: Text) -> Judgement:
    """The judgement whether the service accepts one documented key type, by the registrations of the run.

    It holds if the service understood a registration of this type: it answered with the documented result, or said that
    the key is registered already (409). But it must not refuse the type at times (`types_refused_at_times.py`). A
    refusal each time proves a deviation only in some cases (`_judgement_by_another_type`); in all others the judgement
    is inconclusive. `why_not_tried` is the reason if the run sent no registration of this type.
    """
    registrations = _first_registrations_of(log, key_type)
    if not registrations:
        return inconclusive(why_not_tried)
    refused_at_times = deviation_if_type_is_refused_at_times(log, key_type)
    if refused_at_times is not None:
        return refused_at_times
    understood = _understood_or_registered(log, profile, registrations)
    if understood:
        return holds(*understood, *_accepted_later(log, key_type))

    refused = registrations[-1]  # for a RANDOM key, several bodies were tried
    why = say("no {type} key was registered: {answer}", type=key_type, answer=answer_in_words(refused))
    may_be_about_the_type = refusal_or_failure(refused) in _REFUSALS_PERHAPS_ABOUT_THE_TYPE
    # A service that needs more than is documented refuses every type. Another requirement reports that.
    needs_more = bool(deviations_if_more_is_needed(log))
    if needs_more or not may_be_about_the_type:
        return inconclusive(why, refused)

    sent_again = _sent_again(log, key_type)  # because the account may have been busy for a moment
    understood_at_last = [exchange for exchange in sent_again if is_understood(exchange)]
    if understood_at_last:
        return holds(*understood_at_last)
    if _may_be_listed_afterwards(log, profile, refused):
        return inconclusive(joined((why, _KEY_MAY_BE_LISTED)), refused)
    return _judgement_by_another_type(log, refused, sent_again, why)


def _judgement_by_another_type(log: Log, refused: Exchange, sent_again: list[Exchange], why: Text) -> Judgement:
    """The judgement of a refused key type, by a key of another type.

    The service deviates if it registered a key of another type before and after it refused this one. Otherwise the
    account may be full, or may have no key of this type, so the judgement is inconclusive. `sent_again` are the
    repetitions of the refused registration, and `why` is a sentence with its answer.
    """
    key_type = type_sent(refused)
    remedy = say("if the account may have no such key, set not_for_this_account: [{type}]", type=key_type)
    of_another_type = _accepted_before_and_sent_after(log, sent_again)  # two registrations, or none
    if of_another_type and registered(of_another_type[-1]):
        answer = answer_in_words(refused)
        accepted_type = type_sent(of_another_type[0])
        breach = finding("key-type-refused", name=key_type, answer=answer, other=accepted_type, remedy=remedy)
        return deviates(breach, refused, *of_another_type)

    was_other_type_refused_later = bool(of_another_type)  # if the later one was accepted, the service deviates (above)
    is_every_type_refused = not understood_registrations(log)
    is_other_type_refused_alike = _is_refused_like_another_type(log, refused)
    if is_other_type_refused_alike and refusal_or_failure(refused) is RefusalKind.FORBIDDEN:
        return inconclusive(joined((why, _CALLER_MAY_BE_REFUSED)), refused)
    account_may_be_full = was_other_type_refused_later or is_every_type_refused or is_other_type_refused_alike
    return inconclusive(joined((why, _ACCOUNT_MAY_BE_FULL if account_may_be_full else remedy)), refused)


def _is_refused_like_another_type(log: Log, refused: Exchange) -> bool:
    """True if a key of another type was refused with the same answer when it was registered for the first time.

    Then the account may be full, and the key type is perhaps not the reason.
    """
    for exchange in first_registrations(log):
        if type_sent(exchange) != type_sent(refused) and is_answered_like(exchange, refused):
            return True
    return False


def _first_registrations_of(log: Log, key_type: str) -> list[Exchange]:
    """The valid registrations of keys of this type that were not registered before, as far as the run knew."""
    return [exchange for exchange in first_registrations(log) if type_sent(exchange) == key_type]


def _accepted_later(log: Log, key_type: str) -> list[Exchange]:
    """The accepted registrations of keys of this type that were free again, after an earlier deletion."""
    later = [exchange for exchange in registrations_of_free_keys(log) if exchange.purpose is not Registering.FIRST_TIME]
    return [exchange for exchange in later if type_sent(exchange) == key_type and registered(exchange)]


def _sent_again(log: Log, key_type: str) -> list[Exchange]:
    """The registrations of this key type that were sent again because the first one was refused."""
    repetitions = log.of(REGISTER, Registering.AFTER_A_REFUSAL)
    return [exchange for exchange in repetitions if type_sent(exchange) == key_type]


def _registrations_of_lower_case_and_number_types(log: Log) -> list[Exchange]:
    """The registrations whose type is in lower case or a number. The interface document does not say if they are valid.

    A service may accept them. Then they show that the account takes keys.
    """
    return registrations_for(log, Registering.LOWER_CASE, Registering.NUMERIC)


def _understood_or_registered(log: Log, profile: Profile, registrations: list[Exchange]) -> list[Exchange]:
    """The registrations, among these, which show that the service knows the key type. There are two sorts:

    - The service understood it: it answered with the documented result, or said that the key is registered already.
    - The service refused it, but lists of keys show that it registered the key.
    """
    are_all_understood = all(map(is_understood, registrations))
    if are_all_understood:  # the lists of keys, which may be large, need not be parsed
        return registrations
    registered_but_refused = refused_but_registered(log, profile)
    return [exchange for exchange in registrations if is_understood(exchange) or exchange in registered_but_refused]


def _may_be_listed_afterwards(log: Log, profile: Profile, refused: Exchange) -> bool:
    """True if the list that was read after a refused registration and its repetitions may show its key.

    Then the service may refuse the registration because the key is registered already, or waits for its owner. For a
    RANDOM key, whose value is not known, any UUID counts that no registration named: the account may have one such key,
    and the service may permit no further one.
    """
    key_type = type_sent(refused)
    numbers = [exchange.number for exchange in (refused, *_sent_again(log, key_type))]
    listing = KeyLists(log, profile).next_list(max(numbers))
    if listing is None:
        return False
    key = key_sent(refused)
    if key and listing.may_show(key):
        return True
    named_keys = {key_sent(exchange) for exchange in valid_registrations(log)}
    unnamed_texts = listing.all_texts - named_keys
    return key_type == "RANDOM" and any(map(UUID.fullmatch, unnamed_texts))


def _accepted_before_and_sent_after(log: Log, sent_again: list[Exchange]) -> list[Exchange]:
    """An accepted registration of another key type, and the same one sent again after the refused type; or empty.

    `sent_again` are the repetitions of the refused registration. Right after the last of them, the run sends again a
    registration that was accepted before (`_register_another_type_again`), to see that the account still takes keys.
    The accepted one is found by its body, which is the same. Empty if the run did not do that for this type.
    """
    if not sent_again:
        return []
    last_number = sent_again[-1].number
    # If the next registration is AFTER_A_REFUSAL, it is about the next refused type: the run had no accepted
    # registration that it could send again.
    later = log.of(REGISTER, Registering.AFTER_A_REFUSAL, Registering.OF_ANOTHER_TYPE)
    next_registration = next((exchange for exchange in later if exchange.number > last_number), None)
    if next_registration is None or next_registration.purpose is not Registering.OF_ANOTHER_TYPE:
        return []
    # Types in lower case and numbers are no documented types, so `accepted_registrations` does not have them.
    for candidate in accepted_registrations(log) + _registrations_of_lower_case_and_number_types(log):
        is_before = candidate.number < next_registration.number
        has_same_body = candidate.request.body == next_registration.request.body
        if is_before and has_same_body and registered(candidate):
            return [candidate, next_registration]
    return []


def deviations_if_more_is_needed(log: Log) -> dict[str, Judgement]:
    """The deviation of a service that needs more than is documented, by the id of the requirement that it breaks.

    The run sends a refused registration with one difference after another, such as a further field, until the service
    accepts it. Then it sends the documented registration again, several times. If this one is refused each time as
    before, the service needs the difference. The dictionary has at most one item; it is empty if the answers do not
    show such a need.
    """
    with_difference = log.of(REGISTER, Registering.WITH_A_DIFFERENCE)
    if not with_difference or not registered(with_difference[-1]):
        return {}
    # The first refusal of the run: `send_refused_types_again` has sent this registration with the differences.
    refused = next(filter(is_refused_for_its_content, first_registrations(log)))
    without_difference = log.of(REGISTER, Registering.WITHOUT_THE_DIFFERENCE)
    # `_find_what_is_needed` sends fewer repetitions if an answer differs from the refusal.
    are_all_sent = len(without_difference) == _MOST_REPETITIONS
    are_all_refused_alike = all(is_answered_like(exchange, refused) for exchange in without_difference)
    if not are_all_sent or not are_all_refused_alike:
        return {}
    # The differences are sent in their order until one is accepted, so the last one that was sent is the accepted one.
    accepted_difference = list(_differences(refused))[len(with_difference) - 1]
    breach = finding("key-needs-more", name=type_sent(refused), what=accepted_difference.name)
    return {accepted_difference.requirement_id: deviates(breach, refused, with_difference[-1])}


# -- registrations with a difference --------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Difference:
    """A registration in another form than the documented one."""

    requirement_id: str
    """The requirement that a service breaks if it accepts only this form."""
    name: Message
    """The difference in words."""
    options: dict[str, Any]
    """What `Registrar.register` sends instead of the usual body, or beside it."""


def _differences(refused: Exchange) -> Iterator[_Difference]:
    """The differences with which a refused registration is sent again, to see what the service needs.

    The first one adds further fields, headers and a query, all in one request. The next ones add other names of one
    field each, such as `key` beside `pixKey`. The last one adds the other names of all fields.
    """
    body = body_sent(refused)
    yield _with_more_of_everything(refused)
    with_all_names = dict(body)
    for name, other_names in _OTHER_NAMES.items():
        with_other_names = {**body, **dict.fromkeys(other_names, body[name])}  # each has the same value
        with_all_names |= with_other_names
        difference = say("another name for {name}", name=name)
        yield _Difference(f"registerPixKey.body.{name}", difference, {"json": with_other_names})
    yield _Difference("registerPixKey.body.pixKey", say("other names for all fields"), {"json": with_all_names})


def _with_more_of_everything(refused: Exchange) -> _Difference:
    """The difference that has everything a service might need beyond the interface document, in one request.

    It has the fields that earlier versions of the document had, usual headers, and each name in the answer of the
    service that may be the name of something it needs. Such a name is sent as a field and in the query, and as a header
    if it begins with "x-".
    """
    body = body_sent(refused)
    names = _names_in_refusal(refused)
    further_fields = dict.fromkeys((*_FIELDS_OF_EARLIER_VERSIONS, *names), body["account"])
    named_headers = [(name, "pixconf") for name in names if name.lower().startswith("x-")]
    options = {
        "json": {**further_fields, **body},
        "headers": [*EXTRA_HEADERS, *named_headers],
        "query": "?" + "&".join(f"{name}=pixconf" for name in names),
    }
    return _Difference("registerPixKey.body.sufficient", say("further fields, headers and a query"), options)


def _names_in_refusal(refused: Exchange) -> list[str]:
    """Words in the answer of a refusal that may be names of fields or headers that the service needs.

    The name of a person is not among them, because `is_surely_no_data` accepts only words that interfaces use. There
    are at most _MOST_NAMES of them.
    """
    if refused.response is None:
        return []
    text = refused.response.body[:_MOST_BYTES_READ].decode("utf-8", "replace")
    words = re.findall(r"[A-Za-z][A-Za-z0-9_-]{2,29}", text)  # an identifier of 3 to 30 characters
    return list(islice(filter(is_surely_no_data, words), _MOST_NAMES))
