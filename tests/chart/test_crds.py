"""The chart of the CRDs brings what crds/ holds, and leaves it there unless told otherwise."""

from pathlib import Path

import yaml

from tests.chart.helm import CRDS, OPERATOR, ROOT, kinds, render

KEEP = {"helm.sh/resource-policy": "keep"}


def test_the_release_holds_the_crds_of_the_models() -> None:
    wanted = {path.name: yaml.safe_load(path.read_text()) for path in (ROOT / "crds").iterdir()}

    found = {f"{item['spec']['names']['plural']}.yaml": item for item in render(CRDS)}
    assert {name: item["spec"] for name, item in found.items()} == {
        name: item["spec"] for name, item in wanted.items()
    }
    assert {item["metadata"]["name"] for item in found.values()} == {
        item["metadata"]["name"] for item in wanted.values()
    }


def test_the_crds_outlive_their_release_by_default() -> None:
    kept, not_kept = render(CRDS), render(CRDS, "keep=false")

    assert all(item["metadata"]["annotations"] == KEEP for item in kept)
    assert not any("annotations" in item["metadata"] for item in not_kept)


def test_the_operators_release_holds_no_crd() -> None:
    assert "CustomResourceDefinition" not in kinds(render(OPERATOR))
    assert not Path(ROOT / "charts" / OPERATOR / "crds").exists()


def test_both_charts_are_of_one_version() -> None:
    charts = [
        yaml.safe_load((ROOT / "charts" / name / "Chart.yaml").read_text())
        for name in (OPERATOR, CRDS)
    ]

    fields = ("version", "appVersion", "kubeVersion")
    assert len({tuple(chart[field] for field in fields) for chart in charts}) == 1
