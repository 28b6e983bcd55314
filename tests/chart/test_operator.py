"""What a release of the chart is made of: the operator's pods, and what surrounds them."""

import json

import pytest

from afresh.contract.abilities import ABILITIES
from afresh.contract.pod_layout import LABEL_MANAGED_BY, MANAGED_BY
from afresh.contract.words import AdapterName
from afresh.kube.resources import Manifest
from afresh.manifests.network_policy import OPERATOR_LABELS
from afresh.settings import Settings
from tests.chart.helm import SYSTEM, kinds, one, render

TWO = "replicas=2"
MIRROR = "mirror.example.com/x"
AGENTS = sorted(name.lower() for name in set(ABILITIES) - {AdapterName.COMMAND})
EVERY_CLASS = tuple(f"agentClasses.{name}.enabled=true" for name in AGENTS)


def pod_of(objects: list[Manifest]) -> Manifest:
    spec: Manifest = one(objects, "Deployment")["spec"]["template"]["spec"]
    return spec


def container_of(objects: list[Manifest]) -> Manifest:
    (container,) = pod_of(objects)["containers"]
    found: Manifest = container
    return found


def environment_of(objects: list[Manifest]) -> dict[str, str]:
    """The variables as the kubelet fills them in."""
    fields = {"status.podIP": "10.244.0.7"}
    return {
        item["name"]: item["value"]
        if "value" in item
        else fields[item["valueFrom"]["fieldRef"]["fieldPath"]]
        for item in container_of(objects)["env"]
    }


def images_in(node: object) -> set[str]:
    """Every image that is named anywhere, by field or by variable."""
    if isinstance(node, list):
        return {image for item in node for image in images_in(item)}
    if not isinstance(node, dict):
        return set()
    own = {node["value"]} if node.get("name") == "AFRESH_RUNNER_IMAGE" else set()
    for key, value in node.items():
        own |= {value} if key == "image" else images_in(value)
    return own


def test_one_replica_has_the_lease_too_so_that_two_are_an_upgrade() -> None:
    one_replica, two_replicas = render(), render("afresh", TWO)

    first, second = one(one_replica, "Deployment")["spec"], one(two_replicas, "Deployment")["spec"]
    assert (first.pop("replicas"), second.pop("replicas")) == (1, 2)
    assert second["template"]["spec"].pop("affinity")
    assert first == second
    assert environment_of(one_replica)["AFRESH_LEASE_NAME"] == "afresh-operator"
    assert one(one_replica, "Lease") == one(two_replicas, "Lease")
    assert kinds(two_replicas) - kinds(one_replica) == {"PodDisruptionBudget"}


def test_two_replicas_have_a_lease_roll_and_are_not_drained_at_once() -> None:
    objects = render("afresh", TWO)

    deployment, budget = one(objects, "Deployment"), one(objects, "PodDisruptionBudget")
    assert deployment["spec"]["strategy"]["type"] == "RollingUpdate"
    assert environment_of(objects)["AFRESH_LEASE_NAME"] == deployment["metadata"]["name"]
    assert budget["spec"]["maxUnavailable"] == 1
    assert budget["spec"]["selector"] == deployment["spec"]["selector"]
    spread = pod_of(objects)["affinity"]["podAntiAffinity"]
    (term,) = spread["preferredDuringSchedulingIgnoredDuringExecution"]
    assert term["podAffinityTerm"]["labelSelector"] == deployment["spec"]["selector"]


def test_an_affinity_of_the_users_own_is_the_only_one() -> None:
    objects = render("afresh", TWO, 'operator.affinity={"nodeAffinity":{}}')

    assert pod_of(objects)["affinity"] == {"nodeAffinity": {}}


@pytest.mark.parametrize("values", [(), (TWO,)], ids=["one replica", "two replicas"])
def test_the_environment_is_one_that_the_operator_takes(values: tuple[str, ...]) -> None:
    objects = render("afresh", 'namespaces=["team-a","team-b"]', 'log.format="console"', *values)

    settings = Settings.from_environment(environment_of(objects))
    assert settings.namespaces == ("team-a", "team-b")
    assert (settings.log_format, settings.pod_users) == ("console", "derived")
    ports = {item["name"]: item["containerPort"] for item in container_of(objects)["ports"]}
    assert ports == {"report": settings.report_port, "metrics": settings.metrics_port}


def test_the_pod_may_do_nothing_that_a_restricted_namespace_refuses() -> None:
    objects = render()

    pod, container = pod_of(objects)["securityContext"], container_of(objects)["securityContext"]
    assert pod["runAsNonRoot"] is True
    assert pod["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_where_the_namespace_chooses_users_the_pod_names_none() -> None:
    objects = render("afresh", 'podUsers="namespace"')

    assert set(pod_of(objects)["securityContext"]) == {"runAsNonRoot", "seccompProfile"}
    assert environment_of(objects)["AFRESH_POD_USERS"] == "namespace"


def test_the_operator_has_a_value_for_webhooks_that_change_the_images_of_pods() -> None:
    objects = render("afresh", "admission.checkEpisodes=false")

    assert environment_of(objects)["AFRESH_CHECK_EPISODES"] == "false"
    assert environment_of(render("afresh"))["AFRESH_CHECK_EPISODES"] == "true"


def test_one_value_moves_every_image_to_another_registry() -> None:
    objects = render("afresh", f'image.registry="{MIRROR}"', 'image.tag="7"', *EVERY_CLASS)

    names = ("operator", "runner", *(f"agent-{name}" for name in AGENTS))
    assert images_in(objects) == {f"{MIRROR}/{name}:7" for name in names}


def test_the_tag_is_the_charts_version_where_none_is_given() -> None:
    objects = render()

    version = one(objects, "Deployment")["metadata"]["labels"]["app.kubernetes.io/version"]
    assert {image.rpartition(":")[2] for image in images_in(objects)} == {version}


def test_an_image_of_its_own_is_taken_as_it_is() -> None:
    digest = "example.com/runner@sha256:" + "0" * 64
    objects = render(
        "afresh", f'runner.image="{digest}"', 'operator.image="example.com/operator:2"',
        "agentClasses.claude.enabled=true", 'agentClasses.claude.image="example.com/claude:3"',
    )  # fmt: skip

    assert images_in(objects) == {digest, "example.com/operator:2", "example.com/claude:3"}


def test_what_the_values_say_of_the_pods_is_on_them() -> None:
    objects = render(
        "afresh", 'image.pullSecrets=["registry"]', 'operator.nodeSelector={"pool":"infra"}',
        'operator.tolerations=[{"key":"infra","operator":"Exists"}]',
        'operator.priorityClassName="high"', 'operator.podLabels={"team":"platform"}',
        'operator.podAnnotations={"note":"1"}', 'serviceAccount.annotations={"role":"x"}',
    )  # fmt: skip

    pod, metadata = pod_of(objects), one(objects, "Deployment")["spec"]["template"]["metadata"]
    assert pod["imagePullSecrets"] == [{"name": "registry"}]
    assert pod["nodeSelector"] == {"pool": "infra"}
    assert pod["tolerations"] == [{"key": "infra", "operator": "Exists"}]
    assert pod["priorityClassName"] == "high"
    assert (metadata["labels"]["team"], metadata["annotations"]) == ("platform", {"note": "1"})
    assert one(objects, "ServiceAccount")["metadata"]["annotations"] == {"role": "x"}


def test_what_the_values_add_to_the_pods_is_beside_what_the_chart_has() -> None:
    constraint = {
        "maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "ScheduleAnyway",
    }  # fmt: skip
    volume, mount = {"name": "ca", "configMap": {"name": "ca"}}, {"name": "ca", "mountPath": "/ca"}
    variable = {"name": "HTTPS_PROXY", "value": "http://proxy.example.com"}
    objects = render(
        "afresh", f"operator.topologySpreadConstraints=[{json.dumps(constraint)}]",
        f"operator.extraVolumes=[{json.dumps(volume)}]",
        f"operator.extraVolumeMounts=[{json.dumps(mount)}]",
        f"operator.extraEnv=[{json.dumps(variable)}]", "operator.revisionHistoryLimit=0",
    )  # fmt: skip

    pod, container, before = pod_of(objects), container_of(objects), container_of(render())
    assert pod["topologySpreadConstraints"] == [constraint]
    assert pod["volumes"] == [*pod_of(render())["volumes"], volume]
    assert container["volumeMounts"] == [*before["volumeMounts"], mount]
    assert container["env"] == [*before["env"], variable]
    assert one(objects, "Deployment")["spec"]["revisionHistoryLimit"] == 0


def test_a_probe_has_its_settings_from_the_values_and_its_question_from_the_chart() -> None:
    objects = render(
        "afresh", "operator.livenessProbe.initialDelaySeconds=5",
        "operator.livenessProbe.failureThreshold=null", "operator.readinessProbe.periodSeconds=3",
    )  # fmt: skip

    container = container_of(objects)
    assert container["livenessProbe"] == {
        "httpGet": {"path": "/healthz", "port": "metrics"},
        "initialDelaySeconds": 5, "periodSeconds": 10, "timeoutSeconds": 10,
    }  # fmt: skip
    assert container["readinessProbe"] == {
        "httpGet": {"path": "/readyz", "port": "metrics"},
        "periodSeconds": 3, "failureThreshold": 30,
    }  # fmt: skip


def test_the_policy_lets_reports_and_scrapes_in_and_the_api_server_out() -> None:
    objects = render("afresh", 'namespaces=["team-a"]', "networkPolicy.apiServerPorts=[8443]")

    policy = one(objects, "NetworkPolicy")["spec"]
    reports, scrapes = policy["ingress"]
    episodes, _ = reports["from"]
    assert episodes["podSelector"]["matchLabels"] == {LABEL_MANAGED_BY: MANAGED_BY}
    (where,) = episodes["namespaceSelector"]["matchExpressions"]
    assert where["values"] == ["team-a"]
    ports = {item["containerPort"]: item["name"] for item in container_of(objects)["ports"]}
    assert [ports[rule["ports"][0]["port"]] for rule in (reports, scrapes)] == ["report", "metrics"]
    ports_out = [item["port"] for rule in policy["egress"][1:] for item in rule["ports"]]
    assert ports_out == [53, 53, 8443]
    labels = one(objects, "Deployment")["spec"]["template"]["metadata"]["labels"]
    assert policy["podSelector"]["matchLabels"].items() <= labels.items()
    assert labels.items() >= OPERATOR_LABELS.items()


@pytest.mark.parametrize("values", [(), (TWO,)], ids=["one replica", "two replicas"])
def test_of_two_pods_each_may_pass_reports_on_to_the_other(values: tuple[str, ...]) -> None:
    policy = one(render("afresh", *values), "NetworkPolicy")["spec"]

    (_, other), (peer,) = policy["ingress"][0]["from"], policy["egress"][0]["to"]
    assert other == peer == {"podSelector": policy["podSelector"]}
    assert policy["egress"][0]["ports"] == policy["ingress"][0]["ports"]


@pytest.mark.parametrize("values", [(), (TWO,)], ids=["one replica", "two replicas"])
def test_the_one_secret_of_the_operator_is_empty_and_the_only_one_that_it_may_touch(
    values: tuple[str, ...],
) -> None:
    objects = render("afresh", *values)

    secret = one(objects, "Secret")
    assert not {"data", "stringData", "immutable"} & set(secret)
    assert environment_of(objects)["AFRESH_REPORT_SECRET"] == secret["metadata"]["name"]
    rules = [
        (item["kind"], rule)
        for item in objects
        for rule in item.get("rules", [])
        if {"secrets", "*"} & set(rule["resources"])
    ]
    names = [secret["metadata"]["name"]]
    verbs = ["get", "patch"]
    want = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": names, "verbs": verbs}
    assert rules == [("Role", want)]


def test_nobody_scrapes_where_the_values_name_nobody() -> None:
    objects = render("afresh", "networkPolicy.metricsFrom=[]")

    assert len(one(objects, "NetworkPolicy")["spec"]["ingress"]) == 1


@pytest.mark.parametrize(
    ("value", "gone"),
    [
        pytest.param("networkPolicy.enabled=false", "NetworkPolicy", id="network policy"),
        pytest.param("rbac.aggregate=false", "afresh-edit", id="aggregated roles"),
    ],
)
def test_what_is_switched_off_is_not_there(value: str, gone: str) -> None:
    def told(*values: str) -> set[str]:
        objects = render("afresh", *values)
        return kinds(objects) | {item["metadata"]["name"] for item in objects}

    assert gone in told()
    assert gone not in told(value)


def test_everything_is_in_the_releases_namespace_or_in_none() -> None:
    clusters = {"ClusterRole", "ClusterRoleBinding", "ValidatingAdmissionPolicy",
                "ValidatingAdmissionPolicyBinding"}  # fmt: skip
    objects = [item for item in render("afresh", TWO) if item["kind"] not in clusters]

    assert {item["metadata"].get("namespace") for item in objects} == {SYSTEM}


def test_two_releases_share_no_name() -> None:
    def names(release: str) -> set[tuple[str, str]]:
        objects = render("afresh", "admission.enabled=true", TWO, release=release)
        return {(item["kind"], item["metadata"]["name"]) for item in objects}

    assert not names("first") & names("second")


def test_the_policies_on_episodes_are_there_unless_they_are_not_wanted() -> None:
    policy = "ValidatingAdmissionPolicy"
    names = [item["metadata"]["name"] for item in render() if item["kind"] == policy]

    kinds_seen = ("connections", "pods", "tokens", "workloads")
    assert sorted(names) == [f"afresh-operator-episode-{kind}" for kind in kinds_seen]
    assert policy not in kinds(render("afresh", "admission.episodes=false"))


def test_the_policies_on_episodes_hold_in_the_namespaces_that_are_served_alone() -> None:
    bindings = [
        item["spec"].get("matchResources")
        for item in render("afresh", 'namespaces=["team-a"]')
        if item["kind"] == "ValidatingAdmissionPolicyBinding"
    ]

    (expression,) = bindings[0]["namespaceSelector"]["matchExpressions"]
    assert expression["values"] == ["team-a"]
    assert bindings == bindings[:1] * 4
    assert not any(
        "matchResources" in item["spec"]
        for item in render()
        if item["kind"] == "ValidatingAdmissionPolicyBinding"
    )
