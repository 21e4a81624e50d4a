"""An exception that nobody catches ends a command (`python -m environments`, `reports`, `spec`) with exit status 3 and
one line: Python ends with 1 then, which is a verdict on the service, or keys that are left.

Whoever starts a command imports this module among the first. Under pytest, `tests/harness/process.py` has a hook of its
own, which came before.
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import NoReturn

_INTERRUPTED, _INTERNAL_ERROR = 2, 3
"""Exit statuses, as those of pytest."""
_ROOT = Path(__file__).parents[1]


def place_of(trace: TracebackType | None) -> str:
    """The last place in our own files that an exception passed through, such as ` (reports/result/run.py:12)`."""
    frames = [frame for frame in traceback.extract_tb(trace) if Path(frame.filename).is_relative_to(_ROOT)]
    ours = [frame for frame in frames if ".venv" not in Path(frame.filename).parts]
    return f" ({Path(ours[-1].filename).relative_to(_ROOT)}:{ours[-1].lineno})" if ours else ""


def _end_with_one_line(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> NoReturn:
    """Say which exception it was, without its message, which may hold a value of the profile. Python takes the exit
    status from a SystemExit of this hook."""
    if issubclass(kind, KeyboardInterrupt):
        print("error: interrupted", file=sys.stderr, flush=True)
        raise SystemExit(_INTERRUPTED)
    what = f"{kind.__name__}{place_of(trace)}"
    print(f"error: {what}: a fault of the suite, and no verdict on the service", file=sys.stderr, flush=True)
    raise SystemExit(_INTERNAL_ERROR)


if sys.excepthook is sys.__excepthook__:
    sys.excepthook = _end_with_one_line
