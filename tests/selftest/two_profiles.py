"""The profile of the sandbox, and the same profile for a bank: a service that is no sandbox."""

from dataclasses import replace

from environments.profiles.loading import load

SANDBOX = load("sandbox")
BANK = replace(SANDBOX, base_url="https://bank.example", sandbox=None)
