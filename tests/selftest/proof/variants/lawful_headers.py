"""Headers of answers that no request asked for."""

from __future__ import annotations

from environments.sandbox import Headers, Request, Response
from tests.selftest.proof.registry import lawful, variant
from tests.selftest.proof.variants.lawful_making import Finishes

SETS: dict[str, Headers] = {
    "Cookies": (("Set-Cookie", "JSESSIONID=1; Path=/; Secure; HttpOnly"), ("Set-Cookie", "lb=7; Max-Age=-1")),
    "90Headers": tuple((f"X-Further-{number}", "value") for number in range(88)),
    "ALongHeader": (("X-Long", "v" * 60_000),),
    "OddValues": (
        ("X-Empty", ""),
        ("X-Latin", "não é ASCII"),
        ("X-Odd", ' "\t,;='),
        ("X_Under", "1"),
        ("!#$%&'*+-.^`|~", "t"),
    ),
    "HeadersTwice": (("X-Request-Id", "1"), ("X-Request-Id", "2"), ("Date", "yesterday")),
    "Security": (("Strict-Transport-Security", "max-age=1"), ("Content-Security-Policy", "default-src 'none'")),
    "Caching": (("ETag", 'W/"1"'), ("Age", "77"), ("Cache-Control", "max-age=600"), ("Last-Modified", "never")),
    "RetryAfter": (("Retry-After", "3600"), ("X-RateLimit-Remaining", "0"), ("RateLimit-Reset", "60")),
    "ALocation": (("Location", "https://elsewhere.example.test/"), ("Refresh", "0; url=/login"), ("Link", "</next>")),
    "AChallenge": (("WWW-Authenticate", "Bearer"), ("Proxy-Authenticate", "Basic")),
    "AnUpgrade": (("Upgrade", "h2c"), ("Alt-Svc", 'h3=":443"'), ("Trailer", "X-Sum"), ("Accept-Ranges", "bytes")),
    "ADeprecation": (
        ("Deprecation", "@1688169599"),
        ("Sunset", "Sat, 31 Dec 2022 23:59:59 GMT"),
        ("Warning", '299 - "old"'),
    ),
    "ALanguage": (("Content-Language", "pt-BR"), ("Vary", "*"), ("Content-Disposition", "attachment; filename=x.json")),
}


class Adds(Finishes):
    """The sandbox with further headers in every answer."""

    FURTHER: Headers = ()

    def changed(self, request: Request, response: Response) -> Response:
        return Response(response.status, response.body, (*response.headers, *self.FURTHER))


ALONE = ("Cookies", "90Headers", "ALongHeader", "OddValues", "RetryAfter", "ALocation")
lawful(
    "header", "SendsManySorts", "Every answer has headers of many sorts.", Adds,
    FURTHER=tuple(header for name, headers in SETS.items() if name not in ALONE for header in headers),
)  # fmt: skip
for _name, _headers in ((name, SETS[name]) for name in ALONE):
    lawful("header", f"Sends{_name}", f"Every answer has {_name}.", Adds, FURTHER=_headers)


@variant("header")
class HeaderNamesInUpperCase(Finishes):
    """The names of headers are written in capital letters, Content-Length too."""

    def changed(self, request: Request, response: Response) -> Response:
        headers = tuple((name.upper(), value) for name, value in response.headers)
        return Response(response.status, response.body, (*headers, ("CONTENT-LENGTH", str(len(response.body)))))


@variant("header")
class RepeatsTheRequestsHeaders(Finishes):
    """Every answer repeats the headers of its request, but for the token."""

    def changed(self, request: Request, response: Response) -> Response:
        told = {name: value for name, value in request.headers.items() if name != "authorization" and value.isascii()}
        repeated = tuple((f"X-Echo-{name}", value) for name, value in told.items())
        return Response(response.status, response.body, (*response.headers, *repeated))
