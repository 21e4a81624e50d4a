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
    ids=[
        "HEAD, which a server may treat as GET",
        "OPTIONS, which may be any operation of the path",
        "a segment of two dots",
        "a segment of two encoded dots",
        "encoded slashes and dots",
        "dots that are encoded twice",
        "double slashes and capitals",
        "a parameter behind a semicolon",
        "backslashes",
        "a path of the suite",
        "another version",
    ],
)
def test_a_path_reaches_each_operation_that_a_lenient_server_could_run(method, path, reached):
    """A server may decode a path, follow its dots or ignore its letter case. So an unusual path may execute a transfer.

    The suite asks for the permission of each operation that such a server could run.
    """
    assert operations_reached(method, path) == reached


def test_the_personal_fields_are_those_that_name_a_person_an_account_or_a_payment():
    """spec/openapi.yaml marks fields as personal, and a report does not show their values. These are among them."""
    expected_fields = {
        "document", "name", "key", "pixKey", "account", "digit", "branch", "message", "from", "to", "DocumentNumber",
    }  # fmt: skip

    assert expected_fields <= personal_fields()
