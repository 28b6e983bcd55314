"""The runner's own half of an episode, without a pod: an Order, Secrets, git and a Report."""

from dataclasses import dataclass, replace
from pathlib import Path

from afresh.contract import plan_file
from afresh.contract.order import Order, PlanLine, Repository
from afresh.contract.report import Report, parse
from afresh.contract.words import Marker, Outcome
from afresh.episode import credentials
from afresh.episode.briefing import planned
from afresh.episode.container.channel import Channel
from afresh.episode.context import EpisodeContext
from afresh.episode.fetch_ahead import FetchUnderWay, begin_fetch
from afresh.episode.gateway.meter import Meter
from afresh.episode.git import fetching
from afresh.episode.git.fetching import BranchStart
from afresh.episode.git.plan_commit import BranchPlan, PlanChange, push_plan
from afresh.episode.git.repository import GitRepository
from afresh.episode.git.state_files import AgentNotes
from afresh.episode.paths import Paths
from afresh.episode.reporting.log import Log
from afresh.episode.reporting.redact import Redactor
from afresh.episode.reporting.reporter import Reporter
from tests.episode.pod import make_order, make_task
from tests.episode.servers import PASSWORD, USERNAME, Remote, git
from tests.episode.ssh_server import Sshd

BRANCH = "afresh/demo"
DONE = "T002: Farewell\n\nAfresh-Package: team-a/demo\nAfresh-Subtask: T002\nAfresh-Revision: 0\n"
THEIRS = "# Greet people.\n\nA remark.\n\n- [ ] T001 Greeting\n- [x] T002 Farewell\n"


@dataclass(frozen=True)
class LoneRunner:
    """A workplace with credentials and an empty trusted repository."""

    context: EpisodeContext

    @classmethod
    def create(cls, root: Path, order: Order, secret: dict[str, str] | None = None) -> "LoneRunner":
        """Make one below `root`; by default with the credentials of the git server."""
        paths = Paths.under(root)
        given = {"username": USERNAME, "password": PASSWORD} if secret is None else secret
        paths.git_secret.mkdir(parents=True)
        for name, value in given.items():
            (paths.git_secret / name).write_text(value)
        paths.termination_log.parent.mkdir(parents=True)
        context = EpisodeContext(
            order=order,
            paths=paths,
            git=GitRepository(git_dir=paths.git_dir),
            log=Log(Redactor(credentials.known_secrets(paths))),
            meter=Meter(order.agent.max_turns, order.agent.pricing),
            reporter=Reporter(order.episode, paths.termination_log, None),
            agent_control=Channel(paths.agent_control, ()),
            verify_control=Channel(paths.verify_control, ()),
        )
        return cls(context)

    @property
    def git(self) -> GitRepository:
        """The trusted repository."""
        return self.context.git

    @property
    def order(self) -> Order:
        """What it was told."""
        return self.context.order

    def begin_fetch(self) -> FetchUnderWay:
        """Begin as every runner does."""
        return begin_fetch(self.order, self.context.paths)

    def fetch(self) -> BranchStart:
        """Fetch what the work starts from."""
        credentials.write_git_credentials(self.order, self.context.paths)
        self.git.create()
        return fetching.fetch_start(self.git, self.order)

    def end(self) -> Report:
        """Close the Report and return it."""
        assert self.context.reporter.close(Outcome.INFRASTRUCTURE, "")
        return parse(self.context.paths.termination_log.read_text())


def blocked(order: Order, *, marker: Marker = Marker.NEEDS_REVIEW, note: str = "") -> PlanChange:
    """The change of the plan that a failure of T001 asks for."""
    return PlanChange(
        text=planned(order, make_task(), marker),
        line=PlanLine(id="T001", title="Greeting", marker=marker),
        notes=AgentNotes(heading="T001 Greeting", discovery=note),
    )


def order_for(remote: Remote) -> Order:
    """An Order for the remote, over HTTP."""
    return make_order(remote.url, "")


def over_ssh(remote: Remote, sshd: Sshd) -> tuple[Order, dict[str, str]]:
    """An Order for the remote over SSH, and its Secret."""
    url = f"ssh://{sshd.user}@127.0.0.1:{sshd.port}{remote.directory}"
    order = order_for(remote)
    given = Repository(url=url, base_ref="main", branch=BRANCH, secret_name="git")
    secret = {"ssh-privatekey": sshd.client_key, "known_hosts": sshd.known_hosts}
    return replace(order, repository=given), secret


def elsewhere(runner: LoneRunner, url: str) -> LoneRunner:
    """The same runner with another address of the repository."""
    given = Repository(url=url, base_ref="main", branch=BRANCH)
    return LoneRunner(replace(runner.context, order=replace(runner.order, repository=given)))


def refuse(remote: Remote, refs: str) -> None:
    """Make the server refuse to update refs of this glob."""
    give_hook(remote, f'case "$1" in {refs}) echo protected branch >&2; exit 1;; esac')


def give_hook(remote: Remote, script: str) -> None:
    """Have the server run a script for each ref that is to be updated."""
    hook = remote.directory / "hooks/update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\n{script}\n")
    hook.chmod(0o755)


def plan_of(remote: Remote) -> str:
    """The plan on the branch."""
    return remote.file(BRANCH, ".afresh/PLAN.md") + "\n"


def digest_of(remote: Remote) -> str:
    """The digest of the plan on the branch."""
    return plan_file.digest(plan_of(remote))


def push(runner: LoneRunner, change: PlanChange) -> BranchPlan:
    """Push a plan commit onto what stands on the branch now."""
    return push_plan(runner.git, runner.order, runner.fetch(), change)


def changed(remote: Remote) -> list[str]:
    """The paths that the newest commit changes."""
    return git(remote.directory, "diff", "--name-only", f"{BRANCH}~", BRANCH).splitlines()
