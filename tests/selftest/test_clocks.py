"""No self-test reads a clock. Instead of seconds, a self-test counts: requests, bytes, or calls of functions.

The only limit of time is HANG_LIMIT_S. It ends a test that would otherwise never end, and decides no other test.
"""

import re
from pathlib import Path

SELFTESTS = Path(__file__).parent
CLOCK = re.compile(
    r"time\.time\(|monotonic\(|perf_counter|process_time|\.elapsed\b|timeout=(?!None|HANG_LIMIT_S)|\.wait\([0-9]|communicate\([0-9]"
)
"""Calls in Python code that read a clock, or wait for a number of seconds."""


def test_no_self_test_reads_a_clock():
    """No file of self-tests reads a clock, because a test that depends on a clock fails on a busy machine.

    Only this file is found, because the regular expression in it names the functions that read a clock.
    """
    files_with_a_clock = [file.name for file in SELFTESTS.rglob("test_*.py") if CLOCK.search(file.read_text("utf-8"))]

    assert files_with_a_clock == [Path(__file__).name]
