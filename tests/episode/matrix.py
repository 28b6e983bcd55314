"""The table of agent programs and of the ways in which a provider answers: what each must end as.

Owns how one cell is run: the real runner, the real program, and the scripted model behind the
gateway. Must not know pytest.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from afresh.adapters.registry import adapter_of
from afresh.contract.abilities import ABILITIES
from afresh.contract.order import Agent, Order
from afresh.contract.report import Report
from afresh.contract.words import AdapterName, CredentialsMode, ModelApiName, Outcome
from tests.episode.pod import Pod, make_order, make_task
from tests.episode.servers import PASSWORD, USERNAME, Remote
from tests.programs import node_folder, npm_program, opencode_program, python_program

KEY = "sk-test-0123456789abcdef0123456789"
BRANCH = "afresh/demo"
FILE = "greeting.txt"
TURNS = 3
# More than any program needs to see a provider's answer and to give up.
AGENT_SECONDS = 240
HANG_SECONDS = 9
RETRY_SECONDS = 600


@dataclass(frozen=True)
class Program:
    """An agent program. `model_api` is the one to speak, where it is not the usual one."""

    adapter: AdapterName
    model: str
    model_api: ModelApiName | None = None

    @property
    def name(self) -> str:
        """Say which, for people."""
        return f"{self.adapter} with {self.model_api}" if self.model_api else self.adapter

    def install(self) -> Path:
        """Return its path; it is installed once, in the version that its adapter is written for."""
        version = adapter_of(self.adapter).version
        assert version
        return INSTALL[self.adapter](version)


@dataclass(frozen=True)
class Answer:
    """A way in which the provider answers, and what the episode must end as."""

    name: str
    behaviour: str
    want: Outcome
    changes: Mapping[str, int] = field(default_factory=dict)


INSTALL: Mapping[AdapterName, Callable[[str], Path]] = {
    AdapterName.CLAUDE: lambda version: npm_program("@anthropic-ai/claude-code", version, "claude"),
    AdapterName.CODEX: lambda version: npm_program("@openai/codex", version, "codex"),
    AdapterName.GEMINI: lambda version: npm_program("@google/gemini-cli", version, "gemini"),
    AdapterName.OPENCODE: opencode_program,
    AdapterName.AIDER: lambda version: python_program(
        "aider-chat", version, "aider", ">=3.10,<3.13"
    ),
    AdapterName.QWEN: lambda version: npm_program("@qwen-code/qwen-code", version, "qwen"),
}

# Which model each API is asked for; the scripted one answers to all of them.
MODELS = {
    ModelApiName.ANTHROPIC: "claude-sonnet-4-5",
    ModelApiName.GEMINI: "gemini-2.5-pro",
    ModelApiName.OPENAI: "gpt-5",
}
OWN_MODELS = {AdapterName.CODEX: "gpt-5-codex"}
PROGRAMS = tuple(
    Program(name, OWN_MODELS.get(name) or MODELS[ABILITIES[name].model_apis[0]]) for name in INSTALL
)
# What they do with another API than the usual one is seen by one answer of each kind.
OTHER_APIS = tuple(
    Program(name, MODELS[api], api) for name in INSTALL for api in ABILITIES[name].model_apis[1:]
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


def answer_named(name: str) -> Answer:
    """Return the answer of that name."""
    return next(answer for answer in ANSWERS if answer.name == name)


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
        pod = episode_pod(self.root / name, program)
        report = pod.run(_order(remote, program, answer, model_port))
        files = remote.files(BRANCH) if remote.head(BRANCH) else ()
        return Ended(report, pod.result.outcome, pod.log, tuple(files))


def episode_pod(root: Path, program: Program) -> Pod:
    """Return a pod in which the program is installed and both Secrets are mounted."""
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
