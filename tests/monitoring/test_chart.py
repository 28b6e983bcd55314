"""What the chart makes for the Prometheus operator and for Grafana, and only when it is asked."""

import json
from pathlib import Path

import pytest
import yaml

from tests.chart.helm import Manifest, one, render

pytestmark = pytest.mark.apiserver  # Helm is built along with the API server
CHART = Path(__file__).parents[2] / "charts" / "afresh"
KINDS = {
    "serviceMonitor": "ServiceMonitor",
    "podMonitor": "PodMonitor",
    "prometheusRule": "PrometheusRule",
    "dashboard": "ConfigMap",
}


def asked(switch: str, **labels: str) -> list[Manifest]:
    value = {"enabled": True, "labels": labels}
    return render("afresh", f"monitoring.{switch}={json.dumps(value)}")


def test_nothing_is_made_that_was_not_asked_for() -> None:
    assert not set(KINDS.values()) & {item["kind"] for item in render()}


@pytest.mark.parametrize("switch", sorted(KINDS))
def test_what_is_asked_for_is_all_that_is_made_and_has_the_labels(switch: str) -> None:
    objects = asked(switch, release="kube-prometheus", team="a")
    made = one(objects, KINDS[switch])["metadata"]

    assert {item["kind"] for item in objects} - {item["kind"] for item in render()} == {
        KINDS[switch]
    }
    assert (
        made["labels"].items()
        >= {
            "release": "kube-prometheus",
            "team": "a",
            "app.kubernetes.io/name": "afresh",
        }.items()
    )


def test_the_service_monitor_finds_the_service_and_its_port() -> None:
    objects = asked("serviceMonitor")
    spec = one(objects, "ServiceMonitor")["spec"]
    service = one(objects, "Service")

    assert spec["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert {item["port"] for item in spec["endpoints"]} <= {
        item["name"] for item in service["spec"]["ports"]
    }


def test_the_pod_monitor_finds_the_pods_and_their_port() -> None:
    objects = asked("podMonitor")
    spec = one(objects, "PodMonitor")["spec"]
    pod = one(objects, "Deployment")["spec"]["template"]
    (container,) = pod["spec"]["containers"]

    assert spec["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert {item["port"] for item in spec["podMetricsEndpoints"]} <= {
        item["name"] for item in container["ports"]
    }


def test_the_rule_has_every_alert_of_the_files_as_it_stands_there() -> None:
    rules = one(asked("prometheusRule"), "PrometheusRule")["spec"]["groups"]
    files = [yaml.safe_load(path.read_text()) for path in sorted((CHART / "alerts").glob("*.yaml"))]

    assert rules == [group for file in files for group in file["groups"]]


@pytest.mark.parametrize(
    ("labels", "want"),
    [
        pytest.param({}, "1", id="the sidecar's own label"),
        pytest.param({"grafana_dashboard": "yes"}, "yes", id="another value for it"),
    ],
)
def test_the_dashboard_is_where_grafanas_sidecar_looks(labels: dict[str, str], want: str) -> None:
    made = one(asked("dashboard", **labels), "ConfigMap")
    file = CHART / "dashboards" / "afresh.json"

    assert made["metadata"]["labels"]["grafana_dashboard"] == want
    assert json.loads(made["data"]["afresh.json"]) == json.loads(file.read_text())
