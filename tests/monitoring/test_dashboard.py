"""The dashboard: made of the panels, readable to Prometheus, of metrics that there are."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import yaml

from afresh.metrics import episodes, gauges
from afresh.metrics.registry import FAMILIES
from deploy.monitoring import dashboard
from deploy.monitoring.panels import ROWS

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "afresh"
DESCRIBED = (episodes, gauges)
NAME = re.compile(r"\b(?:afresh|controller_runtime|workqueue|rest_client|leader)_\w+")
CHOSEN = {
    "$cluster": ".*",
    "$job": ".*",
    "$namespace": ".*",
    "$agent_class": ".*",
    "$__rate_interval": "1m",
}
SUFFIXES = ("", "_bucket", "_sum", "_count")


def chosen(query: str) -> str:
    """The expression as Grafana sends it once its variables have values."""
    for variable, value in CHOSEN.items():
        query = query.replace(variable, value)
    return query


def queries() -> list[str]:
    return [chosen(query) for _, panels in ROWS for panel in panels for query, _ in panel.queries]


def labels_of_metrics() -> dict[str, set[str]]:
    assert DESCRIBED
    return {
        family.name + suffix: {*family.labels, "le", "cluster", "job"}
        for family in FAMILIES
        for suffix in (SUFFIXES if family.type == "histogram" else ("",))
    }


def test_the_chart_has_the_dashboard_that_the_panels_make() -> None:
    assert (CHART / "dashboards" / "afresh.json").read_text() == dashboard.text(), "run make docs"


def test_every_expression_of_the_dashboard_is_one_to_prometheus(
    promtool: Path, tmp_path: Path
) -> None:
    rules = [{"record": f"panel:{n}", "expr": query} for n, query in enumerate(queries())]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))

    done = subprocess.run(
        [str(promtool), "check", "rules", str(file)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert (done.returncode, f"{len(rules)} rules found" in done.stdout) == (0, True), done.stderr


def test_dashboard_and_alerts_use_only_metrics_that_there_are() -> None:
    known = set(labels_of_metrics())
    rules = "".join(path.read_text() for path in sorted((CHART / "alerts").glob("*.yaml")))
    used = set(NAME.findall(" ".join(queries()) + rules))

    assert len(used) > 20
    assert used <= known


def test_every_selector_of_our_metrics_names_labels_that_they_have() -> None:
    known = labels_of_metrics()
    selectors = re.findall(r"(\w+)\{([^}]*)\}", " ".join(queries()))
    ours = [(name, labels) for name, labels in selectors if name in known]
    wrong = {
        (name, label)
        for name, labels in ours
        for label in re.findall(r"(\w+)\s*[!=]~?", labels)
        if label not in known[name]
    }

    assert len(ours) > 20
    assert wrong == set()


def test_panels_do_not_overlap_and_fill_no_more_than_the_width() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in json.loads(dashboard.text())["panels"]:
        place: dict[str, Any] = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert place["x"] + place["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells


def test_every_expression_is_of_the_clusters_and_the_jobs_that_were_chosen() -> None:
    expressions = [query for _, panels in ROWS for panel in panels for query, _ in panel.queries]
    selectors = [found for query in expressions for found in re.findall(r"(\w+)\{([^}]*)\}", query)]
    kubelets = [labels for name, labels in selectors if name.startswith("container_")]
    own = [labels for name, labels in selectors if not name.startswith("container_")]

    assert kubelets
    assert all('cluster=~"$cluster"' in labels for labels in kubelets)
    assert all('cluster=~"$cluster", job=~"$job"' in labels for labels in own)
    assert all("{" in query for query in expressions)


def test_each_variable_is_offered_of_those_that_are_chosen_before_it() -> None:
    source, *variables = dashboard.dashboard()["templating"]["list"]

    names = [item["name"] for item in variables]
    assert source["name"] == "datasource"
    assert names == ["cluster", "job", "namespace", "agent_class"]
    assert {f"${name}" for name in names} <= set(CHOSEN)
    for number, item in enumerate(variables[1:], start=1):
        used = re.findall(r"\$(\w+)", item["definition"])
        assert used == names[: min(number, 2)]
