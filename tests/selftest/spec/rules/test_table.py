"""Parts that rules are made of."""

import pytest

from spec.rules.table import first_names


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["traceId", "ZULEICA", "conta-da-zuleica"], "traceId and 2 more"),
        (["Zuleica Teodolinda", "52998224725"], "2 members whose names may be data"),
        (["traceId"], "traceId"),
    ],
)
def test_a_message_names_no_member_that_data_may_name(names, shown):
    """They are counted."""
    assert str(first_names(names)) == shown
