"""The sandbox asked by other profiles: what a profile makes possible is exercised, and no more is sent."""

from environments.sandbox import Service
from spec.interface import PREPARING_OPERATIONS, READ_OPERATIONS, operations
from tests.selftest.proof.registry import declare_variant
from tests.selftest.proof.variants.conforming_making import profile_path
from tests.selftest.proof.variants.conforming_scopes import DELETION, EXECUTION

UNDELETED = tuple(f"registerPixKey.{row}" for row in ("pixKeyType.letterCase", "pixKeyType.numeric", "token.scheme"))
"""What is tried with a key only where the key can be deleted again."""
UNPREPARED = ("executePix.status.transitions", "executePix.value.matches")
"""What a transfer shows that the run prepares."""
WITH_ACCOUNT = [name for name in READ_OPERATIONS if operations()[name].path_parameter]
INCONCLUSIVE = {
    "one_code": UNPREPARED,
    "prepared_only": (),
    "no_code": (*EXECUTION, "executePix.token.required"),
    "no_deletion": UNDELETED,
    "no_deletion_body": (*UNDELETED, *DELETION),
    "no_bodies": (
        *(f"{write}.{row}" for write in PREPARING_OPERATIONS for row in ("json", "status", "envelope.shape", "shape")),
        *UNPREPARED,
    ),
    "two_kinds": (),
    "random_only": (*UNDELETED[:2], *DELETION, "registerPixKey.repeated"),
    "read_only": (),
    "read_nothing": tuple(f"{read}.*" for read in WITH_ACCOUNT),
    "register_only": ("deletePixKey.refusal",),
    "execute_only": UNPREPARED,
    "prepare_and_execute": ("createPix.refusal",),
    "without_fuzz": tuple(f"{write}.refusal" for write in (*PREPARING_OPERATIONS, "deletePixKey")),
    "two_accounts": UNPREPARED,
    "implied_fails": (),
}
for _name, _rows in INCONCLUSIVE.items():
    declare_variant(
        "profile", "".join(part.title() for part in _name.split("_")), f"The sandbox, asked with the profile {_name}.",
        Service, environment=profile_path(_name), hides=_rows,
    )  # fmt: skip
