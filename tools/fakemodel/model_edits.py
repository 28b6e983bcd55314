"""Writes the scripted model's changes of files into the text of its answer.

Some agent programs, such as Aider, offer no tools: their instructions define a format for files in
the answer. This file must not know an API or a script.
"""

from collections.abc import Callable

from tools.fakemodel.model_script import Call, Conversation, Reply, Tool
from tools.fakemodel.model_tools import ModelTurn


def edits_by_text(conversation: Conversation) -> bool:
    """Return whether the agent reads changes of files from the text of the answer."""
    return not conversation.tools and _form_of(conversation.instructions) is not None


def use_text(reply: Reply, instructions: str) -> ModelTurn:
    """Return `reply` with its calls as text, in the format that `instructions` define.

    Calls that the format cannot express are left out.
    """
    form = _form_of(instructions)
    blocks = [block for call in reply.calls if form and (block := form(call))]
    return ModelTurn("\n\n".join([reply.text, *blocks]).strip())


def _form_of(instructions: str) -> Callable[[Call], str] | None:
    if "SEARCH/REPLACE" in instructions:
        return _as_block
    return _as_listing if "*file listing*" in instructions else None


def _as_block(call: Call) -> str:
    match call.tool:
        case Tool.WRITE:
            old, new = "", call.input["content"]
        case Tool.EDIT:
            old, new = call.input["old"] + "\n", call.input["new"] + "\n"
        case _:
            return ""
    block = f"<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE"
    return f"{call.input['path']}\n```\n{block}\n```"


def _as_listing(call: Call) -> str:
    if call.tool is not Tool.WRITE:
        return ""
    return f"{call.input['path']}\n```\n{call.input['content']}```"
