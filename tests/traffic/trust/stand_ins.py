"""Stand-ins: what some services trust instead of a token, because a gateway sets it or a developer left it in.

Examples are a header with the name of a user, an address of the own network, or `?debug=true`. Each stand-in is sent
without the valid token, and its code, account and key are made up, so that the request can do no harm.

A family is a group of headers with one meaning, such as all headers that name a user. They are sent in one request: a
service that trusts one of them lets the request in. If it does, the two halves of the family are sent, then their
halves, until the header that is trusted is left alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import cycle
from random import Random

from environments.door.wrong_tokens import (
    FORMS_BY_NAME,
    FORMS_FOR_SYNTHETIC_IDENTIFIERS,
    NO_HEADER,
    WRONG_TOKEN,
    permitted_credential_forms,
    ways_with_the_documented_path,
)
from environments.profiles.model import Profile
from spec.exchange import VALID, Exchange, Headers
from spec.interface import KEY_TYPES, SYNTHETIC_PREFIX
from spec.log import Log

_ADDRESSES = (
    "X-Forwarded-For", "X-Real-IP", "X-Client-IP", "Client-IP", "True-Client-IP", "X-True-Client-IP",
    "CF-Connecting-IP", "Fastly-Client-IP", "X-Cluster-Client-IP", "X-Originating-IP", "X-Remote-IP", "X-Remote-Addr",
    "X-Forwarded", "Forwarded-For", "X-ProxyUser-IP",
)  # fmt: skip
"""Headers that proxies set to the address of the client. `Forwarded` (RFC 7239) has a form of its own."""
_FLAGS = (
    "X-Internal", "X-Internal-Request", "X-Internal-Call", "X-Is-Internal", "X-Internal-Service", "X-Trusted",
    "X-Gateway", "X-From-Gateway", "X-Gateway-Verified", "X-Authenticated", "X-Is-Authenticated", "X-Auth-Verified",
    "X-Token-Verified", "X-Verified", "X-Authorized", "X-Skip-Auth", "X-Auth-Skip", "X-Bypass-Auth", "X-Auth-Bypass",
    "X-No-Auth", "X-Admin", "X-Is-Admin", "X-Debug", "X-Test", "X-Test-Mode", "X-Health-Check", "X-Preview",
)  # fmt: skip
"""Headers that mark an internal or trusted caller. They are sent with the value `true`."""
_NAMES = {
    "X-Service-Name": "gateway", "X-Source": "internal", "X-Caller": "internal", "X-Env": "test",
    "X-Environment": "test", "X-Requested-With": "XMLHttpRequest", "Origin": "http://localhost",
    "Access-Control-Request-Method": "POST", "Referer": "http://localhost/", "X-Forwarded-Host": "localhost",
    "User-Agent": "kube-probe/1.29",
}  # fmt: skip
"""Headers that name an internal caller. Some services take a request with Origin and Access-Control-Request-Method for
the question of a browser that comes before another request (a preflight request of CORS), which has no token."""
_USERS = {
    "X-User-Id": "1", "X-UserId": "1", "X-User": "admin", "X-Username": "admin", "X-User-Name": "admin",
    "X-User-Email": "admin@localhost", "X-Authenticated-User": "admin", "X-Authenticated-Userid": "1",
    "X-Auth-User": "admin", "X-Auth-User-Id": "1", "X-Auth-Username": "admin", "X-Auth-Request-User": "admin",
    "X-Auth-Request-Email": "admin@localhost", "X-Forwarded-User": "admin", "X-Forwarded-Email": "admin@localhost",
    "X-Forwarded-Preferred-Username": "admin", "X-Remote-User": "admin", "Remote-User": "admin",
    "X-Webauth-User": "admin", "X-Consumer-Id": "1", "X-Consumer-Username": "admin", "X-Credential-Identifier": "admin",
    "X-Client-Id": "1", "X-Customer-Id": "1", "X-Account-Id": "1", "X-Subject": "admin", "X-Sub": "admin",
    "X-Principal": "admin", "X-Ms-Client-Principal-Name": "admin", "X-Amzn-Oidc-Identity": "admin", "X-Role": "admin",
    "X-Roles": "admin", "X-User-Role": "admin", "X-User-Roles": "admin", "X-Scope": "pix", "X-Scopes": "pix",
}  # fmt: skip
"""Headers by which a gateway names the user whom it has authenticated, with a value that a service may accept."""
_CERTIFICATES = {
    "X-SSL-Client-Verify": "SUCCESS", "X-Client-Verify": "SUCCESS", "SSL-Client-Verify": "SUCCESS",
    "X-Client-Cert-Verified": "true", "X-SSL-Client-S-DN": "CN=localhost", "X-Client-DN": "CN=localhost",
    "X-Client-Cert-Subject": "CN=localhost", "X-Client-Cert": "localhost", "X-SSL-Cert": "localhost",
    "X-Forwarded-Client-Cert": 'Subject="CN=localhost"',
}  # fmt: skip
"""Headers by which a gateway says that it has verified the certificate of the client."""
_KEYS = {
    "X-Api-Key": "test", "Api-Key": "test", "Apikey": "test", "X-Auth-Token": "test", "X-Access-Token": "test",
    "X-Token": "test", "X-Auth-Key": "test", "X-Service-Token": "test", "X-Internal-Token": "test",
    "X-Authorization": "Bearer test", "Proxy-Authorization": "Bearer test",
}  # fmt: skip
"""Headers that some services read instead of Authorization, each with a key or token that is easy to guess."""
_PATHS = (
    "X-Original-URL", "X-Original-URI", "X-Original-Path", "X-Rewrite-URL", "X-Rewrite-URI", "X-Override-URL",
    "X-Forwarded-URI", "X-Forwarded-URL", "X-Forwarded-Path", "X-Request-URI", "X-Envoy-Original-Path",
)  # fmt: skip
"""Headers that tell a service which path the client asked for, if a proxy has changed it."""
_METHODS = ("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-Original-Method", "X-Forwarded-Method")
"""Headers that tell a service which HTTP method it is to use instead of the method of the request."""
_PARTS_OF_A_QUERY = {
    "debug": "true", "test": "true", "admin": "true", "internal": "true", "access_token": "test", "token": "test",
    "api_key": "test", "apikey": "test", "user": "admin", "auth": "none",
}  # fmt: skip
"""Names and values in a query that some services trust."""
_COOKIES = ("session", "sessionid", "SESSION", "JSESSIONID", "connect.sid", "sid", "auth", "token", "access_token")
"""Usual names of a session, for a service that sets no cookie."""


def _address_headers(address: str) -> Headers:
    """All headers by which a proxy says from which address a client comes, with this address as their value.

    Some services need no token from a caller whose address is their own. `Forwarded` has a form of its own (RFC 7239).
    """
    return (*((name, address) for name in _ADDRESSES), ("Forwarded", f"for={address};proto=https"))


def _with_one_value(names: Iterable[str], value: str) -> Headers:
    """Headers with these names, each with the same value, such as `X-Admin: true` and `X-Debug: true`."""
    return tuple((name, value) for name in names)


# Names of families: a family is a group of headers with one meaning, which are sent in one request.
_USER = "a user or a certificate that a gateway has verified"
_INTERNAL = "a loopback address as that of the client, and marks of an internal caller"
_KEY = "other keys"
HOST = "another host, as if the caller was on the same machine"
FAMILIES: Mapping[str, Headers] = {
    _INTERNAL: (*_address_headers("127.0.0.1"), *_with_one_value(_FLAGS, "true"), *_NAMES.items()),
    "a private address as that of the client": _address_headers("10.0.0.1"),
    _USER: (*_USERS.items(), *_CERTIFICATES.items()),
    _KEY: tuple(_KEYS.items()),
    "another path or method, as if it was rewritten": (
        *_with_one_value(_PATHS, "/health"),
        *_with_one_value(_METHODS, "OPTIONS"),
    ),
    HOST: (("Host", "localhost"),),
}
"""Families of headers, by what a service may take them for."""
_FAMILIES_IN_ONE_REQUEST = (_INTERNAL, _USER, _KEY)
"""Families that do not disturb each other: beside a wrong token they go in one request."""
# Names of the other stand-ins.
QUERY = "parts of a query"
COOKIE = "a session cookie"
EVERYTHING = "all that a gateway sets"
"""A session cookie and the headers of several families in one request."""


@dataclass(frozen=True)
class StandIn:
    """A request without the valid token; with the default values a plain one, which has no token and no stand-in."""

    credential: str = NO_HEADER
    """The name of a wrong token, or of no Authorization header."""
    name: str = ""
    """What the request has instead of the token, in words; empty if it has nothing but the credential."""
    headers: Headers = ()
    query: Headers = ()
    key_type: str = "EMAIL"
    """The key type of a registration."""

    def parts(self) -> list[StandIn]:
        """Smaller stand-ins, each with a part of this one, to find out which part a service trusts instead of a token.

        They are the first and the second half of its headers, or of its query. The parts of EVERYTHING, which has a
        cookie and the headers of several families, are the cookie and these families. Empty if there is nothing to
        halve: a single header, for instance.
        """
        if self.name == EVERYTHING:
            families = [self._with_headers_of_family(name) for name in _FAMILIES_IN_ONE_REQUEST]
            cookie = tuple(pair for pair in self.headers if pair[0] == "Cookie")
            return [replace(self, name=COOKIE, headers=cookie), *families]
        halves = [replace(self, headers=half) for half in _halves(self.headers)]
        halves += [replace(self, query=half) for half in _halves(self.query)]
        return [half.named_by_its_only_part() for half in halves]

    def _with_headers_of_family(self, name: str) -> StandIn:
        """This request with only those of its headers that belong to a family, and with the name of that family.

        A family is a group of headers with one meaning: "marks of an internal caller" are X-Internal and the like.
        """
        names_of_family = dict(FAMILIES[name]).keys()
        headers_of_family = tuple(pair for pair in self.headers if pair[0] in names_of_family)
        return replace(self, name=name, headers=headers_of_family)

    def named_by_its_only_part(self) -> StandIn:
        """The same stand-in, named like its header or query part if it has only one, such as `X-User` or `?debug=`.

        A report shows the name. A cookie keeps its name, because the header `Cookie` would say less.
        """
        names = [*(name for name, _ in self.headers), *(f"?{name}=" for name, _ in self.query)]
        if len(names) != 1 or self.name == COOKIE:
            return self
        return replace(self, name=names[0])


NO_STAND_IN = StandIn()
"""A request without a token, and with nothing in its place."""


def _halves(pairs: Headers) -> list[Headers]:
    """The first and the second half of these pairs of a name and a value; empty if there are fewer than two pairs."""
    middle = (len(pairs) + 1) // 2
    return [pairs[:middle], pairs[middle:]] if len(pairs) > 1 else []


_WORDS_WITH_REAL_KEYS = (FORMS_BY_NAME["the text null"], FORMS_BY_NAME["the text undefined"])
"""Words that are sent as the token with real keys, too, but there with e-mail addresses alone."""


def stand_ins(
    operation: str, profile: Profile, token: str, cookies: Headers, seed: int = 0, ways_sent: Collection[str] = ()
) -> list[StandIn]:
    """All stand-ins that are sent to an operation instead of the token, the likeliest first:

    1. Headers, one family (group of headers about one thing) at a time; parts of a query; a session cookie.
    2. No token, in a request that is written in an unusual way.
    3. The cookie and all headers beside a wrong token: some services look at them only if there is a token.
    4. An empty bearer token, and wrong tokens of each form, such as a shortened one.

    `token` is the valid token, from which some wrong ones are made. `cookies` are names and values. `seed` decides
    which key type goes with which wrong token. `ways_sent` are the unusual ways in which requests without a token were
    written that had a real code or key. Outside a sandbox no request names a real person: headers have a made-up
    user, and registrations a made-up e-mail address.
    """
    families = dict(FAMILIES)
    if not profile.is_sandbox:
        families[_USER] = (*_with_one_value(_USERS, f"{SYNTHETIC_PREFIX}user"), *_CERTIFICATES.items())
    if profile.proxy:
        del families[HOST]  # a proxy may send the request to the machine that the header names
    everything: Headers = ()
    for name in _FAMILIES_IN_ONE_REQUEST:
        everything += families[name]
    cookie = (("Cookie", "; ".join(f"{name}={value}" for name, value in cookies)),)
    forms = FORMS_FOR_SYNTHETIC_IDENTIFIERS
    key_types = ["EMAIL"]
    if profile.is_sandbox and operation == "registerPixKey":
        # The check of the token may depend on the key type. There is no room for each wrong token with each type, so
        # the types take turns, and another seed pairs them in another way.
        forms = (*_WORDS_WITH_REAL_KEYS, *forms)
        key_types = Random(f"{seed} key types of stand-ins").sample(KEY_TYPES, len(KEY_TYPES))
    permitted_forms = permitted_credential_forms(profile, token, among=forms)
    with_wrong_tokens = [
        StandIn(form.name, key_type=key_type) for form, key_type in zip(permitted_forms, cycle(key_types), strict=False)
    ]
    return [
        *(StandIn(name=name, headers=headers) for name, headers in families.items()),
        StandIn(name=QUERY, query=tuple(_PARTS_OF_A_QUERY.items())),
        StandIn(name=COOKIE, headers=cookie),
        *_unusual_spellings(operation, profile, ways_sent),
        StandIn(WRONG_TOKEN, name=EVERYTHING, headers=(*cookie, *everything)),
        *_empty_bearer_with_each_key_type(operation, profile),
        *with_wrong_tokens,
    ]


def _unusual_spellings(operation: str, profile: Profile, ways_sent: Collection[str]) -> list[StandIn]:
    """Requests without a token that are written in an unusual way, such as with HTTP/1.0, but with the documented path.

    Some services do not check the token of such a request. On a sandbox those in `ways_sent` are left out, because
    they were sent with real codes or keys already, as far as limits.wrong_tokens has room for them.
    """
    ways = ways_with_the_documented_path(has_a_body=operation == "registerPixKey")
    if profile.is_sandbox:
        ways = [way for way in ways if way not in ways_sent]
    return [StandIn(name=way) for way in ways]


def ways_sent_without_token(log: Log, operation: str) -> set[str]:
    """The unusual ways to write a request, such as "a query", in which one without a token was sent to an operation."""
    ways: set[str] = set()
    for exchange in log.attempts(operation):
        if exchange.credential == NO_HEADER:
            ways.update(exchange.spelling)
    return ways


def _empty_bearer_with_each_key_type(operation: str, profile: Profile) -> list[StandIn]:
    """Registrations with an empty bearer token, one for each key type: the check of the token may depend on the type.

    EMAIL is left out, because e-mail addresses are registered with an empty bearer token, too. Empty outside a sandbox,
    because only e-mail addresses can be made up there, and empty for an execution.
    """
    if operation != "registerPixKey" or not profile.is_sandbox:
        return []
    return [StandIn("an empty bearer", key_type=key_type) for key_type in KEY_TYPES if key_type != "EMAIL"]


def cookies_of(log: Log, profile: Profile) -> Headers:
    """Cookies that some services accept instead of the token, because they name a session: names and values.

    On a sandbox they are those that the service set in its answers to the valid token. If it set none, they have usual
    names and a made-up value. Outside a sandbox they are always made up, because a real session is worth as much as the
    token.
    """
    made_up_cookies = _with_one_value(_COOKIES, f"{SYNTHETIC_PREFIX}session")
    if not profile.is_sandbox:
        return made_up_cookies
    cookies: dict[str, str] = {}  # a later value of a cookie replaces an earlier one
    for exchange in log:
        if exchange.credential == VALID:
            cookies.update(_cookies_set_by(exchange))
    return tuple(cookies.items()) or made_up_cookies


def _cookies_set_by(exchange: Exchange) -> Iterator[tuple[str, str]]:
    """Name and value of each cookie that an answer sets with a header such as `Set-Cookie: sid=abc; Path=/`.

    Cookies with an empty value are left out, because they delete a cookie.
    """
    for name, value in exchange.response.headers if exchange.response else ():
        cookie, _, content = value.partition(";")[0].strip().partition("=")
        if name.lower() == "set-cookie" and cookie and content:
            yield cookie, content
