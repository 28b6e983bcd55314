"""Named stories: what a user asks for, what happens meanwhile, and how it must end."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from afresh.contract.order import Task
from afresh.contract.words import Outcome
from afresh.kube.resources import JOBS, PODS
from tests.kube.node import TOKENS, Judge
from tests.kube.world import KEY, Step, World, make_world
from tests.make import make_entry, seconds

GOOD, AUTH, BLOCKED = Outcome.SUCCESS, Outcome.AUTH, Outcome.BLOCKED
BAD, LOST = Outcome.VERIFY_FAILED, Outcome.INFRASTRUCTURE
CLAUDE = {"adapter": "Claude", "command": None, "credentials": {"secretName": "anthropic"}}
LONG = 12
"""Turns of work that what happens meanwhile is sure to find going on."""
REST = ("Succeeded", "NeedsReview", "Failed")


def entries(ids: str, **fields: Any) -> list[dict[str, Any]]:
    return [make_entry(name, **fields) for name in ids]


def chain(ids: str) -> list[dict[str, Any]]:
    return [make_entry(id, dependsOn=list(ids[max(0, n - 1) : n])) for n, id in enumerate(ids)]


def by_subtask(**outcomes: list[Outcome]) -> Judge:
    """The outcomes of each subtask's attempts, in order; the last one repeats."""

    def judge(task: Task, attempt: int) -> Outcome:
        mine = outcomes.get(task.id, [GOOD])
        return mine[min(attempt, len(mine)) - 1]

    return judge


def long_first(id: str) -> Callable[[Task, int], int]:
    """The first attempt of one subtask lasts; everything else is done at once."""
    return lambda task, attempt: LONG if (task.id, attempt) == (id, 1) else 1


def agent_at(id: str) -> Callable[[World], bool]:
    """Whether an agent is at work on the subtask."""
    return lambda world: any(
        runner.worked and not runner.final and runner.next_task.id == id
        for runner in world.node.runners.values()
        if runner.order.tasks
    )


def phase_is(*phases: str) -> Callable[[World], bool]:
    return lambda world: world.status().get("phase") in phases and not world.node.runners


def queued(world: World) -> bool:
    """Whether a Job waits in its queue, and the package says so."""
    waits = [job for job in world.api.of_kind(JOBS) if job["spec"].get("suspend")]
    return bool(waits) and phase_is("Queued")(world)


def agent_done(id: str) -> Callable[[World], bool]:
    """Whether the runner has told the subtask's end, and its pod is still there."""
    return lambda world: any(
        runner.final and runner.results and runner.results[-1].id == id
        for runner in world.node.runners.values()
    )


def syncing(world: World) -> bool:
    """Whether a pod is at work that brings the plan in line."""
    return any(not runner.order.tasks for runner in world.node.runners.values())


def delete_pods(world: World) -> None:
    for pod in world.api.of_kind(PODS):
        world.api.ask_to_end(pod)


@dataclass(frozen=True)
class Journey:
    """`packages` are specs. `exact`: faults change neither the attempts nor what was run."""

    name: str
    want_phase: str
    want_markers: str
    packages: tuple[dict[str, Any], ...]
    judge: Judge = field(default_factory=by_subtask)
    kind: dict[str, Any] = field(default_factory=dict)
    script: tuple[Step, ...] = ()
    hints: bool = False
    exact: bool = True
    node: dict[str, Any] = field(default_factory=dict)

    def world(self) -> World:
        return make_world(
            *self.packages,
            judge=self.judge,
            kind=self.kind,
            script=self.script,
            hints=self.hints,
            **self.node,
        )

    @property
    def names(self) -> list[str]:
        return [KEY.name, *(f"package-{n}" for n in range(1, len(self.packages)))]


def _one(**spec: Any) -> tuple[dict[str, Any], ...]:
    return (spec,)


PERSISTENT = {"mode": "Persistent"}
SLOW_B = {"lasts": long_first("B")}

JOURNEYS = (
    Journey("everything succeeds", "Succeeded", "[x][x][x]", _one(subtasks=chain("ABC"))),
    Journey("everything succeeds and hints come first", "Succeeded", "[x][x][x]",
            _one(subtasks=chain("ABC")), hints=True),
    Journey("one succeeds at the third attempt", "Succeeded", "[x][x][x]",
            _one(subtasks=chain("ABC")), by_subtask(B=[BAD, BAD, GOOD])),
    Journey("one fails for good and the other goes on", "NeedsReview", "[S][x]",
            _one(subtasks=entries("AB")), by_subtask(A=[BAD]), hints=True),
    Journey("one is blocked and its dependent waits", "NeedsReview", "[x][!][ ]",
            _one(subtasks=chain("ABC")), by_subtask(B=[BLOCKED])),
    Journey("trouble outside and a wrong key pass", "Succeeded", "[x][x][x]",
            _one(subtasks=chain("ABC")), by_subtask(A=[LOST, LOST, GOOD], C=[AUTH, GOOD])),
    Journey("three run beside each other", "Succeeded", "[x][x][x][x]",
            _one(subtasks=entries("ABCD"), parallelism=3), by_subtask(C=[BAD, GOOD])),
    Journey("the second of a batch fails", "Succeeded", "[x][x][x]",
            _one(subtasks=entries("ABC"), context=PERSISTENT), by_subtask(B=[BAD, GOOD]),
            CLAUDE, hints=True),
    Journey("a batch of five in one context", "Succeeded", "[x]" * 5,
            _one(subtasks=entries("ABCDE"), context=PERSISTENT), kind=CLAUDE, hints=True),
    Journey("epics end their contexts", "NeedsReview", "[x][x][S][x]",
            _one(subtasks=[*entries("AB", epic="1"), *entries("CD", epic="2")],
                 context={"mode": "FreshPerEpic", "resetInterval": 2}),
            by_subtask(C=[BAD]), CLAUDE),
    Journey("a rate limit holds two packages with one key", "Succeeded", "[x][x]",
            ({"subtasks": entries("AB")}, {"subtasks": entries("AB")}), kind=CLAUDE, exact=False,
            node={"refuses": lambda clock: seconds(4) <= clock < seconds(20)}),
    Journey("a user cancels in the middle", "Succeeded", "[x][x][x]",
            _one(subtasks=entries("ABC")), node=SLOW_B,
            script=((agent_at("B"), lambda world: world.annotate(cancel="1")),)),
    Journey("a user cancels a batch in the middle", "Succeeded", "[x][x][x]",
            _one(subtasks=entries("ABC"), context=PERSISTENT), kind=CLAUDE, node=SLOW_B,
            hints=True, script=((agent_at("B"), lambda world: world.annotate(cancel="1")),)),
    Journey("a user skips what has failed after the end", "Succeeded", "[x][S]",
            _one(subtasks=entries("AB")), by_subtask(B=[BAD]),
            script=((phase_is(*REST), lambda world: world.edit_subtask("B", skip=True)),)),
    Journey("the pod that writes a skip into the plan is deleted", "Succeeded", "[x][S]",
            _one(subtasks=entries("AB")), exact=False, node={"lasts": long_first("A")},
            script=((agent_at("A"), lambda world: world.edit_subtask("B", skip=True)),
                    (syncing, delete_pods))),
    Journey("a revision is raised while it runs", "Succeeded", "[x][x]",
            _one(subtasks=entries("AB")), node=SLOW_B,
            script=((agent_at("B"), lambda world: world.edit_subtask("B", revision=1)),)),
    Journey("a subtask is removed while it runs", "Succeeded", "[x][x]",
            _one(subtasks=entries("ABC")), node=SLOW_B,
            script=((agent_at("B"), lambda world: world.remove_subtask("B")),)),
    Journey("a subtask is removed while its batch runs", "Succeeded", "[x][x]",
            _one(subtasks=entries("ABC"), context=PERSISTENT), kind=CLAUDE, node=SLOW_B,
            script=((agent_at("B"), lambda world: world.remove_subtask("C")),)),
    Journey("the queue lets a Job run, takes its place and lets it run", "Succeeded", "[x][x]",
            _one(subtasks=entries("AB"), queueName="agents"), exact=False,
            node={"lasts": lambda task, _: 4 if task.id == "A" else 1},
            script=((queued, World.open_queue), (agent_at("A"), World.close_queue),
                    (queued, World.open_queue))),
    Journey("the queue takes a place back whose agent is done", "Succeeded", "[x][x]",
            _one(subtasks=entries("AB"), queueName="agents"), exact=False, hints=True,
            script=((queued, World.open_queue), (agent_done("A"), World.close_queue),
                    (queued, World.open_queue))),
    Journey("a package is edited while its Job is queued", "Succeeded", "[x]",
            _one(subtasks=entries("A"), queueName="agents", maxEpisodes=1),
            script=((queued, lambda world: world.edit(guidance=["Be short."])),
                    (lambda world: world.status()["subtasks"][0]["attempts"] == 2
                     and queued(world), World.open_queue))),
    Journey("a budget is spent and raised", "Succeeded", "[x][x][x]",
            _one(subtasks=entries("ABC"), budget={"maxTokens": 2 * TOKENS}), kind=CLAUDE,
            script=((phase_is("Failed"),
                     lambda world: world.edit(budget={"maxTokens": 9 * TOKENS})),)),
    Journey("two packages share a class that runs one at a time", "Succeeded", "[x][x]",
            ({"subtasks": entries("AB")}, {"subtasks": entries("AB")}),
            kind={"maxConcurrentEpisodes": 1}),
)  # fmt: skip
