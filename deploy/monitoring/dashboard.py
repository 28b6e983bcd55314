"""Writes the Grafana dashboard of the chart from the panels.

python -m deploy.monitoring.dashboard FILE
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from deploy.monitoring.panels import ROWS, Panel

SOURCE = {"type": "prometheus", "uid": "${datasource}"}
COLUMNS = 24
HEIGHTS = {"stat": 4, "timeseries": 8}
OF_CLUSTER = '{cluster=~"$cluster"}'
OF_OPERATORS = '{cluster=~"$cluster", job=~"$job"}'
# A label, and the series that have it, of which those chosen before leave some.
VARIABLES = (
    ("cluster", "afresh_build_info"),
    ("job", f"afresh_build_info{OF_CLUSTER}"),
    ("namespace", f"afresh_packages{OF_OPERATORS}"),
    ("agent_class", f"afresh_packages{OF_OPERATORS}"),
)


def dashboard() -> dict[str, Any]:
    """Return the dashboard in Grafana's format."""
    return {
        "title": "Afresh",
        "uid": "afresh",
        "tags": ["afresh"],
        "schemaVersion": 39,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-24h", "to": "now"},
        "templating": {"list": [_source(), *(_variable(*item) for item in VARIABLES)]},
        "panels": [{"id": number, **panel} for number, panel in enumerate(_panels(), start=1)],
    }


def text() -> str:
    """Return the text of the dashboard's file in the chart."""
    return json.dumps(dashboard(), indent=1) + "\n"


def _source() -> dict[str, Any]:
    return {"name": "datasource", "label": "Prometheus", "type": "datasource",
            "query": "prometheus"}  # fmt: skip


def _variable(label: str, series: str) -> dict[str, Any]:
    query = f"label_values({series}, {label})"
    return {
        "name": label,
        "label": label.replace("_", " "),
        "type": "query",
        "datasource": SOURCE,
        "definition": query,
        "query": {"query": query, "refId": "A"},
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
    }


def _panels() -> Iterator[dict[str, Any]]:
    """Yield the rows from top to bottom, and the panels of each from left to right."""
    top = 0
    for title, panels in ROWS:
        place = {"x": 0, "y": top, "w": COLUMNS, "h": 1}
        yield {"type": "row", "title": title, "collapsed": False, "gridPos": place, "panels": []}
        top += 1
        left = 0
        for panel in panels:
            height = HEIGHTS[panel.kind]
            yield _panel(panel) | {"gridPos": {"x": left, "y": top, "w": panel.width, "h": height}}
            left += panel.width
            if left >= COLUMNS:
                left, top = 0, top + height
        top += height if left else 0


def _panel(panel: Panel) -> dict[str, Any]:
    return {
        "type": panel.kind,
        "title": panel.title,
        "description": panel.text,
        "datasource": SOURCE,
        "fieldConfig": {"defaults": _defaults(panel), "overrides": []},
        "options": _options(panel),
        "targets": [
            {"refId": "ABC"[index], "datasource": SOURCE, "expr": query, "legendFormat": legend}
            for index, (query, legend) in enumerate(panel.queries)
        ],
    }


def _defaults(panel: Panel) -> dict[str, Any]:
    shown: dict[str, Any] = {"unit": panel.unit, "min": 0}
    if panel.kind == "timeseries":
        mode = "normal" if panel.stacked else "none"
        shown["custom"] = {
            "drawStyle": "line",
            "fillOpacity": 30 if panel.stacked else 5,
            "showPoints": "never",
            "stacking": {"group": "A", "mode": mode},
        }
    return shown


def _options(panel: Panel) -> dict[str, Any]:
    if panel.kind == "stat":
        return {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
                "graphMode": "area", "colorMode": "value"}  # fmt: skip
    return {
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(text())
