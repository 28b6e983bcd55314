"""Which model is asked for where a program wants a name and the class gives none.

Knows no program. Pure.
"""

from collections.abc import Mapping

from afresh.contract.words import ModelApiName

DEFAULT_MODELS: Mapping[ModelApiName, str] = {
    ModelApiName.ANTHROPIC: "claude-sonnet-4-5",
    ModelApiName.OPENAI: "gpt-5.1",
}
