"""Provenance of a run, for those who have to show it later: the suite, what it judged by, the profile, the CI job."""

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
from reports.showing.evidence import Evidence

VERSION = "1.0.0"
CHECKOUT = Path(__file__).parents[2]
_GIT_TAKES_S = 5
_OF_GIT = ("PATH", "HOME", "XDG_CONFIG_HOME")
"""Variables that git gets: where it is, and where its configuration is. Secrets are in others."""
_LONGEST_VALUE, _LONGEST_LINK = 100, 500


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
    """The suite as it is when a process first asks."""
    return Suite(
        version=VERSION,
        commit=commit_of(CHECKOUT),
        ledger_sha256=_sha256_of(CHECKOUT / "spec" / "requirements.yaml"),
        schema_sha256=_sha256_of(CHECKOUT / "spec" / "openapi.yaml"),
    )


def _sha256_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def commit_of(checkout: Path) -> str | None:
    """The commit of a git work tree, with `+dirty` where a tracked file has changed. None for any other folder, and
    where git is missing or does not answer."""
    folder, _, commit = (_git(checkout, "rev-parse", "--show-toplevel", "HEAD") or "").rpartition("\n")
    if folder != str(checkout.resolve()):
        return None
    changes = _git(checkout, "status", "--porcelain", "--untracked-files=no")
    return None if changes is None else f"{commit}{'+dirty' * bool(changes)}"


def _git(checkout: Path, *arguments: str) -> str | None:
    """The output of git for this folder, whatever variables and hooks there are; None where it fails."""
    environment = {name: os.environ[name] for name in _OF_GIT if name in os.environ}
    command = ["git", "-C", str(checkout), "--no-optional-locks", "-c", "core.fsmonitor=false", *arguments]
    try:
        told = subprocess.run(command, env=environment, capture_output=True, timeout=_GIT_TAKES_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return told.stdout.decode("utf-8", "replace").strip()


# -- the profile --------------------------------------------------------------------------------------------------


def profile_digest(profile: Profile) -> str:
    """A digest of the profile as it applied, command line included, without what is secret or personal: with that in
    it, a reader of the report could try account numbers until the digest is the same."""
    return hashlib.sha256(json.dumps(_told(profile), sort_keys=True).encode()).hexdigest()


def _told(value: Any) -> Any:
    """Plain data. The `repr` of a profile leaves out what is secret or personal. Folders are those of one machine."""
    if is_dataclass(value):
        return {field.name: _told(getattr(value, field.name)) for field in fields(value) if field.repr}
    if isinstance(value, Mapping):
        return {str(name): _told(each) for name, each in value.items()}
    if isinstance(value, tuple | frozenset):
        return sorted(map(str, map(_told, value)))
    return value.name if isinstance(value, Path) else str(value)


# -- the service --------------------------------------------------------------------------------------------------

_TELLS_A_VERSION = re.compile(
    r"server|x-powered-by|(?:x-(?:[a-z]+-){0,2}|api-)(?:version|build|release|revision|commit)", re.I
)


def service_version(exchanges: Iterable[Evidence]) -> list[tuple[str, str]]:
    """Name and value of the headers that tell which service answered, if every answer that has one has the same."""
    seen: dict[str, dict[str, str]] = {}
    for exchange in exchanges:
        for name, value in exchange.get("response", {}).get("headers", ()):
            if _TELLS_A_VERSION.fullmatch(name):
                seen.setdefault(name.lower(), {}).setdefault(value, name)
    agreed = (next(iter(values.items())) for _, values in sorted(seen.items()) if len(values) == 1)
    return [(name, value[:_LONGEST_VALUE]) for value, name in agreed]


# -- the CI job ---------------------------------------------------------------------------------------------------

_LINKS = (
    ("GITHUB_RUN_ID", "{GITHUB_SERVER_URL}/{GITHUB_REPOSITORY}/actions/runs/{GITHUB_RUN_ID}"),
    ("CI_JOB_URL", "{CI_JOB_URL}"),
    ("BUILDKITE_BUILD_URL", "{BUILDKITE_BUILD_URL}"),
    ("CIRCLE_BUILD_URL", "{CIRCLE_BUILD_URL}"),
    ("SYSTEM_COLLECTIONURI", "{SYSTEM_COLLECTIONURI}{SYSTEM_TEAMPROJECT}/_build/results?buildId={BUILD_BUILDID}"),
    ("BUILD_URL", "{BUILD_URL}"),
)
"""By a variable of GitHub, GitLab, Buildkite, CircleCI, Azure and Jenkins: the address of the job."""
_LINK = re.compile(r"https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?/[A-Za-z0-9._~/?=&%+:@,;!$'()*#-]*")


def ci_job(variables: Mapping[str, str], clean: Callable[[str], str]) -> str | None:
    """The address of the CI job that the variables tell of. None where there is none, and for one that is no plain
    http(s) address, has credentials, or holds a known value.
    """
    pattern = next((pattern for name, pattern in _LINKS if variables.get(name)), "")
    link = pattern.format_map(defaultdict(str, variables))
    if len(link) > _LONGEST_LINK or not _LINK.fullmatch(link):
        return None
    return link if clean(link) == link else None
