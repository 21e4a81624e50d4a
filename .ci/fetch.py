"""Fetches the newest artifact of a name from earlier runs of a GitHub workflow: `fetch.py NAME FOLDER [BRANCH]`.

An artifact is a folder of files that a run of a workflow uploaded. One of another repository does not count, because a
pull request from a fork can upload one of any name. If there is none, nothing is fetched, and that is no error. `gh`
and GH_TOKEN are those of the runner.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from operator import itemgetter
from typing import Any


def newest(artifacts: list[dict[str, Any]], branch: str = "") -> dict[str, Any] | None:
    """The workflow run that uploaded the newest of these artifacts, as GitHub describes it; None if there is none.

    Runs of forks are left out, because anybody can make a fork. If a branch is named, only its runs are considered.
    """
    unexpired = [artifact for artifact in artifacts if not artifact["expired"]]
    runs = [{**artifact["workflow_run"], "at": artifact["created_at"]} for artifact in unexpired]
    # The two ids differ if the run tested code of a fork.
    own_runs = [run for run in runs if run["head_repository_id"] == run["repository_id"]]
    runs_of_branch = [run for run in own_runs if branch in ("", run["head_branch"])]
    return max(runs_of_branch, key=itemgetter("at"), default=None)


def main(name: str, folder: str, branch: str = "") -> int:
    """Download the newest artifact of this name from earlier runs of the workflow into a folder.

    Returns 0 if that worked, or if there is no such artifact yet; otherwise the exit status of `gh`, the command line
    of GitHub.
    """
    path = f"repos/{os.environ['GITHUB_REPOSITORY']}/actions/artifacts?per_page=100&name={name}"
    listing = subprocess.run(["gh", "api", path], stdout=subprocess.PIPE, check=False)
    if listing.returncode:
        return listing.returncode
    run = newest(json.loads(listing.stdout)["artifacts"], branch)
    if run is None:
        print(f"there is no artifact {name} of an earlier run{f' of {branch}' if branch else ''}")
        return 0
    print(f"{name} is that of run {run['id']}", flush=True)
    download = ["gh", "run", "download", str(run["id"]), "--name", name, "--dir", folder]
    return subprocess.run(download, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
