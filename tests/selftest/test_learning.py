"""What a run learns is redacted in all that the run leaves, also in what was redacted before."""

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


def learning_run(folder, *options):
    """A run against a service that tells everything ahead, and the values that it has learned."""
    with Raw() as raw:
        raw.service = service = TellsAhead(TOKEN)
        profile = write_profile(folder, raw.base_url, transactions={"codes": ["SBX-PHONE-1"], "prepare": PREPARE})
        log = f"--log-file={folder / 'log'}"
        result = run(profile, log, *LOUD, *options, HYPOTHESIS_STORAGE_DIRECTORY=str(folder))
    return result, {f"{value[:8]}…": value for value in service.given}


@pytest.mark.parametrize("options", [("-m", "not property"), EVERYTHING], ids=" ".join)
def test_no_value_is_left_that_was_told_before_it_was_known(options, tmp_path):
    """Codes that the run prepared and keys that it registered, whenever they were learned."""
    result, learned = learning_run(tmp_path, *options)

    assert len(learned) > 4
    assert leaks(result, tmp_path, learned) == []
    assert "getBalance.serverError" in result.output
