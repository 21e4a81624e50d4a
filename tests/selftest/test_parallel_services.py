"""What a run says of services that refuse requests beside others."""

import pytest

import tests.selftest.proof.variants  # noqa: F401 - registers its services
from tests.selftest.proof.registry import VARIANTS
from tests.selftest.proof.trial import try_service


@pytest.mark.parametrize(("parallel", "is_said"), [(4, True), (1, False)])
def test_what_other_requests_caused_is_noted(parallel, is_said):
    """A refusal that does not come alone breaks no statement; a service that mixes up its answers refuses so, too."""
    service = VARIANTS.specimens["OneAtATimeOfAllOrElse400"].make()
    trial = try_service(service, f"--parallel={parallel}")
    said = any("with other requests in flight" in note for note in trial.notes)

    assert (trial.exit_status, said) == (0, is_said)
