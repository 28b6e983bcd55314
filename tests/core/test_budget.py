"""What is left of a budget, what is set aside of it, and when it is used up."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afresh.api.package_status import UsageStatus
from afresh.api.phases import SubtaskPhase
from afresh.api.work_package import BudgetSpec
from afresh.contract.order import LEAST_TOKENS, Budget
from afresh.contract.report import Usage
from afresh.contract.words import Outcome
from afresh.core.decision import StartEpisode
from afresh.core.history.budget import shares
from afresh.core.observed import Episode
from afresh.core.planner import decide
from afresh.core.reasons import Reason
from tests.make import (
    make_class,
    make_entry,
    make_episode,
    make_package,
    make_record,
    make_report,
    make_seen,
    starts_of,
)

PRICED = {
    "adapter": "Claude",
    "command": None,
    "credentials": {"secretName": "anthropic"},
    "model": "claude-sonnet",
    "pricing": [{"model": "claude-*", "inputUSDPerMillion": "3", "outputUSDPerMillion": "15"}],
}
RUNNING = {"phase": SubtaskPhase.RUNNING, "attempts": 1, "reason": "EpisodeRunning"}


def package_with(
    budget: dict[str, Any], used: dict[str, Any] | None = None, ids: str = "AB", **spec: Any
) -> Any:
    entries = [make_entry(name) for name in ids]
    return make_package(entries, budget=budget, status={"usage": used or {}}, **spec)


def decided(package: Any, records: Any = None, **fields: Any) -> Any:
    return decide(make_seen(package, records, agent_class=make_class(**PRICED), **fields))


def given_to(decision: Any) -> list[Budget | None]:
    return [item.order.budget for item in decision.actions if isinstance(item, StartEpisode)]


SPENT = [
    pytest.param({"maxTokens": 100}, {"inputTokens": 60, "outputTokens": 40}, True,
                 id="all tokens of all kinds"),
    pytest.param({"maxTokens": 2000}, {"inputTokens": 900, "cacheReadTokens": 77}, True,
                 id="too few tokens left for any request"),
    pytest.param({"maxTokens": 2000}, {"inputTokens": 900, "cacheReadTokens": 76}, False,
                 id="enough tokens left for one"),
    pytest.param({"maxCostUSD": "1.00"}, {"costUSD": "1.000001"}, True, id="more than the dollars"),
    pytest.param({"maxCostUSD": "1.00"}, {"costUSD": "0.999999"}, False, id="a millionth left"),
    pytest.param({"maxCostUSD": "1.00"}, {}, False, id="a cost that is not known yet"),
    pytest.param({"maxTokens": 100, "maxCostUSD": "1.00"}, {"costUSD": "2"}, True,
                 id="one of two limits"),
]  # fmt: skip


@pytest.mark.parametrize(("budget", "used", "want_spent"), SPENT)
def test_a_package_fails_when_its_budget_is_used_up(
    budget: dict[str, Any], used: dict[str, Any], want_spent: bool
) -> None:
    decision = decided(package_with(budget, used))

    if want_spent:
        assert (decision.phase, decision.reason) == ("Failed", Reason.BUDGET_EXCEEDED)
    assert starts_of(decision) == ([] if want_spent else ["A"])


def test_a_spent_budget_does_not_fail_a_package_with_nothing_left_to_do() -> None:
    package = package_with({"maxTokens": 10}, {"inputTokens": 99})
    done = [make_record(name, phase=SubtaskPhase.DONE, reason="Verified") for name in "AB"]

    assert decided(package, done).phase == "Succeeded"


def test_a_raised_budget_lets_the_package_go_on() -> None:
    stopped = make_record("A", attempts=1, reason="BudgetExceeded")

    decision = decided(package_with({"maxTokens": 5000}, {"inputTokens": 1000}), [stopped])

    assert given_to(decision) == [Budget(max_tokens=4000)]


def test_episodes_beside_each_other_share_what_is_left() -> None:
    package = package_with({"maxTokens": 6002, "maxCostUSD": "2"}, {"inputTokens": 1}, "ABC",
                           parallelism=3)  # fmt: skip

    assert given_to(decided(package)) == [Budget(max_tokens=2000, max_cost_usd="0.666666")] * 3


def test_the_share_of_a_live_episode_is_reserved() -> None:
    package = package_with({"maxTokens": 10000}, {"inputTokens": 2000}, "ABC", parallelism=2)
    live = make_episode("A", budget=Budget(max_tokens=5000))

    decision = decided(package, [make_record("A", **RUNNING)], episodes=(live,))

    assert given_to(decision) == [Budget(max_tokens=3000)]


def test_nothing_starts_while_live_episodes_hold_all_that_is_left() -> None:
    package = package_with({"maxTokens": 10000}, {"inputTokens": 2000}, "ABC", parallelism=2)
    live = make_episode("A", budget=Budget(max_tokens=7000))

    decision = decided(package, [make_record("A", **RUNNING)], episodes=(live,))

    assert (decision.reason, starts_of(decision)) == (Reason.EPISODE_RUNNING, [])


@pytest.mark.parametrize("limits", [{"maxTokens": 2000}, {"maxCostUSD": "0.000100"}])
def test_fewer_start_when_the_rest_is_too_small_to_be_shared(limits: dict[str, Any]) -> None:
    used = {"inputTokens": 99, "costUSD": "0.000099"}

    decision = decided(package_with(limits, used, parallelism=2))

    assert starts_of(decision) == ["A"]


def test_an_episode_that_was_stopped_by_its_share_starts_again_with_what_others_left() -> None:
    package = package_with({"maxTokens": 10000}, ids="AB", parallelism=2)
    stopped = make_report(Outcome.BUDGET_EXCEEDED, "A", usage=Usage(input_tokens=2000))
    live = (
        make_episode("A", report=stopped, budget=Budget(max_tokens=2000)),
        make_episode("B", budget=Budget(max_tokens=2000)),
    )

    decision = decided(package, [make_record(name, **RUNNING) for name in "AB"], episodes=live)

    assert given_to(decision) == [Budget(max_tokens=6000)]


NOT_ENOUGH = [
    pytest.param(Budget(max_tokens=7000), True, id="less is left than was not enough"),
    pytest.param(Budget(max_tokens=5000), False, id="more is left"),
    pytest.param(Budget(max_cost_usd="0.4"), False, id="another limit was too low"),
]


@pytest.mark.parametrize(("share", "want_failed"), NOT_ENOUGH)
def test_a_subtask_is_not_begun_again_with_as_little_as_was_not_enough(
    share: Budget, want_failed: bool
) -> None:
    package = package_with({"maxTokens": 9000, "maxCostUSD": "1"}, ids="A")
    stopped = make_report(Outcome.BUDGET_EXCEEDED, "A", usage=Usage(input_tokens=3000))
    episode = make_episode("A", report=stopped, budget=share)

    decision = decided(package, [make_record("A", **RUNNING)], episodes=(episode,))

    assert bool(starts_of(decision)) is not want_failed
    if want_failed:
        assert (decision.phase, decision.reason) == ("Failed", Reason.BUDGET_EXCEEDED)
        assert decision.message == "Too little is left of spec.budget for A; raise it to continue."


def test_what_was_not_enough_holds_back_no_other_subtask_and_ends_with_a_raised_budget() -> None:
    tight = make_record("A", attempts=1, reason="BudgetExceeded", insufficient={"maxTokens": 5000})
    left = decided(package_with({"maxTokens": 5000}), [tight])
    raised = decided(package_with({"maxTokens": 5001}), [tight])

    assert (starts_of(left), starts_of(raised)) == (["B"], ["A"])


@given(
    st.integers(1, 30_000), st.integers(0, 31_000), st.lists(st.integers(1, 9000), max_size=3),
    st.integers(1, 7),
)  # fmt: skip
def test_what_is_set_aside_is_never_more_than_what_is_left(
    limit: int, used: int, held: list[int], starts: int
) -> None:
    limits = BudgetSpec(max_tokens=limit, max_cost_usd=Decimal(limit) / 10_000)
    usage = UsageStatus(input_tokens=used, cost_usd=Decimal(used) / 10_000)
    live: list[Episode] = [
        make_episode(budget=Budget(max_tokens=n, max_cost_usd=f"0.{n:04}")) for n in held
    ]
    try:
        share = shares(limits, usage, live, starts)
    except ValueError:
        assert (limit - used - sum(held)) // starts < LEAST_TOKENS
        return

    assert share is not None
    assert share.max_tokens is not None
    assert share.max_cost_usd is not None
    assert share.max_tokens >= LEAST_TOKENS
    assert share.max_tokens * starts <= limit - used - sum(held)
    assert 0 < Decimal(share.max_cost_usd) * starts <= Decimal(limit - used - sum(held)) / 10_000


UNPRICED = [
    pytest.param({"pricing": []}, True, id="no price at all"),
    pytest.param({"model": "gpt-9"}, True, id="no price for this model"),
    pytest.param({}, False, id="a price for this model"),
    pytest.param({"model": None}, False, id="the program's own model, with some price"),
]


@pytest.mark.parametrize(("kind", "want_stalled"), UNPRICED)
def test_a_budget_in_dollars_needs_a_price(kind: dict[str, Any], want_stalled: bool) -> None:
    agent_class = make_class(**{**PRICED, **kind})
    package = package_with({"maxCostUSD": "1"})

    decision = decide(make_seen(package, agent_class=agent_class))

    assert (decision.reason == Reason.UNPRICED_MODEL) is want_stalled
    assert bool(starts_of(decision)) is not want_stalled


def test_a_budget_in_tokens_needs_no_price() -> None:
    agent_class = make_class(**{**PRICED, "pricing": []})

    decision = decide(make_seen(package_with({"maxTokens": 5000}), agent_class=agent_class))

    assert starts_of(decision) == ["A"]
