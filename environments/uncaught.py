"""An exception that nobody catches ends a command with exit status 3 and one line.

Python alone would end with 1, which is the status of a verdict on the service, or of keys that are not cleaned up. The
commands are `python -m environments`, `reports` and `spec`. Importing this module installs the hook, so each of them
imports it among the first. Under pytest, `tests/harness/process.py` has a hook of its own, which was there before.
"""

from __future__ import annotations

import errno
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import NoReturn

_INTERRUPTED = 2
_INTERNAL_ERROR = 3
"""Exit statuses, which are the same as in pytest."""
_ERRORS_OF_A_FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Here they can only be about the printed output, because a command catches those about its files itself."""
_ROOT = Path(__file__).parents[1]


def place_of(trace: TracebackType | None) -> str:
    """The file and line of the suite where an exception was raised: ` (reports/result/run.py:12)`, with the blank.

    If a library raised it, it is the line of the suite that called the library. Empty if the traceback has no file of
    the suite.
    """
    for frame in reversed(traceback.extract_tb(trace)):  # the innermost call first
        file = Path(frame.filename)
        is_of_a_library = ".venv" in file.parts  # libraries may be installed within the folder of the suite
        if file.is_relative_to(_ROOT) and not is_of_a_library:
            return f" ({file.relative_to(_ROOT)}:{frame.lineno})"
    return ""


def _end_with_one_line(type_: type[BaseException], error: BaseException, trace: TracebackType | None) -> NoReturn:
    """Print in one line which exception nobody caught, and end the process with a status that is no verdict.

    Python calls this, because it is set as `sys.excepthook`, and takes the exit status from the SystemExit. The message
    of the exception is left out, because it may have a secret value of the profile.
    """
    if issubclass(type_, KeyboardInterrupt):
        print("error: interrupted", file=sys.stderr, flush=True)
        raise SystemExit(_INTERRUPTED)
    cause = f"{type_.__name__}{place_of(trace)}: a fault of the suite, and no verdict on the service"
    if isinstance(error, OSError) and error.errno in _ERRORS_OF_A_FULL_DISK:
        cause = f"the output cannot be written: {error.strerror}"
    print(f"error: {cause}", file=sys.stderr, flush=True)
    raise SystemExit(_INTERNAL_ERROR)


if sys.excepthook is sys.__excepthook__:  # nobody else, such as pytest's process, has a hook
    sys.excepthook = _end_with_one_line
