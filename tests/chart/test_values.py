"""Values: a wrong one is refused by name, and each one that there is is known to the schema."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.chart.helm import CRDS, OPERATOR, ROOT, helm, try_template

# What is in it is Kubernetes' own, and may be left out.
RESOURCES = "resources"
REFUSED = [
    pytest.param("replicas=3", "'/replicas': value must be one of 1, 2", id="three replicas"),
    pytest.param(
        'image={"repository":"x"}', "additional properties 'repository' not allowed", id="unknown"
    ),
    pytest.param('image.registry=""', "'/image/registry'", id="no registry"),
    pytest.param('image.registry="example.com/"', "'/image/registry'", id="slash at the end"),
    pytest.param('image.tag="a tag"', "'/image/tag'", id="a tag that is none"),
    pytest.param('image.pullPolicy="Sometimes"', "one of 'Always', 'If", id="pull policy"),
    pytest.param('operator.image="a b"', "'/operator/image'", id="an image that is none"),
    pytest.param('operator.resources.limits={"memory":"lots"}', "/limits/memory", id="quantity"),
    pytest.param('operator.replicas="2"', "'replicas' not allowed", id="known elsewhere"),
    pytest.param(
        'operator.podLabels={"app.kubernetes.io/instance":"x"}',
        "podLabels has app.kubernetes.io/instance, which is the chart's own label: remove it.",
        id="a label that is the chart's own",
    ),
    pytest.param('namespaces=["Team_A"]', "'/namespaces/0'", id="a namespace that is none"),
    pytest.param('namespaces="team-a"', "got string, want array", id="a namespace, no list"),
    pytest.param('podUsers="root"', "one of 'derived', 'namespace'", id="pod users"),
    pytest.param('log.level="info"', "one of 'DEBUG', 'INFO'", id="a level in small letters"),
    pytest.param('networkPolicy.enabled="no"', "got string, want boolean", id="text, no truth"),
    pytest.param("networkPolicy.apiServerPorts=[]", "/apiServerPorts", id="no API server"),
    pytest.param(
        'agentClasses.cursor={"enabled":true}',
        "missing property 'adapter'",
        id="an agent without its adapter",
    ),
    pytest.param('agentClasses.claude.key="sk"', "'key' not allowed", id="a key in the values"),
    pytest.param(
        "monitoring.dashboard.enabled=1", "/monitoring/dashboard/enabled", id="one, no truth"
    ),
]


@pytest.mark.parametrize(("value", "sentence"), REFUSED)
def test_a_wrong_value_is_refused_and_named(value: str, sentence: str) -> None:
    done = try_template(OPERATOR, value)

    assert done.returncode != 0
    assert sentence in done.stderr


def test_a_value_that_the_chart_of_the_crds_does_not_have_is_refused() -> None:
    done = try_template(CRDS, "install=true")

    assert "additional properties 'install' not allowed" in done.stderr


@pytest.mark.parametrize("chart", [OPERATOR, CRDS])
def test_helm_finds_no_fault_with_the_chart(chart: str) -> None:
    done = helm("lint", "--strict", str(ROOT / "charts" / chart))

    assert done.returncode == 0, done.stdout
    assert "[WARNING]" not in done.stdout


@pytest.mark.parametrize("chart", [OPERATOR, CRDS])
def test_every_value_of_the_schema_has_its_default_and_every_default_is_in_the_schema(
    chart: str,
) -> None:
    folder = ROOT / "charts" / chart
    schema = json.loads((folder / "values.schema.json").read_text())

    defaults = yaml.safe_load((folder / "values.yaml").read_text())
    assert set(paths_of(defaults, schema, schema)) == set(named_by(defaults, schema, schema)) - {
        "global"
    }


def paths_of(node: Any, schema: dict[str, Any], root: dict[str, Any]) -> Iterator[str]:
    """The paths of a default as deep as the schema names what there is."""
    known = known_in(node, schema, root)
    for key, value in node.items() if isinstance(node, dict) else ():
        yield key
        if key in known and key != RESOURCES:
            yield from (f"{key}.{path}" for path in paths_of(value, known[key], root))


def named_by(node: Any, schema: dict[str, Any], root: dict[str, Any]) -> Iterator[str]:
    """The paths that the schema names, for objects of any name those of `node`."""
    for key, inner in known_in(node, schema, root).items():
        yield key
        if key != RESOURCES:
            below = node.get(key) if isinstance(node, dict) else None
            yield from (f"{key}.{path}" for path in named_by(below, inner, root))


def known_in(node: Any, schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """The schemas of what may be in `node`, by name."""
    found = resolve(schema, root)
    other = found.get("additionalProperties")
    if not isinstance(other, dict) or "properties" not in resolve(other, root):
        return dict(found.get("properties", {}))
    return dict.fromkeys(node, other)


def resolve(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    found: dict[str, Any] = root["definitions"][name] if name else schema
    return found
