"""A node that runs the pods of Jobs step by step, and the branches that they push to.

A pod appears, works, reports, ends and goes in separate steps, as watches show it. It fails the
test when two agents of one package work side by side that may not, or the same work is done twice.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from afresh.contract import codec, report
from afresh.contract.order import Order, Task
from afresh.contract.plan_file import Plan, digest, parse, render
from afresh.contract.report import SYNC_ID, Report, Result, Unpushed, Usage
from afresh.contract.words import Marker, Outcome, PushRefusal
from afresh.kube.resources import JOBS, PODS, WORK_PACKAGES, Manifest
from afresh.manifests.metadata import read_batch
from tests.kube.api_server import ApiServer
from tests.runner import marker_after

Judge = Callable[[Task, int], Outcome]
TOKENS = 2_000
"""What one subtask uses of a model."""


@dataclass
class Branch:
    """What stands on a package's branch: the plan, and the commits by subtask and revision."""

    plan: str = ""
    commits: dict[tuple[str, int], str] = field(default_factory=dict)
    changed: list[tuple[str, ...]] = field(default_factory=list)
    """The paths of each push, the oldest first."""


@dataclass
class Runner:
    """The process in one pod, as far as it has come."""

    order: Order
    attempts: dict[str, int]
    results: tuple[Result, ...] = ()
    pushed: str | None = None
    final: bool = False
    stopped: bool = False
    prepared: bool = False
    base: int = 0
    """How many pushes were on the branch that it works on."""
    worked: int = 0
    """For how many turns it has been at its next task."""

    @property
    def next_task(self) -> Task:
        return self.order.tasks[len(self.results)]

    @property
    def reached(self) -> list[str]:
        prepared = ["prepared"] if self.prepared else []
        return ["runnerStarted", *prepared, *(["pushed"] if self.pushed else [])]

    def report(self, clock: float) -> Report:
        tokens = [
            item.usage.input_tokens for item in self.results if item.usage and item.usage.turns
        ]
        return Report(
            episode=self.order.episode,
            stage="reported" if self.final else "pushed",
            final=self.final,
            results=self.results,
            plan_digest=self.pushed,
            push_passed=self.pushed is not None,
            phases=dict.fromkeys(self.reached, clock),
            usage=Usage(turns=len(tokens), input_tokens=sum(tokens)),
            answered=any(tokens),
        )


IMAGE, INIT, FULL, NEVER, REFUSED, GIT = "image", "init", "full", "never", "refused", "git"
AWAY = (IMAGE, INIT, FULL, NEVER, REFUSED, GIT)
SAYS = {
    IMAGE: "example.com/agent:1: not found",
    FULL: "0/1 nodes are available: 1 Insufficient memory. preemption: 0/1 nodes are available: "
    "1 No preemption victims found for incoming pod.",
    NEVER: "0/1 nodes are available: 1 Insufficient memory. preemption: 0/1 nodes are available: "
    "1 Preemption is not helpful for scheduling.",
    REFUSED: 'pods "x" is forbidden: exceeded quota: small, requested: pods=1, used: pods=1, '
    "limited: pods=1",
}
FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=10), timedelta(seconds=300)


@dataclass
class Stuck:
    """A pod that waits for its image or for a node; the kubelet tries later and later."""

    order: Order
    attempts: dict[str, int]
    again: timedelta
    pause: timedelta = FIRST_PAUSE


@dataclass
class Node:
    """Runs what it finds. `hint` takes the Reports that go out before a pod has ended."""

    api: ApiServer
    judge: Judge
    hint: Callable[[Manifest, Report], None] | None = None
    refuses: Callable[[timedelta], bool] = field(default=lambda _: False)
    """Whether the provider refuses everybody now."""
    asks: Callable[[Task], bool] = field(default=lambda _: True)
    """Whether the agent of a task asks its model anything."""
    branches: dict[str, Branch] = field(default_factory=dict)
    runners: dict[str, Runner] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)
    """The episodes whose agents were started, in that order."""
    lasts: Callable[[Task, int], int] = field(default=lambda *_: 1)
    """How many turns the work on a subtask takes."""
    changes: Callable[[Task], tuple[str, ...]] = field(default=lambda _: ())
    """The paths to which the work on a subtask appends something."""
    refuses_push: Callable[[timedelta], bool] = field(default=lambda _: False)
    """Whether the repository's server takes no push now."""
    paid: list[str] = field(default_factory=list)
    """The subtasks that an agent worked at, in that order."""
    lingers: int = 0
    """For how many turns a Job goes on after its pod has ended."""
    over: dict[str, int] = field(default_factory=dict)
    knocks: list[str] = field(default_factory=list)
    """The episodes that the provider refused."""
    away: Callable[[timedelta], str] = field(default=lambda _: "")
    """What keeps everybody from working now: one of AWAY, or nothing."""
    lacks: Callable[[str], bool] = field(default=lambda _: False)
    """Whether an image is nowhere to be had, by its name."""
    words: Callable[[str, timedelta], str] = field(default=lambda said, _: said)
    """How the cluster words at this time what keeps a pod."""
    spares: Callable[[Order], bool] = field(default=lambda _: False)
    """Whom a missing image or a node's size does not concern."""
    stuck: dict[str, "Stuck"] = field(default_factory=dict)
    """The pods that have not started, by UID."""
    refused: set[str] = field(default_factory=set)
    """The Jobs of which no pod could be made."""

    def turn(self) -> bool:
        """Take every pod and Job one step further; return whether there was one to take."""
        pods = self.api.of_kind(PODS)
        moved = [self._begin_or_end(job) for job in self.api.of_kind(JOBS)]
        moved += [self._move(pod) for pod in pods]
        return any(moved)

    def branch_of(self, package: str) -> Branch:
        return self.branches.setdefault(package, Branch())

    def _begin_or_end(self, job: Manifest) -> bool:
        if job.get("status", {}).get("conditions"):
            return False
        pods = [pod for pod in self.api.of_kind(PODS) if job_of(pod) == job["metadata"]["uid"]]
        if pods and "startTime" not in job.get("status", {}):
            return False  # the pods of a run that a queue has ended
        phases = [pod.get("status", {}).get("phase") for pod in pods]
        has_ended = bool({"Succeeded", "Failed"} & set(phases))
        if job["spec"].get("suspend") and not has_ended:
            return False
        if has_ended and self._lingers(job):
            return True
        if "Succeeded" in phases:
            done = {"conditions": [{"type": "Complete", "status": "True", "reason": "Done"}]}
            self.api.put_part(JOBS, job, "status", done)
        elif "Failed" in phases:
            failed = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}
            self.api.put_part(JOBS, job, "status", {"conditions": [failed]})
        elif self._is_refused(job):
            return False
        elif not pods and job.get("status", {}).get("startTime") and not self._was_refused(job):
            gone = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}
            self.api.put_part(JOBS, job, "status", {"conditions": [gone]})
        elif not pods:
            self._start(job)
        else:
            return False
        return True

    def _is_refused(self, job: Manifest) -> bool:
        """Whether no pod of the Job can be made; an Event says why, once."""
        uid = job["metadata"]["uid"]
        if self.away(self.api.clock) != REFUSED:
            return False
        if uid not in self.refused:
            self.refused.add(uid)
            self.api.put_part(JOBS, job, "status", {"startTime": self.api.time()})
        said = f"Error creating: {self._said(REFUSED)}"
        told = [item["message"] for item in self.api.events if item["involvedObject"]["uid"] == uid]
        if said not in told[-1:]:
            self.api.tell(job, "FailedCreate", said)
        return True

    def _said(self, away: str) -> str:
        return self.words(SAYS[away], self.api.clock)

    def _was_refused(self, job: Manifest) -> bool:
        uid = job["metadata"]["uid"]
        was = uid in self.refused
        self.refused.discard(uid)
        return was

    def _lingers(self, job: Manifest) -> bool:
        uid = job["metadata"]["uid"]
        self.over[uid] = self.over.get(uid, 0) + 1
        return self.over[uid] <= self.lingers

    def _start(self, job: Manifest) -> None:
        metadata, template = job["metadata"], job["spec"]["template"]["metadata"]
        self.api.put_part(JOBS, job, "status", {"startTime": self.api.time()})
        order = codec.loads(Order, template["annotations"]["afresh.dev/order"])
        members = read_batch(template["annotations"].get("afresh.dev/batch", ""))
        pod = self.api.put_new(
            PODS,
            {
                "metadata": {
                    "name": f"{metadata['name']}-{self.api.version}",
                    "namespace": metadata["namespace"],
                    "labels": template["labels"],
                    "annotations": template["annotations"],
                    "ownerReferences": [
                        {
                            "kind": "Job",
                            "name": metadata["name"],
                            "uid": metadata["uid"],
                            "controller": True,
                        }
                    ],
                },
                "spec": job["spec"]["template"]["spec"],
            },
        )
        attempts = {member.subtask: member.attempt for member in members}
        self.stuck[pod["metadata"]["uid"]] = Stuck(order, attempts, self.api.clock)
        self._start_pod(pod)

    def _start_pod(self, pod: Manifest) -> None:
        """Let the pod run, or say what keeps it."""
        uid = pod["metadata"]["uid"]
        stuck, away = self.stuck[uid], self.away(self.api.clock)
        if stuck.again > self.api.clock:
            return
        missing = [item["name"] for item in pod["spec"]["containers"] if self.lacks(item["image"])]
        if away == IMAGE and stuck.order.tasks and not self.spares(stuck.order):
            missing.append("agent")
        if missing:
            stuck.again, stuck.pause = (
                self.api.clock + stuck.pause, min(stuck.pause * 2, LONGEST_PAUSE)
            )  # fmt: skip
            waits = _without_images(pod, missing, self._said(IMAGE))
            self.api.put_part(PODS, pod, "status", waits)
            return
        if away in (FULL, NEVER) and not self.spares(stuck.order):
            waits = _without_node(self._said(away))
            if pod.get("status") != waits:
                self.api.put_part(PODS, pod, "status", waits)
            return
        del self.stuck[uid]
        if away == INIT:
            self.api.put_part(PODS, pod, "status", _FAILED_INIT)
            return
        if stuck.order.tasks:
            self.ran.append(stuck.order.episode)
            self._check_room(stuck.order)
        base = len(self.branch_of(stuck.order.package).changed)
        self.runners[uid] = Runner(order=stuck.order, attempts=stuck.attempts, base=base)
        self.api.put_part(PODS, pod, "status", _status(None))

    def _check_room(self, order: Order) -> None:
        namespace, name = order.package.split("/")
        spec = self.api.objects[WORK_PACKAGES, namespace, name]["spec"]
        beside = [
            runner.order.episode
            for runner in self.runners.values()
            if runner.order.package == order.package and runner.order.tasks and not runner.final
        ]
        room = spec.get("parallelism", 1)
        assert len(beside) < room, f"{order.episode} runs beside {beside}"

    def _move(self, pod: Manifest) -> bool:
        uid = pod["metadata"]["uid"]
        if uid in self.stuck and "deletionTimestamp" not in pod["metadata"]:
            before = pod["metadata"]["resourceVersion"]
            self._start_pod(pod)
            now = self.api.objects[PODS, pod["metadata"]["namespace"], pod["metadata"]["name"]]
            return bool(now["metadata"]["resourceVersion"] != before)
        self.stuck.pop(uid, None)
        runner = self.runners.get(uid)
        if runner is None:
            if "deletionTimestamp" not in pod["metadata"]:
                return False
            self.api.remove(PODS, pod["metadata"]["namespace"], pod["metadata"]["name"], uid=uid)
            return True
        if "deletionTimestamp" in pod["metadata"]:
            self._stop(runner)
        elif not runner.final:
            self._work(runner)
            if self.hint:
                self.hint(pod, runner.report(self.api.clock.total_seconds()))
                return True
        if runner.final:
            told = _status(runner.report(self.api.clock.total_seconds()), runner.stopped)
            self.api.put_part(PODS, pod, "status", told)
            del self.runners[uid]
        return True

    def _stop(self, runner: Runner) -> None:
        """What a runner does that is told to end: it says how far it came."""
        if not runner.final:
            id = runner.next_task.id if runner.order.tasks else SYNC_ID
            told = Result(id=id, outcome=Outcome.INFRASTRUCTURE, message="Told.")
            runner.results = (*runner.results, told)
            runner.stopped = True
        runner.final = True

    def _refuse_push(self, runner: Runner) -> None:
        """What a runner tells whose server takes no push: before the work, or after it."""
        order = runner.order
        kept = None if order.push_check or not order.tasks else f"{order.tasks[0].id}-kept"
        if kept:
            self.paid.append(order.tasks[0].id)
        refusal = PushRefusal.KEPT if kept else PushRefusal.PLAN
        told = Result(
            id=order.tasks[0].id if order.tasks else SYNC_ID,
            outcome=Outcome.CONFIG,
            unpushed=Unpushed(refusal=refusal, kept=kept),
            message="A rule declines the push; allow it.",
        )
        runner.results, runner.final = (*runner.results, told), True

    def _work(self, runner: Runner) -> None:
        """Do one subtask, or a sync."""
        order, branch = runner.order, self.branch_of(runner.order.package)
        if self.away(self.api.clock) == GIT:
            self.knocks.append(order.episode)
            id = order.tasks[0].id if order.tasks else SYNC_ID
            said = "The repository https://git.example.com/x cannot be reached; check the network."
            lost = Result(id=id, outcome=Outcome.INFRASTRUCTURE, message=said, is_servers=True)
            runner.results, runner.final = (*runner.results, lost), True
            return
        runner.prepared = True
        if self.refuses_push(self.api.clock):
            self._refuse_push(runner)
            return
        if not order.tasks:
            for item in order.kept:
                branch.commits[item.id, item.revision] = item.commit
                done = Result(id=item.id, outcome=Outcome.SUCCESS, commit=item.commit)
                runner.results = (*runner.results, done)
            self._push(runner, branch, order.plan)
            runner.final = True
            return
        task, runner.worked = runner.next_task, runner.worked + 1
        if runner.worked < self.lasts(task, runner.attempts[task.id]):
            return
        runner.worked = 0
        self.paid.append(task.id)
        outcome, commit = self._do(task, runner, branch)
        both = self._push_changes(task, runner, branch) if commit else ()
        if both:
            outcome, commit = Outcome.CONFLICT, None
        elif commit:
            branch.commits.setdefault((task.id, task.revision), commit)
        marker = marker_after(task, outcome)
        if marker is not Marker.PENDING:
            lines = {line.id: line for line in order.plan}
            lines |= {line.id: line for line in parse(branch.plan).lines if line.id in lines}
            lines[task.id] = replace(lines[task.id], marker=marker)
            self._push(runner, branch, tuple(lines.values()))
        used = self._used(runner, outcome) if self.asks(task) else Usage()
        unpushed = Unpushed(conflicts=both) if both else None
        told = Result(
            id=task.id, outcome=outcome, commit=commit, message="So.", usage=used, unpushed=unpushed
        )
        runner.results = (*runner.results, told)
        runner.final = commit is None or len(runner.results) == len(order.tasks)

    def _do(self, task: Task, runner: Runner, branch: Branch) -> tuple[Outcome, str | None]:
        known = [
            commit
            for (name, revision), commit in branch.commits.items()
            if name == task.id and revision >= task.revision
        ]
        if known:
            return Outcome.SUCCESS, known[-1]
        if self.asks(task) and self.refuses(self.api.clock):
            self.knocks.append(runner.order.episode)
            return Outcome.TRANSIENT, None
        if _left(runner) < TOKENS:
            return Outcome.BUDGET_EXCEEDED, None
        outcome = self.judge(task, runner.attempts[task.id])
        if outcome is not Outcome.SUCCESS:
            return outcome, None
        return outcome, f"{task.id}-r{task.revision}"

    def _push_changes(self, task: Task, runner: Runner, branch: Branch) -> tuple[str, ...]:
        """Push what changed, or return the paths that others have changed since the start."""
        mine = self.changes(task)
        theirs = {path for paths in branch.changed[runner.base :] for path in paths}
        both = tuple(path for path in mine if path in theirs)
        if not both and (task.id, task.revision) not in branch.commits:
            branch.changed.append(mine)
            runner.base = len(branch.changed)
        return both

    def _used(self, runner: Runner, outcome: Outcome) -> Usage:
        if outcome is Outcome.TRANSIENT:
            return Usage()
        return Usage(turns=1, input_tokens=min(TOKENS, _left(runner)))

    def _push(self, runner: Runner, branch: Branch, lines: Any) -> None:
        branch.plan = render(Plan(goal=runner.order.goal, lines=tuple(lines)))
        runner.pushed = digest(branch.plan)


def _left(runner: Runner) -> int:
    """What is left of the episode's share of the budget."""
    budget = runner.order.budget
    spent = sum(item.usage.input_tokens for item in runner.results if item.usage)
    return budget.max_tokens - spent if budget and budget.max_tokens is not None else TOKENS


def job_of(pod: Manifest) -> str:
    return next(str(owner["uid"]) for owner in pod["metadata"]["ownerReferences"])


def _status(told: Report | None, stopped: bool = False) -> dict[str, Any]:
    """The pod's status while it runs, and when its runner has told its end."""
    names = ("runner", "agent", "verify")
    if told is None:
        states = {name: {"running": {"startedAt": "2030-01-02T03:04:05Z"}} for name in names}
    else:
        states = {name: {"terminated": {"exitCode": 0}} for name in names}
        states["runner"] = {"terminated": {"exitCode": 0, "message": report.fit(told)}}
    # The runner ends with 0 only if every subtask is done.
    done = told is not None and not stopped and all(item.commit for item in told.results)
    phase = "Running" if told is None else "Succeeded" if done else "Failed"
    return {
        "phase": phase,
        "containerStatuses": [{"name": name, "state": state} for name, state in states.items()],
    }


def _without_images(pod: Manifest, missing: list[str], said: str) -> dict[str, Any]:
    """The pod's status while the kubelet backs off from pulling some of its images."""
    waits = {"waiting": {"reason": "ErrImagePull", "message": said}}
    runs = {"running": {"startedAt": "2030-01-02T03:04:05Z"}}
    return {
        "phase": "Pending",
        "containerStatuses": [
            {
                "name": item["name"],
                "state": waits if item["name"] in missing else runs,
                "image": item["image"],
            }
            for item in pod["spec"]["containers"]
        ],
    }


_FAILED_INIT = {
    "phase": "Failed",
    "initContainerStatuses": [
        {
            "name": "mesh-init",
            "state": {
                "terminated": {
                    "exitCode": 1,
                    "reason": "Error",
                    "startedAt": "2030-01-02T03:04:05Z",
                    "message": "no certificate",
                }
            },
        }
    ],
    "containerStatuses": [
        {"name": name, "state": {"waiting": {"reason": "PodInitializing"}}}
        for name in ("runner", "agent", "verify")
    ],
}


def _without_node(said: str) -> dict[str, Any]:
    """The pod's status while the scheduler finds no node for it."""
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    return {"phase": "Pending", "conditions": [{**condition, "message": said}]}
