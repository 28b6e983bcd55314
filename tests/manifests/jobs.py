"""Jobs as the operator builds them, and how to look into them."""

from dataclasses import replace
from typing import Any

from afresh.core.decision import StartEpisode
from afresh.core.planner import decide
from afresh.manifests.job import JobParts, build_job
from tests.make import make_class, make_package, make_seen

REPOSITORY = {
    "url": "https://git.example.com/team/api.git",
    "secretName": "git-credentials",
    "signing": {"secretName": "signing"},
}


def make_job(
    agent_class: dict[str, Any] | None = None,
    attempt: int = 1,
    derives_users: bool = True,
    **spec: Any,
) -> dict[str, Any]:
    package = make_package(**spec)
    kind = make_class(
        **{
            "adapter": "Claude",
            "command": None,
            "credentials": {"secretName": "anthropic"},
            **(agent_class or {}),
        }
    )
    (start,) = [
        action
        for action in decide(make_seen(package, agent_class=kind)).actions
        if isinstance(action, StartEpisode)
    ]
    return build_job(
        JobParts(
            package=package,
            agent_class=kind,
            order=start.order,
            attempt=attempt,
            members=(replace(start.members[0], attempt=attempt),),
            generations=start.generations,
            runner_image="example.com/runner:1",
            derives_users=derives_users,
        )
    )


def pod_of(job: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = job["spec"]["template"]["spec"]
    return spec


def container(job: dict[str, Any], name: str) -> dict[str, Any]:
    return next(item for item in pod_of(job)["containers"] if item["name"] == name)


def mounted(job: dict[str, Any], name: str) -> dict[str, dict[str, Any]]:
    return {item["mountPath"]: item for item in container(job, name)["volumeMounts"]}
