"""From an adapter's name to the adapter."""

from afresh.adapters.adapter import Adapter
from afresh.adapters.aider import AiderAdapter
from afresh.adapters.claude import ClaudeAdapter
from afresh.adapters.codex import CodexAdapter
from afresh.adapters.command import CommandAdapter
from afresh.adapters.gemini import GeminiAdapter
from afresh.adapters.opencode import OpenCodeAdapter
from afresh.contract.words import AdapterName


def find_adapter(name: AdapterName) -> Adapter | None:
    """Return the adapter, or None if this version has none of that name."""
    return _ADAPTERS.get(name)


_ADAPTERS: dict[AdapterName, Adapter] = {
    AdapterName.AIDER: AiderAdapter(),
    AdapterName.CLAUDE: ClaudeAdapter(),
    AdapterName.CODEX: CodexAdapter(),
    AdapterName.COMMAND: CommandAdapter(),
    AdapterName.GEMINI: GeminiAdapter(),
    AdapterName.OPENCODE: OpenCodeAdapter(),
}
