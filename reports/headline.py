"""The headline of a run, for the terminal and the page: the verdict in one line, and what it covers in another."""

from __future__ import annotations

from typing import Any

from reports.verdicts import TESTED

HEADLINES = {
    "conformant": "CONFORMANT: every documented statement that was tested holds",
    "non-conformant": "NON-CONFORMANT: the service breaks what the document states",
    "not-robust": "NOT ROBUST: no documented statement fails, but a client's mistake breaks the service",
    "incomplete": "INCOMPLETE: nothing failed, but not everything in scope was tested",
    "unreachable": "UNREACHABLE: the target could not be spoken to; this is no verdict on the service",
    "interrupted": "INTERRUPTED: the run was stopped; what is below was found until then",
    "nothing-selected": "NOTHING SELECTED: no conformance test matches",
    "internal-error": "INTERNAL ERROR: the suite failed; this is no verdict on the service",
}


def scope(document: dict[str, Any]) -> str:
    """What the verdict covers, in one sentence."""
    environment, traffic = document["environment"], document["traffic"]
    tested = sum(row["verdict"] in TESTED for row in document["requirements"])
    allowed = ", ".join(environment["allow"]) or "nothing"
    selected = f"; only {document['selection']}" if document["selection"] else ""
    seed = f"; generated with --seed={document['generated']['seed']}" if document["generated"]["refused"] else ""
    return (
        f"{tested} of {len(document['requirements'])} statements tested at {environment['name']} "
        f"({environment['base_url']}) with {allowed} allowed: {traffic['requests']} requests, "
        f"{traffic['executions']} executions{seed}{selected}"
    )
