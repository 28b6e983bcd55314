"""The subtasks of one episode, one after another: the first that is not done ends it.

Owns the rule that each has a result of its own as soon as it is decided, before anything is tidied
up. How one is done is `subtask`; what is left to do after it is `aftermath`.
"""

from collections.abc import Sequence
from dataclasses import replace

from afresh.contract.order import Task
from afresh.contract.report import Result
from afresh.episode.desk import Desk
from afresh.episode.ending import Ended
from afresh.episode.gateway.model_faults import with_use
from afresh.episode.opening import Opening
from afresh.episode.subtask import do_subtask
from afresh.episode.workplace import Workplace


def do_all(work: Workplace, opening: Opening) -> bool:
    """Do the subtasks of the Order. Returns whether all of them are done."""
    desk = Desk(opening=opening, plan=work.order.plan)
    *others, last = work.order.tasks
    for task in others:
        if not _do(work, desk, task):
            return False
        work.reporter.hint()
    return _do(work, desk, last)


def _do(work: Workplace, desk: Desk, task: Task) -> bool:
    work = desk.on_plan(work)
    work.reporter.begin(task.id, task.revision)
    work.meter.begin_subtask()
    desk.clear()
    try:
        result = do_subtask(work, desk, task)
    except Ended as end:
        work.log.ended(end)
        result = _not_done(task, end)
    result = replace(result, warnings=(*desk.warnings, *result.warnings))
    result = with_use(result, work.meter)
    work.reporter.update(usage=work.meter.usage())
    if not work.reporter.add(result):
        return False  # what fails after a TERM has failed because of it
    warnings = _tidy_up(desk.on_plan(work), desk, task, result)
    if warnings:
        work.reporter.add(replace(result, warnings=(*result.warnings, *warnings)))
    return result.commit is not None


def _not_done(task: Task, end: Ended) -> Result:
    return Result(
        id=task.id,
        outcome=end.outcome,
        is_servers=end.is_servers,
        revision=task.revision,
        unpushed=end.unpushed,
        message=end.message,
        exit_code=end.exit_code,
        verify=end.verify,
    )


def _tidy_up(work: Workplace, desk: Desk, task: Task, result: Result) -> Sequence[str]:
    """Do what is left to do; return warnings. There is nothing after an ordinary success."""
    if result.commit and not task.has_work_aside:
        return ()
    from afresh.episode.aftermath import tidy_up  # noqa: PLC0415  # seldom needed

    return tidy_up(work, desk, task, result)
