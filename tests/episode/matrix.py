"""The table of agent programs and of the ways in which a provider answers: what each must end as.

Owns how one cell is run: the real runner, the real program, and the scripted model behind the
gateway. Must not know pytest.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from afresh.contract.order import Agent, Order
from afresh.contract.report import Report
from afresh.contract.words import AdapterName, CredentialsMode, ModelApiName, Outcome
from tests.demo import claude_cli
from tests.demo.programs import node_folder, npm_program, python_program
from tests.episode.pod import Pod, make_order, make_task
from tests.episode.servers import PASSWORD, USERNAME, Remote

KEY = "sk-test-0123456789abcdef0123456789"
BRANCH = "afresh/demo"
FILE = "greeting.txt"
TURNS = 3
# More than any program needs to see a provider's answer and to give up.
AGENT_SECONDS = 50
HANG_SECONDS = 6
RETRY_SECONDS = 600


@dataclass(frozen=True)
class Program:
    """An agent program. `model_api` is the one to speak, where it is not the usual one."""

    name: str
    adapter: AdapterName
    model: str
    install: Callable[[], Path]
    model_api: ModelApiName | None = None


@dataclass(frozen=True)
class Answer:
    """A way in which the provider answers, and what the episode must end as."""

    name: str
    behaviour: str
    want: Outcome
    changes: Mapping[str, int] = field(default_factory=dict)


PROGRAMS = (
    Program("Claude", AdapterName.CLAUDE, "claude-sonnet-4-5", claude_cli.install),
    Program(
        "Codex",
        AdapterName.CODEX,
        "gpt-5-codex",
        lambda: npm_program("@openai/codex", "0.169.0", "codex"),
    ),
    Program(
        "Gemini",
        AdapterName.GEMINI,
        "gemini-2.5-pro",
        lambda: npm_program("@google/gemini-cli", "0.61.0", "gemini"),
    ),
    Program(
        "OpenCode",
        AdapterName.OPENCODE,
        "gpt-5",
        lambda: npm_program("opencode-ai", "1.18.33", "opencode"),
    ),
    Program(
        "Aider",
        AdapterName.AIDER,
        "gpt-5",
        lambda: python_program("aider-chat-0.86.2", "aider", ("aider-chat==0.86.2",)),
    ),
)

ANSWERS = (
    Answer("the work is done", f"write {FILE}", Outcome.SUCCESS),
    Answer("the key is refused", "unauthorized", Outcome.AUTH),
    Answer("there is no credit", "no-credit", Outcome.AUTH),
    Answer("the rate is limited", f"rate-limited retry-after={RETRY_SECONDS}", Outcome.TRANSIENT),
    Answer("an error of the server", "server-error", Outcome.TRANSIENT),
    Answer("the service is unavailable", "unavailable", Outcome.TRANSIENT),
    Answer("the service is overloaded", "overloaded", Outcome.TRANSIENT),
    Answer("the connection is reset", "reset", Outcome.TRANSIENT),
    Answer("the answer is empty", "empty", Outcome.TRANSIENT),
    Answer("the answer breaks off", "cut-off", Outcome.TRANSIENT),
    Answer("the work never ends", "endless", Outcome.TURN_LIMIT, {"max_turns": TURNS}),
    Answer("no answer comes", "hang", Outcome.TIMEOUT, {"timeout_seconds": HANG_SECONDS}),
)


@dataclass(frozen=True)
class Ended:
    """What is left of an episode."""

    report: Report
    outcome: Outcome
    log: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class Place:
    """Where episodes are run: a folder, a git server's folder and port."""

    root: Path
    git_root: Path
    git_port: int

    def run(self, program: Program, answer: Answer, model_port: int) -> Ended:
        """Run an episode of a program with a provider that answers so."""
        name = f"{program.name}-{answer.name}".replace(" ", "-").lower()
        remote = Remote.create(self.git_root, name, self.git_port)
        remote.commit("main", {"README.md": "A sample.\n"})
        pod = _pod(self.root / name, program)
        report = pod.run(_order(remote, program, answer, model_port))
        files = remote.files(BRANCH) if remote.head(BRANCH) else ()
        return Ended(report, pod.result.outcome, pod.log, tuple(files))


def _pod(root: Path, program: Program) -> Pod:
    pod = Pod(root)
    pod.give_credentials(USERNAME, PASSWORD)
    pod.put("/afresh/secrets/model/api-key", KEY)
    pod.image_environment = {
        "PATH": f"{program.install().parent}:{node_folder()}:{os.environ['PATH']}",
        "IS_SANDBOX": "1",  # tests run as root, where Claude Code would refuse to work unasked
    }
    return pod


def _order(remote: Remote, program: Program, answer: Answer, model_port: int) -> Order:
    agent = Agent(
        adapter=program.adapter,
        model=program.model,
        model_api=program.model_api,
        endpoint=f"http://127.0.0.1:{model_port}",
        credentials_mode=CredentialsMode.GATEWAY,
        secret_name="model-key",
        timeout_seconds=answer.changes.get("timeout_seconds", AGENT_SECONDS),
        max_turns=answer.changes.get("max_turns", 20),
    )
    task = make_task(prompt=f"Write {FILE}.\n\ndemo-model: {answer.behaviour}")
    return make_order(remote.url, "", agent=agent, tasks=(task,))
