"""`new`: the commented example of a profile, with the given options filled in."""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Any

from environments.profiles.loading import parse_yaml, path_of, text_of_new_profile
from environments.profiles.model import ProfileError, path_in_messages
from spec.interface import operations

_FURTHER_EXECUTIONS = 4
"""Executions that a run sends on a sandbox beside one for each transfer of `count` (docs/traffic.md, A sandbox)."""


def new_profile(options: argparse.Namespace) -> tuple[Path, str, list[str]]:
    """The path and the text of the profile that `new` writes, and lines that tell the user what to do next.

    The text is the commented example, in which the options of the command line are filled in. Raises ProfileError.
    """
    path = path_of(options.environment)
    tls = _tls_of_replaced_profile(path, may_replace=options.force)
    if options.ca_bundle:
        tls["ca_bundle"] = os.path.relpath(options.ca_bundle, path.absolute().parent)
    values = _values_for_example(options, tls)
    return path, text_of_new_profile(values, path), _next_steps(options, path, values)


def _tls_of_replaced_profile(path: Path, *, may_replace: bool) -> dict[str, Any]:
    """The settings `tls` of an existing profile at this path, which a new profile keeps; empty if there is none.

    They name certificates, which the options of `new` cannot all name. Raises ProfileError for a path that no profile
    can have, and if there is a profile that may not be replaced.
    """
    file = path_in_messages(path)
    if not re.fullmatch(r"\w[\w .-]*\.ya?ml", path.name):  # such as staging.yaml
        raise ProfileError(f"{file}: expected a name such as staging, or a path that ends in .yaml")
    if not os.path.lexists(path):
        return {}
    if not may_replace:
        remedy = "choose another name, or use --force, which replaces all of it but tls"
        raise ProfileError(f"{file}: exists already; {remedy}")
    return parse_yaml(path.read_text("utf-8"), file).data.get("tls") or {}


def _values_for_example(options: argparse.Namespace, tls: Mapping[str, Any]) -> dict[str, str]:
    """The values that replace those of the commented example of a profile: `{"accounts": '["0001"]', "json": ""}`.

    Each value is YAML. The line of its key becomes active. An empty value means that the line keeps the value of the
    example. Raises ProfileError for options that do not fit each other.
    """
    operation = options.prepare_with
    if options.count and not operation:
        raise ProfileError("--count needs --prepare-with=OPERATION")
    from_options = {"base_url": options.base_url, "accounts": options.account, "tls": tls}
    values = {key: json.dumps(value) for key, value in from_options.items() if value}
    limits = _limits(options)
    if limits:  # such as ["rate=5", "requests=900"], which becomes `{rate: 5, requests: 900}`
        limits_in_yaml = ", ".join(limits).replace("=", ": ")
        values["limits"] = "{" + limits_in_yaml + "}"
    if operation:
        # These lines are made active, with the values of the example.
        values |= dict.fromkeys(("transactions", "prepare", "json", "code_at"), "")
        values |= {"operation": operation, "count": str(options.count or "")}
        values["allow"] = f"[read, {operations()[operation].permission}]"
    return values


def _limits(options: argparse.Namespace) -> list[str]:
    """The limits that the user gave, such as `rate=5`. With --count, a limit of executions that is enough is added."""
    limits = list(options.limit)
    # One option may name several limits, as in --limit=rate=5,executions=9.
    names_executions = any("executions=" in limit for limit in limits)
    if options.count and not names_executions:
        limits.append(f"executions={options.count + _FURTHER_EXECUTIONS}")
    return limits


def _next_steps(options: argparse.Namespace, path: Path, values: Mapping[str, str]) -> list[str]:
    """Lines that tell the user what was written, and which commands to call next."""
    name = quote(options.environment)
    permissions = values.get("allow", "[read]")
    lines = [f"wrote {path_in_messages(path)}: allow is {permissions}; the rest is explained and switched off"]
    if options.prepare_with:
        lines.append("  correct the body of transactions.prepare; execute is not in allow, because it moves money")
    lines.append("  export PIX_TOKEN=…")
    lines.append(f"  python -m environments check {name}")
    lines.append(f"  pytest --environment={name} --plan")
    return lines
