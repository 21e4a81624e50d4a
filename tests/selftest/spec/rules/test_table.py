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
    ids=["one name of the field and two of people", "names that may be data", "one name of the field"],
)
def test_a_message_counts_members_whose_names_may_be_data(names, shown):
    """An answer has members that the document does not name. A message about them shows only usual names.

    A name of a person or a number may be data, so it is only counted.
    """
    assert str(names_for_message(names)) == shown
