"""What a real Prometheus has of a real node: the episodes' pods, and where their time goes."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from afresh.core.history.episode_times import EpisodePhase
from deploy.monitoring.panels import PODS, Panel
from tests.e2e import operator
from tests.e2e.api import Api, ApiError
from tests.e2e.team import STAMP, Team
from tests.monitoring.prometheus import Prometheus, running

pytestmark = [pytest.mark.cluster, pytest.mark.story]
# Only the kubelet's cAdvisor reports limits, and it finds containerd only at its usual place.
MEMORY, CPU, _ = PODS


def test_a_held_agents_memory_and_cpu_are_seen_and_later_where_its_time_went(team: Team) -> None:
    bell = team.bell()
    with (
        operator.undisturbed(team.cluster),  # it counts from its own start
        TemporaryDirectory() as folder,
        prometheus_of(team, Path(folder)) as prometheus,
    ):
        team.apply(team.package("p", bell.prompt(), STAMP))
        pod = team.running_pod()["metadata"]
        shown = [query_of(team, panel) for panel in (MEMORY, CPU)]
        prometheus.wait_for(*shown)
        pods = {item["metric"]["pod"] for query in shown for item in prometheus.query(query)}
        bell.ring()
        team.wait_for("Succeeded")
        mine = f'agent_class="{team.namespace}"'
        prometheus.wait_for(f"afresh_hand_over_seconds_count{{{mine}}} == 1")
        parts = prometheus.query(f"afresh_episode_phase_seconds_count{{{mine}}} == 2")
        spent = prometheus.query(f"afresh_episode_seconds_total{{{mine}}} > 0")

    assert pods == {pod["name"]}
    # A command asks no model, and the images are on the node.
    sometimes = {EpisodePhase.FIRST_REQUEST, EpisodePhase.RUNNER_IMAGE}
    phases = {item["metric"]["phase"] for item in parts}
    assert {str(phase) for phase in set(EpisodePhase) - sometimes} <= phases
    assert {item["metric"]["kind"] for item in spent} == {"work", "overhead"}


def query_of(team: Team, panel: Panel) -> str:
    ((query, _),) = panel.queries
    chosen = query.replace("$namespace", team.namespace).replace("$__rate_interval", "1m")
    chosen = chosen.replace("$cluster", ".*").replace("$job", ".*")
    assert "$" not in chosen
    return chosen


@contextmanager
def prometheus_of(team: Team, folder: Path) -> Iterator[Prometheus]:
    """Scrape the operator and the node's kubelet by way of the API server."""
    api = team.cluster.api
    (node,) = api.call("GET", "api/v1/nodes")["items"]
    kubelet = f"/api/v1/nodes/{node['metadata']['name']}/proxy/metrics/resource"
    service = f"{operator.DEPLOYMENT}:metrics"
    ours = f"/api/v1/namespaces/{operator.NAMESPACE}/services/{service}/proxy/metrics"
    with relay(api) as port, running(folder, port, kubelet, ours) as prometheus:
        yield prometheus


@contextmanager
def relay(api: Api) -> Iterator[int]:
    """Answer on a port of the loopback what the API server answers; return the port."""

    class Relay(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            try:
                status, answer = 200, api.text(self.path.lstrip("/"))
            except ApiError as error:
                status, answer = error.status, str(error)
            self.send_response(status)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(answer.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Relay) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()
