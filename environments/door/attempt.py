"""One attempt over the wire: a total deadline, a limit on the body, and a clear word for every failure."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter

from environments.door.deadline import Deadline, use_watched_pools
from environments.door.failures import ERRORS, NO_PROXY, failure_of
from environments.profiles.profile import ProfileError
from spec.exchange import Failure, FailureKind, Response

CONNECT_TIMEOUT_S = 5.0
_CHUNK = 65_536
_KEPT_OF_A_CUT_BODY = 4_096
Result = tuple[requests.Response | None, Response | Failure]
"""The `requests` response with its body read, and ours; or None and the failure."""


@dataclass(frozen=True)
class WireSettings:
    """How the target is reached: seconds, bytes, and paths of TLS files."""

    timeout_s: float
    response_bytes: int
    verify: bool | str = True
    client_cert: str | None = None
    client_key: str | None = None
    client_key_passphrase: str | None = None
    proxy: str | None = None
    timer: Callable[..., threading.Timer] = field(default=threading.Timer, repr=False)


class Wire(HTTPAdapter):
    """A transport adapter without retries, redirects or unbounded reads."""

    def __init__(self, settings: WireSettings) -> None:
        self._settings = settings
        super().__init__(max_retries=0, pool_connections=1, pool_maxsize=4)

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **kwargs: Any) -> None:
        super().init_poolmanager(connections, maxsize, block, **kwargs, **self._tls())
        use_watched_pools(self.poolmanager)

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **kwargs, **self._tls())
        use_watched_pools(manager)
        return manager

    def _tls(self) -> dict[str, Any]:
        settings = self._settings
        if isinstance(settings.verify, str):
            _check_bundle(settings.verify)
        if settings.client_cert is None:
            return {}
        context = ssl.create_default_context()
        passphrase = settings.client_key_passphrase or ""  # without one OpenSSL would ask the terminal
        try:
            context.load_cert_chain(settings.client_cert, settings.client_key, passphrase)
        except (OSError, ValueError):
            reason = "not a certificate and its key in PEM, or the passphrase is wrong or missing"
            raise ProfileError(f"tls.client_cert, tls.client_key: {reason}") from None
        return {"ssl_context": context}

    @property
    def _timeouts(self) -> tuple[float, float]:
        """Seconds for the connection, and for the next byte."""
        return min(CONNECT_TIMEOUT_S, self._settings.timeout_s), self._settings.timeout_s

    @property
    def _proxies(self) -> dict[str, str]:
        return dict.fromkeys(("http", "https"), self._settings.proxy) if self._settings.proxy else {}

    def connect(self, base_url: str) -> str:
        """Open a connection, with TLS where the address asks for it, send nothing and close it. Why that fails; empty
        where it does not."""
        settings, request = self._settings, requests.Request("GET", base_url).prepare()
        with Deadline(settings.timeout_s, settings.timer) as deadline:
            try:
                pool: Any = self.get_connection_with_tls_context(request, settings.verify, self._proxies)
                self.cert_verify(pool, base_url, settings.verify, None)  # type: ignore[no-untyped-call]
                pool.timeout = urllib3.Timeout(connect=self._timeouts[0])
                with closing(pool._new_conn()) as connection:
                    tunnels = pool.proxy is not None and base_url.startswith("https:")
                    pool._prepare_proxy(connection) if tunnels else connection.connect()
            except ERRORS as error:
                failure = failure_of(error, deadline, settings.timeout_s)
                through = settings.proxy and failure.kind is not FailureKind.TLS
                return NO_PROXY if through else failure.message
        return ""

    def attempt(self, request: requests.PreparedRequest) -> Result:
        """Send once."""
        settings = self._settings
        with Deadline(settings.timeout_s, settings.timer) as deadline:
            try:
                raw = super().send(
                    request, stream=True, timeout=self._timeouts, verify=settings.verify, proxies=self._proxies
                )
                body, cut = _read(raw.raw, settings.response_bytes)
            except ERRORS as error:
                return None, failure_of(error, deadline, settings.timeout_s)
        raw._content = body
        raw._content_consumed = True  # type: ignore[attr-defined]
        headers = tuple((str(name), str(value)) for name, value in raw.raw.headers.items())
        return raw, Response(raw.status_code, headers, body, cut)


def _check_bundle(path: str) -> None:
    try:
        ssl.create_default_context(cafile=path)
    except (OSError, ValueError):
        raise ProfileError("tls.ca_bundle: no certificate of an authority in PEM") from None


def _read(raw: urllib3.BaseHTTPResponse, most: int) -> tuple[bytes, str]:
    """The body, decoded; or its beginning and the limit that cut it short."""
    parts: list[bytes] = []
    size = 0
    while size <= most:
        part = raw.read(_CHUNK, decode_content=True)
        if not part:
            raw.release_conn()
            return b"".join(parts), ""
        size += len(part)
        if size <= most:
            parts.append(part)
    raw.close()
    return b"".join(parts)[:_KEPT_OF_A_CUT_BODY], f"longer than limits.response_bytes ({most} bytes)"
