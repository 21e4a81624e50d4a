"""Which operations a path reaches, and which fields are personal."""

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
def test_a_path_reaches_each_operation_that_a_lenient_server_could_run(method, path, reached):
    """Encoded slashes, dot segments, letter case and unusual methods reach operations; another prefix reaches none."""
    assert operations_reached(method, path) == reached


def test_personal_fields_come_from_the_schema():
    """The schema marks the fields that name a person, an account or a payment."""
    assert {"document", "name", "key", "pixKey", "account", "digit", "branch", "message"} <= personal_fields()
    assert {"from", "to", "DocumentNumber"} <= personal_fields()
