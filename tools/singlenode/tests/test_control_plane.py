"""A control plane alone: ready quickly, several at once, gone without a trace."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.session_clusters import new_name
from tools.singlenode import binaries
from tools.singlenode.paths import clusters_home
from tools.singlenode.tests import traces
from tools.singlenode.tests.tool import Tool, until

pytestmark = pytest.mark.apiserver


@pytest.fixture(scope="module")
def installed() -> None:
    Tool("none").run("install", "--only", "control-plane")


@pytest.fixture
def plane(installed: None) -> Iterator[Tool]:
    """The tool for a control plane that does not run yet. Afterwards nothing of it may be left."""
    tool = Tool(new_name("selftest-cp"))
    yield tool
    tool.run("down", tool.name)
    assert traces.processes_of(tool.name, clusters_home()) == {}
    assert not tool.root.exists()


def _kubectl(kubeconfig: str, *arguments: str) -> str:
    program = subprocess.run(
        ["kubectl", f"--kubeconfig={kubeconfig}", *arguments],
        env={"PATH": str(binaries.directory())},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return program.stdout


def test_a_control_plane_prints_a_kubeconfig_that_works_at_once(plane: Tool) -> None:
    kubeconfig = plane.run("up", plane.name, "--control-plane").stdout.splitlines()[-1]

    assert "default" in _kubectl(kubeconfig, "get", "namespaces", "-o", "name")
    assert Path(kubeconfig).stat().st_mode & 0o077 == 0


def test_two_control_planes_at_once_are_two(plane: Tool) -> None:
    other = Tool(new_name("selftest-2"))
    try:
        with (
            plane.start("up", plane.name, "--control-plane") as one,
            other.start("up", other.name, "--control-plane") as two,
        ):
            answers = [process.communicate(timeout=600) for process in (one, two)]
        first, second = (out.splitlines()[-1] for out, _ in answers)
        _kubectl(first, "create", "namespace", "only-here")

        assert "only-here" in _kubectl(first, "get", "namespaces", "-o", "name")
        assert "only-here" not in _kubectl(second, "get", "namespaces", "-o", "name")
    finally:
        other.run("down", other.name)


def test_a_control_plane_whose_store_died_is_started_anew(plane: Tool) -> None:
    plane.run("up", plane.name, "--control-plane")
    plane.kill("etcd")
    until(plane.is_half_up)

    kubeconfig = plane.run("up", plane.name, "--control-plane").stdout.splitlines()[-1]

    assert "default" in _kubectl(kubeconfig, "get", "namespaces", "-o", "name")


def test_a_control_plane_is_not_turned_into_a_node(plane: Tool) -> None:
    plane.run("up", plane.name, "--control-plane")

    answer = plane.run("up", plane.name, want=1)

    assert f"{plane.name} is running as a control-plane: remove it first" in answer.stderr
