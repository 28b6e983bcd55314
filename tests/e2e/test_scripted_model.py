"""The chart's scripted model does a package's work, with the real Claude Code and no account."""

import pytest
import yaml

from tests.chart.helm import ROOT, helm
from tests.e2e.cluster import wait
from tests.e2e.servers import service_url
from tests.e2e.team import Team

pytestmark = [pytest.mark.cluster, pytest.mark.story]

MODEL = "try-scripted-model"


def test_package_of_the_charts_scripted_class_is_done(team: Team) -> None:
    name = f"scripted-{team.namespace}"
    values = (
        "scriptedModel.enabled=true", f"scriptedModel.agentClass={name}", "image.tag=dev",
    )  # fmt: skip
    settings = [word for value in values for word in ("--set", value)]
    made = helm(
        *("template", "try", str(ROOT / "charts/afresh"), "--namespace", team.namespace),
        *("--show-only", "templates/scripted_model.yaml", *settings),
    )
    assert made.returncode == 0, made.stderr
    manifests = {item["kind"]: item for item in yaml.safe_load_all(made.stdout)}
    agent_class = manifests.pop("AgentClass")
    team.apply(*manifests.values())
    wait("the model answers", lambda: _is_ready(team), seconds=180)
    # The node has no DNS.
    agent_class["spec"]["endpoint"] = service_url(team.cluster, team.namespace, MODEL)
    team.apply(agent_class)
    team.secret("scripted-model", **{"api-key": "scripted"})
    prompt = "Write a greeting.\n\ndemo-model: write greeting.txt"

    team.apply(team.package("p", prompt, agentClassName=name))
    status = team.wait_for("Succeeded")

    assert status["usage"]["inputTokens"] > 0
    assert team.branch().read("greeting.txt") == "Nobody asked for this.\n"


def _is_ready(team: Team) -> bool:
    found = team.cluster.api.get("deployments", MODEL, team.namespace)
    return bool(found.get("status", {}).get("readyReplicas"))
