"""The sandbox alone: `python -m environments.sandbox --port 8080`.

Self-tests: environments/test_command_line.py, environments/test_sandbox.py.
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
import threading
from collections.abc import Sequence

from environments.command_line import WRONG_USE, CommandParser
from environments.sandbox import Server, Service

TOKEN_ENV = "PIX_SANDBOX_TOKEN"
"""The variable with the token of the sandbox."""
BANNER = """\
PIX sandbox   {url}   (Ctrl-C ends it, and forgets everything)
token         {token}
account       ac-0001
prepared code SBX-PHONE-1

curl -H {header} {url}/v1/accounts/balance/ac-0001
curl -H {header} {url}/v1/execute/pix/SBX-PHONE-1
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Start the sandbox, print its address and token, and serve until Ctrl-C or SIGTERM.

    Returns the exit status: 0, or 4 if the port cannot be used.
    """
    parser = CommandParser(
        prog="python -m environments.sandbox",
        description="Serve the PIX sandbox: made-up accounts and money, in memory. Ctrl-C ends it.",
        epilog=f"The access token is that of the variable {TOKEN_ENV}; without it a random one is made.",
    )
    parser.add_argument("--port", type=int, default=0, help="port to listen on (default: a free one)")
    options = parser.parse_args(arguments)
    service = Service(token=os.environ.get(TOKEN_ENV))
    try:
        server = Server(service, port=options.port)
    except (OSError, OverflowError) as error:
        print(f"error: cannot listen on port {options.port}: {error}; try another --port", file=sys.stderr)
        return WRONG_USE
    for ending in (signal.SIGINT, signal.SIGTERM):  # a shell starts background processes with SIGINT ignored
        signal.signal(ending, signal.default_int_handler)
    header = shlex.quote(f"Authorization: Bearer {service.token}")
    try:
        with server:
            print(BANNER.format(url=server.base_url, token=service.token, header=header), end="", flush=True)
            threading.Event().wait()
    except KeyboardInterrupt:
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
