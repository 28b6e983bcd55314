"""Operator and node at work on one API server, turn by turn; either may be held up or die.

The operator learns only what its watch tells it and steps only for packages that were woken or are
due, so a wake-up that is missing shows as a world that never comes to rest.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from afresh.api.package_status import WorkPackageStatus
from afresh.contract.report import Report
from afresh.core.planner import decide
from afresh.core.policy.scheduling import TAKEN_AGAIN
from afresh.kube.apply import Applier
from afresh.kube.cache import SELECTORS, WATCHED, Cache
from afresh.kube.errors import ConflictError, UnavailableError
from afresh.kube.handlers import EventRouter
from afresh.kube.isolation import Isolation
from afresh.kube.loop import Loop
from afresh.kube.observe import Observer
from afresh.kube.queue import Key
from afresh.kube.resources import AGENT_CLASSES, JOBS, PODS, SUBTASKS, WORK_PACKAGES, Manifest
from afresh.kube.seal import Seal
from tests.core.contradictions import contradictions
from tests.kube.api_server import ApiServer, Killed, is_selected
from tests.kube.node import Branch, Judge, Node, job_of
from tests.make import NOW, make_class, make_package

MOST_TURNS = 400
TURN = timedelta(seconds=1)
RUNNER_IMAGE = "example.com/runner:1"
SEAL = Seal(b"of all operators")
KEY = Key("team-a", "token-auth")
IN_LINE = ("ClassBusy", "GateClosed")

Step = tuple[Callable[["World"], bool], Callable[["World"], None]]
"""Something that a user or the cluster does once its time has come."""


class Operator:
    """One life of the operator's process: memory that a crash takes away."""

    def __init__(
        self, api: ApiServer, seen: int | None = None, runner_image: str = RUNNER_IMAGE
    ) -> None:
        """List everything; as of the first `seen` changes if that is given."""
        self.api, self.cache = api, Cache(SEAL)
        self.woken: dict[Key, None] = {}
        self.due: dict[Key, timedelta] = {}
        queue: Any = self
        self.classes: dict[Key, None] = {}
        classes: Any = SimpleNamespace(add=self.classes.setdefault)
        self._waker = EventRouter(self.cache, queue, classes)
        self._seen = dict.fromkeys(WATCHED, len(api.changes) if seen is None else seen)
        kube: Any = api
        isolation = Isolation(kube=kube, cache=self.cache)
        self.observer = Observer(kube=kube, cache=self.cache, isolation=isolation, report_url=None)
        self._loop = Loop(
            kube=kube,
            cache=self.cache,
            observer=self.observer,
            applier=Applier(
                kube=kube,
                cache=self.cache,
                isolation=isolation,
                runner_image=runner_image,
                seal=SEAL,
            ),
            wake=self.add,
        )
        if seen is None:
            for kind in WATCHED:
                for body in api.of_kind(kind):
                    self._see(kind, None, body)
        else:
            for kind, change, body in api.changes[:seen]:
                self._see(kind, change, body)

    def add(self, key: Key) -> None:
        self.woken[key] = None

    def watch(self, lagging: Iterable[Any] = ()) -> None:
        """Learn what has changed, but for the kinds whose watch lags behind."""
        now = len(self.api.changes)
        for index in range(min(self._seen.values()), now):
            kind, change, body = self.api.changes[index]
            if index >= self._seen[kind] and kind not in lagging:
                self._see(kind, change, body)
        self._seen |= {kind: now for kind in WATCHED if kind not in lagging}

    def _see(self, kind: Any, change: str | None, body: Manifest) -> None:
        if kind not in SELECTORS or is_selected(body, SELECTORS[kind]):
            self._waker.see(kind, change, body)

    def behind(self) -> bool:
        return min(self._seen.values()) < len(self.api.changes)

    def take_hint(self, pod: Manifest, changes: Report) -> None:
        """What the report endpoint does with a runner's Report."""
        job = pod["metadata"]["ownerReferences"][0]
        if self.cache.has_job(job["name"]) and not self.cache.is_strange(PODS, pod):
            self.cache.keep_hint(job["uid"], pod["metadata"]["uid"], changes)
            self.add(key_of(pod))

    async def turn(self) -> bool:
        """Take one step for every package that was woken or is due."""
        due = [key for key, at in self.due.items() if at <= self.api.clock]
        keys = list(dict.fromkeys([*self.woken, *due]))
        for key in keys:
            self.woken.pop(key, None)
            self.due.pop(key, None)
            try:
                again = await self._loop.step(key, now=NOW + self.api.clock)
            except (ConflictError, UnavailableError):
                self.add(key)
                continue
            raw = self.cache.get(WORK_PACKAGES, *key)
            waits = raw and raw.get("status", {}).get("reason") in IN_LINE
            # Whoever waits in line must be woken: the look that nobody asks for is not taken here.
            if again is not None and not (waits and again == TAKEN_AGAIN):
                self.due[key] = self.api.clock + again
        return bool(keys)


@dataclass
class World:
    """The cluster, its operator, and what is going to happen to them."""

    api: ApiServer
    node: Node
    script: tuple[Step, ...] = ()
    hints: bool = False
    lagging: tuple[Any, ...] = ()
    queue_open: bool = False
    operator: Operator = field(init=False)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self, seen: int | None = None) -> None:
        self.operator = Operator(self.api, seen)
        self.node.hint = self.operator.take_hint if self.hints else None

    def fork(self, seen: int | None = None) -> "World":
        """A world that is as this one is now, with an operator that has just started."""
        api = replace(self.api, objects=dict(self.api.objects), changes=list(self.api.changes))
        api.around_write = lambda _: None
        node = replace(
            self.node,
            api=api,
            branches={
                name: Branch(
                    plan=branch.plan,
                    commits=dict(branch.commits),
                    changed=list(branch.changed),
                )
                for name, branch in self.node.branches.items()
            },
            runners={uid: replace(runner) for uid, runner in self.node.runners.items()},
            over=dict(self.node.over),
            stuck={uid: replace(stuck) for uid, stuck in self.node.stuck.items()},
            refused=set(self.node.refused),
            ran=list(self.node.ran),
            knocks=list(self.node.knocks),
        )
        world = World(api, node, self.script, self.hints, self.lagging, self.queue_open)
        if seen is not None:
            world.restart(seen)
        return world

    async def turn(self) -> bool:
        """Let everybody take a turn; return whether there was anything to do."""
        self.operator.watch(self.lagging)
        try:
            worked = await self.operator.turn()
        except Killed:
            self.restart()
            worked = True
        if self.queue_open:
            self._admit(suspend=False)
        moved = self.node.turn()
        self.api.clock += TURN
        if self.script and self.script[0][0](self):
            (_, act), self.script = self.script[0], self.script[1:]
            act(self)
            moved = True
        return worked or moved or bool(self.operator.woken) or self.operator.behind()

    async def drive(self) -> int:
        """Go on until nothing will ever change again; return the number of turns."""
        for turn in range(1, MOST_TURNS):
            if await self.turn():
                continue
            if not self.operator.due:
                assert not self.script, "what the script waits for never comes"
                return turn
            self.api.clock = max(self.api.clock, min(self.operator.due.values()))
        raise AssertionError("the loop does not come to rest")

    def package(self, name: str = KEY.name) -> Manifest:
        return self.api.objects[WORK_PACKAGES, KEY.namespace, name]

    def status(self, name: str = KEY.name) -> dict[str, Any]:
        found: dict[str, Any] = self.package(name).get("status", {})
        return found

    def edit(self, name: str = KEY.name, **spec: Any) -> None:
        old = self.package(name)
        self.api.put_part(WORK_PACKAGES, old, "spec", {**old["spec"], **spec})

    def edit_subtask(self, id: str, name: str = KEY.name, **fields: Any) -> None:
        entries = self.package(name)["spec"]["subtasks"]
        changed = [{**item, **fields} if item["id"] == id else item for item in entries]
        self.edit(name, subtasks=changed)

    def remove_subtask(self, id: str, name: str = KEY.name) -> None:
        entries = self.package(name)["spec"]["subtasks"]
        self.edit(name, subtasks=[item for item in entries if item["id"] != id])

    def annotate(self, name: str = KEY.name, **notes: str) -> None:
        asked = {f"afresh.dev/{key}-requested-at": value for key, value in notes.items()}
        old = self.package(name)
        known = old["metadata"].get("annotations", {})
        self.api.put_part(WORK_PACKAGES, old, "metadata", {"annotations": {**known, **asked}})

    def open_queue(self) -> None:
        self.queue_open = True

    def close_queue(self) -> None:
        """Take the place of what runs, and let nothing run.

        A Job counts its pods that have ended, though it is suspended.
        """
        self.queue_open = False
        self._admit(suspend=True)

    def _admit(self, *, suspend: bool) -> None:
        for job in self.api.of_kind(JOBS):
            ended = job.get("status", {}).get("conditions")
            if ended or job["spec"].get("suspend") == suspend:
                continue
            pods = [pod for pod in self.api.of_kind(PODS) if job_of(pod) == job["metadata"]["uid"]]
            running = [pod for pod in pods if pod["status"]["phase"] == "Running"]
            if not suspend and running:
                continue  # a queue gives a place only to what has left its old one
            changed = self.api.put_part(JOBS, job, "spec", {**job["spec"], "suspend": suspend})
            if suspend and len(running) == len(pods):
                self.api.put_part(JOBS, changed, "status", {})
            for pod in running if suspend else ():
                self.api.ask_to_end(pod)


def key_of(body: Manifest) -> Key:
    return Key(body["metadata"]["namespace"], body["metadata"]["labels"]["afresh.dev/package"])


def make_world(
    *packages: dict[str, Any],
    judge: Judge,
    kind: dict[str, Any] | None = None,
    script: tuple[Step, ...] = (),
    hints: bool = False,
    **node: Any,
) -> World:
    """A world with one class and these packages, each given by what is special in its spec."""
    api = ApiServer()
    api.put_new(AGENT_CLASSES, make_class(**(kind or {})).to_manifest())
    for number, spec in enumerate(packages or ({},)):
        own = {"name": KEY.name, "uid": "11111111-2222-3333-4444-555555555555"}
        if number:
            own = {"name": f"package-{number}", "uid": f"{number:08}-2222-3333-4444-555555555555"}
        made = make_package(**{"metadata": own, **spec}).to_manifest()
        api.put_new(WORK_PACKAGES, {key: made[key] for key in made if key != "status"})
    return World(api, Node(api, judge, **node), script, hints)


def side_effects(world: World, name: str = KEY.name) -> dict[str, Any]:
    """What must be the same however often the operator died."""
    status = world.status(name)
    mine = [
        child for child in world.api.of_kind(SUBTASKS) if child["spec"]["workPackageName"] == name
    ]
    return {
        "phase": status["phase"],
        "records": [
            (item["id"], item["marker"], item["attempts"], item.get("commit", ""), item["reason"])
            for item in status["subtasks"]
        ],
        "usage": status["usage"],
        "plan": world.node.branch_of(f"{KEY.namespace}/{name}").plan,
        "history": {
            child["spec"]["id"]: [
                (attempt["number"], attempt["outcome"], attempt["jobName"])
                for attempt in child["status"].get("attempts", ())
            ]
            for child in mine
        },
    }


def contradictions_in(world: World, name: str = KEY.name) -> list[str]:
    """What the package's status says that cannot be; a status of an earlier spec has its time."""
    package = world.package(name)
    status = WorkPackageStatus.model_validate(package.get("status", {}))
    if not status.subtasks or status.observed_generation != package["metadata"]["generation"]:
        return []
    return list(contradictions(status, {entry["id"] for entry in package["spec"]["subtasks"]}))


async def check_rest(world: World) -> None:
    """Nothing is left to do: a fresh look at the world at rest asks for no action."""
    fresh = Operator(world.api)
    for raw in world.api.of_kind(WORK_PACKAGES):
        key = Key(raw["metadata"]["namespace"], raw["metadata"]["name"])
        seen = await fresh.observer.observe(key, now=NOW + world.api.clock)
        assert seen is not None
        assert decide(seen).actions == ()
        assert contradictions_in(world, key.name) == []
