"""What any process of a run learns is redacted in all that the run leaves, also in what was redacted before."""

import re

import pytest

from tests.selftest.services.echoing import TellsAhead
from tests.selftest.services.running import run, write_profile
from tests.selftest.services.serving import Raw
from tests.selftest.test_canary import LOUD, leaks

TOKEN = "Tok-3n.Of-The_Service"
PREPARE = {
    "operation": "createPix",
    "json": {"account": "ac-0001", "pixKey": "+5511955500101", "value": 10.5, "message": "Conformance suite"},
    "code_at": "/data/transactionId",
    "count": 2,
}
EVERYTHING = ("-m", "property or not property", "--examples=2")


def learning_run(folder, *options, **variables):
    """A run against a service that tells everything ahead, and the values that it has learned."""
    with Raw() as raw:
        raw.service = service = TellsAhead(TOKEN)
        profile = write_profile(folder, raw.base_url, transactions={"codes": ["SBX-PHONE-1"], "prepare": PREPARE})
        plugin = ("-p", "tests.selftest.services.learning")
        log = f"--log-file={folder / 'log'}"
        told = {"HYPOTHESIS_STORAGE_DIRECTORY": str(folder), "SPILLED": service.codes[0], **variables}
        result = run(profile, log, *plugin, *LOUD, *options, **told)
    return result, {f"{value[:8]}…": value for value in service.given}


@pytest.mark.parametrize("options", [("-m", "not property"), EVERYTHING, (*EVERYTHING, "-n", "2")], ids=" ".join)
def test_no_value_is_left_that_was_told_before_it_was_known(options, tmp_path):
    """Codes that the run prepared and keys that it registered, whichever process learned them and when."""
    result, learned = learning_run(tmp_path, *options)

    assert len(learned) > 4
    assert leaks(result, tmp_path, learned) == []
    assert "getBalance.serverError" in result.output


def test_no_value_is_left_that_another_worker_prints_or_logs(tmp_path):
    """What a worker says of generated traffic is redacted by what the worker of the executions has learned."""
    result, learned = learning_run(tmp_path, *EVERYTHING, "-n", "2", THEN="spills")

    assert leaks(result, tmp_path, learned) == []
    assert len(re.findall("spilled <(?:possible )?code", result.output)) > 3


def test_what_a_worker_learned_before_it_died_is_known(tmp_path):
    """It tells at once, and not with its next report."""
    result, learned = learning_run(tmp_path, *EVERYTHING, "-n", "2", THEN="dies")

    assert learned
    assert leaks(result, tmp_path, learned) == []
    assert "crashed" in result.output


def test_what_a_worker_learned_is_known_when_it_fails(tmp_path):
    """xdist prints an internal error of a worker as soon as it comes."""
    result, learned = learning_run(tmp_path, "-n", "1", THEN="fails")

    assert leaks(result, tmp_path, learned) == []
    assert "spilled ['<code" in result.output
