"""The stages of an episode, in order.

Owns the order and the row of each stage: what it needs, gives and reports, and the outcomes that it
may end with. The work of a stage is in the file of the same name in `stages`; `stage` runs them.
"""

from afresh.contract.report import Result
from afresh.contract.words import Outcome
from afresh.episode.context import EpisodeContext
from afresh.episode.git.faults import GitError
from afresh.episode.stage import Loading, PipelineStage, run_stages
from afresh.episode.state import SubtaskState
from afresh.episode.stopped import SubtaskStopped


def run_subtask_stages(context: EpisodeContext, state: SubtaskState) -> Result:
    """Run the stages of a subtask; return its result. Raises SubtaskStopped if it is not done."""
    return (
        run_stages(context, state, FETCH, FIND_DONE)
        or _put_kept_work_on_branch(context, state)
        or run_stages(context, state, CHECK_PUSH, PREPARE, CHECK_PROGRAM)
        or run_stages(context, state, AWAIT_VERIFY, RUN_AGENT, CLASSIFY)
        or _put_on_branch(context, state)
    )


def _put_on_branch(context: EpisodeContext, state: SubtaskState) -> Result:
    """Commit, verify and push. If another push comes first, rebase onto it and verify again."""
    while True:
        result = run_stages(context, state, COMMIT, VERIFY, PUSH)
        result = result or run_stages(context, state, FIND_DONE, REBASE)
        if result:
            return result


def _put_kept_work_on_branch(context: EpisodeContext, state: SubtaskState) -> Result | None:
    """Push the kept work of an earlier agent.

    Returns None if there is none that fits, so that an agent is needed.
    """
    result = run_stages(context, state, PUSH_KEPT)
    if result or state.candidate is None:
        return result
    try:
        return run_stages(context, state, REBASE) or _put_on_branch(context, state)
    except GitError as error:
        context.log.ended(error)
    except SubtaskStopped as stopped:
        if stopped.unpushed and (stopped.unpushed.kept or stopped.unpushed.refusal):
            raise
        if stopped.outcome not in (Outcome.CONFLICT, Outcome.VERIFY_FAILED):
            raise
        context.log.ended(stopped)
    state.candidate = None
    return None


# The outcomes that any use of the git server may end with.
REMOTE = frozenset({Outcome.AUTH, Outcome.CONFIG, Outcome.INFRASTRUCTURE, Outcome.AGENT_ERROR})
MOVED = frozenset({Outcome.CONFLICT, Outcome.BRANCH_IN_USE})
DONE = frozenset({Outcome.SUCCESS})

FETCH = PipelineStage(
    name="fetch",
    reported_as="prepare",
    phases=("prepared",),  # of a sync
    gives=("start",),
    outcomes=REMOTE | {Outcome.BRANCH_IN_USE, Outcome.CANCELLED},
    loading=Loading.AT_START,
)
FIND_DONE = PipelineStage(
    name="find_done", needs=("start",), outcomes=DONE, loading=Loading.AT_START
)
PUSH_KEPT = PipelineStage(
    name="push_kept",
    may_report=("persist",),
    phases=("pushed",),
    needs=("start",),
    gives=("candidate",),
    outcomes=DONE | REMOTE | {Outcome.CONFLICT},
    applies=lambda _, state: bool(state.task.kept),
)
CHECK_PUSH = PipelineStage(
    name="check_push",
    needs=("start",),
    gives=("start",),
    outcomes=REMOTE | MOVED,
    applies=lambda context, state: context.order.push_check and not state.episode.is_laid_out,
)
PREPARE = PipelineStage(
    name="prepare",
    reported_as="prepare",
    phases=("prepared", "agentReady"),
    needs=("start",),
    gives=("access", "launch", "search", "warnings"),
    outcomes=REMOTE | {Outcome.BUDGET_EXCEEDED},
    loading=Loading.AT_START,
)
CHECK_PROGRAM = PipelineStage(
    name="check_program",
    reported_as="containers",
    needs=("start", "search"),
    outcomes=REMOTE,
    applies=lambda _, state: bool(state.task.verify.check),
)
AWAIT_VERIFY = PipelineStage(
    name="await_verify",
    reported_as="containers",
    outcomes=frozenset({Outcome.CONFIG, Outcome.INFRASTRUCTURE}),
    loading=Loading.AT_START,
)
RUN_AGENT = PipelineStage(
    name="run_agent",
    reported_as="agent",
    phases=("agentStarted", "modelAsked", "agentEnded"),
    needs=("access", "launch"),
    gives=("agent_end",),
    outcomes=frozenset({Outcome.INFRASTRUCTURE, Outcome.TIMEOUT, Outcome.AGENT_ERROR}),
    loading=Loading.AT_START,
)
CLASSIFY = PipelineStage(
    name="classify",
    reported_as="snapshot",
    needs=("start", "agent_end"),
    gives=("outbox", "snapshot", "candidate", "warnings"),
    outcomes=REMOTE
    | {
        *(Outcome.BUDGET_EXCEEDED, Outcome.TRANSIENT, Outcome.MODEL_SILENT, Outcome.OUT_OF_SCOPE),
        *(Outcome.BLOCKED, Outcome.TIMEOUT, Outcome.TURN_LIMIT, Outcome.CONTEXT_EXHAUSTED),
        *(Outcome.PROCESS_LIMIT, Outcome.DISK_FULL, Outcome.NO_CHANGES, Outcome.NO_RESULT),
    },
    loading=Loading.WHILE_AGENT_WORKS,
)
COMMIT = PipelineStage(
    name="commit",
    reported_as="snapshot",
    phases=("committed",),
    needs=("candidate",),
    gives=("commit",),
    loading=Loading.WHILE_AGENT_WORKS,
)
VERIFY = PipelineStage(
    name="verify",
    reported_as="verify",
    phases=("verified",),
    needs=("commit",),
    gives=("verified",),
    outcomes=REMOTE | {Outcome.VERIFY_FAILED},
    loading=Loading.WHILE_AGENT_WORKS,
)
PUSH = PipelineStage(
    name="push",
    reported_as="persist",
    may_report=("keep",),
    phases=("pushed",),
    needs=("start", "candidate", "commit", "verified"),
    gives=("start",),  # the head of the branch now, if others have pushed
    outcomes=REMOTE | MOVED | {Outcome.SUCCESS, Outcome.NO_CHANGES},
    loading=Loading.WHILE_AGENT_WORKS,
)
REBASE = PipelineStage(
    name="rebase",
    needs=("start", "agent_end", "candidate", "verified"),
    gives=("candidate", "snapshot"),
    outcomes=frozenset({Outcome.CONFLICT, Outcome.OUT_OF_SCOPE}),
    loading=Loading.WHILE_AGENT_WORKS,
)
# These stages run after the result is reported: a failure in them is only a warning.
MARK_PLAN = PipelineStage(
    name="mark_plan",
    may_report=("plan",),
    phases=("pushed",),
    needs=("start", "outbox", "result"),
    gives=("warnings",),
    applies=lambda _, state: state.start is not None and not state.result.commit,
)
KEEP_WORK = PipelineStage(
    name="keep_work",
    may_report=("keep",),
    needs=("snapshot", "result"),
    gives=("warnings",),
    applies=lambda _, state: state.snapshot is not None and not state.result.commit,
)
REMOVE_SIDE_REF = PipelineStage(
    name="remove_side_ref",
    gives=("warnings",),
    applies=lambda _, state: state.task.has_work_aside and state.result.commit,
)
FOLLOW_UP = (MARK_PLAN, KEEP_WORK, REMOVE_SIDE_REF)
SUBTASK = (
    *(FETCH, FIND_DONE, PUSH_KEPT, CHECK_PUSH, PREPARE, CHECK_PROGRAM, AWAIT_VERIFY),
    *(RUN_AGENT, CLASSIFY),
    *(COMMIT, VERIFY, PUSH, REBASE, *FOLLOW_UP),
)

PUSH_PLAN = PipelineStage(
    name="push_plan",
    reported_as="persist",
    phases=("pushed",),
    needs=("start",),
    gives=("on_branch",),
    outcomes=REMOTE | MOVED,
    applies=lambda context, _: not context.order.push_check,
    loading=Loading.AT_START,
)
PROBE_PUSH = PipelineStage(
    name="probe_push",
    reported_as="persist",
    phases=("pushed",),
    needs=("start",),
    gives=("on_branch",),
    outcomes=REMOTE | MOVED,
    applies=lambda context, _: context.order.push_check,
)
SYNC = (FETCH, PUSH_PLAN, PROBE_PUSH)
