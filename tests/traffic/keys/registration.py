"""The key registrations of a run: POST /v1/pix/keys/{accountId} in the interface document.

The scenario `register` calls the functions of `_STEPS`, in their order:

1. A made-up key is registered twice and deleted. Then keys are sent without the valid token.
2. Each key of the profile is registered twice and deleted.
3. Keys with undocumented types and with the remaining wrong tokens are sent, and all keys of step 2 in parallel.
4. RANDOM keys are registered, and keys of each type again and again, until there are enough answers.
5. What is left is deleted, and key types that were refused, each time or at times, are tried again.

| module of this folder | what belongs there |
|---|---|
| registration.py | which registrations are sent, in which order |
| registrar.py | how one key is registered, found in a list and deleted |
| undocumented_types.py | key types that must be refused |
| refused_types.py | why the service refuses a documented key type: requests and judgement |
| types_refused_at_times.py | key types that are refused at times, and accepted otherwise: requests and judgement |
| listed.py | what lists of keys show of registrations: judgements |
| purposes.py | why a request about a key is sent |

| word | meaning |
|---|---|
| synthetic key | an e-mail address that the suite makes up, and that belongs to nobody |
| unauthorized request | a request without a token or with a wrong one; its spelling is the unusual way to write it |
| free key | a key that is not registered as far as the run knows, so that a registration must be accepted |
| made key | a RANDOM key: the service makes its value, and often only a list of keys shows it |
| companion | a valid request that does nothing, sent at the same moment as one that must be refused |
| list | the answer to GET /v1/pix/keys/{accountId}, which shows the keys of an account |

Self-tests: promises/test_keys.py.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from uuid import uuid4

from environments.door.door import NoteSubject
from environments.door.wrong_tokens import (
    FOR_A_REGISTERED_KEY,
    NO_HEADER,
    OTHER_SCHEMES,
    WRONG_TOKEN,
    UnauthorizedRequest,
    permitted_credential_forms,
)
from environments.profiles.loading import NOTHING_TO_REGISTER, name_for_commands
from environments.profiles.model import PixKey, Profile
from spec.answers import answer_in_words, answers_in_words, refusal_or_failure, registered
from spec.exchange import VALID, Exchange
from spec.interface import SYNTHETIC_PREFIX
from spec.log import Log
from spec.message import Text, say
from spec.rules import ROBUSTNESS
from tests.traffic.keys.listed import LISTS_ARE_READ_AFTER, REFUSALS_WITHOUT_EFFECT, KeyLists
from tests.traffic.keys.purposes import (
    KeyListing,
    Registering,
    accepted_registrations,
    body_sent,
    is_refused_for_its_content,
    key_sent,
    registrations_for,
    registrations_of_free_keys,
    type_sent,
    valid_registrations,
)
from tests.traffic.keys.refused_types import send_refused_types_again
from tests.traffic.keys.registrar import (
    RANDOM_LEFT_WITH_KEY_AT,
    RANDOM_LEFT_WITHOUT_KEY_AT,
    Registrar,
    keys_with_a_value,
    registration_body,
)
from tests.traffic.keys.types_refused_at_times import repeat_types_refused_at_times
from tests.traffic.keys.undocumented_types import EMPTY, undocumented_types
from tests.traffic.neighbours import requests_before_registrations
from tests.traffic.refused_credentials import unauthorized_requests
from tests.traffic.scenario import ENOUGH_ANSWERS, Traffic, scenario
from tests.traffic.together import Send

_REGISTER = "registerPixKey"
_NOTHING_TO_DELETE = say(
    "no key was registered whose value is known: supply one in pix_keys that is not RANDOM and not registered yet"
)
"""Reason for a verdict on deletions: the run deletes only keys that it registered, and whose value it knows."""
_ROBUSTNESS_IDS = tuple(f"registerPixKey.{end_of_id}" for end_of_id in ROBUSTNESS)
"""The requirements such as "no server error". Every answer to a registration is judged by them."""
TESTED_BY_WRONG_TOKENS = ("registerPixKey.token.required", "registerPixKey.refusal", *_ROBUSTNESS_IDS)
"""The requirements for which registrations are sent without the valid token."""
_REQUESTS_FOR_A_REGISTERED_KEY = [
    UnauthorizedRequest(name, (FOR_A_REGISTERED_KEY,)) for name in (NO_HEADER, WRONG_TOKEN)
]
"""Unauthorized requests that name the synthetic key while it is registered."""
_REQUESTS_AFTER_A_REGISTRATION = 3
"""Unauthorized requests that are sent right after each granted registration, on the same connection, because some
services do not check the token on a connection that was authorized before."""
_ENOUGH_RANDOM_ANSWERS = ENOUGH_ANSWERS + 4
"""Enough registrations of RANDOM keys. Of other types ENOUGH_ANSWERS will do, because each of their keys is registered
a second time, too, which gives further answers."""
_MOST_RANDOM_KEYS = 4
"""Most RANDOM keys that are registered before they are deleted, because an account may have few keys."""


@dataclass(frozen=True)
class _Attempt:
    """A registration that must be refused, or may be refused."""

    key_or_body: PixKey | dict[str, Any]
    """The key to register at the account of the run; or the whole body of the request."""
    purpose: Registering
    """Why the registration is sent, by which judgements find it."""
    credential: str = VALID
    """The name of the token or of the wrong token to send."""
    spelling: tuple[str, ...] = ()
    """The unusual ways in which the request is written; empty if it is written as documented."""


def why_nothing_was_deleted(log: Log) -> Text:
    """Reason why no deletion could be tested: all registrations were refused, or no key of known value was registered.

    Only keys that the run registered are deleted, and a deletion has to name the key.
    """
    answers = valid_registrations(log)
    if answers and not accepted_registrations(log):
        return say("no key was registered: {answers}", answers=answers_in_words(answers))
    return _NOTHING_TO_DELETE


@scenario(serves=["registerPixKey.*", "deletePixKey.*"], needs="register-keys")
def register(traffic: Traffic) -> None:
    """Send the registrations and deletions of a run, in the order of `_STEPS`.

    Keys are registered and deleted again, and registrations are sent that must be refused. Nothing is sent without an
    account or without keys in the profile; the reason is noted for the verdicts.
    """
    profile = traffic.profile
    if not profile.accounts or not profile.pix_keys:
        missing_in_profile = "pix_keys" if profile.accounts else "accounts"
        traffic.why_not_sent[_REGISTER] = NOTHING_TO_REGISTER.format(missing_in_profile)
        return
    context = _prepare_steps(traffic)
    for step in _STEPS:
        step(context)


@dataclass
class _StepContext:
    """What the steps of the scenario have in common. Each step gets it, and some change it."""

    traffic: Traffic
    """What the scenarios of the run have in common, such as the selected requirements."""
    registrar: Registrar
    """Registers keys, reads lists of keys, and deletes keys."""
    keys: list[PixKey]
    """The keys of the profile that may be registered."""
    sends_wrong_tokens: bool
    """True if the selection has a requirement that wrong tokens can show."""
    unsent_requests: list[UnauthorizedRequest]
    """Unauthorized requests that were not sent so far. Each is sent once, with a synthetic key."""
    registered_and_deleted: list[PixKey] = field(default_factory=list)
    """Keys that earlier steps have registered and deleted, so that they can be registered once more."""

    @property
    def profile_keys_on_sandbox(self) -> list[PixKey]:
        """The keys of the profile on a sandbox (a test system); none elsewhere.

        They are sent in requests that must be refused, such as those with a wrong token. A service at fault may
        register them nevertheless, and outside a sandbox the keys of the profile belong to somebody.
        """
        return self.keys if self.traffic.profile.is_sandbox else []

    def requests_for_a_registered_key(self) -> list[UnauthorizedRequest]:
        """Requests without the valid token that name the synthetic key while it is registered.

        A service may look up the key before it checks the token. Empty if no selected requirement is about the token.
        """
        return _REQUESTS_FOR_A_REGISTERED_KEY if self.sends_wrong_tokens else []

    def take_unsent_requests(self) -> list[UnauthorizedRequest]:
        """Return the next three requests without the valid token, and remove them from `unsent_requests`.

        They are sent right after a registration on the same connection, because some services do not check the token on
        a connection that was authorized before. Each of these requests is sent once in a run.
        """
        requests = self.unsent_requests[:_REQUESTS_AFTER_A_REGISTRATION]
        self.unsent_requests = self.unsent_requests[_REQUESTS_AFTER_A_REGISTRATION:]
        return requests


def _prepare_steps(traffic: Traffic) -> _StepContext:
    """Read the lists of keys, delete keys of the profile that an earlier run left, and return what the steps need.

    The lists are read because a key that was listed before the run belongs to somebody, so it must not be registered.
    """
    registrar = Registrar(traffic.client, traffic.profile)
    keys = registrar.make_keys_free()
    sends_wrong_tokens = traffic.selection.includes_any(*TESTED_BY_WRONG_TOKENS)
    unsent_requests = unauthorized_requests(traffic, _REGISTER) if sends_wrong_tokens else []
    return _StepContext(traffic, registrar, keys, sends_wrong_tokens, unsent_requests)


# -- the steps ----------------------------------------------------------------------------------------------------


def _register_synthetic_key(context: _StepContext) -> None:
    """Register a made-up (synthetic) key twice, and delete it.

    In between, registrations of the same key are sent without the valid token. Nothing is sent if the profile does not
    permit deletions, because the key would stay at the account.
    """
    key = context.registrar.synthetic_key_for_deletions()
    if key is None:
        return
    is_deleted = _register_and_delete(context.registrar, key, context.requests_for_a_registered_key)
    if is_deleted:
        context.registered_and_deleted.append(key)  # a later step registers it again


def _send_keys_without_a_token(context: _StepContext) -> None:
    """Send registrations without a token, and on a sandbox also some with a wrong token. All must be refused.

    On a sandbox they have the keys of the profile. Elsewhere one registration has a made-up (synthetic) key instead,
    because a service at fault may register the key, and the keys of the profile belong to somebody there.

    On a sandbox a wrong token is sent with each key type except EMAIL, because the check of the token may depend on the
    type. Other steps send wrong tokens with made-up keys, and all made-up keys are of the type EMAIL.

    Each request is sent at the same moment as a valid request that does nothing: some services accept a request without
    the token while a valid request is under way.
    """
    if not context.sends_wrong_tokens:
        return
    purpose = Registering.WITHOUT_A_TOKEN
    keys = context.profile_keys_on_sandbox or [context.registrar.synthetic_key()]
    without_header = [_Attempt(key, purpose, NO_HEADER) for key in keys]
    _send_and_delete(context.registrar, without_header, beside_valid_requests=True)
    keys_of_other_types = [key for key in context.profile_keys_on_sandbox if key.type != "EMAIL"]
    with_wrong_token = [_Attempt(key, purpose, WRONG_TOKEN) for key in keys_of_other_types]
    _send_and_delete(context.registrar, with_wrong_token, beside_valid_requests=True)


def _send_other_schemes(context: _StepContext) -> None:
    """Send registrations of made-up keys with the valid token under a scheme other than Bearer, such as Digest.

    They are sent only under two conditions:

    - The profile permits deletions, because a service may accept them.
    - A selected requirement needs their answers: the one on the scheme, or one on robustness, such as "no server
      error", by which every answer is judged.

    Each is sent at the same moment as a valid request that does nothing, because a service may accept a wrong
    credential while a valid request is under way.
    """
    registrar = context.registrar
    is_selected = context.traffic.selection.includes_any("registerPixKey.token.scheme", *_ROBUSTNESS_IDS)
    if registrar.may_delete_keys and is_selected:
        schemes = permitted_credential_forms(registrar.profile, among=OTHER_SCHEMES)
        requests = [UnauthorizedRequest(scheme.name) for scheme in schemes]
        attempts = _attempts_with_synthetic_keys(registrar, Registering.OTHER_SCHEME, requests)
        _send_and_delete(registrar, attempts, beside_valid_requests=True)


def _prepare_for_valid_registrations(context: _StepContext) -> None:
    """Delete the keys that a service registered although it refused them, and read the list of keys.

    Then a request is sent to two undocumented paths, such as `/v1/pix/pixconf-1a2b3c4d/ac-1`, where the documented path
    is `/v1/pix/keys/ac-1`. A service at fault may keep something of the request before, such as its error, for the next
    answer. The next steps send valid registrations, so their answers would show that.
    """
    registrar = context.registrar
    registrar.clean_up()
    registrar.read_key_list()
    purpose = Registering.UNDOCUMENTED_PATH
    registrar.client.send_to_undocumented_paths(_REGISTER, registrar.account, body=b"{}", purpose=purpose)


def _register_keys_of_the_profile(context: _StepContext) -> None:
    """Register each key of the profile, register it a second time, and delete it. RANDOM keys have a later step.

    The second registration shows how a key is answered that is registered already. Requests without the valid token go
    between the two, with made-up keys: the service must not let them in because a valid request came right before.
    """
    for key in keys_with_a_value(context.keys):
        is_deleted = _register_and_delete(context.registrar, key, context.take_unsent_requests)
        if is_deleted:
            # It is free again, so `_register_keys_in_parallel` registers it once more (and deletes it).
            context.registered_and_deleted.append(key)


def _send_other_name_of_random(context: _StepContext) -> None:
    """Send a registration with the type EVP, the Central Bank's name for RANDOM, and a made-up (synthetic) key.

    The interface document does not have this name, but a service may accept it. On a sandbox it is also sent with the
    RANDOM key of the profile. Elsewhere that is not done: the service might make a key whose value nobody knows.
    """
    keys = [context.registrar.synthetic_key()]
    random_key = _own_keys_by_type(context).get("RANDOM")  # None outside a sandbox
    if random_key is not None:
        keys.append(random_key)
    attempts = []
    for key in keys:
        key_with_type_evp = replace(key, type="EVP")
        attempts.append(_Attempt(key_with_type_evp, Registering.OTHER_NAME_OF_RANDOM))
    _send_and_delete(context.registrar, attempts)


def _send_random_with_other_keys(context: _StepContext) -> None:
    """Send four registrations of the type RANDOM whose body is unusual.

    In the body, pixKey is a made-up (synthetic) key; it is null; it is left out; or all members except the type are
    left out.

    The interface document does not show what a service does with such a body. It may refuse the request, register the
    key in the body, or make another key; but it must not fail. The registrations are sent on a sandbox alone, because
    a new key in the list counts as a key of the run there.
    """
    registrar = context.registrar
    if not registrar.profile.is_sandbox or "RANDOM" not in _own_keys_by_type(context):
        return
    account = registrar.account
    bodies: list[dict[str, Any]] = [
        {"account": account, "pixKeyType": "RANDOM", "pixKey": registrar.synthetic_key().key},
        {"account": account, "pixKeyType": "RANDOM", "pixKey": None},
        {"account": account, "pixKeyType": "RANDOM"},
        {"pixKeyType": "RANDOM"},
    ]
    for body in bodies:  # one after the other, because an account may have one RANDOM key only
        if registrar.keys.has_random_key_of_unknown_value():  # nobody could delete another one, either
            return
        _send_and_delete(registrar, [_Attempt(body, Registering.RANDOM_WITH_OTHER_KEYS)])


def _send_undocumented_types(context: _StepContext) -> None:
    """Send registrations with a pixKeyType that is not documented, which must be refused.

    On a sandbox each type is sent with a key of the profile that fits it, if there is one: CELULAR with a PHONE key,
    for example. Otherwise it is sent with a made-up (synthetic) key.

    A service may read some of these types as RANDOM, and make a new key. They are sent only if the run may find the
    value of such a key in a list, because otherwise nobody could delete it.
    """
    registrar = context.registrar
    own_keys = _own_keys_by_type(context)
    # An empty key is how some services are asked for a RANDOM key. So empty keys are sent only if the profile has such
    # a key, and lets the run delete it.
    may_send_empty_keys = "RANDOM" in own_keys
    attempts = []
    run_may_find_new_key_in_list = registrar.keys.new_listed_key_is_of_run
    for undocumented in undocumented_types(with_empty_keys=may_send_empty_keys, seed=context.traffic.seed):
        if undocumented.may_make_a_key and not run_may_find_new_key_in_list:
            continue
        key = own_keys.get(undocumented.type_of_its_key) or registrar.synthetic_key()
        body = {**registration_body(key, registrar.account), "pixKeyType": undocumented.name}
        if undocumented.with_an_empty_key:
            body["pixKey"] = ""
        elif undocumented.with_a_uuid and undocumented.type_of_its_key in own_keys:
            body["pixKey"] = str(uuid4())
        attempts.append(_Attempt(body, Registering.UNDOCUMENTED_TYPE))
    _send_and_delete(registrar, attempts)


def _own_keys_by_type(context: _StepContext) -> dict[str, PixKey]:
    """By key type, a key of the profile that may be sent with another type, which the service must refuse.

    A service at fault may register the key. So the result is empty outside a sandbox, where these keys belong to
    somebody, and if the profile does not permit deletions.
    """
    if not context.registrar.may_delete_keys:
        return {}
    return {key.type: key for key in context.profile_keys_on_sandbox}


def _send_without_a_type(context: _StepContext) -> None:
    """Send a registration without pixKeyType if one with an empty type ("" or null) was accepted.

    If this one is accepted, too, the service treats an empty type like a missing one. Then the empty type is no
    deviation, because the interface document does not show whether a type is required.
    """
    registrar = context.registrar
    for exchange in registrations_for(registrar.log, Registering.UNDOCUMENTED_TYPE):
        body = body_sent(exchange)
        type_is_empty = body["pixKeyType"] in EMPTY  # "" or null
        if type_is_empty and registered(exchange):
            body_without_type = {name: value for name, value in body.items() if name != "pixKeyType"}
            _send_and_delete(registrar, [_Attempt(body_without_type, Registering.WITHOUT_A_TYPE)])
            return


def _register_keys_in_parallel(context: _StepContext) -> None:
    """Register all keys once more that were registered and deleted in earlier steps, and delete them again.

    They are sent in parallel, because a service at fault may mix up parallel requests. If the run may send only one
    request at a time, they are sent one after the other: a repetition also shows a fault that does not occur each time.
    Requests without the valid token that were not sent so far go in between.
    """
    if not context.registrar.may_delete_keys:
        return
    if context.registrar.together.may_send_several:
        _register_and_delete_in_parallel(context.registrar, context.registered_and_deleted)
        return
    for key in context.registered_and_deleted:
        _register_and_delete(context.registrar, key, context.take_unsent_requests)


def _send_remaining_wrong_tokens(context: _StepContext) -> None:
    """Send the rest of the unauthorized registrations: without a token, or with a wrong one.

    Earlier steps have sent some of them (`take_unsent_requests`), and each is sent only once. Each has a made-up
    (synthetic) key.

    1. Those that are written in the usual way. Each is sent at the same moment as a valid request that does nothing,
       because some services accept a wrong token while a valid request is under way.
    2. Those that are written in an unusual way (`spelling`), such as with two spaces behind the word Bearer.
    """
    registrar = context.registrar
    purpose = Registering.WITHOUT_A_TOKEN
    usual_requests = [request for request in context.unsent_requests if not request.spelling]
    unusual_requests = [request for request in context.unsent_requests if request.spelling]
    usual_attempts = _attempts_with_synthetic_keys(registrar, purpose, usual_requests)
    unusual_attempts = _attempts_with_synthetic_keys(registrar, purpose, unusual_requests)
    _send_and_delete(registrar, usual_attempts, beside_valid_requests=True)
    _send_and_delete(registrar, unusual_attempts)


def _send_other_spellings(context: _StepContext) -> None:
    """Send registrations with the type EMAIL in lower case, and as a digit, to observe how the service answers.

    The interface document says neither that they are refused nor that they are accepted. A service may accept them, so
    they are sent only if the profile permits deletions. The digits are 1 and 2: these mean EMAIL if a service numbers
    the documented types from 0 or from 1. A service may also read a digit as RANDOM, and make a new key. So digits are
    sent only if the run may find the value of such a key in a list.
    """
    registrar = context.registrar
    if not registrar.may_delete_keys:
        return
    key_in_lower_case = replace(registrar.synthetic_key(), type="email")
    attempts = [_Attempt(key_in_lower_case, Registering.LOWER_CASE)]
    run_may_find_new_key_in_list = registrar.keys.new_listed_key_is_of_run
    if run_may_find_new_key_in_list:
        for number in ("1", "2"):
            key = replace(registrar.synthetic_key(), type=number)
            attempts.append(_Attempt(key, Registering.NUMERIC))
    _send_and_delete(registrar, attempts)


def _register_random_keys(context: _StepContext) -> None:
    """Ask for a RANDOM key, whose value the service makes, for each RANDOM entry of the profile, and delete it.

    If the run does not know the value of a key that the service made, nobody can delete that key. Then no further one
    is asked for, and the reason is noted for the verdict.
    """
    random_keys = [key for key in context.keys if key.type == "RANDOM"]
    for key in random_keys:
        reason_to_stop = _register_random(context.registrar, key)
        if reason_to_stop:
            context.traffic.why_not_sent["registerPixKey.pixKeyType.RANDOM"] = reason_to_stop
            return


def _register_until_enough(context: _StepContext) -> None:
    """Register a key of each type again and again, and delete it, until the run has enough answers for each type.

    If one server of several is at fault, only several answers show it. Outside a sandbox only the made-up (synthetic)
    key is registered again. The registrations are sent in rounds, one of each key type in a round (`_register_round`).

    RANDOM keys, whose values the service makes, are not deleted in their round, but when a few of them are registered.
    A list of keys has to be read before the deletion, and one list shows the values of all of them.
    """
    registrar = context.registrar
    if not registrar.may_delete_keys:
        return
    # Functions that send a request right before a registration, because a service at fault may answer wrongly then:
    # those before a registration that is sent alone, and those before one that is sent in parallel with others.
    requests_before_single, requests_before_parallel = requests_before_registrations(context.traffic)
    bodies = _bodies_to_send_again(registrar)
    random_registrations: list[Exchange] = []  # their keys are not deleted yet
    while bodies:
        are_all_sent_before_registrations = not requests_before_single and not requests_before_parallel
        if are_all_sent_before_registrations:
            # From now on several RANDOM keys are registered in one round, which saves rounds.
            most_random = _MOST_RANDOM_KEYS - len(random_registrations)
            bodies = _with_several_random_keys(registrar.log, bodies, most_random)
        answers = _register_round(registrar, bodies, requests_before_single, requests_before_parallel)
        registrations_of_other_types = [answer for answer in answers if type_sent(answer) != "RANDOM"]
        registrar.delete_keys_of(registrations_of_other_types)
        random_registrations += [answer for answer in answers if type_sent(answer) == "RANDOM"]
        refused_types = {type_sent(answer) for answer in answers if is_refused_for_its_content(answer)}
        bodies = _bodies_for_next_round(registrar.log, bodies, refused_types)
        if len(random_registrations) >= _MOST_RANDOM_KEYS or not bodies:
            _delete_random_keys(registrar, random_registrations)
            random_registrations = []


def _register_round(
    registrar: Registrar,
    bodies: Sequence[dict[str, Any]],
    requests_before_single: list[Send],
    requests_before_parallel: list[Send],
) -> list[Exchange]:
    """Send one round of registrations, most of them right after another request. Returns their exchanges.

    A round is one registration for each of these bodies. The other request is a read, or a request that is refused. The
    answer of a service at fault may depend on it. The two lists have functions that send such requests; each function
    is called once, and removed from its list:

    - While the first list is not empty, each registration is sent alone, right after one of these requests. A fault may
      show whichever connection carried the request before.
    - Then registrations are sent in parallel. Each follows a request of the second list on the same connection, because
      a fault may show only on the connection that carried a refused request.
    """
    count_of_single = min(len(bodies), len(requests_before_single))
    answers = []
    for body in bodies[:count_of_single]:
        send_request_before = requests_before_single.pop(0)
        send_request_before()
        answers.append(registrar.register(body, Registering.ONCE_MORE))
    parallel_sends: list[Send] = []
    for body in bodies[count_of_single:]:
        send = partial(registrar.register, body, Registering.ONCE_MORE)
        if requests_before_parallel:
            send_request_before = requests_before_parallel.pop(0)
            send = partial(_send_one_after_the_other, send_request_before, send)
        parallel_sends.append(send)
    return answers + registrar.together.send_all(parallel_sends)


def _send_one_after_the_other(send_first: Send, send_second: Send) -> Exchange:
    """Send two requests, over one connection if it stays open. Returns the exchange of the second one."""
    send_first()
    return send_second()


def _with_several_random_keys(log: Log, bodies: Sequence[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """The bodies for one round of registrations: the body for a RANDOM key several times, any other body once.

    The body for a RANDOM key is there as often as the run still needs answers for this type, but at most `most` times.
    The service makes another key for each of them, so they can be sent at the same time. Any other key is registered
    once in a round, because it has to be deleted before it can be registered again.
    """
    bodies_of_round: list[dict[str, Any]] = []
    for body in bodies:
        times = 1
        if body["pixKeyType"] == "RANDOM":
            times = min(_count_of_missing_answers(log, body), most)
        bodies_of_round += [body] * times  # a list in which the body is there so many times
    return bodies_of_round


def _delete_random_keys(registrar: Registrar, registrations: list[Exchange]) -> None:
    """Delete the RANDOM keys of these registrations, whose values the service made.

    The first one is deleted alone, because its deletion reads a list of keys, which shows the values of all of them.
    The others are deleted at the same time.
    """
    if registrations:
        first, *others = registrations
        registrar.delete_key_of(first)
        registrar.delete_keys_of(others)


def _bodies_to_send_again(registrar: Registrar) -> list[dict[str, Any]]:
    """For each key type of which the run needs more answers, the body of a registration that can be sent again.

    The service accepted it, and its key is deleted by now. Outside a sandbox its key must be made up (synthetic),
    because other keys belong to somebody.
    """
    body_of_type: dict[str, dict[str, Any]] = {}
    for registration in registrations_of_free_keys(registrar.log):
        body = body_sent(registration)
        is_permitted = registrar.profile.is_sandbox or key_sent(registration).startswith(SYNTHETIC_PREFIX)
        was_accepted_and_deleted = registered(registration) and registrar.is_deleted(registration)
        if is_permitted and was_accepted_and_deleted and _needs_more_answers(registrar.log, body):
            body_of_type.setdefault(body["pixKeyType"], body)  # of several keys of a type, the first one
    return list(body_of_type.values())


def _needs_more_answers(log: Log, body: Mapping[str, Any], refused_types: Container[str] = ()) -> bool:
    """True if the run has sent too few registrations of the key type in this body, whether accepted or refused.

    False for a type in `refused_types`, which the service refused in the last round: it would refuse the next one, too.
    """
    return body["pixKeyType"] not in refused_types and _count_of_missing_answers(log, body) > 0


def _bodies_for_next_round(
    log: Log, bodies: Iterable[dict[str, Any]], refused_types: Container[str]
) -> list[dict[str, Any]]:
    """The bodies for the next round of registrations: one for each key type of which the run needs more answers.

    `bodies` are those of the last round. A type in `refused_types` was refused in it, so it is left out.
    """
    body_of_type = {body["pixKeyType"]: body for body in bodies}  # one of each type: RANDOM may be there several times
    return [body for body in body_of_type.values() if _needs_more_answers(log, body, refused_types)]


def _count_of_missing_answers(log: Log, body: Mapping[str, Any]) -> int:
    """How many more registrations of a key type the run has to send until it has enough answers to judge the type.

    The body names the type. RANDOM needs more answers than other types: a key of another type is registered a second
    time while it is registered, and that gives further answers.
    """
    key_type = body["pixKeyType"]
    same_type = [answer for answer in registrations_of_free_keys(log) if type_sent(answer) == key_type]
    enough = _ENOUGH_RANDOM_ANSWERS if key_type == "RANDOM" else ENOUGH_ANSWERS
    return max(0, enough - len(same_type))


def _clean_up(context: _StepContext) -> None:
    """Delete the keys that this run registered and that are not deleted yet, for example because of a busy service."""
    context.registrar.clean_up()


def _learn_keys_that_were_refused_and_registered(context: _StepContext) -> None:
    """Find keys that the service registered although it refused them, so that the next step can delete them.

    Lists of keys show them. If the service made such a key (a RANDOM key), its value is noted from the list, because a
    deletion has to name it. A key that the request named can be deleted anyway.

    If no registration was accepted, a person gets a note: then it is not known how a list shows a registered key.
    """
    registrar = context.registrar
    lists = KeyLists(registrar.log, registrar.profile)
    refused_but_listed = [*lists.valid_but_refused_and_listed(), *lists.without_token_and_listed()]
    if refused_but_listed and not accepted_registrations(registrar.log):
        _note_that_a_refused_key_is_listed(registrar, refused_but_listed[0].exchange)
    for refused in refused_but_listed:
        # If it is not certain that the service registered this key for the run, the key may belong to somebody else.
        # The run deletes only its own keys, so it does not take the value of this one.
        if not refused.is_certain:
            continue
        key = registrar.keys.key_of(refused.exchange)
        if key is None:
            continue
        # The request named a key, or the service made one. A made key counts as a key of this run only on a sandbox, or
        # if the profile says that nobody else registers RANDOM keys at this account.
        was_named_in_request = key.value is not None
        if was_named_in_request or registrar.keys.new_listed_key_is_of_run:
            registrar.keys.learn_value(key, refused.key)  # nothing changes if this value is known already


def _note_that_a_refused_key_is_listed(registrar: Registrar, exchange: Exchange) -> None:
    """Note for the report that the registration in this exchange was refused, but a list shows its key.

    No registration was accepted, so nobody can compare how the list shows a registered key. Somebody has to look.
    """
    text = say(
        "a registration was answered {answer} (exchange {number}), and the list shows its key: look whether it is "
        "registered",
        answer=answer_in_words(exchange),
        number=exchange.number,
    )
    registrar.client.door.note(NoteSubject.SET_UP, text)


def _ask_why_types_are_refused(context: _StepContext) -> None:
    """Send further registrations for each key type that the service refuses, to find out why it refuses the type."""
    send_refused_types_again(context.registrar)


def _repeat_types_refused_at_times(context: _StepContext) -> None:
    """Register a key again and again if its type was accepted and also refused: one server may not know the type."""
    repeat_types_refused_at_times(context.traffic, context.registrar)


_STEPS: tuple[Callable[[_StepContext], None], ...] = (
    _register_synthetic_key,  # first, because an account may have room for one more
    _send_keys_without_a_token,
    _send_other_schemes,
    _prepare_for_valid_registrations,
    _register_keys_of_the_profile,
    _send_other_name_of_random,
    _send_undocumented_types,
    _send_without_a_type,  # after the empty type, whose answer decides whether it is sent
    _register_keys_in_parallel,  # after each key was registered alone
    _send_remaining_wrong_tokens,
    _send_other_spellings,
    _register_random_keys,  # late, because a key that the service made may be beyond deletion
    _register_until_enough,  # after one key of each type was registered alone
    _clean_up,
    _learn_keys_that_were_refused_and_registered,
    _clean_up,
    _ask_why_types_are_refused,  # when all types were tried
    _repeat_types_refused_at_times,  # when each type has all its other answers
    _clean_up,
    _send_random_with_other_keys,  # at the end, because an account may have one RANDOM key only
    _clean_up,
)
"""The steps of the scenario, in their order. Each deletes the keys that it registered, if the profile lets it."""


# -- registrations that must be refused, or may be refused --------------------------------------------------------


def _attempts_with_synthetic_keys(
    registrar: Registrar, purpose: Registering, requests: list[UnauthorizedRequest]
) -> list[_Attempt]:
    """For each of these requests without the valid token, a registration of a made-up (synthetic) key.

    The registrations are not sent yet (`_Attempt`).
    """
    return [_Attempt(registrar.synthetic_key(), purpose, request.credential, request.spelling) for request in requests]


def _send_and_delete(
    registrar: Registrar, attempts: Sequence[_Attempt], *, beside_valid_requests: bool = False
) -> None:
    """Send registrations that the service must or may refuse, in parallel. Delete the keys that it registers.

    With `beside_valid_requests`, each is sent at the same moment as a companion of its own, which is a valid request
    that does nothing: some services accept a wrong token while a valid request is under way.

    Before the deletion, lists of keys are read after the purposes in LISTS_ARE_READ_AFTER, for example after a
    registration with an undocumented type. They show whether the service registered the key.
    """
    sends: list[Send] = []  # functions that send one registration each
    for attempt in attempts:
        send = partial(
            registrar.register,
            attempt.key_or_body,
            attempt.purpose,
            valid=False,
            credential=attempt.credential,
            spelling=attempt.spelling,
        )
        sends.append(send)
    if beside_valid_requests:
        answers = registrar.together.send_each_with_a_companion(_REGISTER, *sends)
    else:
        answers = registrar.together.send_all(sends)
    sent_registrations = [answer for answer in answers if answer.number]  # 0: not sent, because of limits.wrong_tokens
    may_be_listed = [answer for answer in sent_registrations if answer.purpose in LISTS_ARE_READ_AFTER]
    _read_lists_after_granted(registrar, may_be_listed)
    registrar.delete_keys_of(sent_registrations)


# -- registrations that must be accepted --------------------------------------------------------------------------


def _register_and_delete(
    registrar: Registrar, key: PixKey, requests_to_send: Callable[[], list[UnauthorizedRequest]]
) -> bool:
    """Register a key twice, and delete it. Returns True if it can be registered again afterwards.

    The second registration shows how the service answers if a key is registered already.

    `requests_to_send` returns requests without the valid token, which are sent between the two registrations. It is
    called only if the first registration is granted.

    If the first registration is refused, lists of keys are read, because a service at fault may have registered the
    key. They prove that only if the last list before the first registration could be read, and so shows that the key
    was absent.
    """
    was_list_readable = registrar.last_list is not None  # the last list before the first registration
    seems_free = registrar.keys.seems_free(key.key)
    purpose = Registering.FIRST_TIME if seems_free else Registering.PERHAPS_REGISTERED
    first_answer = registrar.register(key, purpose)
    if registered(first_answer):
        _send_next_without_token(registrar, key, requests_to_send())
        registrar.read_key_list()
        registrar.register(key, Registering.SECOND_TIME)
    elif was_list_readable:
        _read_lists_after_refusal(registrar, first_answer)
    is_deleted = registrar.delete_key_of(first_answer)  # also True if the registration was refused
    # Although it was refused, the key may be registered: by this run or by somebody else. Then it is not free.
    return is_deleted and registrar.keys.seems_free(key.key)


def _send_next_without_token(
    registrar: Registrar, registered_key: PixKey, requests: Sequence[UnauthorizedRequest]
) -> None:
    """Right after a granted registration, send registrations without the valid token. The service must refuse them.

    `UnauthorizedRequest.spelling` has marks that say how a request differs from a valid one. With the mark
    FOR_A_REGISTERED_KEY, the request names the registered key, because a service may look up the key before it checks
    the token. Any other request names a made-up (synthetic) key.

    The first one is sent alone, as the next request on the connection of the registration: a service at fault may
    remember the token of the last request on a connection. The others are sent in parallel.
    """
    attempts = []
    for request in requests:
        is_for_registered_key = FOR_A_REGISTERED_KEY in request.spelling
        key = registered_key if is_for_registered_key else registrar.synthetic_key()
        attempts.append(_Attempt(key, Registering.WITHOUT_A_TOKEN, request.credential, request.spelling))
    _send_and_delete(registrar, attempts[:1])
    _send_and_delete(registrar, attempts[1:])


def _register_and_delete_in_parallel(registrar: Registrar, keys: list[PixKey]) -> None:
    """Register these keys in parallel, and delete them. A service at fault may mix up parallel requests.

    Each key was registered alone and deleted before. If the run may read lists of keys, one is read at the same moment
    as the first registration. Lists that are read after the registrations show whether a key was lost.
    """
    together = registrar.together
    sends: list[Send] = []  # functions that send one registration each
    for key in keys:
        sends.append(partial(registrar.register, key, Registering.SIMULTANEOUS))
    if sends and registrar.may_read_list:
        purpose = KeyListing.BESIDE_A_REGISTRATION
        read = partial(registrar.client.send, "listPixKeys", registrar.account, valid=True, purpose=purpose)
        first_registration, *other_registrations = sends
        read_and_first_registration = together.pair_at_same_moment(read, first_registration)
        sends = [*read_and_first_registration, *other_registrations]
    together.send_all(sends)
    registrations = registrar.log.of(_REGISTER, Registering.SIMULTANEOUS)
    _read_lists_after_granted(registrar, registrations)
    registrar.delete_keys_of(registrations)


def _register_random(registrar: Registrar, key: PixKey) -> Text:
    """Ask for a RANDOM key, whose value the service makes, and delete it.

    Up to three bodies are sent, until one is not refused because of its content. There are several because the
    interface document does not show what pixKey has to be for a RANDOM key. After any other refusal, such as a 401, the
    next body would be refused, too.

    If the account perhaps has a RANDOM key whose value is not known, nobody can delete it. Then no further one is asked
    for, and the reason is returned. Otherwise the returned text is empty.
    """
    for body in _bodies_for_random(registrar, key):
        listing = registrar.read_key_list()  # first, because it may show that a key of unknown value is gone
        if registrar.has_random_key_of_unknown_value():
            return _how_to_delete_random_key(registrar.profile)
        answer = registrar.register(body, Registering.FIRST_TIME)
        if listing is not None:  # later lists show only in comparison with it that the service made a key
            _read_lists_after_refusal(registrar, answer)
        registrar.delete_key_of(answer)
        if not is_refused_for_its_content(answer):
            break
    return ""


def _how_to_delete_random_key(profile: Profile) -> Text:
    """Reason why no RANDOM key is asked for: one is left, and its value is not known. Tells the user how to delete it.

    `key_at` of the profile says where a list of keys shows a key. Without it, a person cannot see which key is left.
    """
    if profile.key_at is None:
        return RANDOM_LEFT_WITHOUT_KEY_AT
    return RANDOM_LEFT_WITH_KEY_AT.with_values(name=name_for_commands(profile))


def _bodies_for_random(registrar: Registrar, key: PixKey) -> list[dict[str, Any]]:
    """Bodies of registrations that may ask for a RANDOM key, the likeliest first.

    The field pixKey is as the profile has it (empty, as a rule), then a UUID, and at last the field is left out.
    """
    body = registration_body(key, registrar.account)
    body_with_uuid = {**body, "pixKey": str(uuid4())}
    body_without_key = {name: value for name, value in body.items() if name != "pixKey"}
    return [body, body_with_uuid, body_without_key]


# -- lists that are read after registrations ----------------------------------------------------------------------


def _read_lists_after_refusal(registrar: Registrar, exchange: Exchange) -> None:
    """Read the list of keys twice if a registration was refused, because the service may have registered the key.

    A refusal such as a 400 or 403 says that nothing was done (REFUSALS_WITHOUT_EFFECT). If two lists show the key after
    it, the service is at fault. After a conflict (409) or the answer of a gateway the key may be registered
    rightly, so the lists would prove nothing.
    """
    if refusal_or_failure(exchange) in REFUSALS_WITHOUT_EFFECT:
        registrar.read_key_list()
        registrar.read_key_list()


def _read_lists_after_granted(registrar: Registrar, registrations: list[Exchange]) -> None:
    """Read the list of keys twice if one of these registrations was granted, to see whether its key is there.

    A key that both lists lack may be lost. That is known only if an earlier list showed another registered key, so
    that lists of this service show such keys.
    """
    numbers_of_granted = [exchange.number for exchange in registrations if registered(exchange)]
    if not numbers_of_granted:
        return
    lists = KeyLists(registrar.log, registrar.profile)
    if lists.have_shown_an_accepted_key(before=min(numbers_of_granted)):
        registrar.read_key_list()
        registrar.read_key_list()
