"""The pages of the documentation are right: their examples, tables, names and links are those of the code today."""

import inspect
import re
import sys
from pathlib import Path

import pytest

from environments.door.client import Client
from environments.door.door import Door
from environments.profiles.parts import PERMISSIONS
from environments.sandbox import Service
from reports.result.verdicts import RunVerdict, Verdict
from spec.__main__ import page
from spec.requirements import LEVELS, read_yaml
from tests.selftest.proof.directly import sent_in_memory
from tests.selftest.sample import GOOD_IN_README as GOOD_RUN_IN_README
from tests.selftest.sample import (
    IN_README,
    README,
    differences_from_readme,
    summary_of_failing_run,
    summary_of_good_run,
)
from tests.selftest.screenshots import HEADLINES, PICTURES, SANDBOX, STAGING
from tests.selftest.shared_runs import shared_run

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]


def test_requirements_page_is_current():
    """spec/requirements.md is what `python -m spec` prints from the requirements."""
    text = (ROOT / "spec" / "requirements.md").read_text("utf-8")

    assert text == "\n".join(page()) + "\n", "run: python -m spec > spec/requirements.md"


def test_sample_output_in_the_readme_is_current():
    """README.md shows what a run prints today.

    After a change on purpose `python -m tests.selftest.sample` writes it anew.
    """
    (in_readme,) = IN_README.findall(README.read_text("utf-8"))

    summary_of_today = summary_of_failing_run()
    differences = differences_from_readme(in_readme, summary_of_today)

    assert differences == [], "on purpose? run: python -m tests.selftest.sample"


def test_a_stale_line_of_the_readme_says_which_behaviour_changed():
    """If a run prints another line than README.md shows, the failing test says what the line is about, and both texts."""
    (in_readme,) = IN_README.findall(README.read_text("utf-8"))
    output_of_run = in_readme.replace("3 requests", "4 requests").replace("  implied      1 pass\n", "")

    differences = differences_from_readme(in_readme, output_of_run)

    assert differences_from_readme(in_readme, in_readme) == []
    assert differences == [
        "the target, the transfers and the requests: README.md has "
        "'staging at https://staging.example.test, a sandbox: 1 transfer executed, 3 requests', a run says "
        "'staging at https://staging.example.test, a sandbox: 1 transfer executed, 4 requests'",
        "how many requirements of a level were tested: README.md has '  implied      1 pass', a run says None",
    ]


def test_the_good_run_in_the_readme_has_the_numbers_of_today():
    """The run without a failure in README.md has the number of requirements that the suite has today, at each level."""
    [good_run_in_readme] = GOOD_RUN_IN_README.findall(README.read_text("utf-8"))

    assert good_run_in_readme == summary_of_good_run()


def test_each_picture_has_the_headline_of_a_run_today():
    """The headline in each screenshot is the headline of a run today. If it changes, run `make screenshots`.

    The run with a failure takes long, so it is not made here. Its headline is written in this test, with the number of
    requirements of today, which the headline of the other run has.
    """
    headline_of_partial_run = shared_run("partial").document["headline"]  # not a sandbox, and it only reads
    number_of_requirements = re.search(r"\d+ of (\d+) requirements tested$", headline_of_partial_run)[1]
    headline_of_failing_run = (
        "NON-CONFORMANT, everything permitted: fails 1 documented requirement, "
        f"{number_of_requirements} of {number_of_requirements} requirements tested"
    )
    headline_by_run = {SANDBOX: headline_of_failing_run, STAGING: headline_of_partial_run}
    headlines_today = {name: headline_by_run[picture.run] for name, picture in PICTURES.items()}

    headlines_in_pictures = read_yaml(HEADLINES)

    assert headlines_in_pictures == headlines_today


def test_every_picture_is_shown_on_a_page():
    """Each screenshot that `make screenshots` makes exists as a file, and a page of the documentation shows it."""
    pictures_shown = set()
    for path_of_page in PAGES:
        pictures_shown.update(re.findall(r"screenshots/([a-z-]+)\.png", path_of_page.read_text("utf-8")))

    picture_files = {path.stem for path in HEADLINES.parent.glob("*.png")}

    assert picture_files == PICTURES.keys()
    assert pictures_shown == PICTURES.keys()


FOLDERS = ("spec", "environments", "reports", "tests")
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text("utf-8")


def section(title):
    """The text of the section of ARCHITECTURE.md with this title, without the title."""
    _, _, from_the_section_on = ARCHITECTURE.partition(f"## {title}\n")
    text_of_section, _, _ = from_the_section_on.partition("\n## ")
    return text_of_section


def test_the_order_of_the_door_is_documented():
    """ARCHITECTURE.md lists what the door does with a request, in the order of the code.

    The door is the one place through which requests are sent. Its policies may refuse a request, then an attempt
    sends it.
    """
    policies = re.findall(r"self\.([\w.]+),", inspect.getsource(Door._policies))
    steps_of_attempt = re.findall(r"self\.(\w+\.\w+|_send_and_record)\(", inspect.getsource(Door._attempt))
    list_in_page = section("The door").partition("\n1. ")[2].replace("`Door._attempt`", "")

    steps_in_page = re.findall(r"`([\w.]+)`", list_in_page)

    assert steps_in_page == policies + steps_of_attempt


def test_the_life_of_a_run_is_documented():
    """ARCHITECTURE.md lists the hooks of pytest in conftest.py, in the order of the file."""
    hooks = re.findall(r"(?m)^ *def (pytest_\w+)", (ROOT / "conftest.py").read_text("utf-8"))

    hooks_in_page = re.findall(r"(?m)^\| `(pytest_\w+)`", section("The life of a run"))

    assert hooks_in_page == hooks


class NotesTheWayOfARequest(Service):
    """The sandbox, which notes through which files of the product a request comes to the service.

    Only successful requests to one operation are noted.
    """

    operation = ""

    def __init__(self):
        """No file is noted yet."""
        super().__init__()
        # The files with a function that waits for the answer of the service, in order: each function called the next.
        self.files_that_pass_the_request_on = {}
        # All files with a function that was called on the way, also if it returned before the request was sent.
        self.files_with_a_called_function = set()
        self._called = set()

    def note_call(self, frame, event, argument):
        """Note the file of a function that is called on the way of a request, which begins with `Client.send`.

        Python calls this method at each call of a function, because the test sets it as the profiler.
        """
        if event == "call":
            if frame.f_code is Client.send.__code__:
                self._called.clear()
            self._called.add(frame.f_code.co_filename)

    def finish(self, request, operation, response):
        """Note the files of all functions that wait for this answer, and of those that were called on the way."""
        if operation == self.operation and response.status == 200:
            frame = sys._getframe()
            files = []
            while frame:  # from this function to its callers
                files.append(frame.f_code.co_filename)
                frame = frame.f_back
            files.reverse()
            self.files_that_pass_the_request_on |= dict.fromkeys(files_of_the_product(files))
            self.files_with_a_called_function.update(files_of_the_product(self._called))
        return super().finish(request, operation, response)


def files_of_the_product(files):
    """The files, among these, that belong to the product, as paths from the root. The sandbox does not count."""
    paths = [Path(file).relative_to(ROOT).as_posix() for file in files if Path(file).is_relative_to(ROOT)]
    return [path for path in paths if not path.startswith((".venv/", "tests/selftest/", "environments/sandbox/"))]


@pytest.mark.parametrize(
    ("title", "operation", "requirement_id", "most_steps"),  # more steps than today would be too many to read
    [
        ("The life of an exchange", "executePix", "executePix.document.masked", 14),
        ("The life of a registration", "registerPixKey", "registerPixKey.repeated", 8),
    ],
)
def test_the_way_to_the_wire_is_documented(title, operation, requirement_id, most_steps):
    """ARCHITECTURE.md names every file that a request passes between the scenario and the service, in the right order.

    A file that passes the request on to another file is a numbered step of the page. The page names each other file
    with a function that is called on the way at least once. Here the service itself notes these files.
    """
    service = NotesTheWayOfARequest()
    service.operation = operation
    profiler_before = sys.getprofile()
    sys.setprofile(service.note_call)
    try:
        sent_in_memory(service, ids={requirement_id})
    finally:
        sys.setprofile(profiler_before)
    steps = re.findall(r"(?m)^\d+\. `([\w./]+)`", section(title))
    names_in_page = set(re.findall(r"`([\w./]+\.py)`", ARCHITECTURE))

    steps_on_the_way = [step for step in steps if step in service.files_that_pass_the_request_on]
    files_not_named = [
        path for path in service.files_with_a_called_function if not {path, Path(path).name} & names_in_page
    ]

    assert steps_on_the_way == [*service.files_that_pass_the_request_on] != []
    assert files_not_named == []
    assert len(steps) <= most_steps, "a reader needs fewer files"


MOST_WORDS_OF_ARCHITECTURE = 1_250
"""Words that are read in five minutes, at 250 a minute. More detail belongs in the docstring of a module."""


def test_the_architecture_is_read_in_five_minutes():
    """ARCHITECTURE.md has at most 1,250 words, which are read in five minutes. Names of files count as words."""
    words = re.findall(r"[^\s|`]*\w[^\s|`]*", ARCHITECTURE)

    number_of_words = len(words)

    assert number_of_words <= MOST_WORDS_OF_ARCHITECTURE


LINK = re.compile(r"\]\(((?!https?:)[^)\s]+)\)")


def anchors_of(path):
    """The anchors of a page (the names after # in a link), such as "the-life-of-a-run".

    GitHub and GitLab make them from the headings of a page. A page may also name an anchor itself: `<a id="…">`.
    """
    text = path.read_text("utf-8")
    headings = re.findall(r"(?m)^#+ (.+)$", text)
    anchors_of_headings = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    own_anchors = re.findall(r'<a (?:id|name)="(.+?)"', text)
    return anchors_of_headings.union(own_anchors)


def leads_somewhere(page, link):
    """True if a link on a page, such as "docs/verdicts.md#levels", leads to a file that exists and to an anchor in it.

    A link without an anchor leads to the whole file. A link without a file, such as "#levels", leads to the same page.
    """
    name, _, anchor = link.partition("#")
    path = (page.parent / name.replace("\\", "")).resolve() if name else page  # a backslash may stand before a "_"
    if not path.exists():
        return False
    return anchor == "" or anchor in anchors_of(path)


def test_links_lead_somewhere():
    """Each link of the documentation to a file of the project leads to a file that exists, and to a heading in it."""
    broken_links = []
    for path in PAGES:
        links = re.findall(LINK, path.read_text("utf-8"))
        broken_links += [(path.name, link) for link in links if not leads_somewhere(path, link)]

    assert broken_links == []


MOST_WORDS = 30
"""Words of a sentence that a reader whose first language is not English follows at once."""
PAGES_TO_READ = [README, ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/*.md")]


def sentences_of(text):
    """The sentences of a page, which is written in Markdown: those of its paragraphs, list items and cells of tables.

    Blocks of code are left out. Code within a sentence becomes the word "code". Some sentences may be empty texts.
    """
    prose = re.sub(r"(?ms)^ *```.*?^ *```$", "\n\n", text)
    prose = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", prose)
    prose = re.sub(r"`[^`]*`", "code", prose)
    blocks = re.split(r"\n\s*\n|\n(?=\s*(?:[-*#>]|\d+\.) )|\|", prose)
    sentences = []
    for block in blocks:
        text_in_one_line = " ".join(block.split())
        sentences += re.split(r"(?<=[.!?])\s+", text_in_one_line)
    return sentences


def test_sentences_are_split_at_their_ends():
    """`sentences_of` splits a page at full stops, list items and cells of tables, but not at a full stop in code."""
    text = "# Run it\n\nRead `a. b`\nand [this](x.md). Then\n- stop.\n\n```\nno text\n```\n| a cell | another |\n"

    sentences = [sentence for sentence in sentences_of(text) if sentence]

    assert sentences == [
        "# Run it", "Read code and this.", "Then", "- stop.", "a cell", "another",
    ]  # fmt: skip


@pytest.mark.parametrize("page", PAGES_TO_READ, ids=lambda page: page.name)
def test_no_sentence_is_long(page):
    """No sentence of the documentation has more than 30 words, because the first language of many is not English."""
    sentences = sentences_of(page.read_text("utf-8"))

    long_sentences = [sentence for sentence in sentences if len(re.findall(r"\w\S*", sentence)) > MOST_WORDS]

    assert long_sentences == []


def rows_below(page, heading):
    """The rows of a table on a page: lists of the texts in its cells, without the backquotes of code.

    It is the table whose first column has this heading.
    """
    text_of_page = (ROOT / page).read_text("utf-8")
    lines = re.search(rf"(?m)^\| {heading} \|.*\n\|[-|: ]+\n((?:\|.*\n)+)", text_of_page)[1].splitlines()
    rows = []
    for line in lines:
        cells = line.replace("`", "").strip("|").split("|")
        rows.append([cell.strip() for cell in cells])
    return rows


def test_every_verdict_is_explained():
    """docs/verdicts.md explains every verdict of a run and of a requirement, every exit status, and every level."""
    explained = {row[0]: row[1] for row in rows_below("docs/verdicts.md", "verdict") if row[0] != "(none)"}
    exit_statuses = {verdict.value: str(verdict.exit_status) for verdict in RunVerdict}
    _, _, part_about_requirements = (ROOT / "docs/verdicts.md").read_text("utf-8").partition("## Of a requirement")
    table_of_verdicts, _, _ = part_about_requirements.partition("The level of")
    explained_verdicts = re.findall(r"(?m)^\| `([a-z-]+)` \|", table_of_verdicts)
    explained_levels = [level for level, *_ in rows_below("docs/verdicts.md", "level")]

    assert explained == exit_statuses
    assert explained_verdicts == [*Verdict]
    assert explained_levels == list(LEVELS)


def test_every_permission_is_explained():
    """docs/staging.md explains every permission of a profile, in the order in which a team adds them."""
    explained = [permission for permission, *_ in rows_below("docs/staging.md", "permission")]

    assert explained == [*PERMISSIONS]


def test_named_files_exist():
    """Each file that ARCHITECTURE.md or CONTRIBUTING.md names exists.

    It is a path from the root, or the name of a file in any folder.
    """
    pages = ARCHITECTURE + (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    paths_in_pages = re.findall(r"`([\w./]+\.(?:py|yaml|txt|toml))`", pages)
    names_of_files = set()
    for folder in FOLDERS:
        names_of_files |= {path.name for path in (ROOT / folder).rglob("*.*")}

    absent_from_root = [path for path in paths_in_pages if not (ROOT / path).exists()]
    absent_files = [path for path in absent_from_root if path not in names_of_files]

    assert absent_files == []


def test_named_identifiers_exist():
    """Each function, class or member that ARCHITECTURE.md names stands in the code."""
    python_files = [ROOT / "conftest.py"]
    for folder in FOLDERS:
        python_files += (ROOT / folder).rglob("*.py")
    words = set()
    for file in python_files:
        words.update(re.findall(r"\w+", file.read_text("utf-8")))
    identifiers = re.findall(r"`@?(?:\w+\.)*(\w+)(?:\([\w, ]*\))?`", ARCHITECTURE)

    absent_identifiers = {*identifiers} - words

    assert absent_identifiers == set()
