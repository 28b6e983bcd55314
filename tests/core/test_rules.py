"""The rules: which fact answers, and what follows. And the order in which they are asked."""

from typing import Any

import pytest

from afresh.api.phases import PackagePhase, SubtaskPhase
from afresh.contract.words import Outcome
from afresh.core.observed import Observed
from afresh.core.planner import decide
from afresh.core.policy import rules
from afresh.core.reasons import Reason
from tests.make import (
    NOW,
    make_class,
    make_entry,
    make_episode,
    make_package,
    make_pod,
    make_record,
    make_report,
    make_seen,
    seconds,
    starts_of,
)

TWO = [make_entry("T001"), make_entry("T002", dependsOn=["T001"])]
CIRCLE = [make_entry("A", dependsOn=["B"]), make_entry("B", dependsOn=["A"])]
DONE, RUNNING = SubtaskPhase.DONE, SubtaskPhase.RUNNING
SKIPPED, REVIEW = SubtaskPhase.SKIPPED, SubtaskPhase.NEEDS_REVIEW


def running(id: str = "T001", **fields: Any) -> Any:
    return make_record(
        id, **{"phase": RUNNING, "attempts": 1, "reason": "EpisodeRunning", **fields}
    )


CASES = [
    pytest.param(make_seen(), "Running", Reason.EPISODE_RUNNING, ["T001"], id="a new package"),
    pytest.param(
        make_seen(make_package(metadata={"deletionTimestamp": "2030-01-02T03:04:00Z"})),
        "Pending", Reason.BEING_DELETED, [], id="a package that is being deleted",
    ),
    pytest.param(
        make_seen(make_package(CIRCLE)),
        "Stalled", Reason.INVALID_SPEC, [], id="dependencies in a circle",
    ),
    pytest.param(
        make_seen(make_package([make_entry("a1"), make_entry("A1")])),
        "Stalled", Reason.INVALID_SPEC, [], id="ids that differ only in case",
    ),
    pytest.param(
        make_seen(rival="team-a/first"), "Stalled", Reason.BRANCH_IN_USE, [], id="a branch in use",
    ),
    pytest.param(
        make_seen(agent_class=None), "Stalled", Reason.AGENT_CLASS_NOT_FOUND, [], id="no class",
    ),
    pytest.param(
        make_seen(make_package(image="evil.example.com/x:1")),
        "Stalled", Reason.IMAGE_NOT_ALLOWED, [], id="an image that the class does not allow",
    ),
    pytest.param(
        make_seen(
            make_package(image="example.com/team-a/x:1"),
            agent_class=make_class(allowedImages=["example.com/team-a/*"]),
        ),
        "Running", Reason.EPISODE_RUNNING, ["T001"], id="an image that the class allows",
    ),
    pytest.param(
        make_seen(make_package(resources={"limits": {"memory": "8Gi"}})),
        "Stalled", Reason.ABOVE_CEILING, [], id="more memory than the class itself has",
    ),
    pytest.param(
        make_seen(
            make_package(resources={"limits": {"memory": "8Gi"}}),
            agent_class=make_class(ceilings={"limits": {"memory": "16Gi"}}),
        ),
        "Running", Reason.EPISODE_RUNNING, ["T001"], id="more memory, below the ceiling",
    ),
    pytest.param(
        make_seen(make_package(pidsLimit=513)),
        "Stalled", Reason.ABOVE_CEILING, [], id="more processes than the class allows",
    ),
    pytest.param(
        make_seen(records=[running()], episodes=(make_episode(),)),
        "Running", Reason.EPISODE_RUNNING, [], id="an episode runs",
    ),
    pytest.param(
        make_seen(records=[running()], episodes=(make_episode(suspended=True, pod=None),)),
        "Queued", Reason.EPISODE_QUEUED, [], id="an episode waits in its queue",
    ),
    pytest.param(
        make_seen(
            records=[running()],
            episodes=(make_episode(pod=make_pod(phase="Pending", unschedulable="no node")),),
        ),
        "Pending", Reason.EPISODE_NOT_STARTED, [], id="an episode cannot be scheduled",
    ),
    pytest.param(
        make_seen(
            records=[running()],
            episodes=(
                make_episode(
                    created=NOW - seconds(3601),
                    released=NOW - seconds(3601),
                    pod=make_pod(phase="Pending", unschedulable="no node"),
                ),
            ),
        ),
        "Stalled", Reason.EPISODE_NOT_STARTED, [], id="an episode has had no node for an hour",
    ),
    pytest.param(
        make_seen(records=[make_record(reason="Auth", message="bad key",
                                       not_before=NOW + seconds(20))]),
        "Stalled", "Auth", [], id="a refused key",
    ),
    pytest.param(
        make_seen(records=[make_record(reason="Auth", message="bad key",
                                       not_before=NOW - seconds(1))]),
        "Stalled", "Auth", ["T001"], id="a refused key whose probe is due",
    ),
    pytest.param(
        make_seen(records=[running(reason="Auth", message="bad key")], episodes=(make_episode(),)),
        "Stalled", "Auth", [], id="the probe of a refused key runs",
    ),
    pytest.param(
        make_seen(make_package(suspend=True)), "Suspended", Reason.SUSPENDED, [], id="suspended",
    ),
    pytest.param(
        make_seen(make_package(suspend=True), [running()], episodes=(make_episode(),)),
        "Running", Reason.EPISODE_RUNNING, [], id="suspended while an episode runs",
    ),
    pytest.param(
        make_seen(make_package([make_entry("A"), make_entry("B")]),
                  [make_record("A", phase=REVIEW, reason=Outcome.OUT_OF_SCOPE)]),
        "NeedsReview", Reason.NEEDS_REVIEW, [], id="an agent out of its scope halts the package",
    ),
    pytest.param(
        make_seen(make_package([make_entry("A"), make_entry("B")]),
                  [make_record("A", phase=REVIEW, reason=Outcome.BLOCKED)]),
        "Running", Reason.EPISODE_RUNNING, ["B"], id="a blocked one lets the others go on",
    ),
    pytest.param(
        make_seen(make_package(maxEpisodes=3, status={"usage": {"episodes": 3}})),
        "Failed", Reason.EPISODE_LIMIT, [], id="all episodes spent",
    ),
    pytest.param(
        make_seen(obstacle="exceeded quota"),
        "Stalled", Reason.START_REFUSED, [], id="the cluster refuses the Job",
    ),
    pytest.param(
        make_seen(records=[make_record(reason="Infrastructure", message="lost",
                                       not_before=NOW + seconds(4))]),
        "Pending", Reason.BACKING_OFF, [], id="waiting after trouble outside",
    ),
    pytest.param(
        make_seen(make_package(TWO), [make_record("T001", phase=DONE)]),
        "Running", Reason.EPISODE_RUNNING, ["T002"], id="the next one's dependency is done",
    ),
    pytest.param(
        make_seen(
            make_package([make_entry("T001", skip=True), TWO[1]]),
            [make_record("T001", phase=SKIPPED, reason="SkippedByUser")],
        ),
        "Running", Reason.EPISODE_RUNNING, ["T002"], id="the user skipped the dependency",
    ),
    pytest.param(
        make_seen(
            make_package(TWO), [make_record("T001", phase=SKIPPED, reason="TooManyFailures")]
        ),
        "NeedsReview", Reason.NEEDS_REVIEW, [], id="the dependency failed too often",
    ),
    pytest.param(
        make_seen(records=[make_record(phase=DONE)]),
        "Succeeded", Reason.SUCCEEDED, [], id="all done",
    ),
    pytest.param(
        make_seen(make_package([make_entry(skip=True)])),
        "Succeeded", Reason.SUCCEEDED, [], id="all skipped by the user",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("seen", "want_phase", "want_reason", "want_started"), CASES)
def test_a_package_gets_its_phase_reason_and_starts(
    seen: Observed, want_phase: str, want_reason: str, want_started: list[str]
) -> None:
    decision = decide(seen)

    assert (decision.phase, decision.reason) == (want_phase, want_reason)
    assert starts_of(decision) == want_started
    assert decision.message


def test_the_order_of_the_rules_is_pinned() -> None:
    want = [
        "being_deleted",
        "spec_invalid",
        "all_done",
        "branch_in_use",
        "class_not_found",
        "image_not_allowed",
        "above_ceiling",
        "not_supported",
        "unpriced_model",
        "episode_running",
        "push_refused",
        "stalled",
        "suspended",
        "out_of_scope",
        "episodes_spent",
        "budget_spent",
        "start_refused",
        "shared_cause",
        "gate_closed",
        "class_busy",
        "first_start",
        "no_capacity",
        "subtask_ready",
        "backing_off",
        "needs_review",
    ]
    assert [rule.__name__ for rule in rules.RULES] == want


def test_of_several_that_went_wrong_together_one_probes_at_a_time() -> None:
    package = make_package([make_entry("A"), make_entry("B")], parallelism=2)
    probed = make_record("A", reason="Auth", message="bad", not_before=NOW + seconds(60))
    due = make_record("B", reason="Auth", message="bad", not_before=NOW - seconds(1))

    decision = decide(make_seen(package, [probed, due]))

    assert (decision.phase, decision.recheck_after) == (PackagePhase.STALLED, seconds(60))
    assert not starts_of(decision)


BY_ITSELF = {"mode": "Environment", "secretName": "s"}
UNSUPPORTED = [
    ({"context": {"mode": "Persistent"}}, {}, "cannot keep one context"),
    ({"budget": {"maxTokens": 5}}, {}, "spec.budget needs"),
    ({"episode": {"maxTurns": 21}}, {}, "remove spec.episode.maxTurns"),
    (
        {"episode": {"maxTurns": 21}},
        {"adapter": "Aider", "command": None, "credentials": BY_ITSELF},
        "turns of the adapter Aider are not counted",
    ),
    ({}, {"adapter": "Codex", "command": None, "modelAPI": "Gemini"}, "spec.modelAPI"),
    ({}, {"credentials": {"secretName": "s"}}, "credentials.mode"),
    (
        {"budget": {"maxTokens": 5}},
        {
            "adapter": "Claude",
            "command": None,
            "credentials": BY_ITSELF,
        },
        "reached through the gateway",
    ),
]


@pytest.mark.parametrize(
    ("spec", "kind", "want"), UNSUPPORTED, ids=[item[2] for item in UNSUPPORTED]
)
def test_a_field_that_is_not_acted_on_stalls_the_package_with_the_remedy(
    spec: dict[str, Any], kind: dict[str, Any], want: str
) -> None:
    decision = decide(make_seen(make_package(**spec), agent_class=make_class(**kind)))

    assert (decision.phase, decision.reason) == (PackagePhase.STALLED, Reason.NOT_SUPPORTED)
    assert want in decision.message


@pytest.mark.parametrize(
    ("turns", "kind"),
    [
        pytest.param(20, {}, id="the default, which a server may have filled in"),
        pytest.param(21, {"adapter": "Codex", "command": None}, id="a program that is counted"),
        pytest.param(
            21,
            {"adapter": "Claude", "command": None, "credentials": BY_ITSELF},
            id="a program that counts by itself",
        ),
        pytest.param(
            21,
            {"adapter": "Aider", "command": None, "credentials": {"secretName": "s"}},
            id="a gateway",
        ),
    ],
)
def test_turns_that_are_counted_or_that_nobody_asked_for_are_no_reason_to_stall(
    turns: int, kind: dict[str, Any]
) -> None:
    package = make_package(episode={"maxTurns": turns})

    assert starts_of(decide(make_seen(package, agent_class=make_class(**kind))))


HALTS = [
    pytest.param({"phase": REVIEW, "reason": Outcome.OUT_OF_SCOPE}, {}, id="out of its scope"),
    pytest.param({"phase": RUNNING, "attempts": 1, "reason": "Auth"}, {}, id="a probe runs"),
    pytest.param({}, {"maxEpisodes": 4, "status": {"usage": {"episodes": 3}}}, id="all spent"),
]


@pytest.mark.parametrize(("record", "spec"), HALTS)
def test_what_halts_a_package_also_halts_it_while_another_episode_is_live(
    record: dict[str, Any], spec: dict[str, Any]
) -> None:
    package = make_package([make_entry(i) for i in "ABCD"], parallelism=3, **spec)
    records = [make_record("A", **record), running("B")]
    live = [make_episode("B")]
    if record.get("phase") is RUNNING:
        live.append(make_episode("A"))

    decision = decide(make_seen(package, records, episodes=tuple(live)))

    assert not starts_of(decision)


def test_two_episodes_start_when_two_may_run_beside_each_other() -> None:
    package = make_package([make_entry("A"), make_entry("B"), make_entry("C")], parallelism=2)

    decision = decide(make_seen(package))

    assert starts_of(decision) == ["A", "B"]
    assert decision.message == "A, B are running."


def test_the_next_episode_starts_in_the_step_that_records_the_last_one() -> None:
    package = make_package([make_entry("A"), make_entry("B")])
    seen = make_seen(
        package,
        [running("A")],
        episodes=(make_episode("A", report=make_report(subtask="A")),),
    )

    decision = decide(seen)

    assert starts_of(decision) == ["B"]
    assert [item.phase for item in decision.records] == [DONE, RUNNING]
    assert decision.phase is PackagePhase.RUNNING
