"""Finds an adapter by its name.

Only the adapter that is asked for is imported: importing all would delay the start of an episode.
"""

import importlib

from afresh.adapters.adapter import Adapter
from afresh.contract.words import AdapterName


def adapter_of(name: AdapterName) -> Adapter:
    """Return the adapter with that name.

    The adapter `OpenCode`, for example, is the class `OpenCodeAdapter` in the module `opencode`.
    """
    module = importlib.import_module(f"afresh.adapters.{name.lower()}")
    adapter: Adapter = getattr(module, f"{name}Adapter")()
    return adapter
