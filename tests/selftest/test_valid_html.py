"""The page of a run with failures and hostile answers is valid HTML, as a validator of another maker sees it."""

from dataclasses import replace

import pytest

from environments.sandbox import Server, Service
from tests.selftest.services.running import run, write_profile
from tests.selftest.witnesses import VALIDATOR, validate

NOT_OURS = ('Duplicate form control name "filter_checkbox"',)
"""What the script of pytest-html asks for: it finds its boxes by that name."""
HOSTILE = "</pre></details><script>x</script><!-- ]]> & &amp; \u202e \x01 {{ 1 }}"


class FailsInManyWays(Service):
    """An answer lacks a member, has one of another type and one too many, with markup in names and values."""

    def execution_result(self, transfer):
        result = {**super().execution_result(transfer), "digit": 6, "message": HOSTILE, HOSTILE: [1.0, {}]}
        del result["bank"]
        return result

    def finish(self, request, operation, response):
        if operation == "listAccounts":
            return replace(response, status=500, headers=(), body=HOSTILE.encode())
        return response


@pytest.fixture(scope="module", params=["en", "pt-BR"])
def page(request, tmp_path_factory):
    """The report of a run against that service, in each language."""
    folder = tmp_path_factory.mktemp("page")
    with Server(FailsInManyWays()) as server:
        service = write_profile(folder, server.base_url, language=request.param)
        result = run(service, "-m", "", "-k", "executePix or listAccounts", PIX_TOKEN=server.service.token)
    return result.folder / "report.html"


@pytest.mark.skipif(not VALIDATOR.exists(), reason="html-validate is not installed: make witnesses (Node, npm)")
def test_valid(page):
    """html-validate finds no fault but what pytest-html needs."""
    found = [fault for fault in validate(page) if not fault.endswith(NOT_OURS)]

    assert found == []
