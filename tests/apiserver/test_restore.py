"""A backup of packages restored on a real API server, with and without the status."""

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from afresh.contract.order import Order
from afresh.contract.words import Outcome
from tests.apiserver.kubectl import Kubectl, Manifest
from tests.apiserver.operator_process import OperatorProcess
from tests.apiserver.story import apply, chain, ended, holds, node_of
from tests.docs.pages import ROOT

pytestmark = pytest.mark.apiserver

PAGE = ROOT / "docs" / "how-to" / "backup.md"


@contextmanager
def operator_of(kubeconfig: Path, namespace: str, log: Path) -> Iterator[OperatorProcess]:
    """Run the operator for as long as the block lasts."""
    process = OperatorProcess(kubeconfig, namespace, log)
    process.start()
    try:
        yield process
    finally:
        process.stop()


def back_up_and_delete(kubectl: Kubectl, namespace: str) -> str:
    """Return a file of the namespace's packages, and delete them with all that they own."""
    packages = kubectl("get", "workpackages.afresh.dev", "-n", namespace, "-o", "yaml")
    kubectl("delete", "wp,st,jobs,pods", "--all", "-n", namespace, "--grace-period=0", "--force")
    return packages


def restore(kubectl: Kubectl, folder: Path, packages: str, *, with_status: bool) -> None:
    """Create the packages again with the commands of the page on backups."""
    (folder / "packages.yaml").write_text(packages)
    kubectl("create", "-f", str(folder / "packages.yaml"))
    if with_status:
        (command,) = re.findall(r"^ *(sed .*) > statuses\.yaml$", PAGE.read_text(), re.MULTILINE)
        statuses = subprocess.run(
            shlex.split(command), cwd=folder, capture_output=True, text=True, check=True
        ).stdout
        (folder / "statuses.yaml").write_text(statuses)
        kubectl("replace", "--subresource=status", "-f", str(folder / "statuses.yaml"))


def numbers(status: dict[str, Any]) -> list[tuple[str, str, int]]:
    """Return what a status records of each subtask: its marker, its commit and its attempts."""
    return [
        (item["marker"], item.get("commit", ""), item["attempts"]) for item in status["subtasks"]
    ]


def subtasks_exist(kubectl: Kubectl, namespace: str, number: int) -> bool:
    listed = json.loads(kubectl("get", "st", "-n", namespace, "-o", "json"))
    return len(listed["items"]) == number


async def test_a_finished_package_restored_with_its_status_starts_nothing(
    kubectl: Kubectl, kubeconfig: Path, namespace: str, tmp_path: Path
) -> None:
    apply(kubectl, namespace, chain(2))
    with operator_of(kubeconfig, namespace, tmp_path / "before.log"):
        async with node_of(kubeconfig, namespace) as node:
            before = (await ended(node.kube, namespace))["status"]
    restore(kubectl, tmp_path, back_up_and_delete(kubectl, namespace), with_status=True)

    with operator_of(kubeconfig, namespace, tmp_path / "after.log"):
        async with node_of(kubeconfig, namespace) as node:
            await holds(
                "the operator has made the Subtasks again",
                lambda: subtasks_exist(kubectl, namespace, 2),
            )
            after = (await ended(node.kube, namespace))["status"]

    assert node.started == []
    assert numbers(after) == numbers(before)
    assert after["usage"] == before["usage"]


async def test_a_package_backed_up_while_an_episode_runs_keeps_what_is_done(
    kubectl: Kubectl, kubeconfig: Path, namespace: str, tmp_path: Path
) -> None:
    apply(kubectl, namespace, chain(2))
    with operator_of(kubeconfig, namespace, tmp_path / "before.log"):
        async with node_of(kubeconfig, namespace) as node:

            def pause_after_the_first(order: Order) -> Outcome:
                node.may_end.clear()
                return Outcome.SUCCESS

            node.judge = pause_after_the_first
            await holds(
                "the second subtask runs",
                lambda: [
                    item["phase"] for item in records(kubectl.get("wp", "p", namespace))
                ] == ["Done", "Running"],
            )  # fmt: skip
    restore(kubectl, tmp_path, back_up_and_delete(kubectl, namespace), with_status=True)

    with operator_of(kubeconfig, namespace, tmp_path / "after.log"):
        async with node_of(kubeconfig, namespace) as node:
            after = (await ended(node.kube, namespace))["status"]

    assert {subtask for subtask, _ in node.started} == {"T001"}
    assert [item["consecutiveFailures"] for item in after["subtasks"]] == [0, 0]
    assert after["progress"] == "2/2"


async def test_a_package_restored_without_its_status_has_one_episode_for_each_subtask(
    kubectl: Kubectl, kubeconfig: Path, namespace: str, tmp_path: Path
) -> None:
    apply(kubectl, namespace, chain(2))
    with operator_of(kubeconfig, namespace, tmp_path / "before.log"):
        async with node_of(kubeconfig, namespace) as node:
            await ended(node.kube, namespace)
    restore(kubectl, tmp_path, back_up_and_delete(kubectl, namespace), with_status=False)

    with operator_of(kubeconfig, namespace, tmp_path / "after.log"):
        async with node_of(kubeconfig, namespace) as node:
            after = (await ended(node.kube, namespace))["status"]

    assert [subtask for subtask, _ in node.started] == ["T000", "T001"]
    assert [item["attempts"] for item in after["subtasks"]] == [1, 1]


def records(package: Manifest) -> list[Manifest]:
    found: list[Manifest] = package.get("status", {}).get("subtasks", [])
    return found
