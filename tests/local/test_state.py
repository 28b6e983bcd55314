"""The folder of a clone's packages: whose it is, which version, and who may write in it."""

import json
import os
from pathlib import Path

import pytest

from afresh.local.clone import Clone
from afresh.local.state import StateError, StateFolder
from tests.local.clones import make_clone, package_manifest


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clone:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Clone.around(make_clone(tmp_path / "clone"))


def test_clone_has_a_private_folder_which_says_whose_it_is(clone: Clone):
    state = StateFolder.of(clone)

    about = json.loads((state.path / "about.json").read_text())
    assert about == {"version": 1, "clone": str(clone.common)}
    assert state.path.stat().st_mode & 0o777 == 0o700
    assert StateFolder.of(clone) == state


def test_two_clones_have_two_folders(clone: Clone, tmp_path: Path):
    other = Clone.around(make_clone(tmp_path / "other"))

    assert StateFolder.of(other).path != StateFolder.of(clone).path


def test_folder_of_a_newer_version_is_refused(clone: Clone):
    about = StateFolder.of(clone).path / "about.json"
    about.write_text('{"version": 2}')

    with pytest.raises(StateError, match="is of a newer version of afresh; update afresh, or move"):
        StateFolder.of(clone)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": "x"}'])
def test_folder_that_cannot_be_understood_is_refused(content: str, clone: Clone):
    about = StateFolder.of(clone).path / "about.json"
    about.write_text(content)

    with pytest.raises(StateError, match=r"about.json cannot be read; move .* away to begin again"):
        StateFolder.of(clone)


def test_place_that_cannot_be_written_is_named_with_the_variable_that_sets_it(
    clone: Clone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    # A file in place of the folder: root may write to a folder that is read-only.
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))

    with pytest.raises(StateError, match=r"cannot be written .*; set XDG_STATE_HOME to a folder"):
        StateFolder.of(clone)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to a folder that is read-only")
def test_home_that_is_read_only_is_refused(
    clone: Clone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "home").mkdir(mode=0o500)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))

    with pytest.raises(StateError, match=r"cannot be written \(Permission denied\)"):
        StateFolder.of(clone)


def test_second_run_of_a_package_is_refused_while_the_first_goes_on(clone: Clone):
    state = StateFolder.of(clone)
    with state.running("demo"):
        assert state.is_running("demo")

        with pytest.raises(StateError, match="Another afresh run works on demo; wait for it, or"):
            state.running("demo").__enter__()
        with state.running("other"):
            pass

    assert not state.is_running("demo")
    with state.running("demo"):
        pass


def test_packages_are_those_that_have_been_applied(clone: Clone):
    state = StateFolder.of(clone)
    with state.running("never-applied"):
        pass
    state.package("demo").apply(package_manifest("T1"))

    assert [store.folder.name for store in state.packages()] == ["demo"]
    assert not state.is_running("demo")


@pytest.mark.parametrize("name", ["", "..", "../other", "a/b", "Demo", "-a", ".hidden"])
def test_name_that_no_package_has_is_refused(name: str, clone: Clone):
    with pytest.raises(StateError, match="is not the name of a package; see afresh get"):
        StateFolder.of(clone).package(name)
