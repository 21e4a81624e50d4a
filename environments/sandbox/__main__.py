"""The sandbox alone: `python -m environments.sandbox --port 8080`."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
import threading

from environments.sandbox.server import Server
from environments.sandbox.service import Service

TOKEN_ENV = "PIX_SANDBOX_TOKEN"
ACCOUNT = "ac-0001"
CODE = "SBX-PHONE-1"

BANNER = """\
PIX sandbox   {url}   (Ctrl-C ends it, and forgets everything)
token         {token}
account       {account}
prepared code {code}

curl -H {header} {url}/v1/accounts/balance/{account}
curl -H {header} {url}/v1/execute/pix/{code}
"""


def main() -> int:
    """Serve until Ctrl-C or SIGTERM (exit status 0); a port that cannot be had is exit status 2."""
    options = _parser().parse_args()
    service = Service(token=os.environ.get(TOKEN_ENV))
    try:
        server = Server(service, options.host, options.port)
    except (OSError, OverflowError) as error:
        where = f"{options.host}, port {options.port}"
        print(f"error: cannot listen on {where}: {error}; try another --port", file=sys.stderr)
        return 2
    _serve(server, banner(server.base_url, service.token))
    return 0


def _serve(server: Server, text: str) -> None:
    for ending in (signal.SIGINT, signal.SIGTERM):  # a shell starts background processes with SIGINT ignored
        signal.signal(ending, signal.default_int_handler)
    try:
        with server:
            print(text, end="", flush=True)
            threading.Event().wait()
    except KeyboardInterrupt:
        print()


def banner(url: str, token: str) -> str:
    """What is printed at the start: all that is needed to try it."""
    header = shlex.quote(f"Authorization: Bearer {token}")
    return BANNER.format(url=url, token=token, account=ACCOUNT, code=CODE, header=header)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m environments.sandbox",
        description="Serve the PIX sandbox: made-up accounts and money, in memory.",
        epilog=f"The access token is taken from {TOKEN_ENV}; without it a random one is made.",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=0, help="port to listen on (default: a free one)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
