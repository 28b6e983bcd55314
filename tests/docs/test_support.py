"""The pages on supported versions and on sizes say what code, charts and lock files say."""

import json
import re
from fractions import Fraction

import pytest
import yaml

from afresh.api.agent_class import ClassRequests
from afresh.manifests.pod import AGENT_DISK_REQUEST, RUNNER_RESOURCES, VERIFY_REQUESTS
from tests.docs.pages import ROOT
from tests.images.test_image_contents import CEILINGS
from tools.docsgen.example_tags import with_version

SUPPORT = (ROOT / "docs/reference/support.md").read_text()
SIZING = (ROOT / "docs/how-to/sizing.md").read_text()
MODULES = ROOT / "tools" / "singlenode" / "modules"
UNITS = {"": Fraction(1), "m": Fraction(1, 1000), "Mi": Fraction(1), "Gi": Fraction(1024)}


def rows(page: str, head: str) -> dict[str, list[str]]:
    """The rows of the table whose first line begins with `head`, by their first cell."""
    table = page.partition(f"| {head} |")[2].partition("\n\n")[0]
    lines = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("|")]
    cells = [[cell.strip().strip("*`") for cell in line] for line in lines]
    return {line[0]: line[1:] for line in cells}


def pinned(module: str, name: str) -> str:
    """The version of a Go module that the tests' cluster is built from."""
    found = re.search(rf"\b{name} v(\S+)", (MODULES / module / "go.mod").read_text())
    assert found
    return found[1]


@pytest.mark.parametrize(
    ("row", "module", "name"),
    [
        ("Kubernetes", "kubernetes", "k8s.io/kubernetes"),
        ("Kueue", "kueue", "sigs.k8s.io/kueue"),
        ("Helm", "helm", "helm.sh/helm/v4"),
    ],
)
def test_a_version_that_the_page_calls_run_is_the_one_that_the_tests_build(row, module, name):
    assert rows(SUPPORT, "part")[row][0] == pinned(module, name)


@pytest.mark.parametrize("chart", ["afresh", "afresh-crds"])
def test_the_oldest_kubernetes_of_the_page_is_the_one_that_the_charts_accept(chart) -> None:
    about = yaml.safe_load((ROOT / "charts" / chart / "Chart.yaml").read_text())
    oldest = re.match(r">=(\d+\.\d+)\.0-0$", about["kubeVersion"])

    assert oldest
    assert rows(SUPPORT, "part")["Kubernetes"][1].startswith(f"{oldest[1]} and newer")


def test_an_agent_whose_lock_has_no_package_for_arm64_is_named() -> None:
    locks = {
        file.parent.name: ROOT / f"deploy/images/npm/{folder}/package-lock.json"
        for file in (ROOT / "deploy/images").glob("agent-*/Dockerfile")
        for folder in re.findall(
            r"^COPY deploy/images/npm/([\w-]+)/", file.read_text(), re.MULTILINE
        )
    }

    without = {image for image, lock in locks.items() if not runs_on_arm64(lock.read_text())}
    assert without == set(re.findall(r"`([\w-]+)` cannot be built for arm64", SUPPORT))
    assert without < locks.keys()


def runs_on_arm64(lock: str) -> bool:
    """Whether each of the lock's own programs for Linux is there for arm64, or there are none."""
    packages = json.loads(lock)["packages"].values()
    linux = [item for item in packages if item.get("os") == ["linux"]]
    return not linux or any(item.get("cpu") == ["arm64"] for item in linux)


@pytest.mark.parametrize(
    ("column", "resource"), [(0, "cpu"), (1, "memory"), (2, "ephemeral-storage")]
)
def test_the_requests_of_an_episode_are_those_of_its_containers_and_add_up(column, resource):
    table = rows(SIZING, "container")
    agent = ClassRequests().model_dump(by_alias=True, exclude_none=True)
    want = {
        "runner": RUNNER_RESOURCES["requests"][resource],
        "agent": agent.get(resource, AGENT_DISK_REQUEST),
        "verify": VERIFY_REQUESTS[resource],
    }

    assert {name: table[name][column] for name in want} == want
    assert number(table["pod"][column].strip("*")) == sum(map(number, want.values()))


def test_the_requests_of_the_operator_are_the_charts() -> None:
    values = yaml.safe_load((ROOT / "charts/afresh/values.yaml").read_text())
    resources = values["operator"]["resources"]

    assert rows(SIZING, "resource")["CPU"] == [resources["requests"]["cpu"], "none"]
    assert rows(SIZING, "resource")["memory"] == [
        resources["requests"]["memory"], resources["limits"]["memory"],
    ]  # fmt: skip
    assert "cpu" not in resources["limits"]


def test_the_sizes_of_images_are_the_ceilings_that_are_measured() -> None:
    table = rows(SIZING, "image")
    found = {name: int(cells[0]) for name, cells in table.items() if cells[0].isdigit()}

    assert found == CEILINGS


def number(quantity: str) -> Fraction:
    digits, unit = re.fullmatch(r"(\d+)(\w*)", quantity).groups()  # type: ignore[union-attr]
    return int(digits) * UNITS[unit]


def test_an_image_of_the_project_gets_the_version_as_its_tag_and_another_image_keeps_its_own():
    page = (
        "image: registry.example.com/afresh/agent-claude:1.0\n"
        "IMAGES=registry.example.com/afresh TAG=1.0\n"
        "--set image.tag=1.0 \\\n"
        'image: {registry: registry.example.com/afresh, tag: "1.0"}\n'
        "image: registry.example.com/agents/house-agent:3\n"
        "registry.example.com/afresh/runner:1.0."
    )

    assert with_version(page, "2.3.4") == (
        "image: registry.example.com/afresh/agent-claude:2.3.4\n"
        "IMAGES=registry.example.com/afresh TAG=2.3.4\n"
        "--set image.tag=2.3.4 \\\n"
        'image: {registry: registry.example.com/afresh, tag: "2.3.4"}\n'
        "image: registry.example.com/agents/house-agent:3\n"
        "registry.example.com/afresh/runner:2.3.4."
    )
