"""Codes that are spelled like words of the suite are hidden, and the suite's own sentences keep those words."""

import json
import re
from dataclasses import replace

from environments.sandbox import Service
from tests.selftest.recorded_runs import record

CODES = {
    "NON-CONFORMANT": "SBX-PHONE-1", "documented": "SBX-EMAIL-1", "executePix": "SBX-PHONE-2", "fail": "SBX-RANDOM-1",
    "transfer": "SBX-CNPJ-1", "tested": "SBX-CPF-1",
}  # fmt: skip
HEADLINE = "NON-CONFORMANT, everything permitted, only -k executePix.document or executePix.fields: 1 documented requirement fails"


class Renames(Service):
    """Its prepared transfers have these codes, and it shows the tax document in clear, and a field that is named like one."""

    def respond(self, request):
        code = request.path.rpartition("/")[2]
        response = super().respond(replace(request, path=request.path.replace(code, CODES.get(code, code))))
        body = response.body.replace(json.dumps(CODES.get(code, code)).encode(), json.dumps(code).encode())
        return replace(response, body=re.sub(rb'"\*\*\*[^"]+\*\*"', b'"39053344705", "tested": 1', body))


def test_sentences_keep_words_that_are_codes(tmp_path):
    """In every output; in no address of any of them stands a code, and none in what a finding says of an answer."""
    ended = record(
        tmp_path, Renames, "-k", "executePix.document or executePix.fields", transactions={"codes": [*CODES]}
    )
    document, lines, page = ended.document, ended.output.splitlines(), ended.text("report.html")
    written = {file.name: file.read_text() for file in ended.folder.iterdir()} | {"terminal": ended.output}

    assert document["traffic"]["executions"] > 3
    assert (document["verdict"], document["headline"][: len(HEADLINE)]) == ("non-conformant", HEADLINE)
    assert {one["cause"]: one["message"] for one in document["findings"]} == {
        "executePix.document.masked": "expected a masked tax document, got one with every character visible",
        "executePix.fields.extra": "expected no other fields, got <code 6>",
    }
    assert {document["headline"], "FAIL executePix.document.masked"} <= set(lines)
    assert any(line.startswith("  documented   1 fail") for line in lines)
    assert document["headline"] in written["junit.xml"]
    assert "1 documented requirement fails" in page
    assert [name for name, text in written.items() for code in CODES if f"/v1/execute/pix/{code}" in text] == []
