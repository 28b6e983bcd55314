"""Who makes episodes: the chart's admission policies and Kubernetes' own roles on a real server."""

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import pytest

from afresh.core.names import job_name
from tests.apiserver.kubectl import Kubectl, Manifest
from tests.chart.helm import SYSTEM, render
from tests.e2e.cluster import wait
from tests.manifests.jobs import make_job

pytestmark = pytest.mark.apiserver

RELEASE = "episodes"
OPERATOR = f"system:serviceaccount:{SYSTEM}:{RELEASE}-operator"
CONTROLLER = "system:serviceaccount:kube-system:job-controller"
OF_REPLICA_SETS = "system:serviceaccount:kube-system:replicaset-controller"
OF_CRON_JOBS = "system:serviceaccount:kube-system:cronjob-controller"
NODE = "system:node:somewhere"
COLLECTOR = "system:serviceaccount:kube-system:generic-garbage-collector"
KUEUE = "system:serviceaccount:kueue-system:kueue-controller-manager"
# The rules of Kubernetes' own roles; a controller that is not here puts them together.
PEOPLE = {
    "edith": ("edit", "view"),
    "adam": ("admin", "edit", "view"),
}
REFUSAL = "are those of an episode"
STAYS = "spec, owners and finalizers cannot be changed"
NOT_CONNECTED = "is an episode's, and nobody may connect to it"
NO_TOKEN = "only the kubelet may request a token for the audience afresh"
WANTED = ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding",
          "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")  # fmt: skip


@dataclass(frozen=True)
class Writer:
    """A namespace that is served."""

    kubectl: Kubectl
    namespace: str

    def create(self, user: str, manifest: Manifest, *options: str) -> str:
        """Create an object as the user; return what was said against it."""
        words = ("create", "-n", self.namespace, "--as", user, *options)
        return self.kubectl.run(*words, manifest=manifest).stderr

    def patch(self, user: str, target: str, patch: Manifest, *options: str) -> str:
        """Change an object as the user; return what was said against it."""
        words = ("patch", target, "-n", self.namespace, "--as", user, *options)
        return self.kubectl.run(*words, "--type=strategic", "-p", json.dumps(patch)).stderr

    def raw(self, user: str, path: str, body: Manifest, *options: str) -> str:
        """Post to a path of the namespace as the user; return what was answered."""
        place = f"/api/v1/namespaces/{self.namespace}/{path}"
        done = self.kubectl.run(
            "create", "--raw", place, "--as", user, *options, manifest=body,
        )  # fmt: skip
        return done.stderr + done.stdout

    def job(self, subtask: str = "T001", user: str = OPERATOR, **spec: Any) -> Manifest:
        """Create an episode's Job and return it."""
        made = episode(self.namespace, subtask)
        made["spec"] |= spec
        assert self.create(user, made) == ""
        return self.kubectl.get("job", made["metadata"]["name"], self.namespace)

    def pod(self, job: Manifest, user: str = CONTROLLER) -> Manifest:
        """Create the Job's pod and return it."""
        body = pod_of(job)
        assert self.create(user, body) == ""
        return self.kubectl.get("pod", body["metadata"]["name"], self.namespace)


def episode(namespace: str, subtask: str = "T001") -> Manifest:
    """The Job of an episode as the operator makes it, of a package that need not be there."""
    job = deepcopy(make_job(subtasks=[{"id": subtask, "prompt": "Do it."}]))
    job["metadata"]["namespace"] = namespace
    job["metadata"]["name"] = job_name("token-auth", subtask, 1, "uid")
    return job


def pod_of(job: Manifest, name: str = "") -> Manifest:
    """The pod that the Job controller makes of a Job."""
    template = job["spec"]["template"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": job["metadata"]["name"],
             "uid": job["metadata"].get("uid", "none"), "controller": True}  # fmt: skip
    metadata = {"name": name or job["metadata"]["name"] + "-abcde", "ownerReferences": [owner]}
    labels = {key: template["metadata"]["labels"][key] for key in template["metadata"]["labels"]}
    notes = template["metadata"]["annotations"]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**metadata, "labels": labels, "annotations": notes},
        # Where nothing makes accounts for pods, nothing gives them one either.
        "spec": template["spec"] | {"serviceAccountName": "default"},
    }


def plain(kind: str, version: str, **marks: Manifest) -> Manifest:
    """A workload whose pods carry the marks."""
    pod = {"containers": [{"name": "c", "image": "i"}]}
    template: Manifest = {"metadata": {"labels": {"app": "x"}}, "spec": pod}
    for key, words in marks.items():
        template["metadata"][key] = {**template["metadata"].get(key, {}), **words}
    spec: Manifest = {"template": template, "selector": {"matchLabels": {"app": "x"}}}
    if kind in ("Job", "CronJob"):
        pod["restartPolicy"] = "Never"  # type: ignore[assignment]  # JSON
        del spec["selector"]
    if kind == "CronJob":
        spec = {"schedule": "* * * * *", "jobTemplate": {"spec": spec}}
    if kind == "ReplicationController":
        spec["selector"] = {"app": "x"}
    if kind == "StatefulSet":
        spec["serviceName"] = "x"
    return {"apiVersion": version, "kind": kind, "metadata": {"name": kind.lower()}, "spec": spec}


KINDS = [
    ("Job", "batch/v1"), ("CronJob", "batch/v1"), ("Deployment", "apps/v1"),
    ("StatefulSet", "apps/v1"), ("DaemonSet", "apps/v1"), ("ReplicaSet", "apps/v1"),
    ("ReplicationController", "v1"),
]  # fmt: skip
MARKS = [
    pytest.param({"labels": {"afresh.dev/package": "token-auth"}}, id="label"),
    pytest.param({"annotations": {"afresh.dev/order": "{}"}}, id="Order"),
]


@pytest.fixture(scope="module")
def everywhere(kubectl: Kubectl, make_namespace: Callable[[], str]) -> Writer:
    """Apply the chart's policies and rights for one namespace with people; wait for them."""
    writer = Writer(kubectl, make_namespace())
    kubectl("create", "serviceaccount", "default", "-n", writer.namespace)
    system = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM}}
    kubectl("apply", manifest=system)
    for item in render("afresh", f'namespaces=["{writer.namespace}"]', release=RELEASE):
        if item["kind"] in WANTED and item["metadata"].get("namespace") != SYSTEM:
            kubectl("apply", manifest=item)
    for user, roles in PEOPLE.items():
        allow(writer, user, roles)
    allow(writer, CONTROLLER, ("view",))  # kubectl looks before it changes
    change = "--verb=get,update,patch"
    grant(writer, "adam", "debug", "--resource=pods/ephemeralcontainers,pods/resize", change)
    # What Kueue's own ClusterRole gives it on Jobs.
    grant(writer, KUEUE, "queue", "--resource=jobs,jobs/status", change)
    for user in PEOPLE:
        wait(
            f"the policies and the rights of {user} hold",
            lambda user=user: REFUSAL in writer.create(
                user, episode(writer.namespace), "--dry-run=server"
            ) and NO_TOKEN in token(writer, user, "afresh"),
            seconds=120,
        )  # fmt: skip
    return writer


def grant(writer: Writer, user: str, role: str, *rights: str) -> None:
    writer.kubectl("create", "role", role, "-n", writer.namespace, *rights)
    words = ("create", "rolebinding", role, "-n", writer.namespace)
    writer.kubectl(*words, f"--role={role}", f"--user={user}")


def allow(writer: Writer, user: str, roles: tuple[str, ...]) -> None:
    for role in roles:
        name = f"system:aggregate-to-{role}"
        short = user.rpartition(":")[2]
        words = ("create", "rolebinding", f"{short}-{role}", "-n", writer.namespace)
        writer.kubectl(*words, f"--clusterrole={name}", f"--user={user}")


@pytest.fixture
def writer(everywhere: Writer) -> Writer:
    """Return the desk with no Job and no pod in it."""
    kinds = "jobs,pods,cronjobs,deployments,statefulsets,daemonsets,replicasets,rc"
    words = ("--all", "--grace-period=0", "--force", "--cascade=background")
    everywhere.kubectl("delete", kinds, "-n", everywhere.namespace, *words)
    return everywhere


def token(writer: Writer, user: str, *audiences: str, options: tuple[str, ...] = ()) -> str:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {"audiences": list(audiences)}}  # fmt: skip
    return writer.raw(user, "serviceaccounts/default/token", body, *options)


people = pytest.mark.parametrize("user", PEOPLE)


@people
def test_nobody_but_the_operator_makes_the_job_of_an_episode(writer: Writer, user: str) -> None:
    result = writer.create(user, episode(writer.namespace))

    assert REFUSAL in result
    assert "the verb run on episodes.afresh.dev" in result
    assert writer.job()["metadata"]["uid"]


@pytest.mark.parametrize(("kind", "version"), KINDS, ids=[kind for kind, _ in KINDS])
@pytest.mark.parametrize("marks", MARKS)
def test_no_workload_has_pods_that_look_like_an_episodes(
    writer: Writer, kind: str, version: str, marks: Manifest
) -> None:
    result = writer.create("edith", plain(kind, version, **marks))

    assert REFUSAL in result
    assert writer.create("edith", plain(kind, version)) == ""
    if kind == "Job":
        return  # its template is there to stay
    template = {"template": {"metadata": marks}}
    spec = {"jobTemplate": {"spec": template}} if kind == "CronJob" else template
    assert REFUSAL in writer.patch("edith", f"{kind.lower()}/{kind.lower()}", {"spec": spec})
    assert (
        writer.patch(
            "edith", f"{kind.lower()}/{kind.lower()}", {"metadata": {"labels": {"a": "b"}}}
        )
        == ""
    )


def test_a_cron_jobs_own_jobs_look_like_no_episode_either(writer: Writer) -> None:
    marked = plain("CronJob", "batch/v1")
    marked["spec"]["jobTemplate"]["metadata"] = {"labels": {"afresh.dev/package": "token-auth"}}

    assert REFUSAL in writer.create("edith", marked)
    assert REFUSAL in writer.create(OF_CRON_JOBS, episode(writer.namespace))


@people
@pytest.mark.parametrize(
    "change",
    [
        {"metadata": {"annotations": {"afresh.dev/batch": "T001:1:7"}}},
        {"metadata": {"labels": {"afresh.dev/attempt": "9"}}},
        {"metadata": {"labels": {"afresh.dev/package": None}}},
        {"metadata": {"labels": {"app.kubernetes.io/managed-by": "me"}}},
        {"spec": {"template": {"metadata": {"annotations": {"afresh.dev/order": "{}"}}}}},
    ],
    ids=["batch", "attempt", "no package", "maker", "Order"],
)
def test_what_afresh_wrote_on_a_job_that_waits_stays(
    writer: Writer, user: str, change: Manifest
) -> None:
    job = writer.job(suspend=True)

    assert REFUSAL in writer.patch(user, f"job/{job['metadata']['name']}", change)


def test_a_queue_may_release_a_job_and_take_it_back(writer: Writer) -> None:
    job = writer.job(suspend=True)
    target = f"job/{job['metadata']['name']}"
    where = {"nodeSelector": {"pool": "a"}, "tolerations": [{"key": "x", "operator": "Exists"}]}
    admitted = {"metadata": {"labels": {"kueue.x-k8s.io/podset": "main"},
                             "annotations": {"kueue.x-k8s.io/workload": "w"}},
                "spec": where}  # fmt: skip

    for spec in ({"suspend": False, "template": admitted}, {"suspend": True}, {"suspend": False}):
        assert writer.patch(KUEUE, target, {"spec": spec}) == ""
    found = writer.kubectl.get("job", job["metadata"]["name"], writer.namespace)
    assert found["spec"]["template"]["spec"]["nodeSelector"] == {"pool": "a"}


def test_a_queue_changes_no_order(writer: Writer) -> None:
    job = writer.job(suspend=True)
    order = {"metadata": {"annotations": {"afresh.dev/order": "{}"}}}

    result = writer.patch(KUEUE, f"job/{job['metadata']['name']}", {"spec": {"template": order}})

    assert REFUSAL in result


OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "o"}
HOLD = ["example.com/hold"]


@people
@pytest.mark.parametrize(
    "change",
    [
        {"spec": {"backoffLimit": 3}},
        {"spec": {"parallelism": 2}},
        {"spec": {"parallelism": 0}},
        {"spec": {"activeDeadlineSeconds": 1}},
        {"spec": {"ttlSecondsAfterFinished": 0}},
        {"spec": {"suspend": True}},
        {"metadata": {"ownerReferences": None}},
        {"metadata": {"ownerReferences": [OWNER]}},
        {"metadata": {"finalizers": HOLD}},
        {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "another"}}},
    ],
    ids=["retries", "pods", "no pods", "deadline", "lifetime", "suspend", "no owner",
         "owner", "finalizer", "queue"],
)  # fmt: skip
def test_the_job_of_an_episode_stays_what_it_is(
    writer: Writer, user: str, change: Manifest
) -> None:
    job = writer.job()
    target = f"job/{job['metadata']['name']}"

    result = writer.patch(user, target, change)

    assert STAYS in result
    assert writer.patch(user, target, {"metadata": {"labels": {"a": "b"}}}) == ""


@people
@pytest.mark.parametrize(
    "change",
    [
        {"suspend": False},
        {"template": {"spec": {"nodeSelector": {"pool": "mine"}}}},
        {"template": {"spec": {"tolerations": [{"key": "x", "operator": "Exists"}]}}},
        {"template": {"spec": {"schedulingGates": [{"name": "example.com/gate"}]}}},
        {"template": {"metadata": {"labels": {"a": "b"}}}},
        {"template": {"metadata": {"annotations": {"a": "b"}}}},
    ],
    ids=["release", "node", "toleration", "gate", "label", "annotation"],
)
def test_a_job_that_waits_is_released_and_placed_by_its_queue_alone(
    writer: Writer, user: str, change: Manifest
) -> None:
    target = f"job/{writer.job(suspend=True)['metadata']['name']}"

    result = writer.patch(user, target, {"spec": change})

    assert STAYS in result
    assert writer.patch(KUEUE, target, {"spec": change}) == ""


def test_any_other_job_may_be_changed(writer: Writer) -> None:
    assert writer.create("edith", plain("Job", "batch/v1")) == ""

    for change in (
        {"spec": {"backoffLimit": 3}},
        {"spec": {"suspend": True}},
        {"metadata": {"ownerReferences": [OWNER], "finalizers": HOLD}},
        {"metadata": {"finalizers": None}},
    ):
        assert writer.patch("edith", "job/job", change) == ""


def test_a_foreign_job_does_not_become_an_episodes(writer: Writer) -> None:
    assert writer.create("edith", plain("Job", "batch/v1")) == ""

    result = writer.patch("edith", "job/job", {"metadata": {"labels": {"afresh.dev/package": "x"}}})

    assert REFUSAL in result


@pytest.mark.parametrize("user", [*PEOPLE, OF_REPLICA_SETS, OPERATOR])
def test_nobody_but_the_job_controller_makes_the_pod_of_an_episode(
    writer: Writer, user: str
) -> None:
    job = writer.job()

    result = writer.create(user, pod_of(job))

    assert REFUSAL in result or "cannot create resource" in result
    assert (user == OPERATOR) == ("cannot create resource" in result)
    assert writer.pod(job)["metadata"]["labels"]["afresh.dev/package"]


@people
@pytest.mark.parametrize(
    "change",
    [
        {"metadata": {"annotations": {"afresh.dev/order": "{}"}}},
        {"metadata": {"labels": {"afresh.dev/package": "another"}}},
    ],
    ids=["Order", "package"],
)
def test_what_afresh_wrote_on_a_pod_stays(writer: Writer, user: str, change: Manifest) -> None:
    pod = writer.pod(writer.job())

    assert REFUSAL in writer.patch(user, f"pod/{pod['metadata']['name']}", change)


@people
@pytest.mark.parametrize(
    "change",
    [
        {"spec": {"containers": [{"name": "runner", "image": "example.com/mine:1"}]}},
        {"spec": {"activeDeadlineSeconds": 1}},
        {"spec": {"tolerations": [{"key": "x", "operator": "Exists"}]}},
        {"metadata": {"ownerReferences": None}},
        {"metadata": {"finalizers": None}},
        {"metadata": {"labels": {"batch.kubernetes.io/controller-uid": None}}},
        {"metadata": {"labels": {"controller-uid": "another"}}},
        {"metadata": {"labels": {"job-name": None}}},
    ],
    ids=["image", "deadline", "toleration", "no owner", "no finalizer", "no Job", "other Job",
         "no Job's name"],
)  # fmt: skip
def test_the_pod_of_an_episode_stays_what_it_is(
    writer: Writer, user: str, change: Manifest
) -> None:
    target = f"pod/{writer.pod(writer.job())['metadata']['name']}"
    tracked = ["batch.kubernetes.io/job-tracking"]
    counted = {"batch.kubernetes.io/controller-uid": "u", "controller-uid": "u", "job-name": "j"}
    assert writer.patch(CONTROLLER, target, {"metadata": {"finalizers": tracked}}) == ""
    assert writer.patch(CONTROLLER, target, {"metadata": {"labels": counted}}) == ""

    result = writer.patch(user, target, change)

    assert STAYS in result
    assert writer.patch(user, target, {"metadata": {"annotations": {"a": "b"}}}) == ""
    assert writer.patch(CONTROLLER, target, {"metadata": {"finalizers": None}}) == ""


def test_a_pod_of_somebodys_does_not_become_an_episodes(writer: Writer) -> None:
    spec = plain("Job", "batch/v1")["spec"]["template"]["spec"]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "mine"}, "spec": spec}
    assert writer.create("edith", pod) == ""

    for mark in (
        {"labels": {"afresh.dev/package": "x"}},
        {"annotations": {"afresh.dev/order": "{}"}},
    ):
        assert REFUSAL in writer.patch("edith", "pod/mine", {"metadata": mark})
    assert writer.patch("edith", "pod/mine", {"metadata": {"labels": {"a": "b"}}}) == ""


def test_no_container_is_added_to_the_pod_of_an_episode(writer: Writer) -> None:
    pod = writer.pod(writer.job())
    extra = {"spec": {"ephemeralContainers": [{"name": "mine", "image": "i"}]}}

    result = writer.patch(
        "adam", f"pod/{pod['metadata']['name']}", extra, "--subresource=ephemeralcontainers"
    )

    assert STAYS in result


def test_the_pod_of_an_episode_keeps_its_size(writer: Writer) -> None:
    pod = writer.pod(writer.job())
    memory = {"memory": "32Mi"}
    smaller = {"name": "runner", "resources": {"requests": memory, "limits": memory}}

    result = writer.patch(
        "adam", f"pod/{pod['metadata']['name']}", {"spec": {"containers": [smaller]}},
        "--subresource=resize",
    )  # fmt: skip

    assert STAYS in result


@people
@pytest.mark.parametrize("into", ["exec?command=sh&stdin=true", "attach?stdin=true", "portforward"])
def test_nobody_connects_to_the_pod_of_an_episode(writer: Writer, user: str, into: str) -> None:
    pod = writer.pod(writer.job())["metadata"]["name"]

    assert NOT_CONNECTED in writer.raw(user, f"pods/{pod}/{into}", {})


@pytest.mark.parametrize("form", ["{}", "{}:8080", "{}:web", "http:{}:8080", "https:{}:"])
def test_no_proxy_reaches_the_pod_of_an_episode(writer: Writer, form: str) -> None:
    pod = writer.pod(writer.job())["metadata"]["name"]

    assert NOT_CONNECTED in writer.raw("edith", f"pods/{form.format(pod)}/proxy/path", {})


@pytest.mark.parametrize(
    "name",
    ["web-7-5bcdf678-x2abc", "backup-1-29380000-abcde", "build-12-e1a2b3c4-abcde", "db-0"],
    ids=["a Deployment's", "a CronJob's", "a build's", "a StatefulSet's"],
)
def test_whoever_may_connects_to_any_other_pod(writer: Writer, name: str) -> None:
    result = writer.raw("edith", f"pods/{name}/exec?command=sh", {})

    assert f'pods "{name}" not found' in result


def test_a_long_name_leaves_the_pods_end_whole(writer: Writer) -> None:
    job = episode(writer.namespace)
    job["metadata"]["name"] = job_name("p" * 40, "S" * 20, 4321, "uid")
    assert writer.create(OPERATOR, job) == ""
    pod = pod_of(job)
    pod["metadata"] |= {"name": None, "generateName": job["metadata"]["name"] + "-"}

    assert writer.create(CONTROLLER, pod) == ""
    words = ("get", "pods", "-n", writer.namespace, "-o", "name")
    name = writer.kubectl(*words).strip().removeprefix("pod/")
    assert name.startswith(job["metadata"]["name"])
    assert NOT_CONNECTED in writer.raw("edith", f"pods/{name}/exec?command=sh", {})


@people
@pytest.mark.parametrize("audiences", [("afresh",), ("other", "afresh")], ids=["alone", "besides"])
def test_nobody_has_a_token_for_the_operator(
    writer: Writer, user: str, audiences: tuple[str, ...]
) -> None:
    assert NO_TOKEN in token(writer, user, *audiences)
    assert '"token":' in token(writer, user, "other")


def test_a_kubelet_has_the_token_of_a_pod_on_its_node(writer: Writer) -> None:
    pod = writer.pod(writer.job())
    name = pod["metadata"]["name"]
    node = {"apiVersion": "v1", "kind": "Node", "name": NODE.rpartition(":")[2]}
    where = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": node}
    writer.raw("root", f"pods/{name}/binding", where, "--as-group=system:masters")
    reference = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": pod["metadata"]["uid"]}
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {"audiences": ["afresh"], "boundObjectRef": reference}}  # fmt: skip
    options = ("--as-group=system:nodes", "--as-group=system:authenticated")

    def has_token() -> bool:
        return '"token":' in writer.raw(NODE, "serviceaccounts/default/token", body, *options)

    assert wait("the kubelet has its token", has_token, seconds=60)


def test_garbage_collection_eviction_and_the_kubelet_go_on(writer: Writer) -> None:
    job = writer.job()
    pod = writer.pod(job)["metadata"]["name"]
    target = f"pod/{pod}"

    finalizer = {"metadata": {"finalizers": ["batch.kubernetes.io/job-tracking"]}}
    assert writer.patch(CONTROLLER, target, finalizer) == ""
    assert (
        writer.patch(
            CONTROLLER,
            target,
            {
                "metadata": {
                    "$deleteFromPrimitiveList/finalizers": finalizer["metadata"]["finalizers"]
                }
            },
        )
        == ""
    )
    job_target = f"job/{job['metadata']['name']}"
    counted = writer.kubectl.get("job", job["metadata"]["name"], writer.namespace)
    counted["status"] |= {"startTime": "2030-01-02T03:04:05Z", "active": 1}
    words = ("replace", "--subresource=status", "-n", writer.namespace, "--as", CONTROLLER)
    assert writer.kubectl.run(*words, manifest=counted).stderr == ""
    for change in (
        {"ownerReferences": [OWNER], "finalizers": ["foregroundDeletion"]},
        {"ownerReferences": None, "finalizers": None},
    ):
        assert writer.patch(COLLECTOR, job_target, {"metadata": change}) == ""
    evicted = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}
    assert '"status":"Success"' in writer.raw("adam", f"pods/{pod}/eviction", evicted)
    gone = ("delete", job_target, "-n", writer.namespace, "--cascade=background", "--as", COLLECTOR)
    assert writer.kubectl.run(*gone).returncode == 0


def test_no_role_of_people_has_the_rights_that_the_policies_ask_for(writer: Writer) -> None:
    asked = [("update", "batch", "jobs", "status"), ("patch", "batch", "jobs", "status"),
             ("patch", "", "pods", "status"), ("update", "", "pods", "status"),
             ("create", "", "pods", "binding"), ("run", "afresh.dev", "episodes", "")]  # fmt: skip

    def may(user: str, verb: str, group: str, resource: str, sub: str) -> bool:
        attributes = {"namespace": writer.namespace, "verb": verb, "group": group,
                      "resource": resource, "subresource": sub}  # fmt: skip
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
                  "spec": {"user": user, "resourceAttributes": attributes}}  # fmt: skip
        answer = json.loads(writer.kubectl("create", "-o", "json", manifest=review))
        return bool(answer["status"]["allowed"])

    assert [(user, item) for user in PEOPLE for item in asked if may(user, *item)] == []
    assert may(CONTROLLER, *asked[0])
    assert may(OPERATOR, *asked[-1])


def test_an_image_may_be_tried_by_whoever_makes_pods(writer: Writer) -> None:
    spec = plain("Job", "batch/v1")["spec"]["template"]["spec"]
    marks = {
        "labels": {"afresh.dev/conformance": "true"},
        "annotations": {"afresh.dev/order": "{}"},
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "trial", **marks}, "spec": spec}

    assert writer.create("edith", pod) == ""


def test_an_order_of_the_largest_size_is_within_the_cost_that_a_policy_may_have(
    writer: Writer,
) -> None:
    job = episode(writer.namespace)
    notes = job["spec"]["template"]["metadata"]["annotations"]
    notes["afresh.dev/order"] = "x" * 200 * 1024
    job["spec"]["suspend"] = True
    job["metadata"]["labels"] |= {f"example.com/{n}": "x" * 60 for n in range(100)}

    assert writer.create(OPERATOR, job) == ""
    target = f"job/{job['metadata']['name']}"
    assert writer.patch(KUEUE, target, {"spec": {"suspend": False}}) == ""
    assert writer.patch("edith", target, {"metadata": {"labels": {"a": "b"}}}) == ""
    pod = pod_of(writer.kubectl.get("job", job["metadata"]["name"], writer.namespace))
    assert writer.create(CONTROLLER, pod) == ""
    name = pod["metadata"]["name"]
    assert writer.patch("edith", f"pod/{name}", {"metadata": {"labels": {"a": "b"}}}) == ""


def test_a_namespace_that_is_not_served_is_none_of_the_policies_business(
    writer: Writer, namespace: str
) -> None:
    elsewhere = Writer(writer.kubectl, namespace)
    allow(elsewhere, "edith", PEOPLE["edith"])

    def may_create() -> bool:
        return elsewhere.create("edith", episode(namespace), "--dry-run=server") == ""

    assert wait("she may make what she likes", may_create, seconds=120)
