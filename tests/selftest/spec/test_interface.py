"""Which operations a path reaches, and how strict JSON is read."""

import pytest

from spec.interface import operations_reached, personal_fields


@pytest.mark.parametrize(
    ("method", "path", "reached"),
    [
        ("HEAD", "/v1/execute/pix/t", {"executePix"}),
        ("OPTIONS", "/v1/pix/keys/a", {"registerPixKey", "deletePixKey", "listPixKeys"}),
        ("POST", "/v1/pix/keys/..", {"registerPixKey", "createPix"}),
        ("POST", "/v1/pix/keys/%2e%2e", {"registerPixKey", "createPix"}),
        ("GET", "/v1/pix/keys/..%2F..%2Fexecute%2Fpix%2Ft", {"listPixKeys", "executePix"}),
        ("GET", "/v1/pix/keys/%252e%252e/%252e%252e/execute/pix/t", {"executePix"}),
        ("GET", "//V1//Execute/PIX/t/", {"executePix"}),
        ("GET", "/v1/execute/pix/t;x=1", {"executePix"}),
        ("GET", "/v1/execute\\pix\\t", {"executePix"}),
        ("GET", "/v1/pixconf-1", set()),
        ("GET", "/v2/accounts", set()),
    ],
)
def test_lenient_servers_are_thought_of(method, path, reached):
    """Permission goes by every operation that a server could take the request for."""
    assert operations_reached(method, path) == reached


def test_personal_fields_come_from_the_schema():
    """What never leaves unredacted is marked in the schema."""
    assert {"document", "name", "key", "pixKey", "account", "digit", "branch", "message"} <= personal_fields()
    assert {"from", "to", "DocumentNumber"} <= personal_fields()
