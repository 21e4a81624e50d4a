"""The policy of the suite: an invalid request ends in no server error, no stack trace and no dropped connection."""

from __future__ import annotations

import pytest

from spec.interface import operations
from spec.rules import ROBUSTNESS
from tests.harness.judging import assert_found, named
from tests.traffic.judgements import never_broken
from tests.traffic.robustness import send_invalid


@pytest.mark.parametrize("requirement_id", named(*(f"{name}.{what}" for what in ROBUSTNESS for name in operations())))
def test_no_request_breaks_the_service(requirement_id, sent, traffic, reproduction):
    """No request ends in a server error, a stack trace or a dropped connection, valid or not."""
    operation = requirement_id.partition(".")[0]
    not_sent = sent.generation.classes_not_sent(operation, traffic.result_of(send_invalid))

    judgement = never_broken(requirement_id, traffic.client.door.exchanges, reproduction, not_sent)
    assert_found(requirement_id, judgement)
