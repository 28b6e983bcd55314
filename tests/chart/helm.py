"""Helm as the tests call it: a chart and its values in, objects or a refusal out."""

import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tools.singlenode import binaries

ROOT = Path(__file__).parents[2]
Manifest = dict[str, Any]
OPERATOR = "afresh"
CRDS = "afresh-crds"
SYSTEM = "afresh-system"


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the pinned Helm, whatever its end."""
    return subprocess.run(
        [str(binaries.path("helm")), *arguments],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@cache
def template(chart: str = OPERATOR, *values: str, release: str = "") -> str:
    """Return what a release of the chart is made of; fails the test if Helm refuses it."""
    done = try_template(chart, *values, release=release)
    assert done.returncode == 0, done.stderr
    return done.stdout


def try_template(
    chart: str = OPERATOR, *values: str, release: str = ""
) -> subprocess.CompletedProcess[str]:
    """Render a chart with values such as `replicas=2`, whatever the end."""
    settings = [word for value in values for word in ("--set-json", value)]
    return helm("template", release or chart, str(ROOT / "charts" / chart), "-n", SYSTEM, *settings)


def render(chart: str = OPERATOR, *values: str, release: str = "") -> list[Manifest]:
    """Return the objects that a release is made of."""
    text = template(chart, *values, release=release)
    return [item for item in yaml.safe_load_all(text) if item]


def one(objects: list[Manifest], kind: str, name: str = "") -> Manifest:
    """Return the only object of a kind, or the one with the name."""
    (found,) = (
        item for item in objects
        if item["kind"] == kind and name in ("", item["metadata"]["name"])
    )  # fmt: skip
    return found


def kinds(objects: list[Manifest]) -> set[str]:
    """Return the kinds of the objects."""
    return {item["kind"] for item in objects}
