"""Computes what is left of a package's budget, and the share that one more episode may use.

Pure.
"""

from collections.abc import Iterable
from decimal import ROUND_DOWN, Decimal

from afresh.api.package_status import BudgetShare, UsageStatus
from afresh.api.work_package import BudgetSpec
from afresh.contract.order import LEAST_TOKENS, Budget
from afresh.core.history.usage import tokens_of
from afresh.core.observed import Episode

MILLIONTH = Decimal("0.000001")


def is_spent(limits: BudgetSpec | None, usage: UsageStatus) -> bool:
    """Whether the budget is used up; an amount too small to use counts as used up."""
    if limits is None:
        return False
    tokens = limits.max_tokens is not None and tokens_of(usage) > limits.max_tokens - LEAST_TOKENS
    cost = limits.max_cost_usd is not None and (usage.cost_usd or 0) >= limits.max_cost_usd
    return tokens or cost


def shares(
    limits: BudgetSpec | None, usage: UsageStatus, live: Iterable[Episode], starts: int
) -> Budget | None:
    """Return the share of the budget for each of `starts` new episodes; None: no limit.

    The shares of live episodes are subtracted first, so that all episodes together stay within the
    budget. Raises ValueError if too little is left for the new episodes.
    """
    if limits is None:
        return None
    given = [episode.budget for episode in live if episode.budget]
    tokens = cost = None
    if limits.max_tokens is not None:
        reserved = sum(budget.max_tokens or 0 for budget in given)
        tokens = (limits.max_tokens - tokens_of(usage) - reserved) // starts
    if limits.max_cost_usd is not None:
        kept = sum((Decimal(budget.max_cost_usd or 0) for budget in given), Decimal(0))
        left = limits.max_cost_usd - (usage.cost_usd or Decimal(0)) - kept
        # Round down: the sum of the shares must not exceed what is left.
        cost = (left / starts).quantize(MILLIONTH, rounding=ROUND_DOWN)
    if (tokens is not None and tokens < LEAST_TOKENS) or (cost is not None and cost <= 0):
        raise ValueError("nothing is left of the budget")
    return Budget(max_tokens=tokens, max_cost_usd=None if cost is None else f"{cost:f}")


def can_afford(
    limits: BudgetSpec | None, usage: UsageStatus, insufficient: BudgetShare | None
) -> bool:
    """Whether more is left of the budget than the share that was too small for a subtask."""
    if insufficient is None:
        return True
    try:
        return is_enough(shares(limits, usage, (), 1), insufficient)
    except ValueError:
        return False


def is_enough(share: Budget | None, insufficient: BudgetShare | None) -> bool:
    """Whether a share of the budget is larger than the one that was too small."""
    if share is None or insufficient is None:
        return True
    tokens, cost = insufficient.max_tokens, insufficient.max_cost_usd
    more_tokens = tokens is None or (share.max_tokens or 0) > tokens
    more_money = cost is None or Decimal(share.max_cost_usd or 0) > cost
    # One of the two limits was too low, but not recorded: it is enough if one of them is larger.
    return (tokens is not None and more_tokens) or (cost is not None and more_money)
