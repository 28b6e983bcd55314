"""What other people's admission and full nodes do to many packages: few Jobs, one reason, no agent.

Each cause stands in one namespace alone. When it is gone everybody goes on without a word.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.e2e.api import Manifest
from tests.e2e.cluster import wait
from tests.e2e.crowd import asked, reasons_of, statuses_of
from tests.e2e.team import Team
from tests.e2e.webhooks import JOBS, PODS, Kind, injector, policy, refusal_of, webhook

pytestmark = [pytest.mark.cluster, pytest.mark.story(long=True)]

PACKAGES = [f"p{number}" for number in range(5)]
TASKS = [f"Add a stamp.\ndo: stamp {number}.txt" for number in range(2)]
MOST_JOBS = 8
MOST_EVENTS = 50
LOOKS = 10
WAIT_SECONDS = 120
GOES_ON = 420
# Those whose pods wait for room, and those that see that others' do.
FULL = {("Pending", "EpisodeNotStarted"), ("Pending", "FirstStart")}
RESTRICTED = {
    "runAsNonRoot": True,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


@dataclass(frozen=True)
class Cause:
    """What stands in the way for as long as a block lasts, and what the packages then say.

    `remedy` begins the message; `named` is in it: what a person has to look for.
    """

    stands: Callable[[Team], AbstractContextManager[None]]
    reason: str
    remedy: str
    named: str


@contextmanager
def webhook_without_service(team: Team) -> Iterator[None]:
    client = {"service": {"namespace": team.namespace, "name": "absent", "path": "/"}}
    with webhook(team, PODS, client, mutating=False):
        wait("pods are refused", lambda: refusal_of(team, PODS), seconds=60)
        yield


@contextmanager
def webhook_that_comes_back(team: Team) -> Iterator[None]:
    """The webhook stays: its server is away during the block, and there until the end."""
    with TemporaryDirectory() as folder:
        server = injector(team, Path(folder), {})
        with ExitStack() as until_the_end:
            until_the_end.enter_context(webhook(team, JOBS, server.client, mutating=False))
            wait("Jobs are refused", lambda: refusal_of(team, JOBS), seconds=60)
            yield
            until_the_end.enter_context(server.on())
            run_to_the_end(team)


@contextmanager
def others_policy(team: Team, kind: Kind) -> Iterator[None]:
    with policy(team, kind):
        wait(f"{kind.name} are refused", lambda: refusal_of(team, kind), seconds=60)
        yield


@contextmanager
def pod_security(team: Team) -> Iterator[None]:
    """A mesh adds what the namespace forbids; then the namespace is labelled, the mesh stays."""
    rights = {"capabilities": {"add": ["NET_ADMIN"]}, "runAsUser": 0, "runAsNonRoot": False}
    image = "localhost/afresh/agent-command:dev"
    setup = {"name": "mesh-setup", "image": image, "command": ["true"], "securityContext": rights}
    with TemporaryDirectory() as folder:
        server = injector(team, Path(folder), {"initContainers": [setup]})
        with server.on(), webhook(team, PODS, server.client, mutating=True):
            wait("pods are refused", lambda: refusal_of(team, PODS), seconds=60)
            yield
            enforce(team, "privileged")
            run_to_the_end(team)


@contextmanager
def selector_of_no_node(team: Team) -> Iterator[None]:
    """The class wants a label that no node has; then the node has it."""
    (node,) = team.cluster.api.call("GET", "api/v1/nodes")["items"]
    path, label = f"api/v1/nodes/{node['metadata']['name']}", f"example.com/{team.namespace}"
    team.agent(pod={"nodeSelector": {label: "yes"}})
    change_labels(team, path, **{label: None})
    yield
    change_labels(team, path, **{label: "yes"})
    run_to_the_end(team)


def change_labels(team: Team, path: str, **labels: str | None) -> None:
    patch = {"metadata": {"labels": labels}}
    team.cluster.api.call("PATCH", path, patch, "application/merge-patch+json")


def enforce(team: Team, level: str) -> None:
    path = f"api/v1/namespaces/{team.namespace}"
    change_labels(team, path, **{"pod-security.kubernetes.io/enforce": level})


REFUSED_BY_WEBHOOK = ("StartRefused", "Repair the admission webhook")
REFUSED_BY_POLICY = ("StartRefused", "Follow the admission policy")
NO_LABEL = "the label cost-centre is missing"
CAUSES = [
    pytest.param(
        Cause(webhook_without_service, *REFUSED_BY_WEBHOOK, "absent"),
        id="webhook on pods without a service",
    ),
    pytest.param(
        Cause(webhook_that_comes_back, *REFUSED_BY_WEBHOOK, "pods.mesh.example"),
        id="webhook on Jobs that nobody serves",
    ),
    pytest.param(
        Cause(partial(others_policy, kind=PODS), *REFUSED_BY_POLICY, NO_LABEL),
        id="policy on pods",
    ),
    pytest.param(
        Cause(partial(others_policy, kind=JOBS), *REFUSED_BY_POLICY, NO_LABEL),
        id="policy on Jobs",
    ),
    pytest.param(
        Cause(
            pod_security, "StartRefused", "Label the namespace with a Pod Security", "mesh-setup"
        ),
        id="Pod Security",
    ),
    pytest.param(
        Cause(selector_of_no_node, "NeverFits", "Lower the requests", "node affinity/selector"),
        id="selector of no node",
    ),
]


@pytest.mark.parametrize("cause", CAUSES)
def test_a_cause_costs_few_jobs_and_no_agent_and_everybody_goes_on_when_it_is_gone(
    team: Team, cause: Cause
) -> None:
    with cause.stands(team):
        for name in PACKAGES:
            team.apply(team.package(name, *TASKS))
        wait(
            "all say it",
            lambda: reasons_of(team, PACKAGES) == {("Stalled", cause.reason)},
            seconds=WAIT_SECONDS,
        )
        seen = looked_at(team)
        cost = asked(team)
        paid = {team.status(name).get("usage", {}).get("episodes", 0) for name in PACKAGES}

    run_to_the_end(team)
    ((phase, reason, message),) = seen
    assert (phase, reason) == ("Stalled", cause.reason)
    assert message.startswith(cause.remedy)
    assert cause.named in message
    assert cost.jobs <= MOST_JOBS
    assert cost.events <= MOST_EVENTS
    assert paid == {0}


def looked_at(team: Team) -> set[tuple[str, str, str]]:
    """Look some more times; return all that the packages say meanwhile."""
    seen, left = set(statuses_of(team, PACKAGES)), iter(range(LOOKS))

    def has_looked() -> bool:
        seen.update(statuses_of(team, PACKAGES))
        return next(left, None) is None

    wait("somebody has looked often", has_looked, seconds=WAIT_SECONDS, every=2)
    return seen


def run_to_the_end(team: Team) -> None:
    """Return when all have succeeded, at the price of one episode for each subtask."""
    ends = [team.wait_for("Succeeded", package=name, seconds=GOES_ON) for name in PACKAGES]
    assert {status["usage"]["episodes"] for status in ends} == {len(TASKS)}


def test_a_full_node_costs_few_waiting_pods_and_they_run_when_there_is_room(team: Team) -> None:
    """Memory is what runs short: the other stories' pods ask for little of it."""
    (node,) = team.cluster.api.call("GET", "api/v1/nodes")["items"]
    memory = int(node["status"]["allocatable"]["memory"].removesuffix("Ki"))
    team.apply(holder(team, memory=f"{memory * 82 // 100}Ki"))
    wait("the node is full", lambda: is_running(team, "holder"), seconds=WAIT_SECONDS)
    needed = f"{memory * 20 // 100}Ki"
    team.agent(
        resources={"requests": {"cpu": "20m", "memory": needed}, "limits": {"memory": needed}}
    )
    for name in PACKAGES:
        team.apply(team.package(name, *TASKS))

    wait("all wait", lambda: reasons_of(team, PACKAGES) == FULL, seconds=WAIT_SECONDS)
    seen = looked_at(team)
    cost = asked(team)
    team.cluster.api.delete("pods", "holder", team.namespace, gracePeriodSeconds=0)

    run_to_the_end(team)
    assert {words[:2] for words in seen} == FULL
    (message,) = {message for _, reason, message in seen if reason == "EpisodeNotStarted"}
    assert message.startswith("No node has room for the pod now")
    assert "Insufficient memory" in message
    assert cost.jobs <= MOST_JOBS
    assert cost.events <= MOST_EVENTS


def holder(team: Team, memory: str) -> Manifest:
    """Somebody else's pod, which keeps most of the node to itself."""
    container = {
        "name": "holder",
        "image": "localhost/afresh/agent-command:dev",
        "command": ["sleep", "3600"],
        "resources": {"requests": {"memory": memory}},
        "securityContext": RESTRICTED | {"runAsUser": 65532},
    }
    metadata = {"name": "holder", "namespace": team.namespace}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [container]},
    }


def is_running(team: Team, pod: str) -> bool:
    found = team.cluster.api.get("pods", pod, team.namespace)
    return bool(found["status"].get("phase") == "Running")
