"""AgentClasses for the agent programs of this machine, where a file brings none of its own.

Their names are those of the chart, so that a package can go to a cluster as it is.
"""

from afresh.api.agent_class import AgentClass
from afresh.contract.words import AdapterName

# The program, and the environment variables that may hold its key.
PROGRAMS = {
    "claude": (AdapterName.CLAUDE, "claude", ("ANTHROPIC_API_KEY",)),
    "codex": (AdapterName.CODEX, "codex", ("OPENAI_API_KEY",)),
    "gemini": (AdapterName.GEMINI, "gemini", ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
    "opencode": (AdapterName.OPENCODE, "opencode", ("OPENAI_API_KEY",)),
    "aider": (AdapterName.AIDER, "aider", ("OPENAI_API_KEY",)),
    "qwen": (AdapterName.QWEN, "qwen", ("DASHSCOPE_API_KEY", "OPENAI_API_KEY")),
}
IMAGE = "localhost/this-machine:local"


def class_for(name: str) -> AgentClass | None:
    """Return the class of that name; None if it is none of the programs'."""
    if name not in PROGRAMS:
        return None
    adapter, program, _ = PROGRAMS[name]
    return AgentClass.model_validate(
        {
            "metadata": {"name": name},
            "spec": {
                "adapter": adapter,
                "image": IMAGE,
                "credentials": {"secretName": f"{program}-key"},
            },
        }
    )
