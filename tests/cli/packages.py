"""Packages for the commands that look: one in the middle of its work, and a long one."""

from typing import Any

from afresh.api.agent_class import AgentClass
from afresh.api.subtask import SubtaskObject
from afresh.api.work_package import WorkPackage
from tests.make import make_child, make_class, make_entry, make_package, make_record

TITLES = {
    "T001": "Token model",
    "T002": "Store keys in the settings, and nowhere else",
    "T003": "文書を書く",
    "T004": "Commands",
    "T005": "Docs",
    "T006": "Release notes",
}
BLOCKED = "Redis or files? " + "The settings name neither, and either would do here. " * 2


def ready(reason: str, message: str) -> list[dict[str, Any]]:
    return [{"type": "Ready", "status": "False", "reason": reason, "message": message}]


def busy_package(**status: Any) -> WorkPackage:
    """One done, one that waits for a person, one that runs, and three that wait."""
    records = [
        {"id": "T001", "phase": "Done", "reason": "Verified", "attempts": 1, "cost_usd": "0.42"},
        {"id": "T002", "phase": "NeedsReview", "reason": "Blocked", "attempts": 1,
         "message": BLOCKED},
        {"id": "T003", "phase": "Running", "reason": "EpisodeRunning", "attempts": 2},
        {"id": "T004", "reason": "Transient", "attempts": 1, "message": "The provider is busy.",
         "not_before": "2030-01-02T03:04:35Z"},
        {"id": "T005"},
        {"id": "T006", "phase": "Skipped", "reason": "SkippedByUser"},
    ]  # fmt: skip
    return make_package(
        [
            make_entry(id, title=title, dependsOn=["T002", "T004"] if id == "T005" else [])
            for id, title in TITLES.items()
        ],
        status={
            "phase": "Running",
            "reason": "EpisodeRunning",
            "observedGeneration": 1,
            "conditions": ready("EpisodeRunning", "T003 is running."),
            "progress": "2/6",
            "current": "T003",
            "cost": "$0.42",
            "headCommit": "1f3c9a2b4d5e6f708192a3b4c5d6e7f8091a2b3c",
            "usage": {"inputTokens": 80_000, "outputTokens": 4_000, "costUSD": "0.42"},
            "subtasks": [make_record(**fields).to_manifest() for fields in records],
            **status,
        },
    )


def children_of(package: WorkPackage) -> list[SubtaskObject]:
    """Its Subtasks; three have had episodes, of which one is running."""
    first = {
        "number": 1, "jobName": "token-auth-t001-1-abc", "outcome": "Success",
        "startTime": "2030-01-02T03:00:05Z", "completionTime": "2030-01-02T03:01:07Z",
        "usage": {"inputTokens": 30_000, "outputTokens": 950}, "logTail": "all\ndone",
        "phases": {"runnerStarted": 0, "agentStarted": 1, "agentEnded": 50.2, "committed": 51,
                   "verified": 55},
    }  # fmt: skip
    failed = {**first, "jobName": "token-auth-t003-1-abc", "outcome": "VerifyFailed"}
    running = {"number": 2, "jobName": "token-auth-t003-2-abc", "startTime": "2030-01-02T03:03:05Z"}
    attempts: dict[str, list[Any]] = {"T001": [first], "T003": [failed, running]}
    return [
        make_child(package, entry.id, attempts=attempts.get(entry.id, []))
        for entry in package.spec.subtasks
    ]


def long_package() -> WorkPackage:
    """200 subtasks: the first 119 done but for one, three running."""
    ids = [f"T{number:03}" for number in range(1, 201)]
    done = [make_record(id, phase="Done", reason="Verified", attempts=1) for id in ids[:119]]
    done[49] = make_record("T050", phase="NeedsReview", reason="Blocked", message="Which key?")
    live = [make_record(id, phase="Running", reason="EpisodeRunning") for id in ids[119:122]]
    rest = [make_record(id) for id in ids[122:]]
    return make_package(
        [make_entry(id) for id in ids],
        status={
            "phase": "Running",
            "observedGeneration": 1,
            "reason": "EpisodeRunning",
            "conditions": ready("EpisodeRunning", "T120, T121, T122 are running."),
            "progress": "118/200",
            "subtasks": [record.to_manifest() for record in (*done, *live, *rest)],
        },
        maxEpisodes=300,
        parallelism=3,
    )


def gated_class(until: str, step: int = 3, secret: str = "model-key") -> AgentClass:
    """The package's class, with a gate that is closed."""
    own = make_class(
        adapter="Claude", command=None, credentials={"secretName": "model-key"}
    ).to_manifest()
    gate = {"namespace": "team-a", "secretName": secret, "until": until, "step": step,
            "since": "2030-01-02T03:00:00Z", "reason": "RateLimited"}  # fmt: skip
    return AgentClass.model_validate({**own, "status": {"gates": [gate]}})
