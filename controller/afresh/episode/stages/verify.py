"""Runs setup and the acceptance command on a clean checkout of the commit.

They run in verify's own container, where no agent has run.
"""

import time
from pathlib import Path

from afresh.contract.order import Step, Task
from afresh.contract.report import VerifyResult
from afresh.contract.sentences import with_details
from afresh.contract.text import one_line
from afresh.contract.words import Checkout, Outcome
from afresh.episode.container.commands import (
    KILLED_CODE,
    TIME_LIMIT_CODE,
    StepEnd,
    await_container,
    run_step,
)
from afresh.episode.container.ipc import clear_ipc
from afresh.episode.context import SETUP, VERIFY, EpisodeContext
from afresh.episode.git import worktree
from afresh.episode.git.faults import GitError
from afresh.episode.git.overlay import tree_to_check_out
from afresh.episode.state import SubtaskState, given
from afresh.episode.stopped import SubtaskStopped

NOT_FOUND_CODE = 127
LEFT = "The acceptance command left processes that cannot be stopped; make it end what it starts."
ALTERED = "The acceptance command changed committed files; make it write elsewhere."
LEFT_BEHIND = (
    "The agent left message queues or memory segments that cannot be removed; tell it in guidance "
    "to remove those that it creates."
)


def run(context: EpisodeContext, state: SubtaskState) -> None:
    """Run setup and the acceptance command on the commit, then check that its files are unchanged.

    Sets `verified`. Raises SubtaskStopped if the commit does not pass.
    """
    tree, index = tree_of(context, state.task, given(state.commit))
    await_container(context.verify_control)
    started = time.monotonic()
    # Only the first processes of the containers run now.
    if not clear_ipc(context.paths.message_queues, context.paths.system_v):
        raise SubtaskStopped(Outcome.AGENT_ERROR, LEFT_BEHIND)
    end, problem = _steps(context, state.task)
    # No process that the command left may change the files while they are compared.
    if not context.verify_control.clear() and not problem:
        problem = LEFT
    state.verified = VerifyResult(
        exit_code=end.exit_code,
        duration_seconds=round(time.monotonic() - started, 3),
        tail=end.tail,
    )
    problem = problem or _altered(context, tree, index)
    context.reporter.reached("verified")
    if problem:
        raise SubtaskStopped(
            Outcome.VERIFY_FAILED,
            context.log.redact(problem),
            exit_code=state.exit_code,
            verify=state.verified,
        )


def tree_of(context: EpisodeContext, task: Task, commit: str) -> tuple[Path, Path]:
    """Lay out the files that verify sees; return their directory and git index."""
    files = tree_to_check_out(context.git, context.order, commit)
    if task.verify.checkout is Checkout.CLEAN:
        tree, branch = context.paths.checkout, context.order.repository.branch
        return tree, worktree.check_out(context.git, files, branch, tree)
    index = context.git.git_dir / "worktree-index"
    context.git.run("read-tree", files, index=index)
    return context.paths.worktree, index


def _steps(context: EpisodeContext, task: Task) -> tuple[StepEnd, str | None]:
    paths, setup = context.paths.verify_paths, context.order.setup
    # Files that one subtask's tests left must not influence the next subtask.
    is_emptied = len(context.order.tasks) > 1 or bool(task.kept or task.verify.check)
    if setup:
        end = run_step(
            context.verify_control, SETUP, setup, paths, context.log, is_emptied=is_emptied
        )
        is_emptied = False
        if end.exit_code:
            return end, sentence_of_end("setup command", end.exit_code)
    step = Step(command=task.verify.command, timeout_seconds=task.verify.timeout_seconds)
    end = run_step(context.verify_control, VERIFY, step, paths, context.log, is_emptied=is_emptied)
    return end, sentence_of_end("acceptance command", end.exit_code) if end.exit_code else None


def run_setup(context: EpisodeContext) -> None:
    """Run setup in verify's container before anything else. Verification reports its failure."""
    if context.order.setup:
        paths = context.paths.verify_paths
        run_step(context.verify_control, SETUP, context.order.setup, paths, context.log)


def sentence_of_end(what: str, code: int) -> str:
    """Return the message about the command `what` of verify, which ended with `code`, not 0."""
    if code == TIME_LIMIT_CODE:
        return (
            f"The {what} did not end within its time limit on the committed files; raise its "
            "timeoutSeconds, or make it do less."
        )
    if code == KILLED_CODE:
        return (
            f"The {what} was killed on the committed files; raise spec.resources.limits.memory, or "
            "make it use less."
        )
    if code == NOT_FOUND_CODE:
        return f"The {what} was not found; correct it, or use an image that has it."
    return (
        f"The {what} ended with exit code {code} on the committed files; read its output with "
        "afresh logs, then add guidance or correct the command."
    )


def _altered(context: EpisodeContext, tree: Path, index: Path) -> str | None:
    """Return a message if the command changed committed files, which are what is pushed."""
    try:
        changed = context.git.run(
            *("diff", "--name-only", "-z", "--no-ext-diff", "--ignore-submodules=all"),
            *("--", ".", f":(exclude,top){worktree.STATE}"),
            index=index,
            tree=tree,
        )
    except GitError:
        changed = b"the checkout\0"
    if not changed:
        return None
    name = changed.split(b"\0")[0].decode(errors="replace")
    return with_details(ALTERED, one_line(name))
