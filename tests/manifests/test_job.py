"""The Job and pod of an episode: what each container holds, and what it must never hold."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from afresh.api.resources import quantity_value
from afresh.contract import codec
from afresh.contract.order import Order
from afresh.contract.pod_layout import ANNOTATION_ORDER
from afresh.contract.shim import SHIM
from afresh.episode.git import plan_commit, repository
from afresh.manifests.job import deadline_seconds
from tests.make import make_entry
from tests.manifests.jobs import REPOSITORY, container, make_job, mounted, pod_of


def test_a_job_has_one_pod_in_its_life_whose_deadline_alone_counts() -> None:
    spec = make_job()["spec"]

    pod_deadline = 900 + 600 + 300 + 120
    assert spec["backoffLimit"] == 0
    assert spec["template"]["spec"]["restartPolicy"] == "Never"
    assert spec["podFailurePolicy"]["rules"][0]["action"] == "FailJob"
    assert spec["template"]["spec"]["activeDeadlineSeconds"] == pod_deadline
    assert "activeDeadlineSeconds" not in spec, "it would count while the pod waits for a node"
    assert spec["ttlSecondsAfterFinished"] == 86_400
    assert spec["suspend"] is False


def test_setup_counts_twice_in_the_deadline() -> None:
    job = make_job(setup={"command": ["make", "deps"], "timeoutSeconds": 100})

    assert pod_of(job)["activeDeadlineSeconds"] == 900 + 600 + 2 * 100 + 300 + 120


def test_a_sync_may_take_what_the_runner_itself_gives_to_fetching_and_pushing() -> None:
    text = make_job()["spec"]["template"]["metadata"]["annotations"][ANNOTATION_ORDER]
    sync = replace(codec.loads(Order, text), tasks=())

    assert deadline_seconds(sync) > repository.REMOTE_SECONDS + plan_commit.LIMIT_SECONDS


def test_a_queued_job_starts_suspended_and_carries_the_queue() -> None:
    job = make_job(queueName="agents")

    assert job["spec"]["suspend"] is True
    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "agents"


@pytest.mark.parametrize("name", ["runner", "agent", "verify"])
def test_every_container_is_restricted(name: str) -> None:
    security = container(make_job(), name)["securityContext"]

    assert security == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }


def test_the_pod_is_restricted_and_holds_no_service_account_token() -> None:
    pod = pod_of(make_job())

    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    assert pod["enableServiceLinks"] is False
    assert pod["shareProcessNamespace"] is False


@pytest.mark.parametrize("name", ["agent", "verify"])
def test_agent_and_verify_mount_no_secret_token_order_or_trusted_git(name: str) -> None:
    job = make_job(repository=REPOSITORY)

    volumes = {item["name"] for item in mounted(job, name).values()}
    assert not volumes & {
        "git-secret",
        "signing-secret",
        "model-secret",
        "token",
        "git",
        "ca",
        "runner-tmp",
    }
    podinfo = [item for item in mounted(job, name).values() if item["name"] == "podinfo"]
    assert [item["subPath"] for item in podinfo] == ["passwd"]


@pytest.mark.parametrize("name", ["agent", "verify"])
def test_the_shim_reaches_the_shell_as_it_is(name: str) -> None:
    shell, flag, text = container(make_job(), name)["command"]

    # The kubelet's expansion: `$$` becomes `$`, and `$(NAME)` would become a variable's value.
    assert (shell, flag) == ("/bin/sh", "-c")
    assert re.sub(r"\$\$", "$", text) == SHIM
    assert not re.search(r"(?<!\$)(\$\$)*\$\(", text)


@pytest.mark.parametrize("name", ["agent", "verify"])
def test_control_volumes_are_read_only_outside_the_runner(name: str) -> None:
    assert mounted(make_job(), name)["/afresh/control"]["readOnly"] is True


def test_agent_and_verify_share_no_volume() -> None:
    job = make_job()
    agent, verify = ({m["name"] for m in mounted(job, n).values()} for n in ("agent", "verify"))

    assert agent & verify == {"podinfo"}


def test_verify_on_the_worktree_mounts_what_the_agent_left() -> None:
    job = make_job(verify={"command": ["true"], "checkout": "Worktree"})

    assert mounted(job, "verify")["/workspace"]["name"] == "worktree"


def test_verify_has_an_image_of_its_own_where_it_names_one_and_else_the_agents() -> None:
    verify = {"command": ["true"], "image": "example.com/jdk:21"}
    image = "example.com/tools:1"
    kind = {"allowedImages": ["*"]}
    own, none = make_job(kind, verify=verify, image=image), make_job(kind, image=image)

    assert container(own, "verify")["image"] == "example.com/jdk:21"
    assert container(own, "agent")["image"] == container(none, "verify")["image"] == image
    assert container(own, "verify")["env"] == container(none, "verify")["env"]


def test_secrets_are_optional_files_of_the_runner_alone() -> None:
    job = make_job(repository=REPOSITORY)

    secrets = [item["secret"] for item in pod_of(job)["volumes"] if "secret" in item]
    assert {item["secretName"] for item in secrets} == {"git-credentials", "signing", "anthropic"}
    assert all(item["optional"] for item in secrets)
    assert {"/afresh/secrets/model", "/afresh/secrets/signing"} <= set(mounted(job, "runner"))


ENVIRONMENT = {"credentials": {"mode": "Environment", "secretName": "anthropic"}}


def test_keys_of_an_environment_secret_are_variables_of_the_agent_and_files_of_the_runner() -> None:
    job = make_job(ENVIRONMENT)

    assert container(job, "agent")["envFrom"] == [
        {"secretRef": {"name": "anthropic", "optional": True}}
    ]
    assert "/afresh/secrets/model" in mounted(job, "runner")
    assert "/afresh/secrets/model" not in mounted(job, "agent")
    assert not [name for name in ("runner", "verify") if "envFrom" in container(job, name)]


def test_secret_of_the_gateway_is_no_variable_of_any_container() -> None:
    job = make_job()

    assert not [item for item in pod_of(job)["containers"] if "envFrom" in item]


def variables(job: dict[str, Any], name: str) -> dict[str, str]:
    return {item["name"]: item["value"] for item in container(job, name)["env"]}


def test_proxies_of_the_class_are_the_runners_too_and_never_apply_to_the_gateway() -> None:
    env = [
        {"name": "HTTPS_PROXY", "value": "http://proxy.example.com:3128"},
        {"name": "NO_PROXY", "value": ".example.com"},
        {"name": "PIP_INDEX_URL", "value": "https://pypi.example.com"},
    ]
    job = make_job({"env": env})

    proxy = {"HTTPS_PROXY": "http://proxy.example.com:3128"}
    assert variables(job, "runner") == {"HOME": "/tmp", "NO_PROXY": ".example.com", **proxy}
    assert (
        variables(job, "agent").items()
        >= {
            "NO_PROXY": ".example.com,127.0.0.1,localhost",
            "no_proxy": ".example.com,127.0.0.1,localhost",
            "PIP_INDEX_URL": "https://pypi.example.com",
            **proxy,
        }.items()
    )


def test_verify_has_the_variables_of_the_class_because_setup_runs_there_too() -> None:
    env = [
        {"name": "HTTPS_PROXY", "value": "http://proxy.example.com:3128"},
        {"name": "PIP_INDEX_URL", "value": "https://pypi.example.com"},
    ]
    job = make_job({"env": env, **ENVIRONMENT})

    assert variables(job, "verify") == variables(job, "agent")
    assert "PIP_INDEX_URL" in variables(job, "verify")
    assert "envFrom" not in container(job, "verify")


def test_the_token_is_bound_to_the_audience_and_in_the_runner_alone() -> None:
    (token,) = [item for item in pod_of(make_job())["volumes"] if item["name"] == "token"]

    (source,) = token["projected"]["sources"]
    assert source["serviceAccountToken"]["audience"] == "afresh"


def test_limits_come_from_the_class_and_the_package_overrides_them() -> None:
    job = make_job(resources={"limits": {"memory": "1Gi"}}, pidsLimit=99)

    agent = container(job, "agent")
    assert agent["resources"]["limits"] == {
        "cpu": "2",
        "memory": "1Gi",
        "ephemeral-storage": "10Gi",
    }
    assert {"name": "AFRESH_PIDS_LIMIT", "value": "99"} in agent["env"]


def test_a_request_is_never_above_a_lowered_limit() -> None:
    job = make_job(resources={"limits": {"memory": "128Mi"}})

    assert container(job, "agent")["resources"]["requests"]["memory"] == "128Mi"


def test_a_pod_asks_for_little_disk_and_may_use_its_whole_limit() -> None:
    containers = pod_of(make_job())["containers"]

    asked = [quantity_value(c["resources"]["requests"]["ephemeral-storage"]) for c in containers]
    assert sum(asked) == 256 << 20
    limit = container(make_job(), "agent")["resources"]["limits"]["ephemeral-storage"]
    assert limit == "10Gi"


def test_a_disk_request_of_the_class_or_the_package_holds() -> None:
    own = make_job(resources={"requests": {"ephemeral-storage": "3Gi"}})
    lowered = make_job(resources={"limits": {"ephemeral-storage": "32Mi"}})

    assert container(own, "agent")["resources"]["requests"]["ephemeral-storage"] == "3Gi"
    assert container(lowered, "agent")["resources"]["requests"]["ephemeral-storage"] == "32Mi"


def test_what_the_agent_can_see_is_the_same_at_the_third_attempt() -> None:
    first, third = make_job(attempt=1), make_job(attempt=3)

    assert container(first, "agent") == container(third, "agent")
    assert pod_of(first)["securityContext"] == pod_of(third)["securityContext"]
    assert pod_of(first)["hostname"] == pod_of(third)["hostname"] == "episode"


def test_the_order_in_the_annotation_is_what_was_ordered() -> None:
    job = make_job(subtasks=[make_entry(prompt='Grüße\n"quoted" $HOME')])

    text = job["spec"]["template"]["metadata"]["annotations"][ANNOTATION_ORDER]
    order = codec.loads(Order, text)
    assert order.tasks[0].prompt == 'Grüße\n"quoted" $HOME'
    assert order.episode == job["metadata"]["name"]
    assert deadline_seconds(order) + 900 == pod_of(job)["activeDeadlineSeconds"]
    assert len(json.dumps(job)) < 1_000_000


def test_a_namespace_that_gives_users_itself_is_left_to_do_so() -> None:
    job = make_job(derives_users=False)

    pod = pod_of(job)
    assert pod["securityContext"] == {
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert not [
        name for name in ("runner", "agent", "verify") if "/etc/passwd" in mounted(job, name)
    ]
    (podinfo,) = (item for item in pod["volumes"] if item["name"] == "podinfo")
    assert [item["path"] for item in podinfo["downwardAPI"]["items"]] == ["order"]
    assert "afresh.dev/passwd" not in job["spec"]["template"]["metadata"]["annotations"]
