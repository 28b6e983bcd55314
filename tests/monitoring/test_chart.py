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


@pytest.mark.parametrize(
    ("switch", "field"), [("serviceMonitor", "endpoints"), ("podMonitor", "podMetricsEndpoints")]
)
def test_a_monitor_scrapes_as_the_values_say(switch: str, field: str) -> None:
    settings = {
        "interval": "15s",
        "scrapeTimeout": "5s",
        "relabelings": [{"action": "labeldrop", "regex": "pod"}],
        "metricRelabelings": [
            {"action": "keep", "sourceLabels": ["__name__"], "regex": "afresh.*"}
        ],
    }
    rendered = render("afresh", f"monitoring.{switch}={json.dumps({'enabled': True, **settings})}")
    silent = asked(switch)

    always = {"port": "metrics", "path": "/metrics", "honorLabels": True}
    assert one(rendered, KINDS[switch])["spec"][field] == [always | settings]
    assert one(silent, KINDS[switch])["spec"][field] == [always]


@pytest.mark.parametrize(
    "docs", ["", "https://docs.example.com/afresh", "https://docs.example.com/"]
)
def test_the_rule_has_every_alert_of_the_files_with_a_link_into_the_docs_that_are_served(
    docs: str,
) -> None:
    value = json.dumps({"enabled": True, "docsUrl": docs})
    objects = render("afresh", f"monitoring.prometheusRule={value}")
    files = [yaml.safe_load(path.read_text()) for path in sorted((CHART / "alerts").glob("*.yaml"))]

    wanted = [group for file in files for group in file["groups"]]
    for rule in (rule for group in wanted for rule in group["rules"]):
        path = rule["annotations"].pop("runbook_url")
        if docs:
            rule["annotations"]["runbook_url"] = f"{docs.rstrip('/')}/{path}"
    assert one(objects, "PrometheusRule")["spec"]["groups"] == wanted


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
