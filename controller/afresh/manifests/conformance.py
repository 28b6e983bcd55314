"""The pod that tests an agent's image: the runner and agent of an episode, without a repository.

This module owns the differences from an episode's pod. The agent's container is the same as in an
episode, so that the test is valid.
"""

from dataclasses import dataclass
from typing import Any

from afresh.api.agent_class import AgentClass
from afresh.api.work_package import WorkPackage
from afresh.contract import codec
from afresh.contract import pod_layout as at
from afresh.contract.order import Agent, Order, Repository, Task, Verify
from afresh.contract.words import AdapterName, CredentialsMode, ModelApiName
from afresh.core.names import user_id
from afresh.manifests.pod import PodParts, build_pod_spec, passwd_lines

COMMAND = ["python3", "-m", "afresh.episode.conformance"]
SECONDS = 480
LABEL = "afresh.dev/conformance"
# The runner needs no key: no provider is called.
SECRET = "afresh-conformance"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConformanceParts:
    """The image to test, and how to run it. `command` is for the adapter Command.

    `pull_secrets` are names of Secrets in the namespace.
    """

    name: str
    namespace: str
    image: str
    runner_image: str
    adapter: AdapterName
    model_api: ModelApiName | None = None
    command: tuple[str, ...] = ()
    pull_secrets: tuple[str, ...] = ()


def build_conformance_pod(parts: ConformanceParts) -> dict[str, Any]:
    """Return the Pod. It ends within 8 minutes; its termination message contains `Findings`."""
    uid = user_id(parts.name, parts.image)
    order = _order(parts)
    spec = build_pod_spec(
        PodParts(
            package=_package(parts),
            agent_class=_agent_class(parts),
            order=order,
            uid=uid,
            runner_image=parts.runner_image,
        )
    )
    containers = [item for item in spec["containers"] if item["name"] != at.VERIFY]
    for container in containers:
        if container["name"] == at.RUNNER:
            container["command"] = COMMAND
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": parts.name,
            "namespace": parts.namespace,
            "labels": {LABEL: "true"},
            "annotations": {
                at.ANNOTATION_ORDER: codec.dumps(order),
                at.ANNOTATION_PASSWD: passwd_lines(uid),
            },
        },
        "spec": spec | {"containers": containers, "activeDeadlineSeconds": SECONDS},
    }


def _order(parts: ConformanceParts) -> Order:
    verify = Verify(command=("true",))
    return Order(
        episode=parts.name,
        package=f"{parts.namespace}/{parts.name}",
        goal="",
        repository=Repository(url="", base_ref="main", branch="main"),
        agent=Agent(
            adapter=parts.adapter,
            command=parts.command,
            model_api=parts.model_api,
            credentials_mode=CredentialsMode.GATEWAY,
            secret_name=SECRET,
        ),
        tasks=(Task(id="T001", title="", prompt="", verify=verify),),
        plan=(),
    )


def _agent_class(parts: ConformanceParts) -> AgentClass:
    spec = {
        "adapter": parts.adapter,
        "image": parts.image,
        "command": parts.command or None,
        "pod": {"imagePullSecrets": [{"name": name} for name in parts.pull_secrets]},
    }
    return AgentClass.model_validate({"metadata": {"name": parts.name}, "spec": spec})


def _package(parts: ConformanceParts) -> WorkPackage:
    return WorkPackage.model_validate(
        {
            "metadata": {"name": parts.name, "namespace": parts.namespace, "uid": parts.name},
            "spec": {
                "agentClassName": parts.name,
                "repository": {"url": "https://git.example.com/none.git"},
                "verify": {"command": ["true"]},
                "subtasks": [{"id": "T001", "prompt": "Say hello."}],
            },
        }
    )
