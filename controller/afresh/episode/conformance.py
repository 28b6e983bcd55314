"""Tests an agent's image from the runner's container: `python3 -m afresh.episode.conformance`.

Owns how each requirement of `contract.conformance` is tested. It uses the same parts as an episode:
the shim in the image, the control volume, the worktree, the adapter's command and the gateway, here
with an endpoint on which nothing listens. It needs no model, no key and no repository.
"""

import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from afresh.adapters.adapter import Launch
from afresh.adapters.registry import adapter_of
from afresh.contract import codec, conformance
from afresh.contract.abilities import gateway_api
from afresh.contract.conformance import CheckResult, Finding, Findings, Requirement
from afresh.contract.order import Agent
from afresh.contract.text import one_line
from afresh.episode.agent_home import write_home
from afresh.episode.container.channel import Channel, Command, ContainerGone, ContainerRefused
from afresh.episode.container.lines import LineSink, OutputLine
from afresh.episode.container.script import Script
from afresh.episode.fetch_ahead import read_order
from afresh.episode.gateway.meter import Meter
from afresh.episode.gateway.model_api import Upstream
from afresh.episode.gateway.server import Gateway
from afresh.episode.git import worktree
from afresh.episode.git.repository import GitRepository
from afresh.episode.model_access import api_of
from afresh.episode.paths import Paths
from afresh.episode.reporting.log import Log
from afresh.episode.reporting.redact import Redactor

# Nothing listens at this address, so a request for the model fails at once.
NOWHERE = "http://127.0.0.1:9"
BRIEF = "# T001 Say hello\nWrite nothing. Answer with the word hello.\n"
README = "README.md"
DATE = 1_700_000_000
SHORT_SECONDS = 60
MODEL_SECONDS = 120
DETAIL = 100
FOUND = {
    conformance.PROGRAM: "command -v -- {program}",
    conformance.STARTS: "{program} --version",
    conformance.GIT: "git --version",
    conformance.CERTIFICATES: "test -s /etc/ssl/certs/ca-certificates.crt",
}


@dataclass(slots=True)
class _CommandOutput:
    """The last line and the exit code of a command in the image; no code: it did not end."""

    code: int | None = None
    last: str = ""

    def add(self, line: str) -> None:
        """Keep the line, shortened for display, unless it is empty."""
        self.last = one_line(line)[:DETAIL] or self.last

    @property
    def problem(self) -> str:
        """Why the command failed."""
        return self.last or f"exit code {self.code}"


class ImageTrial:
    """One test run of the image of the agent's container."""

    def __init__(self, agent: Agent, paths: Paths) -> None:
        self._agent = agent
        self._paths = paths
        self._log = Log(Redactor())
        self._control = Channel(paths.agent_control, [item.id for item in conformance.REQUIREMENTS])
        self._adapter = adapter_of(agent.adapter)
        self._program = self._adapter.launch(agent, BRIEF, None).argv[0]
        self._version = ""

    def findings(self) -> Iterator[Finding]:
        """Test the requirements and yield a finding for each, in their order."""
        tried: dict[Requirement, Callable[[], Finding]] = {
            **{item: self._found(item, text) for item, text in FOUND.items()},
            conformance.MODEL: self._model,
            conformance.CLEAN: self._clean,
            conformance.ENDS: self._ends,
            conformance.VERSION: self._pinned,
        }
        stopped = self._shell()
        yield stopped
        for item in conformance.REQUIREMENTS[1:]:
            if stopped.verdict is CheckResult.FAILED:
                yield Finding(id=item.id, verdict=CheckResult.NOT_TRIED)
                continue
            found = tried[item]()
            if item is conformance.PROGRAM:
                stopped = found
            yield found

    def close(self) -> None:
        """Tell the agent's container to end."""
        self._control.leave()

    def _shell(self) -> Finding:
        self._lay_out()
        self._control.open()
        try:
            self._control.greet()
        except ContainerRefused as refusal:
            reason = "it cannot limit processes" if str(refusal) == "pids" else str(refusal)
            return _failed(conformance.SHELL, reason)
        except ContainerGone:
            return _failed(conformance.SHELL, "the container ended immediately after it started")
        return _passed(conformance.SHELL)

    def _lay_out(self) -> None:
        """Lay out a worktree like that of an episode, with one file."""
        git = GitRepository(git_dir=self._paths.git_dir)
        git.create()
        index = git.git_dir / "conformance"
        entry = f"{worktree.REGULAR} {git.store(b'# Conformance')}\t{README}\0".encode()
        git.run("update-index", "-z", "--index-info", stdin=entry, index=index)
        tree = git.text("write-tree", index=index)
        layout = worktree.WorktreeLayout(
            tree=git.commit_tree(tree, None, "Files\n", DATE), date=DATE, branch="main", plan=""
        )
        worktree.lay_out(git, layout, self._paths.worktree)

    def _found(self, item: Requirement, text: str) -> Callable[[], Finding]:
        def look() -> Finding:
            if item is conformance.STARTS and not self._adapter.version:
                return Finding(
                    id=item.id, verdict=CheckResult.NOT_TRIED, detail="any program is accepted"
                )
            words = text.format(program=shlex.quote(self._program))
            said = self._run(item, Launch(argv=("/bin/sh", "-c", words)), SHORT_SECONDS)
            if item is conformance.STARTS and said.code == 0:
                self._version = said.last
            return _passed(item, said.last) if said.code == 0 else _failed(item, said.problem)

        return look

    def _model(self) -> Finding:
        item, name = conformance.MODEL, gateway_api(self._agent)
        if name is None:
            return Finding(
                id=item.id, verdict=CheckResult.NOT_TRIED, detail="the agent needs no gateway"
            )
        upstream = Upstream(
            api=api_of(name),
            endpoint=NOWHERE,
            key="none",
            model=self._agent.model,
            authorities=self._paths.authorities,
        )
        meter = Meter(self._agent.max_turns, ())
        gateway = Gateway(upstream, meter, self._log, self._paths.gateway_port)
        try:
            launch = self._adapter.launch(self._agent, BRIEF, gateway.url)
            write_home(self._paths.home, launch.home_files)
            gateway.open()
            said = self._run(item, launch, MODEL_SECONDS)
        finally:
            gateway.close()
        if meter.last_fault is None:
            return _failed(item, f"it sent no request to the model: {said.problem}")
        if said.code is None:
            return _failed(item, "it keeps sending requests although the model is unreachable")
        return _passed(item)

    def _clean(self) -> Finding:
        """Look for files that an episode would commit: all but the program's own files."""
        git = GitRepository(git_dir=self._paths.git_dir)
        git.exclude((*self._adapter.program_files, f"/{worktree.STATE}/", f"/{README}"))
        ignored = f"--exclude-from={git.git_dir / 'info' / 'exclude'}"
        found = git.run("ls-files", "--others", "-z", ignored, tree=self._paths.worktree)
        left = [one_line(name) for name in found.decode(errors="replace").split("\0") if name]
        item = conformance.CLEAN
        return _failed(item, f"it left {', '.join(left)}"[:DETAIL]) if left else _passed(item)

    def _ends(self) -> Finding:
        item = conformance.ENDS
        return _passed(item) if self._control.clear() else _failed(item, "a process keeps running")

    def _pinned(self) -> Finding:
        item, wanted = conformance.VERSION, self._adapter.version
        if not wanted or not self._version:
            return Finding(id=item.id, verdict=CheckResult.NOT_TRIED)
        if wanted in self._version:
            return _passed(item, wanted)
        return _failed(item, f"the adapter is tested with {wanted}; the image has {self._version}")

    def _run(self, item: Requirement, launch: Launch, seconds: int) -> _CommandOutput:
        said = _CommandOutput()

        def take(line: OutputLine) -> None:
            said.add(line.text)
            self._log.step(item.id, line.text)

        out, err = LineSink(take), LineSink(take)
        script = Script(
            argv=launch.argv, paths=self._paths.agent_paths, environment=launch.environment
        ).text()
        command = Command(name=item.id, script=script, limit=seconds, stdin=launch.stdin)
        try:
            ending = self._control.run(command, out, err, lambda: None)
        except ContainerGone:
            said.add("the container ended")
            return said
        out.end()
        err.end()
        said.code = None if ending.timed_out else ending.exit_code
        return said


def _passed(item: Requirement, detail: str = "") -> Finding:
    return Finding(id=item.id, verdict=CheckResult.PASSED, detail=detail)


def _failed(item: Requirement, detail: str) -> Finding:
    return Finding(id=item.id, verdict=CheckResult.FAILED, detail=detail)


def main(arguments: list[str]) -> int:
    """Test the image and write the findings as the termination message.

    Returns the exit code: 0 if the image conforms, else 1.
    """
    paths = Paths.under(Path(arguments[1]).resolve()) if arguments[:1] == ["--root"] else Paths()
    trial = ImageTrial(read_order(paths).agent, paths)
    findings = Findings(findings=tuple(trial.findings()))
    trial.close()
    paths.termination_log.write_text(codec.dumps(findings), encoding="utf-8")
    return 0 if findings.conforms else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
