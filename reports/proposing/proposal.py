"""The overlay as YAML, made from a conformance.json that may come from anywhere: what is shown of it is redacted."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import yaml

from reports.comparing.reading import UnreadableError
from reports.observations.behaviour import behaviour_of, redacted_behaviour
from reports.proposing.origin import Origin
from reports.proposing.overlay import overlay_of

_LETTER = re.compile(r"[^\W\d]")
_NEVER = 2**31 - 1


def proposal_of(document: Mapping[str, Any], clean: Callable[[str], str]) -> str:
    """The overlay for what a run observed, its texts cleaned. Raises UnreadableError where there is nothing to
    propose."""
    if "observed" not in document:
        raise UnreadableError("observations in words alone (a format before 1.1); propose from a newer run")
    origin = Origin(clean(document["environment"]["name"]), document["started"][:10])
    overlay = overlay_of(redacted_behaviour(behaviour_of(document["observed"]), clean), origin)
    if not overlay["actions"]:
        raise UnreadableError("nothing to propose: the run observed nothing that the interface document does not show")
    return as_yaml(overlay)


def as_yaml(value: Any) -> str:
    """Plain data as YAML that YAML 1.1 and 1.2 read alike. What does not begin with a letter is quoted: CI systems take
    lines that begin with :: for commands."""
    return str(yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=_NEVER))


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, _: Any) -> bool:
        """Everything is written where it stands: not every tool reads aliases."""
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, None if _LETTER.match(text) else '"')


_Dumper.add_representer(str, _text)
