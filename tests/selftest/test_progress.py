"""What a run says of itself while it runs: true numbers, on a line that leaves no trace."""

import os
import pty
import re
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from reports.progress import Progress, RecentRate
from reports.verdicts import Verdict
from tests.harness.live_line import Terminal
from tests.harness.screen import Log
from tests.selftest.generated_runs import generated
from tests.selftest.services.running import run, write_profile
from tests.selftest.services.screens import Watched, in_log, on_terminal, printed_on, seen_on

PROGRESS = re.compile(r"\d+ (of at most \d+ )?requests?(,|;|$)", re.MULTILINE)
AT = 9
"""The request whose answer waits for the line."""
DRAWN = "\x1b[?25l"
"""Rich hides the cursor once, when it begins to draw."""
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
    recent = RecentRate()
    rates = [recent.at(float(second), 20 * min(second, 10)) for second in range(0, 31, 2)]

    assert rates[:6] == [None, 20, 20, 20, 20, 20]
    assert rates[6:] == [16, 12, 8, 4, 0, 0, 0, 0, 0, 0]


def test_the_rate_of_rare_looks():
    """It is that of the time since the last one."""
    recent = RecentRate()

    assert [recent.at(at, sent) for at, sent in ((0.0, 5), (15.0, 155), (30.0, 455))] == [None, 10, 20]


def sent_by(folder, option):
    """What a run with a seed sends of generated requests, without the random part of synthetic identifiers."""
    with Watched(0) as service:
        selected = ("-m", "property", *generated("fuzzing"), *generated("coverage"))
        run(write_profile(folder, service.base_url), *selected, "--seed=5", "--parallel=1", option)
        return [(one.method, re.sub("pixconf-[^/?]*", "", one.path), one.body) for one in service.seen]


def test_the_estimate_changes_no_request(tmp_path):
    """With a seed the same requests are sent whether it is made, or with -q is not."""
    shown, quiet = sent_by(tmp_path, "-v"), sent_by(tmp_path, "-qq")

    assert shown == quiet


def without_times(text):
    """What pytest prints without what changes from run to run."""
    return re.sub(r"127\.0\.0\.1:\d+|i\n?n\s+\d[\d\n]*\.[\d\n]+s|\(SHA256SUMS\) =(?:\s*[0-9a-f]){64}|=+", "", text)


def without_progress(log):
    """What stands around the lines of progress: where one is in the middle of a line, the line goes on below it."""
    kept, was_progress = "", False
    for line in log.splitlines(keepends=True):
        before = kept.removesuffix("\n").rpartition("\n")[2]
        if was_progress and before and line.startswith(" " * len(before)):
            kept, line = kept.removesuffix("\n"), line[len(before) :]
        was_progress = bool(PROGRESS.match(line))
        kept += "" if was_progress else line
    return kept


def plain(print_to, folder, *options, **more):
    """The output of a run without a line of progress."""
    with Watched(0) as service:
        profile = write_profile(folder, service.base_url, limits={"parallel": 1})
        return print_to(service, profile, *options, "-p", "no:conformance-feedback", **more)[1]


TERMINALS = [(80, []), (40, ["-v"]), (80, ["-rA"])]


@pytest.mark.parametrize(("columns", "options"), TERMINALS)
def test_nothing_of_it_stays(columns, options, tmp_path):
    """What stands on the terminal in the end is the same as without it."""
    with Watched(AT) as service:
        profile = write_profile(tmp_path, service.base_url, limits={"parallel": 1})
        status, output = on_terminal(service, profile, *options, columns=columns)
    expected = plain(on_terminal, tmp_path, *options, columns=columns)

    assert (status, service.shown.is_set()) == (0, True)
    assert without_times("\n".join(seen_on(columns, output))) == without_times("\n".join(seen_on(columns, expected)))
    assert DRAWN not in expected


@pytest.mark.parametrize("options", [["-v"], ["-s"]], ids=" ".join)
def test_a_log_has_it_in_lines_of_its_own(options, tmp_path):
    """There are no control codes, and what pytest prints goes on below as if nothing had been between."""
    with Watched(AT) as service:
        status, output = in_log(service, write_profile(tmp_path, service.base_url, limits={"parallel": 1}), *options)

    assert (status, service.shown.is_set(), "\x1b" in output, "\r" in output) == (0, True, False, False)
    assert without_times(without_progress(output)) == without_times(plain(in_log, tmp_path, *options))


@pytest.mark.parametrize("print_to", [on_terminal, in_log])
def test_quiet_is_quiet(print_to, tmp_path):
    """With -q there is none, neither on a terminal nor in a log."""
    with Watched(0) as service:
        _, output = print_to(service, write_profile(tmp_path, service.base_url, limits={"parallel": 1}), "-q")

    assert without_times(output) == without_times(plain(print_to, tmp_path, "-q"))


@pytest.mark.parametrize(
    ("option", "variables"), [("-s", {}), ("-v", {"TERM": "dumb"}), ("-rA", {"CI": "true"})], ids=str
)
def test_a_terminal_that_is_not_to_be_drawn_on(option, variables, tmp_path):
    """It gets the lines of a log: where tests print, where the terminal cannot do it, where CI keeps what is printed."""
    with Watched(AT) as service:
        _, output = on_terminal(
            service, write_profile(tmp_path, service.base_url, limits={"parallel": 1}), option, **variables
        )

    expected = plain(on_terminal, tmp_path, option, **variables)

    assert (service.shown.is_set(), DRAWN in output) == (True, False)
    output, expected = (re.sub(r"\x1b\[[\d;]*m|\r", "", text) for text in (output, expected))
    assert without_times(without_progress(output)) == without_times(expected)


def test_a_run_without_colours(tmp_path):
    """NO_COLOR is about colours: the line is there."""
    with Watched(AT) as service:
        _, output = on_terminal(
            service, write_profile(tmp_path, service.base_url, limits={"parallel": 1}), NO_COLOR="1"
        )

    assert (DRAWN in output, re.search(r"\x1b\[[\d;]*m", output)) == (True, None)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_leaves_the_terminal_as_it_was(number, tmp_path):
    """After Ctrl-C the line is gone and the cursor is there."""
    with Watched(AT, lambda pid: os.kill(pid, number)) as service:
        status, output = on_terminal(service, write_profile(tmp_path, service.base_url, limits={"parallel": 1}))

    assert (status, "INTERRUPTED" in output) == (2, True)
    assert_is_gone(output)


def test_a_run_that_is_killed_leaves_the_cursor(tmp_path):
    """It can bring nothing back."""
    with Watched(AT, lambda pid: os.kill(pid, signal.SIGKILL)) as service:
        status, output = on_terminal(service, write_profile(tmp_path, service.base_url, limits={"parallel": 1}))

    assert (status, output.rfind("\x1b[?25h") > output.rfind(DRAWN) > 0) == (-signal.SIGKILL, True)


@pytest.mark.parametrize("print_to", [on_terminal, in_log])
def test_what_pytest_prints_beside_it_is_redacted(print_to, tmp_path):
    """The line stands below the pen, and pytest writes above it."""
    with Watched(AT) as service:
        profile = write_profile(tmp_path, service.base_url, limits={"parallel": 1})
        _, output = print_to(service, profile, SAYS=f"the token is {service.service.token}")

    assert "the token is <token>" in output
    assert service.service.token not in output


class OftenInALog(Log):
    """A log with a line all the time."""

    every_s = 0.001


class OftenOnATerminal(Terminal):
    """A terminal with a line that is drawn all the time."""

    every_s = 0.001


def test_a_line_that_cannot_be_made_is_none(tmp_path):
    """The run goes on without."""
    asked = threading.Semaphore(0)

    def fails():
        asked.release()
        raise ZeroDivisionError

    with open(tmp_path / "log", "w", encoding="ascii") as file:
        screen = OftenInALog(file, fails)
        screen.start()
        screen.write("a line\n")
        for _ in range(3):
            asked.acquire()
        screen.stop()
        screen.write("the last line\n")

    assert (tmp_path / "log").read_text() == "a line\nthe last line\n"


def test_on_a_terminal_it_stands_below_what_pytest_has_printed():
    """At any time, also where pytest's line is unfinished, and on a terminal that does not know its size."""
    asked = threading.Semaphore(0)
    terminal, its_end = pty.openpty()
    printed = ThreadPoolExecutor(1).submit(lambda: [*printed_on(terminal)][-1])
    with os.fdopen(its_end, "w", encoding="ascii") as file:
        screen = OftenOnATerminal(file, lambda: asked.release() or "PROGRESS")
        screen.write("test_a.py .")
        screen.start()
        for text in (".", " [50%]\ntest_b.py ", "."):
            for _ in range(3):
                asked.acquire()
            screen.write(text)
        screen.stop()
        screen.write("\n")
    output = printed.result()
    drawn = [seen_on(80, output[: found.end()]) for found in re.finditer("PROGRESS", output)]

    assert {tuple(lines) for lines in drawn} == {
        ("test_a.py .", "PROGRESS"),
        ("test_a.py ..", "PROGRESS"),
        ("test_a.py .. [50%]", "test_b.py", "PROGRESS"),
        ("test_a.py .. [50%]", "test_b.py .", "PROGRESS"),
    }
    assert seen_on(80, output)[:3] == ["test_a.py .. [50%]", "test_b.py .", ""]


@pytest.mark.parametrize("ends", ["pytest.exit", "an internal error"])
def test_however_a_run_ends_the_line_is_gone(ends, tmp_path):
    """Nothing is printed into what pytest says of it."""
    with Watched(AT) as service:
        status, output = on_terminal(
            service, write_profile(tmp_path, service.base_url, limits={"parallel": 1}), ENDS=ends
        )

    assert (status, DRAWN in output) == (3, True)
    assert_is_gone(output)


def assert_is_gone(output):
    """No line of progress stands on the terminal, nothing was drawn after the heading of the summary, and the cursor
    is there."""
    assert not [line for line in seen_on(80, output) if PROGRESS.match(line)]
    assert "\x1b[2K" not in output.partition(" conformance =")[2]
    assert output.rfind("\x1b[?25h") > output.rfind(DRAWN)
