"""What the scripted model wants done, in the tools or the text of each agent program."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.server_process import TIMEOUT_SECONDS, Server
from tools.fakemodel.tests.model_client import conversation, request_body, send

BRIEF = "demo-model: write docs/odd.md"
CONTENT = "Nobody asked for this.\n"
BLOCKS = "All changes must use this *SEARCH/REPLACE block* format."
LISTINGS = "You MUST use this *file listing* format:"


def answer(server: Server, brief: str, *tools: str, system: str = "") -> list[dict[str, Any]]:
    """Return what the model answers to an agent with these tools."""
    offered = [{"name": name, "input_schema": {}} for name in tools]
    body = request_body(conversation(brief), tools=offered, system=system)
    content: list[dict[str, Any]] = send(server, body).json()["content"]
    return content


@pytest.mark.parametrize(
    ("tools", "want"),
    [
        pytest.param(
            ("Bash", "Write"), {"file_path": "docs/odd.md", "content": CONTENT}, id="Claude Code"
        ),
        pytest.param(
            ("run_shell_command", "write_file"),
            {"file_path": "docs/odd.md", "content": CONTENT},
            id="Gemini CLI",
        ),
        pytest.param(
            ("bash", "write"), {"filePath": "docs/odd.md", "content": CONTENT}, id="OpenCode"
        ),
    ],
)
def test_a_file_is_written_with_the_program_s_own_tool(
    model_server: Server, tools: tuple[str, ...], want: dict[str, str]
) -> None:
    (use,) = answer(model_server, BRIEF, *tools)

    assert (use["name"], use["input"]) == (tools[1], want)


@pytest.mark.parametrize(
    ("tools", "argument"),
    [
        (("exec_command",), "cmd"),
        (("shell_command",), "command"),
        (("Bash",), "command"),
        (("run_shell_command", "read_file", "write_file", "edit"), "command"),
    ],
    ids=["Codex", "a shell", "Claude Code's shell", "Qwen Code, which wants absolute paths"],
)
def test_a_program_that_has_only_a_shell_for_relative_paths_writes_the_file_with_it(
    model_server: Server, tmp_path: Path, tools: tuple[str, ...], argument: str
) -> None:
    (use,) = answer(model_server, BRIEF, *tools)

    command = use["input"][argument]
    subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True, timeout=TIMEOUT_SECONDS)
    assert (tmp_path / "docs/odd.md").read_text() == CONTENT


@pytest.mark.parametrize(
    ("system", "want"),
    [
        pytest.param(
            BLOCKS,
            f"docs/odd.md\n```\n<<<<<<< SEARCH\n=======\n{CONTENT}>>>>>>> REPLACE\n```",
            id="as a block to replace",
        ),
        pytest.param(LISTINGS, f"docs/odd.md\n```\n{CONTENT}```", id="as a listing"),
    ],
)
def test_a_program_without_tools_is_told_the_file_in_the_form_that_it_asks_for(
    model_server: Server, system: str, want: str
) -> None:
    (text,) = answer(model_server, BRIEF, system=system)

    assert text["text"] == f"Done.\n\n{want}"


def test_a_program_without_tools_and_without_a_form_is_told_nothing_to_write(
    model_server: Server,
) -> None:
    (text,) = answer(model_server, BRIEF, system="You are brief.")

    assert text["text"] == ""


def test_all_edits_of_a_subtask_come_at_once_to_a_program_without_tools(
    model_server: Server,
) -> None:
    subtask = json.loads((Path(__file__).parents[1] / "subtasks.json").read_text())[2]

    (text,) = answer(model_server, subtask["prompt"], system=BLOCKS)

    assert text["text"].count("<<<<<<< SEARCH") == text["text"].count(">>>>>>> REPLACE") > 3
    assert "tests/test_api_tokens.py\n" in text["text"]
