"""A sync that finds out whether the server takes pushes again: the runner alone, and no agent.

Owns the order of what it tries: first what is kept, each commit as it was verified, then the plan
alone.
"""

from afresh.contract.order import Kept, PlanLine
from afresh.contract.report import Result, Unpushed
from afresh.contract.sentences import with_details
from afresh.contract.words import Marker, Outcome, PushRefusal
from afresh.core import plan_file
from afresh.episode.ending import Ended
from afresh.episode.repository import aside, kept, persist, prepare, worktree
from afresh.episode.repository.history import find_done
from afresh.episode.repository.plan_commit import Standing
from afresh.episode.repository.prepare import Start
from afresh.episode.repository.push_check import check_push
from afresh.episode.workplace import Workplace


def probe_push(work: Workplace, start: Start) -> Standing:
    """Deliver what is kept and still fits, or push the plan alone. Raises Ended if all is refused.

    What does not fit the branch any more is left to an episode, which can verify it anew.
    """
    begun, refused = start, None
    for item in work.order.kept:
        try:
            start = _deliver(work, start, item)
        except Ended as ended:
            if not persist.is_refusal(ended):
                raise
            refused = ended
    if start is not begun:
        work.reporter.update(push_passed=True)
        return Standing(head=start.head, plan_digest=_digest(work, start))
    if refused:
        raise refused
    passed = check_push(work.git, work.order, start)
    work.reporter.update(push_passed=True)
    return Standing(head=passed.start.head, plan_digest=passed.plan_digest)


def _deliver(work: Workplace, start: Start, item: Kept) -> Start:
    """Return where the branch is once the commit is on it, if it fits."""
    line = PlanLine(id=item.id, title="", marker=Marker.PENDING, revision=item.revision)
    done = find_done(start.commits, work.order, line)
    if done:
        _report(work, item, done.id)
        return start
    found = kept.fetch(work.git, work.order, item.id, item.commit)
    if found is None or found.parent != start.head:
        work.log.say(f"the kept work of {item.id} has to be verified anew")
        return start
    try:
        persist.push(work.git, work.order, start, found.id)
    except Ended as ended:
        if not persist.is_refusal(ended):
            raise
        ref = aside.side_ref(work.order, item.id)
        message = with_details(ended.message, f"The verified work of {item.id} is kept on {ref}.")
        unpushed = Unpushed(refusal=PushRefusal.KEPT, kept=item.commit)
        raise Ended(ended.outcome, message, unpushed=unpushed) from ended.__cause__
    _report(work, item, found.id)
    aside.remove(work, item.id)
    return prepare.start_at(work.git, found.id, start)


def _report(work: Workplace, item: Kept, commit: str) -> None:
    work.log.say(f"{item.id} is done in {commit}")
    work.reporter.add(
        Result(id=item.id, outcome=Outcome.SUCCESS, revision=item.revision, commit=commit)
    )


def _digest(work: Workplace, start: Start) -> str:
    return plan_file.digest(worktree.plan_text(work.git, start.head))
