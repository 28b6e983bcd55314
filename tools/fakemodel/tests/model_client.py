"""Speaks the Messages API as an agent does, and does what the model asks with small tools."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.server_process import TIMEOUT_SECONDS, Answer, Server

KEY = "sk-demo-key"
SUBTASKS = json.loads((Path(__file__).parents[1] / "subtasks.json").read_text())
_TURNS = 30


def subtask_brief(subtask: dict[str, Any]) -> str:
    """Return a brief that names the other subtasks, too, and quotes the prompt."""
    others = [f"- {other['id']}: {other['title']}" for other in SUBTASKS]
    prompt = subtask["prompt"].replace(". ", ".\n> ")
    return "\n".join(["# Task", *others, "", f"> {prompt}", "", " ".join(subtask["verify"])])


def request_body(messages: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    """Return a Messages request with the tools of an agent."""
    tools: list[dict[str, Any]] = [
        {"name": name, "input_schema": {}} for name in ("Read", "Write", "Edit", "Bash")
    ]
    system = [{"type": "text", "text": "You are an agent. " * 100}]
    request = {"model": "claude-sonnet-4-5", "max_tokens": 1000, "system": system, "tools": tools}
    return {**request, "messages": messages, **fields}


def send(
    server: Server, body: dict[str, Any], path: str = "/v1/messages", key: str = KEY
) -> Answer:
    """Send a request with a key."""
    return server.ask("POST", path, json.dumps(body).encode(), {"x-api-key": key})


def ask(server: Server, prompt: str, results: tuple[str, ...] = ()) -> Answer:
    """Send a conversation in which the tools answered `results`, one in each turn."""
    return send(server, request_body(conversation(prompt, results)))


def conversation(prompt: str, results: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Return the messages of a prompt and its finished turns."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
    for number, result in enumerate(results):
        use = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": "true"}}
        messages.append({"role": "assistant", "content": [use]})
        messages.append({"role": "user", "content": [tool_result(f"t{number}", result)]})
    return messages


def tool_result(identifier: str, text: str) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {"type": "tool_result", "tool_use_id": identifier, "content": content}


def events_of(answer: Answer) -> list[dict[str, Any]]:
    """Return the events of a streamed answer, and see that each is named by its type."""
    events = []
    for chunk in answer.body.decode().strip().split("\n\n"):
        name, data = chunk.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        events.append(event)
    return events


@dataclass(frozen=True)
class Agent:
    """A small agent: the model's tool calls are done for real in `worktree`."""

    server: Server
    worktree: Path

    def work(self, prompt: str) -> list[dict[str, Any]]:
        """Go on until the model ends its turn; return the messages."""
        messages = conversation(prompt)
        for _ in range(_TURNS):
            reply = send(self.server, request_body(messages)).json()
            messages.append({"role": "assistant", "content": reply["content"]})
            if reply["stop_reason"] == "end_turn":
                return messages
            results = [
                tool_result(block["id"], self._use(block["name"], block["input"]))
                for block in reply["content"]
                if block["type"] == "tool_use"
            ]
            messages.append({"role": "user", "content": results})
        raise AssertionError(f"the model does not end its turn within {_TURNS} turns")

    def _use(self, name: str, arguments: dict[str, str]) -> str:
        if name == "Bash":
            return self._run(arguments["command"])
        path = self.worktree / arguments["file_path"]
        if name == "Read":
            return path.read_text()
        if name == "Write":
            assert not path.exists(), f"{path} would be overwritten unread"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(arguments["content"])
            return "written"
        text = path.read_text()
        assert text.count(arguments["old_string"]) == 1, arguments["old_string"]
        path.write_text(text.replace(arguments["old_string"], arguments["new_string"]))
        return "edited"

    def _run(self, command: str) -> str:
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=self.worktree,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        return done.stdout


def results_in(messages: list[dict[str, Any]]) -> Iterator[str]:
    """Yield what the tools answered, in order."""
    for message in messages:
        if message["role"] == "user" and not isinstance(message["content"], str):
            yield from (block["content"][0]["text"] for block in message["content"])
