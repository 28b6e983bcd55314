"""The log of an episode whose pod's node does not answer, over a real connection."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from afresh.api.subtask import Attempt
from afresh.cli.look import episode_log
from afresh.cli.look.episode_choice import Chosen
from afresh.cli.look.episode_log import LogReader, Source
from afresh.kube.client import Kube
from afresh.kube.resources import Manifest
from tests.kube.api_server import is_selected

OF_JOB = {"batch.kubernetes.io/job-name": "job"}
OURS = {"app.kubernetes.io/managed-by": "afresh", "afresh.dev/package": "demo"}
POD: Manifest = {
    "metadata": {"name": "p", "labels": OF_JOB | OURS, "creationTimestamp": "2030-01-02T03:00:00Z"},
    "status": {"containerStatuses": [{"name": "runner", "state": {"terminated": {}}}]},
}
FOREIGN: Manifest = {
    "metadata": {"name": "foreign", "labels": OF_JOB, "creationTimestamp": "2030-01-02T04:00:00Z"},
    "status": POD["status"],
}
ENDED = Chosen(
    "T1", Attempt(number=1, job_name="job", outcome="VerifyFailed", log_tail="kept in the status")
)


@pytest.fixture
async def silent(tmp_path: Path) -> AsyncIterator[Kube]:
    """An API server that has the pod, and of its log nothing but the headers.

    A newer pod there has the label of the Job, which anybody may give.
    """
    over = asyncio.Event()

    async def pods(request: web.Request) -> web.Response:
        selector = request.query["labelSelector"]
        return web.json_response(
            {"apiVersion": "v1", "kind": "PodList", "metadata": {"resourceVersion": "1"},
             "items": [pod for pod in (POD, FOREIGN) if is_selected(pod, selector)]}
        )  # fmt: skip

    async def log(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        await over.wait()
        return answer

    app = web.Application()
    app.router.add_get("/api/v1/namespaces/n/pods", pods)
    app.router.add_get("/api/v1/namespaces/n/pods/p/log", log)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    config = tmp_path / "config"
    config.write_text(
        f"clusters: [{{name: c, cluster: {{server: 'http://127.0.0.1:{port}'}}}}]\n"
        "users: [{name: u, user: {token: t}}]\n"
        "contexts: [{name: c, context: {cluster: c, user: u}}]\ncurrent-context: c\n"
    )
    kube = await Kube.connect(str(config))
    try:
        yield kube
    finally:
        over.set()
        await kube.close()
        await runner.cleanup()


async def test_log_that_stays_silent_gives_way_to_the_lines_that_the_status_keeps(
    silent: Kube, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(episode_log, "SILENCE_SECONDS", 0.01)
    monkeypatch.setattr(episode_log, "POLL_SECONDS", 0.01)

    told = await LogReader(silent, "n").open(ENDED, lambda: ENDED, follow=False)

    assert told.source is Source.STATUS
    assert "its pod cannot be read (the log has gone silent" in told.about
    assert [text async for text in told.lines] == ["kept in the status"]
