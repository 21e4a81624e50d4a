"""What stands where on report.html: what a run left out, the lines beside a finding."""

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from environments.profiles.loading import load
from reports.formats import conformance_json
from reports.formats.conformance_json import document_of
from reports.page.exchange_list import excerpt
from reports.page.figures import left_out
from reports.page.rendering import frame, summary_html
from reports.run import Run
from reports.verdicts import RequirementResult, Verdict
from spec.findings import finding
from spec.message import say

SANDBOX = load("sandbox", folder=Path(__file__).parents[2] / "environments")


class TestLeftOut:
    @staticmethod
    def told(run):
        run.close()
        return {entry["verdict"]: str(entry["why"]) for entry in left_out(document_of(run))}

    def test_permissions(self):
        """What the profile does not permit is named by its permissions."""
        run = Run(replace(SANDBOX, allow=frozenset({"read", "transfer", "create-pix", "fuzz"})), "http://127.0.0.1:1")

        assert self.told(run)[Verdict.OUT_OF_SCOPE] == "not in allow: execute, register-keys, delete-keys"

    def test_generated_requests(self):
        """The permission to generate requests is named like the others."""
        run = Run(replace(SANDBOX, allow=SANDBOX.allow - {"fuzz", "transfer"}), "http://127.0.0.1:1", narrowed=True)
        for id_, permission in (("transferP2p.serverError", "transfer"), ("executePix.serverError", "fuzz")):
            run.selected.add(id_)
            run.results.append(
                RequirementResult(id_, Verdict.OUT_OF_SCOPE, say("needs {needed} in allow", needed=permission))
            )

        assert self.told(run) == {Verdict.OUT_OF_SCOPE: "not in allow: fuzz, transfer"}

    def test_what_is_missing(self):
        """What was not exercised says the first reason, and how many there are."""
        run = Run(SANDBOX, "http://127.0.0.1:1", narrowed=True)
        for id_, why in (("executePix.id.type", "supply a code"), ("executePix.exists", "ask the bank")):
            run.selected.add(id_)
            run.results.append(RequirementResult(id_, Verdict.NOT_EXERCISED, why))

        assert self.told(run) == {Verdict.NOT_EXERCISED: "ask the bank; 1 more reason"}

    def test_nothing(self):
        """A run that tested all it is about says so."""
        run = Run(SANDBOX, "http://127.0.0.1:1", narrowed=True)
        run.selected.add("executePix.exists")
        run.results.append(RequirementResult("executePix.exists", Verdict.PASS))

        assert self.told(run) == {}
        assert re.search(r"Left out</b>\s*<dl>\s*<dt>Nothing</dt>", summary_html(run))


def answered(body, *headers):
    """An exchange as evidence, with that response."""
    return {
        "number": 1,
        "request": {"headers": [["Content-Type", "text/plain"]], "body": '{"pixKeyType":"FAX"}'},
        "response": {"status": 200, "headers": [*headers], "body": body},
    }


def with_(found):
    """A requirement of which this was found."""
    return {"found": [found]}


class TestExcerpt:
    RESULT = json.dumps(
        {"code": 0, "data": {name: name for name in ("id", "date", "bank", "account", "digit", "branch")}}
    )

    @staticmethod
    def shown(exchange, found):
        """The side, its lines, and those of them that are marked."""
        side, lines = excerpt(exchange, with_(found))
        texts = [line.name + line.text for line in lines]
        return side, texts, [text for line, text in zip(lines, texts, strict=True) if line.marks]

    def test_the_field(self):
        """The line of the field is marked, with two lines before it and three behind it."""
        _, texts, marked = self.shown(answered(self.RESULT), finding("type", "/data/bank"))

        assert texts == [f'"{name}": "{name}",' for name in ("id", "date", "bank", "account", "digit")] + [
            '"branch": "branch"'
        ]
        assert marked == ['"bank": "bank",']

    def test_a_header(self):
        """A requirement about a header shows the header."""
        answer = answered("{}", ["Date", "today"], ["content-type", "text/html"])

        assert self.shown(answer, finding("media-type"))[1:] == (["content-type: text/html"],) * 2

    def test_the_request(self):
        """A requirement about what is sent shows what was sent."""
        side, _, marked = self.shown(answered("{}"), finding("key-type-refused"))

        assert (side, marked) == ("request", ['"pixKeyType": "FAX"'])

    def test_a_body_that_is_no_json(self):
        """Its first lines are shown."""
        _, texts, _ = self.shown(answered("\n".join(["Traceback", "x" * 99, *"abcdefgh"])), finding("server-error"))

        assert texts == ["Traceback", "x" * 99, *"abcd"]

    def test_no_response(self):
        """Where nothing came there is nothing to show."""
        silent = {name: value for name, value in answered("").items() if name != "response"}

        assert self.shown(silent, finding("no-endpoint"))[1] == []


class TestFirstScreen:
    @pytest.fixture
    def run(self):
        run = Run(SANDBOX, "http://127.0.0.1:1", narrowed=True)
        run.selected.add("executePix.exists")
        run.results.append(RequirementResult("executePix.exists", Verdict.PASS))
        run.close()
        return run

    def test_provenance(self, run):
        """Suite, seed, time and digests stand in the page as they stand in conformance.json."""
        provenance = document_of(run)["provenance"]
        page = summary_html(run)

        for name in (
            "suite_version",
            "seed",
            "started",
            "finished",
            "ledger_sha256",
            "schema_sha256",
            "profile_sha256",
        ):
            assert str(provenance[name]) in page
        assert "SHA256SUMS beside this one" in page

    def test_the_ci_job(self, run, monkeypatch):
        """The job that made the run is a link, and what a service says of itself is text."""
        said = {"ci_job": "https://ci.example/7", "service_version": [{"header": "Server", "value": "<b>1</b>"}]}
        document = document_of(run)
        document["provenance"] |= said
        monkeypatch.setattr("reports.page.rendering.document_of", lambda _: document)

        page = summary_html(run)

        assert '<a href="https://ci.example/7" rel="noreferrer">' in page
        assert "Server: &lt;b&gt;1&lt;/b&gt;" in page

    def test_the_proof_ends_with_one_full_stop(self, run, tmp_path, monkeypatch):
        """The line of the proof is a sentence."""
        (tmp_path / "summary.json").write_text('{"line": "all is caught"}')
        monkeypatch.setattr(conformance_json, "SUMMARY", tmp_path / "summary.json")

        assert "all is caught.</p>" in summary_html(run)


def test_the_policy_permits_the_scripts_of_the_page_alone():
    """Two digests and no more: a script that comes through in a text of the service does not run."""
    page = frame("1 + 1").render(
        title="t",
        additional_summary={"prefix": []},
        table_head=[],
        outcomes={},
        run_count="",
        test_data="",
        version="4",
    )
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]

    assert policy.startswith("default-src &#39;none&#39;; ")
    assert Counter(re.findall(r"[a-z]+-src|sha256", policy)) == {
        "default-src": 1, "img-src": 1, "style-src": 1, "script-src": 1, "sha256": 2,
    }  # fmt: skip
    assert page.count("<script>") == 2
