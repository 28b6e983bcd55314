"""From an adapter's name to the adapter.

Each is imported when it is asked for: the others would delay the start of every episode.
"""

import importlib

from afresh.adapters.adapter import Adapter
from afresh.contract.words import AdapterName


def adapter_of(name: AdapterName) -> Adapter:
    """Return the adapter of that name."""
    module, kind = _PLACES[name]
    adapter: Adapter = getattr(importlib.import_module(f"afresh.adapters.{module}"), kind)()
    return adapter


_PLACES = {
    AdapterName.AIDER: ("aider", "AiderAdapter"),
    AdapterName.CLAUDE: ("claude", "ClaudeAdapter"),
    AdapterName.CODEX: ("codex", "CodexAdapter"),
    AdapterName.COMMAND: ("command", "CommandAdapter"),
    AdapterName.GEMINI: ("gemini", "GeminiAdapter"),
    AdapterName.OPENCODE: ("opencode", "OpenCodeAdapter"),
}
