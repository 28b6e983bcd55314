"""Tests an agent's image in a pod of the cluster and reports what it lacks.

Owns the pod's life: it is always deleted. The runner decides what is tested.
"""

import asyncio
import contextlib
import json
import secrets
from collections.abc import Callable, Iterator
from typing import Any

from afresh.cli.connection import connected
from afresh.cli.installation import OPERATOR, RUNNER_VARIABLE
from afresh.cli.printable import plain_line
from afresh.cli.requests import CommandError, Place, TableForm, Trial
from afresh.contract import codec
from afresh.contract.conformance import REQUIREMENTS, CheckResult, Finding, Findings
from afresh.contract.pod_layout import AGENT, RUNNER
from afresh.core.history.shared_causes import never_fits
from afresh.kube.client import Kube
from afresh.kube.errors import NotFoundError, RefusedError
from afresh.kube.resources import DEPLOYMENTS, PODS, Manifest
from afresh.manifests.conformance import SECONDS, ConformanceParts, build_conformance_pod

PATIENCE = SECONDS + 60
POLL_SECONDS = 0.5
HOPELESS = ("ErrImagePull", "ErrImageNeverPull", "ImagePullBackOff", "InvalidImageName")
WIDTH = 12

Tell = Callable[[str], None]


def try_image(trial: Trial, place: Place, tell: Tell) -> Findings:
    """Try the image and return what was found; `tell` is given progress. Raises CommandError."""
    return asyncio.run(_try(trial, place, tell))


def rendered(findings: Findings, form: TableForm) -> str:
    """Return the findings for people, or as JSON."""
    if form is TableForm.JSON:
        return json.dumps(codec.encode(findings) | {"conforms": findings.conforms}, indent=2) + "\n"
    return "\n".join(_lines(findings)) + "\n"


def _lines(findings: Findings) -> Iterator[str]:
    by_id = {item.id: item for item in REQUIREMENTS}
    for finding in findings.findings:
        item = by_id[finding.id]
        detail = plain_line(finding.detail)
        yield f"{item.level:<6}  {item.id:<{WIDTH}}  {finding.verdict:<9}  {detail}".rstrip()
        if finding.verdict is CheckResult.FAILED:
            yield f"        It {item.level} {item.text}."
            yield f"        Remedy: {item.remedy}."
    yield "The image conforms." if findings.conforms else "The image does not conform."


async def _try(trial: Trial, place: Place, tell: Tell) -> Findings:
    # Each request has a limit of its own, and so has following the pod.
    async with connected(place, None) as (kube, namespace):
        pod = build_conformance_pod(
            ConformanceParts(
                name=f"afresh-conformance-{secrets.token_hex(4)}",
                namespace=namespace,
                image=trial.image,
                runner_image=trial.runner_image or await _operators_runner(kube),
                adapter=trial.adapter,
                model_api=trial.model_api,
                command=trial.command,
                pull_secrets=trial.pull_secrets,
            )
        )
        tell(
            f"trying {trial.image} as {trial.adapter} in pod {namespace}/{pod['metadata']['name']}"
        )
        try:
            made = await kube.create(PODS, namespace, pod)
        except NotFoundError as error:
            raise CommandError(f"There is no namespace {namespace}: name one with -n.") from error
        try:
            return await _findings(kube, made)
        finally:
            with contextlib.suppress(asyncio.CancelledError):  # leave nothing behind first
                await asyncio.shield(_delete(kube, made))


async def _delete(kube: Kube, pod: Manifest) -> None:
    meta = pod["metadata"]
    await kube.delete(PODS, meta["namespace"], meta["name"], uid=meta["uid"])


async def _operators_runner(kube: Kube) -> str:
    try:
        deployments = await kube.list_items(DEPLOYMENTS, None, labelSelector=OPERATOR)
    except RefusedError:
        deployments = []
    for deployment in deployments:
        for container in deployment["spec"]["template"]["spec"]["containers"]:
            for variable in container.get("env", ()):
                if variable["name"] == RUNNER_VARIABLE and variable.get("value"):
                    return str(variable["value"])
    raise CommandError(
        "No operator that names a runner image was found in this cluster: name an image with"
        " --runner-image."
    )


async def _findings(kube: Kube, pod: Manifest) -> Findings:
    meta = pod["metadata"]
    status: dict[str, Any] = {}
    clock = asyncio.get_running_loop().time
    over = clock() + PATIENCE
    while clock() < over:
        status = (await kube.get(PODS, meta["namespace"], meta["name"])).get("status", {})
        containers = {item["name"]: item for item in status.get("containerStatuses", ())}
        message = _message(containers.get(RUNNER, {}))
        if message is not None:
            return _read(message)
        problem = _problem(status, containers)
        if problem:
            raise CommandError(problem)
        await asyncio.sleep(POLL_SECONDS)
    raise CommandError(_no_report(status))


def _message(runner: dict[str, Any]) -> str | None:
    ended = runner.get("state", {}).get("terminated")
    return None if ended is None else str(ended.get("message", ""))


def _read(message: str) -> Findings:
    try:
        findings = codec.loads(Findings, message)
    except codec.ContractError as error:
        raise CommandError(
            "The runner ended without findings: use a runner image of this version, and see that"
            " nothing in the cluster changes its command."
        ) from error
    known = {item.id for item in REQUIREMENTS}
    found: tuple[Finding, ...] = tuple(item for item in findings.findings if item.id in known)
    return Findings(findings=found)


def _problem(status: dict[str, Any], containers: dict[str, Any]) -> str | None:
    """Why there will be no findings."""
    for name in (AGENT, RUNNER):
        state = containers.get(name, {}).get("state", {})
        waiting, ended = state.get("waiting", {}), state.get("terminated")
        said = plain_line(str((ended or waiting).get("message", "")))
        if waiting.get("reason") in HOPELESS:
            return f"The image of the container {name} cannot be pulled: {said}"
        if name == AGENT and ended and ended.get("reason") in ("StartError", "ContainerCannotRun"):
            return f"The image has no /bin/sh that can be started: {said}"
    if status.get("phase") == "Failed":
        why = status.get("message") or status.get("reason", "")
        return f"The pod has failed: {plain_line(str(why))}"
    for condition in status.get("conditions", ()):
        said = plain_line(str(condition.get("message", "")))
        # A cluster that is full may have room soon.
        if condition.get("reason") == "Unschedulable" and never_fits(said):
            return f"The pod fits on no node: {said}"
    return None


def _no_report(status: dict[str, Any]) -> str:
    """Why there have been no findings in all that time."""
    conditions = {item["type"]: item for item in status.get("conditions", ())}
    scheduled = conditions.get("PodScheduled", {})
    if scheduled.get("status") == "True":
        return "The pod has a node but has reported nothing: see whether that node is Ready."
    said = plain_line(str(scheduled.get("message", ""))).rstrip(".")
    return f"The pod was not scheduled in time: {said or 'check that the cluster has a scheduler'}."
