"""Parts that rules are made of."""

import pytest

from spec.rules.table import names_for_message


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["traceId", "ZULEICA", "conta-da-zuleica"], "traceId and 2 more"),
        (["Zuleica Teodolinda", "52998224725"], "2 members whose names may be data"),
        (["traceId"], "traceId"),
    ],
)
def test_a_message_counts_members_whose_names_may_be_data(names, shown):
    """The message does not repeat the names of such members."""
    assert str(names_for_message(names)) == shown
