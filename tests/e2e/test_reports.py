"""Reports on their way from runners to the operator, and an agent that is in their way."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.e2e import operator
from tests.e2e.api import Manifest
from tests.e2e.servers import service_url
from tests.e2e.team import STAMP, Team

pytestmark = [pytest.mark.cluster, pytest.mark.story]
FLOODER = Path(__file__).with_name("flooder.py")
METRICS = (
    f"api/v1/namespaces/{operator.NAMESPACE}/services/{operator.DEPLOYMENT}:metrics/proxy/metrics"
)
NOTED = 'afresh_report_hints_total{result="202"}'


def noted(team: Team) -> float:
    """How many Reports the operator has taken."""
    lines = team.cluster.api.text(METRICS).splitlines()
    return next((float(line.split()[-1]) for line in lines if line.startswith(NOTED)), 0)


def operators(team: Team) -> dict[str, int]:
    """The operator's pods, and how often each was started again."""
    pods: list[Manifest] = team.cluster.api.items("pods", operator.NAMESPACE)
    return {
        pod["metadata"]["uid"]: sum(
            item["restartCount"] for item in pod["status"]["containerStatuses"]
        )
        for pod in pods
    }


def test_an_agent_that_floods_the_operators_ports_ends_nothing_and_reports_arrive(
    team: Team,
) -> None:
    host = urlsplit(service_url(team.cluster, operator.NAMESPACE, operator.DEPLOYMENT)).hostname
    program = ["cat >$HOME/flooder.py <<'FLOODER'", *FLOODER.read_text().splitlines(), "FLOODER"]
    flood = f"python3 $HOME/flooder.py 15 {host} 8080 8081 >taken.txt"
    attack = "\n".join(["Attack.", *(f"do: {line}" for line in (*program, flood, "stamp"))])
    with operator.undisturbed(team.cluster):
        before, started = noted(team), operators(team)
        team.apply(team.package("p", attack))
        team.running_pod()
        team.apply(team.package("neighbour", *[STAMP] * 3))
        neighbour = team.wait_for("Succeeded", package="neighbour")
        team.wait_for("Succeeded")
        after = noted(team)
        assert operators(team) == started

    assert after - before >= 4
    assert [item["attempts"] for item in neighbour["subtasks"]] == [1, 1, 1]
    assert int(team.branch().read("taken.txt")) > 0
