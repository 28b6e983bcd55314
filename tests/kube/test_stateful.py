"""Whatever users, nodes, providers and crashes do, in any order: what holds always, and at the end.

The machine plays everybody but the operator. The node itself fails the test when two agents of a
package work side by side that may not.
"""

import asyncio
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from afresh.contract.plan_file import digest
from afresh.contract.words import Outcome
from afresh.kube.resources import JOBS, PODS
from tests.kube.journeys import CLAUDE, entries
from tests.kube.world import KEY, World, check_rest, contradictions_in, make_world

IDS = "ABC"
OTHER = "package-1"
NAMES = (KEY.name, OTHER)
# Mostly good: a story in which everything fails is a short one.
OUTCOMES = st.sampled_from(
    [Outcome.SUCCESS] * 6
    + [Outcome.VERIFY_FAILED, Outcome.BLOCKED, Outcome.INFRASTRUCTURE, Outcome.AUTH]
    + [Outcome.CONFLICT, Outcome.TIMEOUT, Outcome.OUT_OF_SCOPE]
)


class Cluster(RuleBasedStateMachine):
    """Two packages with one class and one key."""

    def __init__(self) -> None:
        super().__init__()
        self.refuses = False
        self.outcomes: list[Outcome] = []
        self.asked = 0

    def teardown(self) -> None:
        """Let everything be well from now on: the world must come to rest, and agree."""
        if not hasattr(self, "world"):
            return
        try:
            self.finish()
        finally:
            self.loop.close()

    def finish(self) -> None:
        self.refuses, self.outcomes, self.world.queue_open = False, [], True
        self.world.lagging = ()
        for name in NAMES:
            if self.world.package(name)["spec"].get("suspend"):
                self.world.edit(name, suspend=False)
        self.loop.run_until_complete(self.world.drive())
        self.loop.run_until_complete(check_rest(self.world))
        self.check_end()

    @initialize(
        mode=st.sampled_from(["FreshPerSubtask", "FreshPerEpic", "Persistent"]),
        parallelism=st.integers(1, 2),
        limit=st.none() | st.integers(1, 2),
        queue=st.none() | st.just("agents"),
        hints=st.booleans(),
    )
    def begin(
        self, mode: str, parallelism: int, limit: int | None, queue: str | None, hints: bool
    ) -> None:
        package = {
            "subtasks": entries(IDS),
            "context": {"mode": mode},
            "parallelism": parallelism,
            **({"queueName": queue} if queue else {}),
        }
        kind = {**CLAUDE, **({"maxConcurrentEpisodes": limit} if limit else {})}
        self.limit, self.queue = limit, queue
        self.loop = asyncio.new_event_loop()
        self.done: dict[tuple[str, str], int] = {}
        self.world: World = make_world(
            package, package, judge=self.judge, kind=kind, hints=hints,
            refuses=lambda _: self.refuses, lasts=lambda *_: 2,
        )  # fmt: skip
        self.world.queue_open = True

    def judge(self, *_: Any) -> Outcome:
        return self.outcomes.pop() if self.outcomes else Outcome.SUCCESS

    @rule(turns=st.integers(1, 6))
    def time_passes(self, turns: int) -> None:
        for _ in range(turns):
            busy = self.loop.run_until_complete(self.world.turn())
            due = self.world.operator.due.values()
            if not busy and due:
                self.world.api.clock = max(self.world.api.clock, min(due))

    @rule(outcome=OUTCOMES)
    def the_next_work_ends_so(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)

    @rule(refuses=st.booleans())
    def the_provider_changes_its_mind(self, refuses: bool) -> None:
        self.refuses = refuses

    @rule()
    def the_operator_restarts(self) -> None:
        self.world.restart()

    @rule(kind=st.sampled_from([None, PODS, JOBS]))
    def a_watch_lags(self, kind: Any) -> None:
        self.world.lagging = (kind,) if kind else ()

    @rule(name=st.sampled_from(NAMES), id=st.sampled_from(IDS))
    def a_revision_is_raised(self, name: str, id: str) -> None:
        for entry in self.world.package(name)["spec"]["subtasks"]:
            if entry["id"] == id:
                self.world.edit_subtask(id, name, revision=entry.get("revision", 0) + 1)

    @rule(name=st.sampled_from(NAMES), id=st.sampled_from(IDS), skip=st.booleans())
    def a_subtask_is_skipped_or_not(self, name: str, id: str, skip: bool) -> None:
        self.world.edit_subtask(id, name, skip=skip)

    @rule(name=st.sampled_from(NAMES), id=st.sampled_from("BC"))
    def a_subtask_is_removed_or_added(self, name: str, id: str) -> None:
        known = self.world.package(name)["spec"]["subtasks"]
        if any(entry["id"] == id for entry in known):
            self.world.remove_subtask(id, name)
        else:
            self.world.edit(name, subtasks=[*known, *entries(id)])

    @rule(name=st.sampled_from(NAMES), suspend=st.booleans())
    def a_package_is_suspended_or_not(self, name: str, suspend: bool) -> None:
        self.world.edit(name, suspend=suspend)

    @rule(name=st.sampled_from(NAMES), what=st.sampled_from(["cancel", "retry"]))
    def a_user_asks(self, name: str, what: str) -> None:
        self.asked += 1
        self.world.annotate(name, **{what: str(self.asked)})

    @precondition(lambda self: self.queue)
    @rule(opened=st.booleans())
    def the_queue_opens_or_closes(self, opened: bool) -> None:
        if opened:
            self.world.open_queue()
        else:
            self.world.close_queue()

    @rule(kind=st.sampled_from([PODS, JOBS]), number=st.integers(0, 5))
    def something_is_deleted_by_hand(self, kind: Any, number: int) -> None:
        found = self.world.api.of_kind(kind)
        if found and kind is PODS:
            self.world.api.ask_to_end(found[number % len(found)])
        elif found:
            metadata = found[number % len(found)]["metadata"]
            self.world.api.remove(
                kind, metadata["namespace"], metadata["name"], uid=metadata["uid"]
            )

    @invariant()
    def no_class_runs_more_than_it_may(self) -> None:
        if not hasattr(self, "world") or not self.limit:
            return
        live = [
            job
            for job in self.world.api.of_kind(JOBS)
            if "afresh.dev/batch" in job["metadata"]["annotations"]
            and not job.get("status", {}).get("conditions")
            and not self.told(job)
        ]
        assert len(live) <= self.limit

    def told(self, job: Any) -> bool:
        """Whether its runner has reported its end: then its agent is gone."""
        pods = self.world.api.of_kind(PODS)
        mine = [
            pod["metadata"]["uid"]
            for pod in pods
            if pod["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]
        ]
        runners = [self.world.node.runners.get(uid) for uid in mine]
        return bool(mine) and all(runner is None or runner.final for runner in runners)

    @invariant()
    def counters_keep_their_limits_and_done_stays_done(self) -> None:
        for name in NAMES if hasattr(self, "world") else ():
            for record in self.world.status(name).get("subtasks", []):
                assert record.get("consecutiveFailures", 0) <= 3
                key = (name, record["id"])
                if key in self.done and record["reason"] != "Removed":
                    rerun = record.get("observedRevision", 0) > self.done[key]
                    known = record["marker"] == "[x]" or rerun or record["id"] != "A"
                    assert known, f"{key} was done and is {record['marker']}"
                if record["marker"] == "[x]":
                    self.done[key] = record.get("observedRevision", 0)

    @invariant()
    def no_status_contradicts_itself(self) -> None:
        for name in NAMES if hasattr(self, "world") else ():
            assert contradictions_in(self.world, name) == []

    def check_end(self) -> None:
        for name in NAMES:
            status = self.world.status(name)
            plan = self.world.node.branch_of(f"{KEY.namespace}/{name}").plan
            assert status["phase"] in ("Succeeded", "NeedsReview", "Failed")
            begun = any(
                r["attempts"] and r["marker"] != "[ ]" and r["reason"] != "Removed"
                for r in status["subtasks"]
            )
            assert not begun or digest(plan) == status["planDigest"]


TestCluster = Cluster.TestCase
# A story takes as long as five examples of another test.
TestCluster.settings = settings(
    max_examples=settings.default.max_examples // 5, stateful_step_count=25
)
