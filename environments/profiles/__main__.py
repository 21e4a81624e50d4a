"""`python -m environments.profiles` prints the profile that explains every key: environments/staging.example.yaml.

With `--schema`, it prints what editors complete profiles with: environments/profile.schema.json.
"""

from __future__ import annotations

import json
import sys

from environments.profiles.explained import editor_schema, example

if __name__ == "__main__":
    wants_schema = "--schema" in sys.argv[1:]
    print(json.dumps(editor_schema(), indent=2, ensure_ascii=False) + "\n" if wants_schema else example(), end="")
