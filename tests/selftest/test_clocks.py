"""No self-test reads a clock: its bounds are counts, sizes, and ratios to something measured beside it.

HANG_LIMIT_S bounds a test that would otherwise hang for ever; no test is decided by it.
"""

import re
from pathlib import Path

HERE = Path(__file__).parent
CLOCK = re.compile(
    r"time\.time\(|monotonic\(|perf_counter|process_time|\.elapsed\b|timeout=(?!None|HANG_LIMIT_S)|\.wait\([0-9]|communicate\([0-9]"
)


def test_no_self_test_reads_a_clock():
    """No file of self-tests reads a clock, because a test that depends on a clock fails on a busy machine.

    This file is the only one that is found, because it names the functions.
    """
    files_with_a_clock = [file.name for file in HERE.rglob("test_*.py") if CLOCK.search(file.read_text("utf-8"))]

    assert files_with_a_clock == [Path(__file__).name]
