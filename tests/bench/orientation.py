"""`python3 -m tests.bench.orientation`: what the facts in a brief save before the first change.

Runs a real agent program twice on the same files, behind the real runner and gateway: once on a
branch with the commit of a finished subtask, so that the brief has its facts, and once where the
base has the same files, so that it has none. The model is a rule and no language model: it reads
what the brief names; where the brief names nothing it lists the repository and searches it.
"""

import argparse
import re
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from afresh.contract.order import Agent, Order, PlanLine, Task, Verify
from afresh.contract.words import CredentialsMode, Marker, Outcome
from tests.episode.matrix import BRANCH, KEY, PROGRAMS, Program, episode_pod
from tests.episode.pod import make_order, make_task
from tests.episode.servers import Remote, serving_git
from tools.fakemodel.model_dialect import Dialect, MessageRequest
from tools.fakemodel.model_script import Call, Conversation, Reply, Tool, run, write_file
from tools.fakemodel.model_server import ModelServer, _ModelHandler, _turn
from tools.fakemodel.model_tools import ModelTurn

MODULES = 120
WANTED = "issue"
DEFINED_IN = "ledger/tokens.py"
TARGET = "ledger/journal.py"
NAMED = re.compile(r"^Files that finished tasks changed: (.*)\.$", re.MULTILINE)
PATHS = re.compile(r"(?:\./)?(ledger/\w+\.py):\d+")
HEADINGS = ("brief", "requests before the first change", "input tokens of these")


def next_reply(brief: str, results: tuple[str, ...]) -> Reply:
    """Return what the rule does after the turns whose tools answered `results`."""
    named = NAMED.search(brief)
    steps = [_read(named[1].split(", "))] if named else [_list(), _search()]
    if not named and len(results) >= len(steps):
        steps.append(_read(list(dict.fromkeys(PATHS.findall(results[1])))))
    change = Reply("Now I change it.", (write_file(TARGET, "from ledger.tokens import issue\n"),))
    return [*steps, change, Reply("Done.")][min(len(results), len(steps) + 1)]


def _list() -> Reply:
    return Reply("I look around.", (run("find . -name '*.py' | sort"),))


def _search() -> Reply:
    return Reply("I search.", (run(f"grep -rn 'def {WANTED}' ledger"),))


def _read(paths: list[str]) -> Reply:
    wanted = (*paths, TARGET)  # a program may refuse to change a file that it has not read
    return Reply("I read.", tuple(Call(Tool.READ, {"path": path}) for path in wanted))


@dataclass
class Spent:
    """The input tokens of each request until the first change was asked for."""

    tokens: list[int] = field(default_factory=list)
    has_changed: bool = False


class RuleServer(ModelServer):
    """The scripted model's server with the rule in place of a script."""

    def __init__(self, key_file: Path) -> None:
        super().__init__(("127.0.0.1", 0), key_file, 0.0, None)
        self.RequestHandlerClass = _CountingHandler
        self.spent = Spent()

    def respond(self, conversation: Conversation) -> tuple[str, ModelTurn]:
        """Answer as the rule says."""
        return "rule", _turn(next_reply(conversation.brief, conversation.results), conversation)


class _CountingHandler(_ModelHandler):
    server: RuleServer

    def log_message(self, *_: Any) -> None:
        """Print nothing: the table is the output."""

    def _converse(self, dialect: Dialect, asked: MessageRequest) -> None:
        spent, conversation = self.server.spent, asked.conversation
        # A request without tools is the program's own, such as for a title.
        if conversation.tools and not spent.has_changed:
            counted = dialect.count(asked).values()
            spent.tokens.extend(value for value in counted if isinstance(value, int))
            reply = next_reply(conversation.brief, conversation.results)
            spent.has_changed = any(call.tool is Tool.WRITE for call in reply.calls)
        super()._converse(dialect, asked)


@contextmanager
def _serving_model(key_file: Path) -> Iterator[RuleServer]:
    with RuleServer(key_file) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def _sample() -> dict[str, str]:
    files = {
        f"ledger/part{number:03}.py": f'"""Part {number} of the ledger."""\n\n\n'
        + "".join(f"def step_{number}_{n}():\n    return {n}\n\n\n" for n in range(20))
        for number in range(MODULES)
    }
    return files | {TARGET: '"""The journal."""\n'}


def _finished() -> dict[str, str]:
    return {DEFINED_IN: f'"""Tokens."""\n\n\ndef {WANTED}():\n    return "token"\n'}


def measure(root: Path, program: Program, *, has_facts: bool) -> Spent:
    """Run one episode; `has_facts` says whether its brief has any. Return what it spent."""
    root.mkdir()
    (root / "key").write_text(KEY)
    with serving_git(root, root) as git_port, _serving_model(root / "key") as model:
        remote = Remote.create(root, "sample", git_port)
        remote.commit("main", _sample())
        order = _order(remote, program, model.server_address[1])
        if has_facts:
            trailers = (
                f"Afresh-Package: {order.package}\nAfresh-Subtask: T001\nAfresh-Revision: 0\n"
                f"Afresh-Files: {DEFINED_IN}\n"
            )
            said = f"T001: Tokens\n\n`{DEFINED_IN}` has `{WANTED}`.\n\n{trailers}"
            remote.commit(BRANCH, _finished(), base="main", message=said)
        else:
            remote.commit("main", _finished())
        pod = episode_pod(root / "pod", program)
        pod.run(order)
        assert pod.result.outcome is Outcome.SUCCESS, pod.log
        assert model.spent.has_changed, pod.log
        return model.spent


def _order(remote: Remote, program: Program, model_port: int) -> Order:
    agent = Agent(
        adapter=program.adapter,
        model=program.model,
        endpoint=f"http://127.0.0.1:{model_port}",
        credentials_mode=CredentialsMode.GATEWAY,
        secret_name="model-key",
        timeout_seconds=240,
    )
    task: Task = make_task(
        id="T002",
        title="Journal",
        prompt=f"Give each entry of the journal a token from `{WANTED}`.",
        verify=Verify(command=("true",)),
    )
    plan = (
        PlanLine(id="T001", title="Tokens", marker=Marker.DONE),
        PlanLine(id="T002", title="Journal", marker=Marker.PENDING),
    )
    return make_order(remote.url, "", agent=agent, tasks=(task,), plan=plan)


def main() -> None:
    """Measure both, and print the table and the ratios of this one run."""
    names = [program.name for program in PROGRAMS[:4]]
    parser = argparse.ArgumentParser(
        description=__doc__, epilog="example: python3 -m tests.bench.orientation --program Codex"
    )
    parser.add_argument("--program", choices=names, default=names[0], help="default: %(default)s")
    chosen = parser.parse_args().program
    program = next(program for program in PROGRAMS if program.name == chosen)
    with tempfile.TemporaryDirectory(prefix="afresh-bench-") as folder:
        root = Path(folder)
        without = measure(root / "without", program, has_facts=False)
        given = measure(root / "with", program, has_facts=True)
    sys.stdout.write(f"{program.name}, a repository of {MODULES + 2} files\n")
    sys.stdout.write("| " + " | ".join(HEADINGS) + " |\n" + "|---" * len(HEADINGS) + "|\n")
    for name, spent in (("without facts", without), ("with facts", given)):
        sys.stdout.write(f"| {name} | {len(spent.tokens)} | {sum(spent.tokens)} |\n")
    requests = len(given.tokens) / len(without.tokens)
    tokens = sum(given.tokens) / sum(without.tokens)
    sys.stdout.write(f"with / without: requests {requests:.2f}, tokens {tokens:.2f}\n")


if __name__ == "__main__":
    main()
