"""Adds up the model usage of episodes. This module does not know the records of subtasks."""

from collections.abc import Iterable
from decimal import Decimal

from afresh.api.package_status import UsageStatus
from afresh.contract.outcomes import TABLE, NextStep
from afresh.contract.report import Report, Result, Usage
from afresh.contract.words import PushRefusal
from afresh.core.history.classify import Finished

TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


def usage_after(old: UsageStatus, over: Iterable[Finished]) -> UsageStatus:
    """Return the package's usage plus that of finished episodes, given one end for each."""
    for ended in over:
        old = _plus(old, ended)
    return old


def _plus(usage: UsageStatus, ended: Finished) -> UsageStatus:
    counted = _counts(ended)
    runs = {
        "episodes": usage.episodes + counted,
        "transient_retries": usage.transient_retries + (not counted),
    }
    if ended.report is None:
        return UsageStatus.model_validate({**dict(usage), **runs})
    spent = ended.report.usage
    tokens = {name: getattr(usage, name) + getattr(spent, name) for name in TOKENS}
    cost = plus_cost(usage.cost_usd, spent.cost_usd)
    return UsageStatus.model_validate({**dict(usage), **runs, **tokens, "cost_usd": cost})


def _counts(ended: Finished) -> bool:
    """Whether the episode counts: not if a temporary cause or a wrong setting ended it early."""
    done = ended.report.results if ended.report else ()
    if not ended.begun:
        return False
    if any(result.commit or _was_paid(result) for result in done):
        return True
    return TABLE[ended.outcome].next not in (NextStep.BACKOFF, NextStep.PROBE)


def _was_paid(result: Result) -> bool:
    """Whether an agent did verified work that is not on the branch."""
    refusal = result.unpushed.refusal if result.unpushed else None
    return refusal in (PushRefusal.KEPT, PushRefusal.LOST) and result.verify is not None


def share_of(ended: Finished) -> Usage | None:
    """Return the usage of an episode for the subtask with this end, if it is known.

    If the runner could not attribute the usage, it is the episode's usage minus that of its other
    subtasks.
    """
    if ended.result and ended.result.usage:
        return ended.result.usage
    if ended.report is None or not ended.begun:
        return None
    others = [result for result in ended.report.results if result is not ended.result]
    shares = [result.usage for result in others if result.usage]
    return _minus(ended.report, shares) if len(shares) == len(others) else None


def _minus(report: Report, shares: list[Usage]) -> Usage:
    whole = report.usage
    counts = {
        name: max(getattr(whole, name) - sum(getattr(share, name) for share in shares), 0)
        for name in (*TOKENS, "turns")
    }
    cost = None
    if whole.cost_usd is not None:
        rest = Decimal(whole.cost_usd) - sum(Decimal(share.cost_usd or 0) for share in shares)
        cost = str(max(rest, Decimal(0)))
    return Usage(**counts, cost_usd=cost)


def tokens_of(usage: UsageStatus | Usage) -> int:
    """Return the number of tokens of all kinds."""
    return sum(getattr(usage, name) for name in TOKENS)


def plus_cost(sofar: Decimal | None, cost: str | None) -> Decimal | None:
    """Return the sum of two amounts, each of which may be unknown (None)."""
    if cost is None:
        return sofar
    return (sofar or Decimal(0)) + Decimal(cost)
