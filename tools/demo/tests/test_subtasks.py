"""The demo's work: every subtask's script really does it, on the sample project, in order."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from tests.server_process import TIMEOUT_SECONDS, Server
from tools.fakemodel.tests.model_client import (
    SUBTASKS,
    Agent,
    ask,
    conversation,
    request_body,
    results_in,
    send,
    subtask_brief,
)
from tools.gitserver.tests.git_client import Checkout, clone, init

PROJECT = Path(__file__).parents[2] / "gitserver" / "project"
IDS = [subtask["id"] for subtask in SUBTASKS]


@dataclass(frozen=True)
class Work:
    """What one subtask's agent left behind: the conversation, the files it changed, the outbox."""

    messages: list[dict[str, Any]]
    changed: list[str]
    outbox: dict[str, str]
    clean: Checkout


@pytest.fixture(scope="module")
def works(model_server: Server, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Work]:
    """Every subtask done on the commit of the one before, each with a clean checkout."""
    folder = tmp_path_factory.mktemp("works")
    author = init(folder / "author")
    shutil.copytree(PROJECT, author.path, dirs_exist_ok=True)
    author.git("add", "--all")
    author.git("commit", "--quiet", "-m", "Start")
    works = {}
    for subtask in SUBTASKS:
        messages = Agent(model_server, author.path).work(subtask_brief(subtask))
        outbox = take_outbox(author.path)
        author.git("add", "--all")
        changed = author.git("diff", "--cached", "--name-only").splitlines()
        author.git("commit", "--quiet", "-m", subtask["title"])
        clean = clone(str(author.path), folder / subtask["id"])
        works[subtask["id"]] = Work(messages, changed, outbox, clean)
    return works


def take_outbox(worktree: Path) -> dict[str, str]:
    """Return what lies in the outbox, and empty it as the runner does."""
    folder = worktree / ".afresh" / "outbox"
    outbox = {path.name: path.read_text() for path in folder.iterdir()}
    shutil.rmtree(worktree / ".afresh")
    return outbox


def run_in(checkout: Checkout, command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a verify command with this interpreter."""
    assert command[0] == "python3"
    return subprocess.run(
        [sys.executable, *command[1:]],
        cwd=checkout.path,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


@pytest.mark.parametrize("subtask", SUBTASKS, ids=IDS)
def test_a_subtask_that_is_done_passes_its_verify_command_and_all_tests(
    works: dict[str, Work], subtask: dict[str, Any]
) -> None:
    clean = works[subtask["id"]].clean

    for command in (subtask["verify"], ["python3", "-m", "unittest"]):
        done = run_in(clean, command)
        assert done.returncode == 0, done.stderr
        assert "Ran 0 tests" not in done.stderr


@pytest.mark.parametrize("subtask", SUBTASKS, ids=IDS)
def test_a_subtask_s_tests_fail_on_the_code_of_the_one_before(
    works: dict[str, Work], tmp_path: Path, subtask: dict[str, Any]
) -> None:
    checkout = clone(str(works[subtask["id"]].clean.path), tmp_path / "mixed")
    checkout.git("rm", "-r", "--quiet", "ledger")
    checkout.git("checkout", "--quiet", "HEAD~1", "--", "ledger")

    done = run_in(checkout, subtask["verify"])

    assert done.returncode != 0
    assert "FAILED" in done.stderr


@pytest.mark.parametrize("subtask", SUBTASKS, ids=IDS)
def test_a_subtask_changes_only_its_own_files_and_changes_each_of_them(
    works: dict[str, Work], subtask: dict[str, Any]
) -> None:
    changed = works[subtask["id"]].changed

    assert [
        name for name in changed if not any(fnmatch(name, glob) for glob in subtask["files"])
    ] == []
    assert [
        glob for glob in subtask["files"] if not any(fnmatch(name, glob) for name in changed)
    ] == []


@pytest.mark.parametrize("subtask", SUBTASKS, ids=IDS)
def test_a_subtask_leaves_a_summary_of_one_or_two_lines(
    works: dict[str, Work], subtask: dict[str, Any]
) -> None:
    outbox = works[subtask["id"]].outbox

    assert list(outbox) == ["summary.md"]
    lines = outbox["summary.md"].splitlines()
    assert 1 <= len(lines) <= 2
    assert all(lines)


def test_the_guarded_api_s_agent_meets_a_failing_test_and_fixes_the_code(
    works: dict[str, Work],
) -> None:
    results = list(results_in(works["T003"].messages))

    runs = [result for result in results if "Ran " in result]
    assert ["401 != 200" in run for run in runs] == [True, False]
    assert runs[-1].rstrip().endswith("OK")


@pytest.mark.parametrize("subtask", SUBTASKS, ids=IDS)
def test_a_subtask_whose_work_is_there_changes_nothing_and_says_so(
    works: dict[str, Work], model_server: Server, tmp_path: Path, subtask: dict[str, Any]
) -> None:
    checkout = clone(str(works[IDS[-1]].clean.path), tmp_path / "done")

    Agent(model_server, checkout.path).work(subtask_brief(subtask))

    assert list(take_outbox(checkout.path)) == ["unchanged.md"]
    assert checkout.git("status", "--porcelain") == ""


def test_the_subtasks_come_after_what_they_depend_on() -> None:
    for position, subtask in enumerate(SUBTASKS):
        assert set(subtask["dependsOn"]) <= set(IDS[:position])
    assert len(set(IDS)) == len(IDS) >= 4


def test_a_second_brief_in_one_conversation_begins_its_own_script(model_server: Server) -> None:
    first, second = (subtask_brief(subtask) for subtask in SUBTASKS[:2])
    so_far = conversation(first, ("not there", "written", "written"))
    said = {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}
    reminder = {"type": "text", "text": "<system-reminder>Mind this.</system-reminder>"}
    brief = {"role": "user", "content": [reminder, {"type": "text", "text": second}]}

    resumed = send(model_server, request_body([*so_far, said, brief])).json()["content"]

    fresh = ask(model_server, second).json()["content"]
    assert without_ids(resumed) == without_ids(fresh)


def without_ids(content: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in block.items() if key != "id"} for block in content]


@pytest.mark.parametrize(
    ("tools", "want"),
    [
        pytest.param([{"name": "Write", "input_schema": {}}], "tool_use", id="an agent with tools"),
        pytest.param([], "end_turn", id="a question without tools"),
    ],
)
def test_a_prompt_that_has_no_script_is_answered_with_the_reason(
    model_server: Server, tools: list[dict[str, Any]], want: str
) -> None:
    body = request_body(conversation("Write a poem."), tools=tools)

    answer = send(model_server, body).json()

    assert answer["stop_reason"] == want
    assert "knows only the demo's own prompts" in str(answer["content"])
