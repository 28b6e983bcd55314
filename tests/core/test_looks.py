"""A look that time alone makes due is asked for by every step, whatever event comes in between."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from afresh.api.package_status import PlanSync
from afresh.contract.words import PushRefusal
from afresh.core.decision import Decision, DeleteJob, OpenGate, StartEpisode, StartSync
from afresh.core.history.shared_causes import keys_of
from afresh.core.observed import Episode, Observed, PodFacts
from afresh.core.planner import decide
from afresh.core.status import package_status
from tests.core.test_properties import states
from tests.core.test_shared_causes import NEVER, QUOTA, closed
from tests.make import NOW, make_container, make_episode, make_pod, make_report, make_sync, seconds

# Before and after each wait that a package has of its own, or that the drawn worlds have.
LATER = tuple(seconds(number) for number in (1, 20, 75, 400, 1000, 3700, 8000))

moments = st.none() | st.integers(-4000, 400).map(lambda number: NOW + seconds(number))


@st.composite
def pods(draw: st.DrawFn) -> PodFacts | None:
    """Pods at every point of a life, and those that do not get on."""
    waits = st.sampled_from(["", "ContainerCreating", "ErrImagePull", "CreateContainerConfigError"])
    names = ("runner", "agent", "verify", "istio-init")
    states = st.sampled_from(["Waiting", "Running", "Terminated"])
    containers = []
    for name in names[: draw(st.integers(0, 4))]:
        state = draw(states)
        fields: dict[str, Any] = {"reason": draw(waits)} if state == "Waiting" else {}
        fields |= {"finished": draw(moments), "exit_code": 1} if state == "Terminated" else {}
        containers.append(make_container(name, state, **fields))
    pod = make_pod(
        phase=draw(st.sampled_from(["Pending", "Running", "Failed"])),
        unschedulable=draw(st.none() | st.just(NEVER)),
        **{name: draw(moments) for name in ("deleting_since", "deadline", "scheduled")},
    )
    return draw(st.none() | st.just(replace(pod, containers=tuple(containers))))


@st.composite
def syncs(draw: st.DrawFn) -> Episode:
    report = make_report(results=()) if draw(st.booleans()) else None
    return make_sync(draw(st.integers(1, 3)), report=report, pod=draw(pods()))


@st.composite
def worlds(draw: st.DrawFn) -> Observed:
    """What `states` draws, with pods, syncs, gates and refusals of all kinds."""
    seen = draw(states())
    package, limits = seen.package, seen.shared_limits
    episodes = [
        replace(item, pod=draw(pods()), released=draw(moments), has_queue=draw(st.booleans()))
        if draw(st.booleans())
        else item
        for item in seen.episodes
    ]
    if draw(st.booleans()):
        episodes.append(draw(syncs()))
    status = package.status.model_copy(
        update={
            "plan_digest": draw(st.sampled_from([package.status.plan_digest, "sha256:old"])),
            "waiting_since": draw(moments),
            "plan_sync": draw(st.none() | plan_syncs()),
            "subtasks": tuple(
                item.model_copy(update={"refused": draw(st.none() | st.sampled_from(PushRefusal))})
                if item.phase == "Pending" and draw(st.booleans())
                else item
                for item in package.status.subtasks
            ),
        }
    )
    keys = keys_of(package, seen.agent_class) if seen.agent_class else ()
    waits = [draw(shared_waits(*key)) for key in keys if draw(st.integers(0, 5)) == 0]
    places = st.sampled_from([None, None, 0, 2])
    return replace(
        seen,
        package=package.model_copy(update={"status": status}),
        episodes=tuple(episodes),
        shared_limits=replace(
            limits, waits=tuple(waits), first_free=draw(places), room=draw(places)
        ),
        obstacle=draw(st.sampled_from([None, None, QUOTA, "something has its name"])),
    )


def plan_syncs() -> st.SearchStrategy[PlanSync]:
    return moments.map(
        lambda moment: PlanSync(
            attempts=2, failures=1, reason="BranchInUse", message="So.", not_before=moment
        )
    )


def shared_waits(cause: Any, key: str) -> st.SearchStrategy[Any]:
    ends = st.integers(-60, 400).map(lambda number: NOW + seconds(number))
    return ends.map(lambda end: closed(cause, key, until=end, reason="GitUnreachable"))


def after(seen: Observed, decision: Decision) -> Observed:
    """What the next step sees, when nothing has happened but what was decided."""
    deleted = {item.uid for item in decision.actions if isinstance(item, DeleteJob)}
    kept = [item for item in seen.episodes if item.uid not in deleted]
    opened = [item.wait for item in decision.actions if isinstance(item, OpenGate)]
    waits = tuple(item for item in seen.shared_limits.waits if item not in opened)
    status = package_status(seen, decision)
    return replace(
        seen,
        package=seen.package.model_copy(update={"status": status}),
        episodes=(*kept, *started(seen, decision)),
        shared_limits=replace(seen.shared_limits, gate=seen.shared_limits.gate, waits=waits),
        obstacle=None,
    )


def started(seen: Observed, decision: Decision) -> Iterator[Episode]:
    for item in decision.actions:
        if isinstance(item, StartEpisode | StartSync):
            members = item.members if isinstance(item, StartEpisode) else ()
            attempt = item.members[0].attempt if isinstance(item, StartEpisode) else item.attempt
            name = item.order.episode
            yield make_episode(
                "", attempt, name=name, uid=name, members=members, probe=item.probe,
                created=seen.now, released=seen.now, pod=None,
            )  # fmt: skip


def does(decision: Decision) -> tuple[object, ...]:
    """What people and the cluster see of a decision."""
    kinds = [type(item) for item in decision.actions]
    return decision.phase, decision.reason, decision.records, kinds


@given(worlds())
def test_what_time_alone_changes_is_looked_at(seen: Observed) -> None:
    recorded = after(seen, decide(seen))
    decision = decide(recorded)
    if decision.recheck_after is not None:
        return

    for later in LATER:
        assert does(decide(replace(recorded, now=seen.now + later))) == does(decision)


@given(worlds(), st.integers(0, 60))
def test_an_event_in_between_loses_no_look(seen: Observed, passed: int) -> None:
    recorded = after(seen, decide(seen))
    first = decide(recorded)
    has_changed = any(isinstance(item, DeleteJob | OpenGate) for item in first.actions)
    if first.recheck_after is None or has_changed:
        return
    elapsed = min(timedelta(seconds=passed), first.recheck_after / 2)

    again = decide(after(recorded, first))
    then = decide(replace(after(recorded, first), now=seen.now + elapsed))

    assert again.recheck_after is not None
    assert again.recheck_after <= first.recheck_after
    assert then.recheck_after is not None
