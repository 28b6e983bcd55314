"""The seal on Jobs and pods: what breaks it, and what clusters may do without breaking it."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from afresh.kube.resources import JOBS, PODS, Manifest
from afresh.kube.seal import Seal
from tests.manifests.jobs import REPOSITORY, make_job

SEAL = Seal(b"of all operators")
Change = Callable[[Any], Any]


def sealed() -> Manifest:
    job = make_job(
        {"caBundle": {"configMapName": "ca"}, "env": [{"name": "A", "value": ""}]},
        repository={**REPOSITORY, "cacheClaimName": "cache"},
    )
    job["metadata"]["namespace"] = "team-a"
    return SEAL.put_on(job)


def stored(job: Manifest) -> Manifest:
    """The Job as the API server gives it back: with defaults, and without what is empty."""
    made = deepcopy(job)
    made["metadata"] |= {"uid": "job-uid", "resourceVersion": "7", "managedFields": []}
    template = made["spec"]["template"]
    template["metadata"]["labels"]["batch.kubernetes.io/controller-uid"] = "job-uid"
    spec = template["spec"]
    spec |= {"dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler"}
    del spec["shareProcessNamespace"]
    for item in spec["containers"]:
        item |= {"terminationMessagePath": "/dev/termination-log"}
        item |= {"terminationMessagePolicy": "File"}
        for variable in item["env"]:
            if variable.get("value") == "":
                del variable["value"]
    for volume in spec["volumes"]:
        if "emptyDir" in volume:
            volume["emptyDir"]["sizeLimit"] = "1Gi"
        if "downwardAPI" in volume:
            volume["downwardAPI"]["defaultMode"] = 420
            for one in volume["downwardAPI"]["items"]:
                one["fieldRef"]["apiVersion"] = "v1"
        for kind in ("projected", "configMap"):
            if kind in volume:
                volume[kind]["defaultMode"] = 420
    return made


def pod_of(job: Manifest) -> Manifest:
    """The pod that the Job controller makes, as the API server gives it back."""
    template = deepcopy(job["spec"]["template"])
    name, uid = job["metadata"]["name"], job["metadata"]["uid"]
    metadata = {
        **template["metadata"],
        "name": f"{name}-abcde",
        "namespace": "team-a",
        "uid": "pod-uid",
        "ownerReferences": [{"kind": "Job", "name": name, "uid": uid, "controller": True}],
    }
    spec = template["spec"] | {"serviceAccountName": "default", "serviceAccount": "default"}
    return {"metadata": metadata, "spec": spec}


def container(spec: Manifest, name: str) -> Any:
    return next(item for item in spec["containers"] if item["name"] == name)


def inject(spec: Any) -> None:
    """What meshes, clouds and agents of monitoring add to pods."""
    spec["containers"].append({"name": "mesh", "image": "mesh", "volumeMounts": [
        {"name": "mesh-data", "mountPath": "/data"}]})  # fmt: skip
    spec.setdefault("initContainers", []).append({"name": "mesh-init", "image": "mesh"})
    spec["volumes"] += [{"name": "mesh-data", "emptyDir": {}}, {"name": "aws", "projected": {}}]
    for item in spec["containers"]:
        item.setdefault("env", []).append({"name": "AWS_ROLE_ARN", "value": "x"})
        item.setdefault("volumeMounts", []).append(
            {"name": "aws", "mountPath": "/var/run/secrets/eks.amazonaws.com/token"}
        )
        item["resources"] = {"limits": {"cpu": "9"}}
        item["imagePullPolicy"] = "Always"
    spec |= {"nodeName": "n", "priority": 7, "tolerations": [{"operator": "Exists"}]}
    spec |= {"nodeSelector": {"pool": "a"}, "schedulingGates": [{"name": "g"}]}


def test_a_job_and_its_pod_keep_the_seal_as_the_api_server_stores_them() -> None:
    job = stored(sealed())

    assert not SEAL.is_broken(JOBS, job)
    assert not SEAL.is_broken(PODS, pod_of(job))


def test_what_queues_and_webhooks_add_breaks_no_seal() -> None:
    job = stored(sealed())
    job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "q"
    job["spec"] |= {"suspend": True, "backoffLimit": 0}
    template = job["spec"]["template"]
    template["metadata"]["annotations"]["kueue.x-k8s.io/workload"] = "w"
    template["metadata"]["labels"]["kueue.x-k8s.io/podset"] = "main"
    inject(template["spec"])
    pod = pod_of(job)
    inject(pod["spec"])
    pod["metadata"]["labels"]["mesh"] = "on"

    assert not SEAL.is_broken(JOBS, job)
    assert not SEAL.is_broken(PODS, pod)


def of_container(name: str, **fields: Any) -> Change:
    return lambda spec: container(spec, name).update(fields)


def added_to(name: str, field: str, item: Any) -> Change:
    return lambda spec: container(spec, name)[field].append(item)


def volume(name: str, source: Any) -> Change:
    def change(spec: Any) -> None:
        spec["volumes"] = [item for item in spec["volumes"] if item["name"] != name]
        spec["volumes"].append({"name": name, **source})

    return change


def sidecar(kind: str, mounted: str) -> Change:
    mounts = [{"name": mounted, "mountPath": "/x"}]
    return lambda spec: spec.setdefault(kind, []).append({"name": "s", "volumeMounts": mounts})


HOOK = {"postStart": {"exec": {"command": ["sh", "-c", "echo > /dev/termination-log"]}}}
FORGERIES = {
    "image of the runner": of_container("runner", image="example.com/mine:1"),
    "image of verify": of_container("verify", image="example.com/mine:1"),
    "command": of_container("runner", command=["sh", "-c", "true"]),
    "arguments": of_container("runner", args=["x"]),
    "hook": of_container("runner", lifecycle=HOOK),
    "probe": of_container("runner", livenessProbe=HOOK["postStart"]),
    "where the Report is": of_container("runner", terminationMessagePath="/workspace/report"),
    "the log as the Report": of_container(
        "runner", terminationMessagePolicy="FallbackToLogsOnError"
    ),
    "a variable of ours": lambda spec: container(spec, "runner")["env"][0].update(value="/mine"),
    "a variable that loads code": added_to("runner", "env", {"name": "LD_PRELOAD", "value": "x"}),
    "another PYTHONPATH": added_to("runner", "env", {"name": "PYTHONPATH", "value": "/mine"}),
    "variables of a map": of_container("verify", envFrom=[{"configMapRef": {"name": "m"}}]),
    "code mounted over ours": added_to(
        "runner", "volumeMounts", {"name": "mine", "mountPath": "/usr/lib/python3"}
    ),
    "our volume where webhooks mount theirs": added_to(
        "agent", "volumeMounts", {"name": "verify-control", "mountPath": "/var/run/secrets/x"}
    ),
    "a way out of the allowed paths": added_to(
        "runner", "volumeMounts", {"name": "mine", "mountPath": "/etc/ssl/../../usr"}
    ),
    "another Order": volume("podinfo", {"configMap": {"name": "mine"}}),
    "another Secret": volume("git-secret", {"secret": {"secretName": "mine"}}),
    "a sidecar at the control files": sidecar("containers", "verify-control"),
    "an init container at the worktree": sidecar("initContainers", "worktree"),
    "a debugger at the checkout": sidecar("ephemeralContainers", "checkout"),
    "privileges": of_container("agent", securityContext={"privileged": True}),
    "processes of all": lambda spec: spec.update(shareProcessNamespace=True),
    "another account": lambda spec: spec.update(serviceAccountName="mine"),
    "names of hosts": lambda spec: spec.update(hostAliases=[{"ip": "10.0.0.1"}]),
    "no runner": lambda spec: spec["containers"].remove(container(spec, "runner")),
}


@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES)
def test_a_changed_job_or_pod_has_no_seal_that_holds(change: Change) -> None:
    job = stored(sealed())
    pod = pod_of(job)
    change(pod["spec"])
    change(job["spec"]["template"]["spec"])

    assert SEAL.is_broken(PODS, pod)
    assert SEAL.is_broken(JOBS, job)


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("annotations", "afresh.dev/order", "{}"),
        ("annotations", "afresh.dev/batch", "T001:9:0"),
        ("annotations", "afresh.dev/plan", "sha256:0"),
        ("annotations", "afresh.dev/seal", "{}"),
        ("annotations", "afresh.dev/seal", "[" * 100_000),
        ("labels", "afresh.dev/attempt", "9"),
        ("labels", "afresh.dev/package", "another"),
    ],
)
def test_words_of_another_break_the_seal(part: str, name: str, value: str) -> None:
    job = stored(sealed())
    pod = pod_of(job)
    pod["metadata"][part][name] = value
    job["spec"]["template"]["metadata"][part][name] = value

    assert SEAL.is_broken(PODS, pod)
    assert SEAL.is_broken(JOBS, job)


def test_a_job_that_says_another_thing_than_its_template_is_not_ours() -> None:
    job = stored(sealed())
    job["metadata"]["annotations"]["afresh.dev/batch"] = "T001:9:0"

    assert SEAL.is_broken(JOBS, job)


@pytest.mark.parametrize(
    "change",
    [{"name": "mine"}, {"namespace": "team-b"}, {"ownerReferences": []}],
    ids=["a name of its own", "another namespace", "no Job"],
)
def test_a_copied_seal_fits_nothing_else(change: Manifest) -> None:
    pod = pod_of(stored(sealed()))
    pod["metadata"] |= change

    assert SEAL.is_broken(PODS, pod)


def test_another_key_makes_another_seal_and_none_makes_none() -> None:
    job = stored(sealed())

    assert Seal(b"of somebody").is_broken(JOBS, job)
    assert not Seal(None).is_broken(JOBS, job)
    assert not Seal(b"of somebody", doubts=False).is_broken(JOBS, job)
    assert Seal(None).put_on(job) is job


def test_what_is_older_than_the_secret_of_the_key_is_believed() -> None:
    since = "2026-01-02T03:04:05Z"
    job = stored(sealed())
    job["metadata"]["creationTimestamp"] = "2026-01-02T03:04:04Z"

    assert not Seal(b"of somebody", since=since).is_broken(JOBS, job)
    job["metadata"]["creationTimestamp"] = since
    assert Seal(b"of somebody", since=since).is_broken(JOBS, job)
