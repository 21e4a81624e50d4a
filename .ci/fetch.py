"""Fetches the newest artifact of a name from earlier runs of a GitHub workflow: `fetch.py NAME FOLDER [BRANCH]`.

An artifact of another repository does not count: a pull request from a fork can upload one of any name. Where there is
none, nothing is fetched and that is no error. `gh` and GH_TOKEN are those of the runner.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from operator import itemgetter
from typing import Any


def newest(artifacts: list[dict[str, Any]], branch: str = "") -> dict[str, Any] | None:
    """The newest artifact of this repository, and of a branch where one is named; None where there is none."""
    runs = [{**one["workflow_run"], "at": one["created_at"]} for one in artifacts if not one["expired"]]
    own = (run for run in runs if run["head_repository_id"] == run["repository_id"])
    return max((run for run in own if branch in ("", run["head_branch"])), key=itemgetter("at"), default=None)


def main(name: str, folder: str, branch: str = "") -> int:
    """0: fetched, or there is none; else the exit status of `gh`."""
    path = f"repos/{os.environ['GITHUB_REPOSITORY']}/actions/artifacts?per_page=100&name={name}"
    listed = subprocess.run(["gh", "api", path], stdout=subprocess.PIPE, check=False)
    if listed.returncode:
        return listed.returncode
    run = newest(json.loads(listed.stdout)["artifacts"], branch)
    if run is None:
        print(f"there is no artifact {name} of an earlier run{f' of {branch}' if branch else ''}")
        return 0
    print(f"{name} is that of run {run['id']}", flush=True)
    download = ["gh", "run", "download", str(run["id"]), "--name", name, "--dir", folder]
    return subprocess.run(download, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
