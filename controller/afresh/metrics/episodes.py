"""The counters that change only when the end of an episode is recorded.

The status is written first, and only if the observed version is still current. An end that is
observed twice, by one operator or by two, is therefore recorded and counted once. If the operator
dies between the write and the count, the end is not counted.
"""

from afresh.api.work_package import WorkPackage
from afresh.contract.words import Outcome
from afresh.core.decision import Decision, StartEpisode
from afresh.core.history.classify import AttemptResult
from afresh.core.history.episode_times import hand_over_seconds, phase_seconds, work_and_overhead
from afresh.core.history.usage import TOKENS
from afresh.core.observed import Episode, Observed
from afresh.metrics.registry import NONE, SLOW, counter, histogram

_WHOSE = ("namespace", "agent_class")

SUBTASK_OUTCOMES = counter(
    "afresh_subtask_outcomes_total",
    "Ends of episodes for one subtask, by outcome; an episode of several subtasks has several.",
    *_WHOSE,
    "outcome",
)
EPISODES = counter(
    "afresh_episodes_total",
    "Ended episodes, by the outcome of the subtask that they were working on.",
    *_WHOSE,
    "adapter",
    "context_mode",
    "runtime_class",
    "outcome",
)
TOKENS_USED = counter(
    "afresh_tokens_total",
    "Tokens of ended episodes by kind: input, output, cache_read, cache_write.",
    *_WHOSE,
    "kind",
)
COST = counter("afresh_cost_usd_total", "US dollars that ended episodes cost.", *_WHOSE)
SECONDS = counter(
    "afresh_episode_seconds_total",
    "Seconds of ended episodes of one subtask: work is setup, agent and acceptance command; "
    "overhead is everything else except waiting in a queue.",
    *_WHOSE,
    "context_mode",
    "kind",
)
PHASE_SECONDS = histogram(
    "afresh_episode_phase_seconds",
    "How long each part of an episode took: queued, scheduled, runnerImage, started, prepared, "
    "agentImage, setup, firstRequest, agent, commit, verify, push, report.",
    SLOW,
    "agent_class",
    "phase",
)
HAND_OVER_SECONDS = histogram(
    "afresh_hand_over_seconds",
    "Seconds from the end of one agent to the start of the next one of its package, where the "
    "package waited for nothing else.",
    SLOW,
    "agent_class",
)


def record(seen: Observed, decision: Decision) -> None:
    """Count the ends that the decision records. Call it after the status has been written."""
    package = seen.package
    whose = (package.metadata.namespace, package.spec.agent_class_name)
    for action in decision.actions:
        if isinstance(action, StartEpisode):
            _expect(seen, str(action.order.mode))
    for item in decision.attempt_results:
        if item.ended.begun:
            SUBTASK_OUTCOMES.labels(*whose, str(item.ended.outcome)).inc()
    for item in decision.over:
        mode = str(item.episode.mode or package.spec.context.mode)
        EPISODES.labels(*whose, *_kind(seen, mode), str(item.ended.outcome)).inc()
        _record_use(whose, item)
        _record_times(seen, item, mode)


def _expect(seen: Observed, mode: str) -> None:
    """Create the series of every outcome with 0, so that `rate()` includes the first end."""
    whose = (seen.package.metadata.namespace, seen.package.spec.agent_class_name)
    kind = _kind(seen, mode)
    for outcome in Outcome:
        SUBTASK_OUTCOMES.labels(*whose, str(outcome))
        EPISODES.labels(*whose, *kind, str(outcome))
    for name in TOKENS:
        TOKENS_USED.labels(*whose, name.removesuffix("_tokens"))
    for name in ("work", "overhead"):
        SECONDS.labels(*whose, mode, name)
    COST.labels(*whose)


def _record_use(whose: tuple[str, str], item: AttemptResult) -> None:
    if item.ended.report is None:
        return
    spent = item.ended.report.usage
    for name in TOKENS:
        TOKENS_USED.labels(*whose, name.removesuffix("_tokens")).inc(getattr(spent, name))
    COST.labels(*whose).inc(float(spent.cost_usd or 0))


def _record_times(seen: Observed, item: AttemptResult, mode: str) -> None:
    episode, package = item.episode, seen.package
    name = package.spec.agent_class_name
    for phase, taken in phase_seconds(episode).items():
        PHASE_SECONDS.labels(name, str(phase)).observe(taken)
    spent = work_and_overhead(episode)
    if spent:
        own = (package.metadata.namespace, name, mode)
        SECONDS.labels(*own, "work").inc(spent[0])
        SECONDS.labels(*own, "overhead").inc(spent[1])
    waited = hand_over_seconds(episode, _before(package, seen, item))
    if waited is not None:
        HAND_OVER_SECONDS.labels(name).observe(waited)


def _before(package: WorkPackage, seen: Observed, item: AttemptResult) -> list[Episode]:
    """Return the episodes that may precede this one; with parallelism above 1, none."""
    if package.spec.parallelism > 1:
        return []
    return [other for other in seen.episodes if other.members and other.name != item.episode.name]


def _kind(seen: Observed, mode: str) -> tuple[str, str, str]:
    """Return the adapter, the context mode and the runtime class of the package's episodes."""
    if seen.agent_class is None:
        return NONE, mode, NONE
    spec = seen.agent_class.spec
    return str(spec.adapter), mode, spec.pod.runtime_class_name or NONE
