"""The policy of the suite: an invalid request ends in no server error, no stack trace and no dropped connection."""

from __future__ import annotations

import pytest

from spec.interface import operations
from spec.message import joined
from spec.rules import ROBUSTNESS
from tests.harness.judging import assert_found, named, require_permission
from tests.traffic.judgements import never_broken
from tests.traffic.robustness import classes_unseen, only_on_a_sandbox, send_invalid


@pytest.mark.parametrize("requirement_id", named(*(f"{name}.{what}" for what in ROBUSTNESS for name in operations())))
def test_no_request_breaks_the_service(requirement_id, sent, traffic, reproduction):
    """No request ends in a server error, a stack trace or a dropped connection, valid or not."""
    operation = requirement_id.partition(".")[0]
    not_sent = sent.generation.classes_not_sent(operation, traffic.result_of(send_invalid))
    unseen = classes_unseen(traffic, operation, sent.invalid)
    not_tested = only_on_a_sandbox(traffic, operation, sent.invalid)

    judgement = never_broken(requirement_id, traffic.client.door.exchanges, reproduction, joined([not_sent, unseen]))
    require_permission(judgement.deviates or not not_tested, not_tested)
    assert_found(requirement_id, judgement)
