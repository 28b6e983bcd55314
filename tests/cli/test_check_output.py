"""How `check` writes its findings, and the oldest Kubernetes that it lets pass."""

import re
from pathlib import Path

import pytest
import yaml

from afresh.cli.check.findings import CheckFinding, CheckFindings, CheckLevel
from afresh.cli.check.rights import INSTALL
from afresh.cli.check.run import lines
from afresh.cli.check.software import OLDEST

ROOT = Path(__file__).parents[2]
LONG = CheckFinding(
    check="network policies",
    level=CheckLevel.UNKNOWN,
    message="No network add-on that is known was found: try a connection from a pod of your own.",
)
SHORT = CheckFinding(check="crds", level=CheckLevel.PASS, message="The CRDs are there.")
FAILED = CheckFinding(check="operator", level=CheckLevel.FAIL, message="There is no operator.")


@pytest.mark.parametrize("width", [60, 80, 120])
def test_messages_are_wrapped_beside_their_checks(width: int):
    text = [line.plain for line in lines(CheckFindings((SHORT, LONG)), width)]

    assert all(len(line) <= width for line in text)
    assert text[1] == "crds               pass      The CRDs are there."
    assert text[2].startswith("network policies   unknown   No network add-on")
    assert " ".join(line[29:] for line in text[2:-1]) == LONG.message
    assert text[-1] == "No check has failed."


def test_an_unknown_is_no_failure_and_a_failure_is_one():
    assert CheckFindings((SHORT, LONG)).passed
    assert not CheckFindings((SHORT, FAILED)).passed


@pytest.mark.parametrize("chart", ["afresh", "afresh-crds"])
def test_the_oldest_kubernetes_is_that_of_the_charts(chart: str):
    text = (ROOT / "charts" / chart / "Chart.yaml").read_text()

    assert yaml.safe_load(text)["kubeVersion"] == ">={}.{}.0-0".format(*OLDEST)


def test_the_rights_to_install_are_those_for_every_kind_that_the_charts_create():
    folder = ROOT / "deploy" / "manifests"
    files = [folder / "operator" / "operator.yaml", folder / "namespaced" / "operator.yaml"]
    kinds = {item["kind"] for file in files for item in yaml.safe_load_all(file.read_text())}

    asked = {resource.plural for _, resource, _ in INSTALL}
    assert {re.sub("ys$", "ies", f"{kind.lower()}s") for kind in kinds} <= asked
