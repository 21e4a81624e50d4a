"""Provenance of a run: what it was made with, for an auditor who asks later.

It has the version and commit of the suite, digests of the requirements, of the schema and of the profile, the version
of the service, and the CI job.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

from environments.profiles.model import Profile
from reports.showing.evidence import ShownExchange

VERSION = "1.0.0"
"""Version of the suite."""
CHECKOUT = Path(__file__).parents[2]
"""The folder of the suite, whose commit and files are named in the report."""
_GIT_TAKES_S = 5
"""Seconds after which a run goes on without the commit. git answers in milliseconds, unless its folder is far away."""
_VARIABLES_OF_GIT = ("PATH", "HOME", "XDG_CONFIG_HOME")
"""Variables that git gets: they lead to git and to its configuration. It gets no other one, which may hold a secret."""
_LONGEST_VALUE = 100
"""Characters of a header that conformance.json has."""
_LONGEST_LINK = 500
"""Characters of the address of a CI job. A longer one is left out."""


# -- the suite ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Suite:
    """The suite that runs: its version and commit, and the SHA-256 of spec/requirements.yaml and spec/openapi.yaml."""

    version: str
    commit: str | None
    ledger_sha256: str
    schema_sha256: str


@cache
def suite() -> Suite:
    """Version, commit and digests of the suite that runs, for the report.

    They are read at the first call, when a run starts, because somebody may change the files during the run.
    """
    return Suite(
        version=VERSION,
        commit=commit_of(CHECKOUT),
        ledger_sha256=_sha256_of(CHECKOUT / "spec" / "requirements.yaml"),
        schema_sha256=_sha256_of(CHECKOUT / "spec" / "openapi.yaml"),
    )


def _sha256_of(path: Path) -> str:
    """SHA-256 of the bytes of a file, in hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def commit_of(checkout: Path) -> str | None:
    """The commit that is checked out in a git work tree, with `+dirty` if a tracked file was changed since.

    None if the folder is no work tree, if git is missing, or if it does not answer.
    """
    folder_and_commit = _git(checkout, "rev-parse", "--show-toplevel", "HEAD")
    if folder_and_commit is None:
        return None
    folder, _, commit = folder_and_commit.rpartition("\n")
    if folder != str(checkout.resolve()):  # the folder is only a part of the work tree of another project
        return None
    changes = _git(checkout, "status", "--porcelain", "--untracked-files=no")
    if changes is None:
        return None
    return f"{commit}+dirty" if changes else commit


def _git(checkout: Path, *arguments: str) -> str | None:
    """Run git in a folder and return its output; None if git fails or takes too long.

    Environment variables such as GIT_DIR are not passed on, because they may lead to another repository. git writes
    nothing: it takes no lock, and starts no file monitor.
    """
    environment = {name: os.environ[name] for name in _VARIABLES_OF_GIT if name in os.environ}
    command = ["git", "-C", str(checkout), "--no-optional-locks", "-c", "core.fsmonitor=false", *arguments]
    try:
        process = subprocess.run(command, env=environment, capture_output=True, timeout=_GIT_TAKES_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return process.stdout.decode("utf-8", "replace").strip()


# -- the profile --------------------------------------------------------------------------------------------------


def profile_digest(profile: Profile) -> str:
    """SHA-256 of the profile with the options of the command line, so that a reader can see whether two runs differ.

    Secret and personal values are not part of it. If they were, a reader of the report could try account numbers until
    the digest is the same.
    """
    data = _public_data(profile)
    # The name under which earlier versions hashed this field: the digest of an unchanged profile must stay the same.
    data["redirected"] = data.pop("redirection_note")
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def _public_data(value: Any) -> Any:
    """A value of the profile as plain data, without secret and personal fields.

    Of a path only the file name is returned, because folders differ from machine to machine.
    """
    if is_dataclass(value):  # the model of the profile marks its secret and personal fields with `repr=False`
        return {field.name: _public_data(getattr(value, field.name)) for field in fields(value) if field.repr}
    if isinstance(value, Mapping):
        return {str(name): _public_data(member) for name, member in value.items()}
    if isinstance(value, tuple | frozenset):  # sorted, because a set has no fixed order
        return sorted(str(_public_data(item)) for item in value)
    if isinstance(value, Path):
        return value.name
    return str(value)


# -- the service --------------------------------------------------------------------------------------------------

_VERSION_HEADER = re.compile(
    r"server|x-powered-by|(?:x-(?:[a-z]+-){0,2}|api-)(?:version|build|release|revision|commit)", re.I
)
"""Names of headers that tell a version: Server, X-Powered-By, X-Version, X-App-Build, Api-Version and the like."""


def service_version(exchanges: Iterable[ShownExchange]) -> list[tuple[str, str]]:
    """Headers with a version of the service, such as [("Server", "nginx/1.25")], in the order of their names.

    A header that had different values is left out: then a gateway answered some requests, or two versions of the
    service are running, and nobody can tell which one was tested.
    """
    headers = []
    for exchange in exchanges:
        if exchange.response:
            headers += [header for header in exchange.response.headers if _VERSION_HEADER.fullmatch(header[0])]
    # The names of headers are compared without letter case. The first spelling of a name is shown.
    spelling_of_name: dict[str, str] = {}
    values_of_name: defaultdict[str, set[str]] = defaultdict(set)
    for name, value in headers:
        spelling_of_name.setdefault(name.lower(), name)
        values_of_name[name.lower()].add(value)
    versions = []
    for name in sorted(values_of_name):
        values = list(values_of_name[name])
        if len(values) == 1:
            versions.append((spelling_of_name[name], values[0][:_LONGEST_VALUE]))
    return versions


# -- the CI job ---------------------------------------------------------------------------------------------------

_LINKS = (
    ("GITHUB_RUN_ID", "{GITHUB_SERVER_URL}/{GITHUB_REPOSITORY}/actions/runs/{GITHUB_RUN_ID}"),
    ("CI_JOB_URL", "{CI_JOB_URL}"),
    ("BUILDKITE_BUILD_URL", "{BUILDKITE_BUILD_URL}"),
    ("CIRCLE_BUILD_URL", "{CIRCLE_BUILD_URL}"),
    ("SYSTEM_COLLECTIONURI", "{SYSTEM_COLLECTIONURI}{SYSTEM_TEAMPROJECT}/_build/results?buildId={BUILD_BUILDID}"),
    ("BUILD_URL", "{BUILD_URL}"),
)
"""A variable that only GitHub, GitLab, Buildkite, CircleCI, Azure or Jenkins sets, and the address of the job there."""
_LINK = re.compile(r"https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?/[A-Za-z0-9._~/?=&%+:@,;!$'()*#-]*")
"""A plain http(s) address. No `@` may stand before the path, because a password may stand before an `@`."""


def ci_job(variables: Mapping[str, str], clean: Callable[[str], str]) -> str | None:
    """The address of the CI job in which the run takes place, for a link in the report; None outside a CI job.

    `variables` are the environment variables, from which the address is made. The result is also None if this is no
    plain http(s) address, or if it has a password or a secret in it. `clean` redacts known secrets in a text.
    """
    templates = [template for name, template in _LINKS if variables.get(name)]
    if not templates:  # no CI system that the suite knows has set its variable
        return None
    link = templates[0].format_map(defaultdict(str, variables))  # a variable that is not set counts as an empty text
    if len(link) > _LONGEST_LINK or not _LINK.fullmatch(link):
        return None
    has_no_secret = clean(link) == link
    return link if has_no_secret else None
