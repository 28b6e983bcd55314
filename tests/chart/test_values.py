"""Values: a wrong one is refused by name, and each one that there is is known to the schema."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.chart.helm import CRDS, OPERATOR, ROOT, helm, try_template

# What is in them is Kubernetes' own, and may be left out.
OF_KUBERNETES = ("resources", "livenessProbe", "readinessProbe")
MISSING = re.compile(r"missing propert(?:y|ies) '([^\n]+)'")
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
        "podLabels has app.kubernetes.io/instance, which is a label of the chart: remove it.",
        id="a label that is the chart's own",
    ),
    pytest.param('namespaces=["Team_A"]', "'/namespaces/0'", id="a namespace that is none"),
    pytest.param('namespaces="team-a"', "got string, want array", id="a namespace, no list"),
    pytest.param(
        'namespaces=["team-a",""]',
        "namespaces has an empty name: remove it.",
        id="a namespace without a name",
    ),
    pytest.param('fullnameOverride="A.b"', "'/fullnameOverride'", id="a name with a dot"),
    pytest.param(
        f'fullnameOverride="{"a" * 50}"\nnameOverride="{"b" * 20}"',
        "has more than 63 characters, which is too long for a Service: set a shorter "
        "fullnameOverride.",
        id="a name that is too long",
    ),
    pytest.param(
        'commonLabels={"a b":"c"}',
        "'/commonLabels': additional properties 'a b' not allowed",
        id="a label's key",
    ),
    pytest.param(
        'agentClasses.A_b={"adapter":"Claude"}',
        "'/agentClasses': additional properties 'A_b' not allowed",
        id="a class's name",
    ),
    pytest.param('commonLabels={"team":"a b"}', "'/commonLabels/team'", id="a label's value"),
    pytest.param(
        'commonLabels={"app.kubernetes.io/name":"x"}',
        "commonLabels has app.kubernetes.io/name, which is a label of the chart: remove it.",
        id="a common label that is the chart's own",
    ),
    pytest.param(
        'commonAnnotations={"a":1}', "'/commonAnnotations/a'", id="a number as annotation"
    ),
    pytest.param(
        'operator.extraEnv=[{"name":"AFRESH_NAMESPACES","value":"x"}]',
        "operator.extraEnv has AFRESH_NAMESPACES, which the chart sets itself: remove it, and use "
        "the chart's value.",
        id="a variable of the chart's",
    ),
    pytest.param('operator.extraEnv={"A":"b"}', "got object, want array", id="variables, no list"),
    pytest.param(
        'operator.extraEnv=[{"value":"x"}]', "missing property 'name'", id="a variable, no name"
    ),
    pytest.param(
        'operator.extraVolumeMounts=[{"name":"a","mountPath":"b"}]',
        "'/operator/extraVolumeMounts/0/mountPath'",
        id="a mount without a slash",
    ),
    pytest.param(
        'operator.extraVolumes=[{"emptyDir":{}}]', "missing property 'name'", id="a volume, no name"
    ),
    pytest.param(
        'operator.topologySpreadConstraints=[{"maxSkew":1}]',
        "missing properties 'topologyKey', 'whenUnsatisfiable'",
        id="a half constraint",
    ),
    pytest.param(
        "operator.revisionHistoryLimit=-1", "'/operator/revisionHistoryLimit'", id="minus one"
    ),
    pytest.param(
        'operator.livenessProbe={"httpGet":{}}', "'httpGet' not allowed", id="another probe"
    ),
    pytest.param(
        "operator.readinessProbe.periodSeconds=0", "/readinessProbe/periodSeconds", id="no period"
    ),
    pytest.param(
        "serviceAccount.create=false",
        "serviceAccount.create is false, but serviceAccount.name is empty: set it to the name of "
        "the existing ServiceAccount.",
        id="no account",
    ),
    pytest.param('serviceAccount.name="A b"', "'/serviceAccount/name'", id="an account's name"),
    pytest.param(
        'monitoring.serviceMonitor.interval="soon"', "/serviceMonitor/interval", id="an interval"
    ),
    pytest.param(
        'monitoring.podMonitor.relabelings="x"', "/podMonitor/relabelings", id="no relabelings"
    ),
    pytest.param(
        'monitoring.prometheusRule.docsUrl="docs"',
        "/prometheusRule/docsUrl",
        id="a url that is none",
    ),
    pytest.param('extraObjects=[{"kind":"ConfigMap"}]', "/extraObjects/0", id="a half object"),
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
    done = try_template(OPERATOR, *value.splitlines())

    assert done.returncode != 0
    assert sentence in done.stderr


def test_a_value_that_the_chart_of_the_crds_does_not_have_is_refused() -> None:
    done = try_template(CRDS, "install=true")

    assert "additional properties 'install' not allowed" in done.stderr


def leaves(node: Any, at: str = "") -> Iterator[str]:
    """The path of each value that is no map with something in it."""
    if not isinstance(node, dict) or not node:
        yield at
        return
    for key, value in node.items():
        yield from leaves(value, f"{at}.{key}".lstrip("."))


def required(schema: dict[str, Any], at: str = "") -> Iterator[str]:
    """The paths of what the schema has to be there."""
    for key in schema.get("required", ()):
        yield f"{at}.{key}".lstrip(".")
    for key, inner in schema.get("properties", {}).items():
        yield from required(inner, f"{at}.{key}".lstrip("."))


def test_null_is_an_empty_value_or_is_refused_by_name() -> None:
    folder = ROOT / "charts" / OPERATOR
    must = set(required(json.loads((folder / "values.schema.json").read_text())))
    every = list(leaves(yaml.safe_load((folder / "values.yaml").read_text())))
    switches = [path for path in every if path.endswith(".enabled")]
    may = [path for path in every if path not in {*must, *switches} and ".adapter" not in path]
    on = [f"{path}=true" for path in switches]

    full = try_template(OPERATOR, *on)
    empty = try_template(OPERATOR, *on, *(f"{path}=null" for path in may))
    refused = try_template(OPERATOR, *(f"{path}=null" for path in must if "." in path))

    assert empty.returncode == full.returncode == 0, empty.stderr + full.stderr
    assert "nil" not in empty.stdout + full.stdout
    assert full.stdout.count("\nkind: ") == empty.stdout.count("\nkind: ")
    missing = {name for found in MISSING.findall(refused.stderr) for name in found.split("', '")}
    assert missing == {path.rpartition(".")[2] for path in must if "." in path}


@pytest.mark.parametrize("value", ["namespaces=null", "namespaces={}", "namespaces={,}"])
def test_no_namespaces_however_they_are_written_are_all_of_them(value: str) -> None:
    done = helm("template", "x", str(ROOT / "charts" / OPERATOR), "--set", value)

    assert (done.returncode == 0) == (value != "namespaces={,}"), done.stderr
    if done.returncode == 0:
        assert done.stdout == helm("template", "x", str(ROOT / "charts" / OPERATOR)).stdout


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
        if key in known and key not in OF_KUBERNETES:
            yield from (f"{key}.{path}" for path in paths_of(value, known[key], root))


def named_by(node: Any, schema: dict[str, Any], root: dict[str, Any]) -> Iterator[str]:
    """The paths that the schema names, for objects of any name those of `node`."""
    for key, inner in known_in(node, schema, root).items():
        yield key
        if key not in OF_KUBERNETES:
            below = node.get(key) if isinstance(node, dict) else None
            yield from (f"{key}.{path}" for path in named_by(below, inner, root))


def known_in(node: Any, schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """The schemas of what may be in `node`, by name."""
    found = resolve(schema, root)
    (other,) = found.get("patternProperties", {"": {}}).values()
    if "properties" not in resolve(other, root):
        return dict(found.get("properties", {}))
    return dict.fromkeys(node, other)


def resolve(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    found: dict[str, Any] = root["definitions"][name] if name else schema
    return found
