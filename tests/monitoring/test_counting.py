"""What is counted, over whole stories: what the statuses say, once each, whoever dies meanwhile."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from afresh.contract.words import Outcome
from afresh.core.planner import decide
from afresh.metrics import registry
from afresh.metrics.episodes import record
from tests.kube.journeys import JOURNEYS, Journey
from tests.kube.world import World
from tests.make import make_class, make_episode, make_package, make_record, make_report, make_seen

STORIES = {journey.name: journey for journey in JOURNEYS}
TOKEN_KINDS = {"input", "output", "cache_read", "cache_write"}


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    yield
    structlog.reset_defaults()


def counted(name: str, label: str) -> Counter[str]:
    """What the counter says now, by the values of one label; zeros are left out."""
    found: Counter[str] = Counter()
    for family in registry.REGISTRY.collect():
        for sample in family.samples:
            if sample.name == name and sample.value:
                found[sample.labels[label]] += int(sample.value)
    return found


def episodes() -> int:
    return counted("afresh_episodes_total", "outcome").total()


def recorded(world: World, journey: Journey) -> tuple[int, int]:
    """How many episodes and tokens the packages' own records have."""
    usages = [world.status(name)["usage"] for name in journey.names]
    ended = sum(item.get("episodes", 0) + item.get("transientRetries", 0) for item in usages)
    return ended, sum(value for item in usages for key, value in item.items() if "Tokens" in key)


@pytest.mark.parametrize("journey", JOURNEYS, ids=lambda journey: journey.name)
async def test_after_a_story_as_many_episodes_and_tokens_are_counted_as_are_recorded(
    journey: Journey,
) -> None:
    ended, tokens = episodes(), counted("afresh_tokens_total", "kind")
    world = journey.world()

    await world.drive()

    used = counted("afresh_tokens_total", "kind") - tokens
    assert (episodes() - ended, used.total()) == recorded(world, journey)
    assert set(used) <= TOKEN_KINDS


@pytest.mark.parametrize(
    ("story", "want"),
    [
        ("one fails for good and the other goes on", {"VerifyFailed": 3, "Success": 1}),
        ("trouble outside and a wrong key pass", {"Infrastructure": 2, "Auth": 1, "Success": 3}),
        ("the second of a batch fails", {"VerifyFailed": 1, "Success": 3}),
        ("a user cancels in the middle", {"Cancelled": 1, "Success": 3}),
    ],
)
async def test_after_a_story_every_end_of_a_subtask_is_counted_by_its_outcome(
    story: str, want: dict[str, int]
) -> None:
    before = counted("afresh_subtask_outcomes_total", "outcome")

    await STORIES[story].world().drive()

    assert counted("afresh_subtask_outcomes_total", "outcome") - before == want


@pytest.mark.parametrize(
    ("story", "most"),
    [
        ("one succeeds at the third attempt", 1),
        ("the second of a batch fails", 1),
        ("three run beside each other", 3),
    ],
)
async def test_an_operator_killed_at_any_write_counts_nothing_twice(story: str, most: int) -> None:
    journey = STORIES[story]
    calm, start, splits = journey.world(), episodes(), []
    calm.api.around_write = lambda _: splits.append((episodes() - start, calm.fork()))
    await calm.drive()
    lost = []

    for sofar, world in splits:
        before = episodes()
        await world.drive()
        lost.append(recorded(world, journey)[0] - (sofar + episodes() - before))

    # Who dies after a write and before it has counted what that says counts it never.
    assert (min(lost), max(lost)) == (0, most)


def test_an_end_that_is_seen_again_after_its_record_is_not_counted_again() -> None:
    episode = make_episode(report=make_report(Outcome.SUCCESS))
    running = make_record(phase="Running", reason="EpisodeRunning", attempts=1)
    done = make_record(phase="Done", reason="Verified", attempts=1, commit="c0ffee")
    for state in (running, done):
        seen = make_seen(_package("seen-again"), [state], episodes=(episode,))
        record(seen, decide(seen))

    assert _sample("afresh_episodes_total", "seen-again", outcome="Success") == 1
    assert _sample("afresh_subtask_outcomes_total", "seen-again", outcome="Success") == 1
    assert _sample("afresh_tokens_total", "seen-again", kind="output") == 5
    assert _sample("afresh_cost_usd_total", "seen-again") == pytest.approx(0.01)


def test_a_start_has_every_outcome_at_zero_so_that_its_first_end_shows_as_a_rate() -> None:
    seen = make_seen(_package("first"), agent_class=make_class(pod={"runtimeClassName": "gvisor"}))

    record(seen, decide(seen))

    for outcome in Outcome:
        ends = _samples("afresh_episodes_total", "first", outcome=str(outcome))
        assert [(item["runtime_class"], value) for item, value in ends] == [("gvisor", 0)]
        assert _sample("afresh_subtask_outcomes_total", "first", outcome=str(outcome)) == 0


def _package(namespace: str) -> Any:
    metadata = {"namespace": namespace, "name": "token-auth", "resourceVersion": "10"}
    return make_package(metadata=metadata)


def _samples(name: str, namespace: str, **labels: str) -> list[tuple[dict[str, str], float]]:
    wanted = {"namespace": namespace, **labels}.items()
    return [
        (sample.labels, sample.value)
        for family in registry.REGISTRY.collect()
        for sample in family.samples
        if sample.name == name and wanted <= sample.labels.items()
    ]


def _sample(name: str, namespace: str, **labels: str) -> float:
    ((_, value),) = _samples(name, namespace, **labels)
    return value
