"""From an adapter's name to the adapter.

Each is imported when it is asked for: the others would delay the start of every episode.
"""

import importlib

from afresh.adapters.adapter import Adapter
from afresh.contract.words import AdapterName


def adapter_of(name: AdapterName) -> Adapter:
    """Return the adapter of that name: of `OpenCode`, the class `OpenCodeAdapter` in `opencode`."""
    module = importlib.import_module(f"afresh.adapters.{name.lower()}")
    adapter: Adapter = getattr(module, f"{name}Adapter")()
    return adapter
