"""The environments: which service the suite tests, with which settings, and how requests reach it.

| folder or module | what it has |
|---|---|
| `door/` | the only way by which requests reach the service: checks, limits, journal, connections (begin at door.py) |
| `profiles/` | profiles: YAML files with the settings of a run; how they are read and checked |
| `commands/` | the commands of `python -m environments`: new, check, cleanup, journal |
| `sandbox/` | a small service inside the suite, for a first try and for the self-tests |
| `credentials.py`, `secret_values.py` | where the access token comes from, and which values no output shows |
| `early_signals.py`, `uncaught.py` | Ctrl-C while the suite starts, and exceptions that nobody catches |

A regular package: without this file, any package of this name in the environment would win over the folder.
"""
