"""The real Claude Code CLI, driven by the model server: it works, and it fails as in earnest."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.server_process import TIMEOUT_SECONDS, Server
from tools.fakemodel.tests.claude_cli import Claude, install
from tools.fakemodel.tests.model_client import SUBTASKS, subtask_brief

pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def cli_path() -> Path:
    return install()


@pytest.fixture
def claude(cli_path: Path, model_server: Server, tmp_path: Path) -> Claude:
    """The CLI in a copy of the sample project, without any memory."""
    home, worktree = tmp_path / "home", tmp_path / "worktree"
    home.mkdir()
    shutil.copytree(Path(__file__).parents[2] / "gitserver" / "project", worktree)
    return Claude(cli_path, model_server, home, worktree)


def passes(worktree: Path, verify: list[str]) -> bool:
    done = subprocess.run(
        [sys.executable, *verify[1:]],
        cwd=worktree,
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    return done.returncode == 0


def check_works(claude: Claude, arguments_of: Callable[[int], list[str]]) -> None:
    """Have the CLI do every subtask in order, and check each as soon as it says that it is done."""
    for position, subtask in enumerate(SUBTASKS):
        run = claude.run(subtask_brief(subtask), *arguments_of(position))

        assert (run.exit_code, run.result["is_error"], run.result["subtype"]) == (
            0,
            False,
            "success",
        )
        assert run.result["usage"]["cache_read_input_tokens"] > 10_000
        assert passes(claude.worktree, subtask["verify"]), subtask["id"]
        assert (claude.worktree / ".afresh" / "outbox" / "summary.md").read_text()
        shutil.rmtree(claude.worktree / ".afresh")


def test_a_fresh_agent_for_each_subtask_does_them_all(claude: Claude) -> None:
    check_works(claude, lambda _: ["--no-session-persistence"])


def test_one_agent_that_is_continued_does_them_all(claude: Claude) -> None:
    check_works(claude, lambda position: ["--continue"] if position else [])


@pytest.mark.parametrize(
    ("line", "want"),
    [
        ("unauthorized", {"api_error_status": 401, "result": "Invalid API key"}),
        ("no-credit", {"api_error_status": 400, "result": "Credit balance is too low"}),
        ("rate-limited", {"api_error_status": 429, "result": "Request rejected (429)"}),
        ("server-error", {"api_error_status": 500, "result": "500 Internal server error"}),
        ("unavailable", {"api_error_status": 503, "result": "503 Service unavailable"}),
        ("overloaded", {"api_error_status": 529, "result": "529 Overloaded"}),
        ("reset", {"api_error_status": None, "result": "ECONNRESET"}),
        ("empty", {"api_error_status": None, "result": "empty or malformed response"}),
        ("cut-off", {"api_error_status": None, "result": "Connection to the API was lost"}),
    ],
)
def test_a_failing_provider_is_what_the_cli_reports(
    claude: Claude, line: str, want: dict[str, Any]
) -> None:
    run = claude.run(f"Do it.\n\ndemo-model: {line}\n", "--no-session-persistence")

    assert (run.exit_code, run.result["is_error"]) == (1, True)
    assert run.result["api_error_status"] == want["api_error_status"]
    assert want["result"] in run.result["result"]


def test_a_wrong_key_is_what_the_cli_reports(claude: Claude) -> None:
    run = claude.run("demo-model: idle", "--no-session-persistence", key="wrong")

    assert (run.exit_code, run.result["api_error_status"]) == (1, 401)


def test_a_provider_that_recovers_is_retried_and_the_command_is_run(claude: Claude) -> None:
    brief = "demo-model: overloaded times=1\ndemo-model: shell echo hello > hello.txt\n"

    run = claude.run(brief, "--no-session-persistence")

    assert (run.exit_code, run.retries) == (0, 1)
    assert (claude.worktree / "hello.txt").read_text() == "hello\n"


def test_an_endless_agent_is_stopped_by_its_turns(claude: Claude) -> None:
    run = claude.run("demo-model: endless", "--no-session-persistence")

    assert (run.exit_code, run.result["subtype"]) == (1, "error_max_turns")


def test_a_hanging_provider_keeps_the_cli_waiting_until_it_is_stopped(
    claude: Claude, model_server: Server
) -> None:
    logged = len(model_server.log)
    with claude.start("--no-session-persistence") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("demo-model: hang")
        process.stdin.close()
        started = process.stdout.readline()
        model_server.wait_for_log("turn 1: hang", after=logged)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1)
        process.terminate()
        code = process.wait(TIMEOUT_SECONDS)

    assert '"subtype":"init"' in started
    assert code == 143


def test_an_unscripted_prompt_ends_with_a_reason_in_the_outbox(claude: Claude) -> None:
    run = claude.run("Write a poem about ledgers.", "--no-session-persistence")

    assert run.exit_code == 0
    blocked = (claude.worktree / ".afresh" / "outbox" / "blocked.md").read_text()
    assert "knows only the demo's own prompts" in blocked
