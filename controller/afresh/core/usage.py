"""What episodes used of models, added up. Knows nothing of subtasks."""

from collections.abc import Sequence
from decimal import Decimal

from afresh.api.work_package import Usage
from afresh.core.actions import Settlement
from afresh.core.evidence import Ended
from afresh.core.outcome import TABLE, Next


def usage_after(old: Usage, settlements: Sequence[Settlement]) -> Usage:
    """Return the package's usage with the episodes that have ended added."""
    for settlement in settlements:
        old = _plus(old, settlement.ended)
    return old


def _plus(usage: Usage, ended: Ended) -> Usage:
    counted = TABLE[ended.outcome].next not in (Next.BACKOFF, Next.PROBE)
    runs = {
        "episodes": usage.episodes + counted,
        "transient_retries": usage.transient_retries + (not counted),
    }
    if ended.report is None:
        return Usage.model_validate({**dict(usage), **runs})
    spent = ended.report.usage
    tokens = {name: getattr(usage, name) + getattr(spent, name) for name in _TOKENS}
    cost = plus_cost(usage.cost_usd, spent.cost_usd)
    return Usage.model_validate({**dict(usage), **runs, **tokens, "cost_usd": cost})


_TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


def cost_of(ended: Ended) -> str | None:
    """Return what the episode cost in US dollars, if that is known."""
    return ended.report.usage.cost_usd if ended.report else None


def plus_cost(sofar: Decimal | None, cost: str | None) -> Decimal | None:
    """Return the sum of two amounts of which either may be unknown."""
    if cost is None:
        return sofar
    return (sofar or Decimal(0)) + Decimal(cost)
