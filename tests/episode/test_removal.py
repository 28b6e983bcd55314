"""Folders that are removed and dated whatever an agent has made of them."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from afresh.episode.git import worktree
from afresh.removal import remove_tree
from tests.episode.privileges import bound_by_permissions

DATE = 1_700_000_000
DEEP = 3000


def dig(top: Path, depth: int) -> None:
    """Make folders in folders, by steps: the path of the last one is too long for the system."""
    script = f"import os\nfor _ in range({depth}): os.mkdir('d'); os.chdir('d')\nopen('f', 'w')"
    subprocess.run(["python3", "-c", script], cwd=top, check=True, timeout=300)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    made = tmp_path / "folder"
    made.mkdir()
    yield made
    subprocess.run(["rm", "-rf", made], check=True, timeout=300)  # pytest's own gives up


def test_folders_deeper_than_any_path_is_long_are_removed(folder: Path):
    dig(folder, DEEP)

    remove_tree(folder)

    assert not folder.exists()


def test_locked_folders_are_removed_and_links_out_of_them_are_not_followed(folder: Path):
    (folder.parent / "kept").write_text("kept")
    script = "mkdir -p a/b/c; ln -s ../../../kept a/b/l; ln -s / a/b/c/r; chmod 0 a/b/c a/b a ."
    subprocess.run(["sh", "-c", script], cwd=folder, check=True, timeout=120)

    with bound_by_permissions():
        remove_tree(folder)

    assert [path.name for path in folder.parent.iterdir()] == ["kept"]


def test_an_emptied_folder_stays_itself(folder: Path):
    dig(folder, DEEP)
    inode = folder.stat().st_ino

    worktree.empty(folder)

    assert (list(folder.iterdir()), folder.stat().st_ino) == ([], inode)


def test_folders_deeper_than_pythons_recursion_are_dated(folder: Path):
    dig(folder, 1800)

    worktree.set_times(folder, DATE)

    assert (folder / "/".join(["d"] * 1800) / "f").stat().st_mtime == DATE
