"""Jobs and pods that somebody with the role `edit` makes, on a real server without the policies."""

import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from afresh.contract import report
from afresh.contract.report import Report, Result
from afresh.contract.words import Outcome
from afresh.core.names import job_name
from tests.apiserver.account import RELEASE_NAMESPACE, REPORT_SECRET, grant, rendered, token
from tests.apiserver.kubectl import Kubectl, Manifest
from tests.apiserver.operator_process import OperatorProcess
from tests.apiserver.reporting import post
from tests.apiserver.story import apply, chain, ended, holds, node_of
from tests.manifests.jobs import make_job

pytestmark = pytest.mark.apiserver
MADE_UP = "f" * 40
MINE = "example.com/mine:1"
NOT_OURS = "is not as the operator made it"


@pytest.fixture
def operator(
    helm: Path, kubectl: Kubectl, kubeconfig: Path, namespace: str, tmp_path: Path
) -> Iterator[OperatorProcess]:
    kubectl("delete", "secret", REPORT_SECRET, "-n", RELEASE_NAMESPACE, "--ignore-not-found")
    grant(kubectl, rendered(helm, f"namespaces={{{namespace}}}", "replicas=2"))
    known = token(kubectl, kubeconfig, tmp_path).kubeconfig
    settings = {"AFRESH_REPORT_SECRET": REPORT_SECRET}
    process = OperatorProcess(known, namespace, tmp_path / "log", settings=settings)
    process.start()
    yield process
    if process.alive:
        process.kill()


@dataclass(frozen=True)
class Forger:
    """Somebody with the role `edit` in the namespace."""

    kubectl: Kubectl
    namespace: str

    def do(self, *words: str, manifest: Manifest | None = None) -> None:
        self.kubectl(*words, "-n", self.namespace, "--as", "edith", manifest=manifest)

    def package(self) -> Manifest:
        found: Manifest = self.kubectl.get("workpackage", "p", self.namespace)
        return found

    def job(self, name: str, subtask: str = "T000") -> Manifest:
        """Make a Job that looks like an episode's, down to its owner, and return it."""
        made = deepcopy(make_job())
        owner = {"apiVersion": "afresh.dev/v1alpha1", "kind": "WorkPackage", "name": "p",
                 "uid": self.package()["metadata"]["uid"], "controller": True}  # fmt: skip
        for part in (made["metadata"], made["spec"]["template"]["metadata"]):
            part["labels"] |= {"afresh.dev/package": "p", "afresh.dev/subtask": subtask}
            part["annotations"]["afresh.dev/batch"] = f"{subtask}:1:0"
        made["metadata"] |= {"name": name, "ownerReferences": [owner]}
        made["metadata"].pop("namespace", None)
        self.do("create", manifest=made)
        found: Manifest = self.kubectl.get("job", name, self.namespace)
        return found

    def pod(self, name: str, uid: str, template: Manifest, image: str = MINE) -> str:
        """Make a pod of that Job, let it say that all is done, and return its name."""
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": uid,
                 "controller": True}  # fmt: skip
        template = deepcopy(template)
        for container in template["spec"]["containers"]:
            container["image"] = image
        metadata = {"name": f"{name}-abcde", "ownerReferences": [owner],
                    "labels": template["metadata"]["labels"],
                    "annotations": template["metadata"]["annotations"]}  # fmt: skip
        spec = {**template["spec"], "serviceAccountName": "default"}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        self.do("create", manifest=body)
        # What its kubelet writes when the container has ended.
        ended = {"exitCode": 0, "reason": "Completed", "message": report.fit(success(name))}
        runner = {"name": "runner", "ready": False, "restartCount": 0, "image": "i",
                  "imageID": "i", "state": {"terminated": ended}}  # fmt: skip
        status = {"status": {"phase": "Succeeded", "containerStatuses": [runner]}}
        where = ("pod", metadata["name"], "-n", self.namespace, "--subresource=status")
        self.kubectl("patch", *where, "--type=merge", "-p", json.dumps(status))
        return str(metadata["name"])


def success(episode: str) -> Report:
    done = Result(id="T000", outcome=Outcome.SUCCESS, commit=MADE_UP, message="Done.")
    return Report(episode=episode, stage="reported", final=True, results=(done,))


@pytest.fixture
def forger(kubectl: Kubectl, namespace: str) -> Forger:
    for role in ("edit", "view"):
        words = ("rolebinding", f"edith-{role}", f"--clusterrole=system:aggregate-to-{role}")
        kubectl("create", *words, "--user=edith", "-n", namespace)
    return Forger(kubectl, namespace)


def status(forger: Forger) -> dict[str, Any]:
    found: dict[str, Any] = forger.package().get("status", {})
    return found


def says(forger: Forger, text: str) -> bool:
    return any(text in item["message"] for item in status(forger).get("conditions", []))


def commits(package: Manifest) -> set[str]:
    return {item.get("commit", "") for item in package["status"]["subtasks"]}


def only_job(forger: Forger) -> Manifest | None:
    words = ("get", "jobs", "-n", forger.namespace, "-l", "afresh.dev/package=p", "-o", "json")
    found = json.loads(forger.kubectl(*words))["items"]
    return found[0] if found else None


async def test_a_job_in_the_name_of_a_suspended_package_is_reported_and_not_believed(
    operator: OperatorProcess, forger: Forger, kubeconfig: Path
) -> None:
    kubectl, namespace = forger.kubectl, forger.namespace
    apply(kubectl, namespace, chain(1), suspend=True)
    await holds("it is suspended", lambda: status(forger).get("phase") == "Suspended")
    name = job_name("p", "T000", 1, forger.package()["metadata"]["uid"])
    job = forger.job(name)
    forger.pod(name, job["metadata"]["uid"], job["spec"]["template"])

    kubectl("patch", "wp", "p", "-n", namespace, "--type=merge", "-p", '{"spec":{"suspend":false}}')
    await holds("the status says so", lambda: says(forger, f"Job {name} already exists"))
    held = forger.package()
    forger.do("delete", f"job/{name}", f"pod/{name}-abcde", "--force", "--cascade=background")
    async with node_of(kubeconfig, namespace) as node:
        package = await ended(node.kube, namespace)

    assert commits(held) == {""}
    assert commits(package) == {f"{1:040x}"}


async def test_a_pod_under_the_real_job_is_reported_and_not_believed_and_sends_no_report(
    operator: OperatorProcess, forger: Forger, kubeconfig: Path
) -> None:
    kubectl, namespace = forger.kubectl, forger.namespace
    kubectl("create", "serviceaccount", "default", "-n", namespace)
    apply(kubectl, namespace, chain(1))
    await holds("its Job is made", lambda: only_job(forger))
    job = only_job(forger)
    assert job is not None
    name = job["metadata"]["name"]
    pod = forger.pod(name, job["metadata"]["uid"], job["spec"]["template"])
    await holds("the status says so", lambda: says(forger, f"pod {pod} {NOT_OURS}"))
    bound = ("--audience=afresh", "--bound-object-kind=Pod", f"--bound-object-name={pod}")
    secret = kubectl("create", "token", "default", "-n", namespace, *bound).strip()
    sent, _ = post(operator.report_port, report.fit(success(name)), secret)
    held = forger.package()

    forger.do("delete", f"pod/{pod}", "--force")
    async with node_of(kubeconfig, namespace) as node:
        package = await ended(node.kube, namespace)

    assert sent == 401
    assert commits(held) == {""}
    assert commits(package) == {f"{1:040x}"}
    assert [subtask for subtask, _ in node.started] == ["T000"]


async def test_the_changed_image_of_a_real_pod_holds_its_result_back(
    operator: OperatorProcess, forger: Forger, kubeconfig: Path
) -> None:
    kubectl, namespace = forger.kubectl, forger.namespace
    apply(kubectl, namespace, chain(1))

    async with node_of(kubeconfig, namespace) as node:
        node.may_end.clear()
        await holds("it runs", lambda: "pod/" in pods(forger))
        pod = pods(forger).strip()
        forger.do("set", "image", pod, f"runner={MINE}")
        node.may_end.set()
        await holds("the status says so", lambda: says(forger, NOT_OURS))
        held = forger.package()
        forger.do("set", "image", pod, "runner=example.com/runner:1")
        package = await ended(node.kube, namespace)

    assert commits(held) == {""}
    assert commits(package) == {f"{1:040x}"}


def pods(forger: Forger) -> str:
    return forger.kubectl("get", "pods", "-n", forger.namespace, "-o", "name")


async def test_a_pod_of_no_job_is_nobodys_concern(
    operator: OperatorProcess, forger: Forger, kubeconfig: Path
) -> None:
    kubectl, namespace = forger.kubectl, forger.namespace
    apply(kubectl, namespace, chain(1), suspend=True)
    await holds("it is suspended", lambda: status(forger).get("phase") == "Suspended")
    name = job_name("p", "T000", 1, forger.package()["metadata"]["uid"])
    template = deepcopy(make_job()["spec"]["template"])
    template["metadata"]["labels"] |= {"afresh.dev/package": "p", "afresh.dev/subtask": "T000"}
    template["metadata"]["annotations"]["afresh.dev/batch"] = "T000:1:0"
    forger.pod(name, "made-up", template)

    kubectl("patch", "wp", "p", "-n", namespace, "--type=merge", "-p", '{"spec":{"suspend":false}}')
    async with node_of(kubeconfig, namespace) as node:
        package = await ended(node.kube, namespace)

    assert commits(package) == {f"{1:040x}"}
    assert [subtask for subtask, _ in node.started] == ["T000"]


async def test_what_runs_counts_after_an_upgrade_with_what_webhooks_add_to_its_pod(
    operator: OperatorProcess, forger: Forger, kubeconfig: Path
) -> None:
    apply(forger.kubectl, forger.namespace, chain(2))

    async with node_of(kubeconfig, forger.namespace) as node:
        node.admit = with_a_mesh
        node.may_end.clear()
        await holds("it runs", lambda: "pod/" in pods(forger))
        operator.kill()
        operator.settings["AFRESH_RUNNER_IMAGE"] = "example.com/runner:2"
        operator.start()
        node.may_end.set()
        package = await ended(node.kube, forger.namespace)

    assert [subtask for subtask, _ in node.started] == ["T000", "T001"]
    assert [item["attempts"] for item in package["status"]["subtasks"]] == [1, 1]


def with_a_mesh(pod: Manifest) -> Manifest:
    """What a mesh's webhook makes of a pod."""
    made = deepcopy(pod)
    made["metadata"]["labels"]["mesh"] = "on"
    made["spec"]["containers"].append({"name": "mesh", "image": "example.com/mesh:1"})
    made["spec"]["volumes"].append({"name": "mesh", "emptyDir": {}})
    for container in made["spec"]["containers"]:
        container.setdefault("env", []).append({"name": "MESH", "value": "on"})
    return made
