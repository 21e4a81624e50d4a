"""What several answers show together: none of them grants a request without a valid token."""

from dataclasses import replace

import pytest

from spec.findings import Conclusion
from tests.selftest.exchanges import answer
from tests.traffic.judgements import none_granted


@pytest.mark.parametrize(("broken", "outcome"), [("", Conclusion.HOLDS), ("no gzip", Conclusion.INCONCLUSIVE)])
def test_a_200_that_cannot_be_read_is_no_refusal_of_a_wrong_token(broken, outcome):
    """It may be the result. A page to log in is one."""
    seen = answer("executePix", b"<html>", credential="a wrong token", valid=False)
    unread = replace(seen, response=replace(seen.response, broken=broken))

    assert none_granted([seen, unread], "executed").conclusion is outcome
