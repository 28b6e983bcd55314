"""The model that is used if a program requires a name and the AgentClass has none.

This module does not know any program. Pure.
"""

from collections.abc import Mapping

from afresh.contract.words import ModelApiName

DEFAULT_MODELS: Mapping[ModelApiName, str] = {
    ModelApiName.ANTHROPIC: "claude-sonnet-4-5",
    ModelApiName.OPENAI: "gpt-5.1",
}
