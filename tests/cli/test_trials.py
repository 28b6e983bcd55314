"""A trial of an image whose pod tells nothing, over a real connection."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from afresh.cli import conformance
from afresh.cli.requests import CommandError, Place, Trial
from afresh.contract.words import AdapterName

PODS = "/api/v1/namespaces/n/pods"
TRIAL = Trial(image="agent:1", adapter=AdapterName.CLAUDE, runner_image="runner:1")


@dataclass
class Waiting:
    """An API server whose one pod stays as it is until somebody deletes it."""

    kubeconfig: str = ""
    status: dict[str, Any] = field(default_factory=dict)
    pod: dict[str, Any] | None = None

    async def make(self, request: web.Request) -> web.Response:
        made = await request.json()
        self.pod = {**made, "metadata": {**made["metadata"], "uid": "u"}}
        return web.json_response(self.pod, status=201)

    async def get(self, _request: web.Request) -> web.Response:
        return web.json_response({**(self.pod or {}), "status": self.status})

    async def delete(self, _request: web.Request) -> web.Response:
        self.pod = None
        return web.json_response({"kind": "Status", "status": "Success"})


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Waiting]:
    waiting = Waiting()
    app = web.Application()
    app.router.add_post(PODS, waiting.make)
    app.router.add_get(f"{PODS}/{{name}}", waiting.get)
    app.router.add_delete(f"{PODS}/{{name}}", waiting.delete)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    config = tmp_path / "config"
    config.write_text(
        f"clusters: [{{name: c, cluster: {{server: 'http://127.0.0.1:{runner.addresses[0][1]}'}}}}]\n"
        "users: [{name: u, user: {token: t}}]\n"
        "contexts: [{name: c, context: {cluster: c, user: u}}]\ncurrent-context: c\n"
    )
    waiting.kubeconfig = str(config)
    yield waiting
    await runner.cleanup()


@pytest.mark.parametrize(
    ("conditions", "want"),
    [
        pytest.param(
            [], "The pod was not scheduled in time: check that the cluster has a scheduler.",
            id="nobody schedules",
        ),
        pytest.param(
            [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
              "message": "Scheduling is blocked due to non-empty scheduling gates"}],
            "The pod was not scheduled in time: Scheduling is blocked due to non-empty scheduling"
            " gates.",
            id="a gate holds it",
        ),
        pytest.param(
            [{"type": "PodScheduled", "status": "True"}],
            "The pod has a node but has reported nothing: see whether that node is Ready.",
            id="its node does not run it",
        ),
    ],
)  # fmt: skip
async def test_a_trial_whose_pod_never_runs_says_why_and_leaves_no_pod(
    server: Waiting, monkeypatch: pytest.MonkeyPatch, conditions: list[dict[str, str]], want: str
) -> None:
    monkeypatch.setattr(conformance, "PATIENCE", 1)
    server.status = {"phase": "Pending", "conditions": conditions}
    place = Place(namespace="n", kubeconfig=server.kubeconfig)

    with pytest.raises(CommandError) as caught:
        await asyncio.to_thread(conformance.try_image, TRIAL, place, lambda _line: None)

    assert str(caught.value) == want
    assert server.pod is None
