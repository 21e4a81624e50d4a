"""What a run says of itself while it runs: true numbers, on a line that leaves no trace."""

import os
import re
import signal

import pytest

from reports.progress import Pace, Progress
from reports.verdicts import Verdict
from tests.selftest.services.running import run, write_profile
from tests.selftest.services.screens import Watched, on_terminal, seen_on

FOUND = {Verdict.OBSERVED: 12, Verdict.PASS: 61, Verdict.FAIL: 2}


@pytest.mark.parametrize(
    ("progress", "line"),
    [
        (Progress(0), "0 requests"),
        (Progress(1, 1), "1 of at most 1 request"),
        (Progress(0, 900), "0 of at most 900 requests"),
        (Progress(143, rate=9.8), "143 requests, 9.8/s"),
        (Progress(143, 900, rate=9.84), "143 of at most 900 requests, 9.8/s, at most 77 s left"),
        (Progress(143, 900, rate=123.4), "143 of at most 900 requests, 123/s, at most 7 s left"),
        (Progress(100, 900, rate=2.0), "100 of at most 900 requests, 2.0/s, at most 7 min left"),
        (Progress(100, 900, rate=0.1), "100 of at most 900 requests, 0.1/s, at most 3 h left"),
        (Progress(100, 900, rate=0.001), "100 of at most 900 requests, 0.0/s"),
        (Progress(100, 900, rate=0.0), "100 of at most 900 requests, 0.0/s"),
        (Progress(900, 900, rate=9.8), "900 of at most 900 requests, 9.8/s"),
        (Progress(901, 900, rate=9.8), "901 requests, 9.8/s"),
        (Progress(7, verdicts=FOUND), "7 requests; 2 fail, 61 pass, 12 observed"),
        (Progress(7, requirement="executePix.json"), "7 requests; executePix.json"),
        (
            Progress(143, 900, 9.8, FOUND, "executePix.document.masked"),
            "143 of at most 900 requests, 9.8/s, at most 78 s left; 2 fail, 61 pass, 12 observed; "
            "executePix.document.masked",
        ),
    ],
)
def test_a_line(progress, line):
    """What is not known, or would be absurd, is left out."""
    assert str(progress) == line


def test_the_rate_is_that_of_the_last_seconds():
    """A service that slows down is seen to do so within ten seconds."""
    pace = Pace()
    rates = [pace.rate(float(second), 20 * min(second, 10)) for second in range(0, 31, 2)]

    assert rates[:6] == [None, 20, 20, 20, 20, 20]
    assert rates[6:] == [16, 12, 8, 4, 0, 0, 0, 0, 0, 0]


def test_the_rate_of_rare_looks():
    """It is that of the time since the last one."""
    pace = Pace()

    assert [pace.rate(at, sent) for at, sent in ((0.0, 5), (15.0, 155), (30.0, 455))] == [None, 10, 20]


def sent_by(folder, option):
    """What a run with a seed sends of generated requests, without the random part of synthetic identifiers."""
    with Watched(0, "") as service:
        selected = ("-m", "property", "-k", "fuzzing or coverage")
        run(write_profile(folder, service.base_url), *selected, "--seed=5", "--parallel=1", option)
        return [(one.method, re.sub("pixconf-[^/?]*", "", one.path), one.body) for one in service.seen]


def test_the_estimate_changes_no_request(tmp_path):
    """With a seed the same requests are sent whether it is made, or with -q is not."""
    shown, quiet = sent_by(tmp_path, "-v"), sent_by(tmp_path, "-qq")

    assert shown == quiet


def without_times(lines):
    """Lines of pytest without what changes from run to run."""
    return [re.sub(r"127\.0\.0\.1:\d+|in \d+\.\d+s|=+", "", line) for line in lines]


@pytest.mark.parametrize(("columns", "options"), [(80, []), (40, ["-v"]), (80, ["-rA"]), (80, ["-n", "2"])])
def test_nothing_of_it_stays(columns, options, tmp_path):
    """What stands on the terminal in the end is the same as without it."""
    with Watched(20, " requests") as held:
        shown = on_terminal(held, write_profile(tmp_path, held.base_url), *options, columns=columns)
    with Watched(0, "") as service:
        profile = write_profile(tmp_path, service.base_url)
        plain = on_terminal(service, profile, *options, "-p", "no:conformance-feedback", columns=columns)

    assert without_times(seen_on(columns, shown[1])) == without_times(seen_on(columns, plain[1]))
    assert (shown[0], held.shown.is_set(), "[?25l" in plain[1]) == (0, True, False)


def test_a_stopped_run_leaves_the_terminal_as_it_was(tmp_path):
    """After Ctrl-C the line is gone and the cursor is there."""
    with Watched(20, "20 of at most", lambda pid: os.kill(pid, signal.SIGINT)) as service:
        status, output = on_terminal(service, write_profile(tmp_path, service.base_url))
    lines = seen_on(80, output)

    assert (status, "INTERRUPTED" in output) == (2, True)
    assert not [line for line in lines if "of at most" in line]
    assert output.rfind("\x1b[?25h") > output.rfind("\x1b[?25l")
