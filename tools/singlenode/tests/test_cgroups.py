"""The layout for both versions of control groups; test_node.py has the one that this kernel has."""

from pathlib import Path

import pytest

from tools.singlenode import cgroups


@pytest.fixture
def mount(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cgroups, "_MOUNT", tmp_path)
    return tmp_path


def _hierarchy(directory: Path, **settings: str) -> None:
    directory.mkdir(exist_ok=True)
    for name, value in {"cgroup.procs": "", **settings}.items():
        (directory / name).write_text(value)


def test_in_version_1_the_group_is_in_every_hierarchy(mount: Path) -> None:
    for controller in ("cpu", "memory", "pids", "systemd"):
        _hierarchy(mount / controller)
    (mount / "cpuacct").symlink_to("cpu")

    procs = cgroups.create("afresh-x")

    made = sorted(path.parent.name for path in mount.glob("*/afresh-x") if path.is_dir())
    assert made == ["cpu", "cpuacct", "memory", "pids", "systemd"]
    assert procs == mount / "pids/afresh-x/system/cgroup.procs"


def test_in_version_1_a_cpuset_is_filled_so_that_it_accepts_processes(mount: Path) -> None:
    _hierarchy(mount / "pids")
    _hierarchy(mount / "cpuset", **{"cpuset.cpus": "0-3", "cpuset.mems": "0"})

    cgroups.create("afresh-x")

    assert (mount / "cpuset/afresh-x/cpuset.cpus").read_text() == "0-3"
    assert (mount / "cpuset/afresh-x/cpuset.mems").read_text() == "0"


def test_in_version_2_there_is_one_group_and_the_root_hands_controllers_down(mount: Path) -> None:
    _hierarchy(mount, **{"cgroup.controllers": "cpu memory pids", "cgroup.subtree_control": ""})

    procs = cgroups.create("afresh-x")

    assert procs == mount / "afresh-x/system/cgroup.procs"
    assert (mount / "cgroup.subtree_control").read_text().startswith("+")


def test_without_control_groups_nothing_is_writable(mount: Path) -> None:
    assert not cgroups.is_writable()


def test_a_group_that_is_not_there_is_removed_without_an_error(mount: Path) -> None:
    _hierarchy(mount / "pids")

    cgroups.kill_all("afresh-x", wait_seconds=0)
    cgroups.remove("afresh-x", wait_seconds=0)

    assert not (mount / "pids/afresh-x").exists()


def test_an_empty_tree_is_removed_whole(mount: Path) -> None:
    _hierarchy(mount / "pids")
    (mount / "pids/afresh-x/kubepods/pod1").mkdir(parents=True)

    cgroups.remove("afresh-x", wait_seconds=0)

    assert not (mount / "pids/afresh-x").exists()
