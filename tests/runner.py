"""What a runner answers to an Order, without doing it: for tests of the operator alone."""

from collections.abc import Callable
from dataclasses import replace

from afresh.contract.order import Order, Task
from afresh.contract.outcomes import TABLE
from afresh.contract.plan_file import Plan, digest, render
from afresh.contract.report import Report, Result
from afresh.contract.words import Marker, Outcome

TaskJudge = Callable[[Task], Outcome]


def answer_of(order: Order, judge: TaskJudge, head: str) -> Report:
    """Do one subtask after another until one is not done; a sync pushes the plan as it is."""
    results: list[Result] = []
    lines = {line.id: line for line in order.plan}
    pushed = not order.tasks
    for task in order.tasks:
        outcome = judge(task)
        commit = head if outcome is Outcome.SUCCESS else None
        message = f"The episode ended with {outcome}."
        results.append(Result(id=task.id, outcome=outcome, commit=commit, message=message))
        marker = marker_after(task, outcome)
        if marker is not Marker.PENDING:
            lines[task.id] = replace(lines[task.id], marker=marker)
            pushed = True
        if commit is None:
            break
    plan = render(Plan(goal=order.goal, lines=tuple(lines.values())))
    return Report(
        episode=order.episode,
        stage="reported",
        final=True,
        head=head if pushed else None,
        results=tuple(results),
        plan_digest=digest(plan) if pushed else None,
    )


def marker_after(task: Task, outcome: Outcome) -> Marker:
    """Return the marker that the runner writes into the plan; Pending: it writes nothing."""
    if outcome is Outcome.SUCCESS:
        return Marker.DONE
    if outcome in (Outcome.BLOCKED, Outcome.OUT_OF_SCOPE):
        return Marker.NEEDS_REVIEW
    return task.marker_on_failure if TABLE[outcome].counts else Marker.PENDING
