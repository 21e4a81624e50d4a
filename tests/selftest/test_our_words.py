"""A code that is spelled like a word of the suite is hidden, and the suite's own sentences keep that word."""

import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from tests.selftest.services.running import run, write_profile
from tests.selftest.services.serving import Raw, as_bytes

CODES = ("NON-CONFORMANT", "CONFORMANT", "documented", "executePix", "fail", "transfer", "tested")


class Renames(Raw):
    """Has prepared one transfer, under this code, and shows the tax document in clear."""

    code = ""

    def answer(self, connection, request):
        response = self.service.respond(
            replace(request, path=request.path.replace(f"pix/{self.code}", "pix/SBX-PHONE-1"))
        )
        body = response.body.replace(b'"SBX-PHONE-1"', json.dumps(self.code).encode())
        connection.sendall(as_bytes(replace(response, body=re.sub(rb'"\*\*\*[^"]+\*\*"', b'"39053344705"', body))))


@pytest.fixture(scope="module", params=CODES)
def ended(request, tmp_path_factory):
    """The code, and what a run says that executes it."""
    folder = tmp_path_factory.mktemp("run")
    with Renames() as service:
        service.code = request.param
        profile = write_profile(folder, service.base_url, transactions={"codes": [request.param]})
        result = run(profile, "-k", "executePix.document")
        assert request.param in service.executions, result.output
    return request.param, result


HEADLINE = "NON-CONFORMANT, everything permitted, only -k executePix.document"


def test_json(ended):
    """The verdict, the headline and the ids."""
    _, result = ended

    assert result.document["verdict"] == "non-conformant"
    assert result.document["headline"].startswith(HEADLINE)
    assert "documented requirement" in result.document["headline"]
    assert {one["cause"] for one in result.document["findings"]} == {"executePix.document.masked"}


def test_terminal(ended):
    """The same headline, finding and counts; the request is shown without the code."""
    _, result = ended
    lines = result.output.splitlines()

    assert result.document["headline"] in lines
    assert "FAIL executePix.document.masked" in lines
    assert any(line.startswith("  documented   1 fail") for line in lines)
    assert f"{result.document['environment']['name']} at " in result.output


def test_junit(ended):
    """The headline and the requirement."""
    _, result = ended
    root = ElementTree.fromstring((result.folder / "junit.xml").read_text())
    cases = {case.get("name"): case for case in root.iter("testcase")}

    assert result.document["headline"] in (cases["run"].findtext("system-out") or "")
    assert cases["executePix.document.masked"].find("failure") is not None


def test_page(ended):
    """The first screen, and the requirement."""
    _, result = ended
    page = (result.folder / "report.html").read_text()

    assert re.search(r">NON-CONFORMANT<|\bNON-CONFORMANT\b", page)
    assert "1 documented requirement fails" in page
    assert 'id="executePix.document.masked"' in page


def test_the_code_is_hidden(ended):
    """In every address of every file."""
    code, result = ended

    for file in result.folder.iterdir():
        assert f"/v1/execute/pix/{code}" not in file.read_text(), file.name
    assert f"/v1/execute/pix/{code}" not in result.output
