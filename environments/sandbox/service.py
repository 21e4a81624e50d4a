"""The service as a whole."""

from __future__ import annotations

from environments.sandbox.pix_keys import KeyOperations
from environments.sandbox.transfers import TransferOperations


class Service(KeyOperations, TransferOperations):
    """The interface document, lawfully.

    Mutants and variants subclass it and override one method: of execution and preparation (transfers.py), of
    registration (pix_keys.py), of the accounts (accounts.py), or of what holds for all operations (protocol.py).
    `finish` sees every response before it leaves.
    """
