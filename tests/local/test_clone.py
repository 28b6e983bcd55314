"""The person's own clone: what is refused at once, and that nothing in it changes."""

import hashlib
import os
from pathlib import Path

import pytest

from afresh.api.phases import PackagePhase
from afresh.local.clone import Clone, CloneError
from afresh.local.session import Session
from tests.local.clones import (
    class_manifest,
    git,
    make_clone,
    needs_sandbox,
    package_manifest,
    subjects,
)

BRANCH = "afresh/demo"
MAKE_FILE = ("sh", "-c", "cat > /dev/null; touch seen-it; mkdir -p more; touch more/seen")


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    return make_clone(tmp_path / "clone")


def refusal(folder: Path, branch: str = BRANCH, base: str = "main") -> str:
    with pytest.raises(CloneError) as refused:
        Clone.around(folder).check(branch, base)
    return str(refused.value)


def test_folder_without_a_repository_is_refused(tmp_path: Path):
    assert "is not in the work tree of a git repository; go to one, or make" in refusal(tmp_path)


def test_folder_that_is_not_there_is_refused(tmp_path: Path):
    assert refusal(tmp_path / "none") == f"{tmp_path / 'none'} is not a folder; go to a clone."


def test_bare_repository_is_refused(tmp_path: Path):
    git(tmp_path, "init", "--quiet", "--bare", "bare.git")

    assert "is not in the work tree of a git repository" in refusal(tmp_path / "bare.git")


def test_machine_without_git_is_refused(clone: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(clone))

    assert refusal(clone) == "git is not installed; install it."


def test_repository_without_a_commit_is_refused(tmp_path: Path):
    git(tmp_path, "init", "--quiet", "--initial-branch", "main")

    assert "has no commit yet; make a first one with git commit." in refusal(tmp_path)


def test_base_that_is_not_there_is_refused(clone: Path):
    assert "has no branch or tag called next; make it with git branch" in refusal(
        clone, base="next"
    )


def test_commit_is_no_base(clone: Path):
    commit = git(clone, "rev-parse", "HEAD").strip()

    assert f"has no branch or tag called {commit}" in refusal(clone, base=commit)


@pytest.mark.parametrize("base", ["v1", "main", "origin/main"])
def test_tag_branch_and_branch_of_a_remote_are_bases(base: str, clone: Path, tmp_path: Path):
    git(clone, "tag", "v1")
    git(tmp_path, "clone", "--quiet", str(clone), "second")

    Clone.around(tmp_path / "second").check(BRANCH, base)


def test_shallow_clone_is_refused(clone: Path, tmp_path: Path):
    git(clone, "commit", "--quiet", "--allow-empty", "-m", "More")
    git(tmp_path, "clone", "--quiet", "--depth=1", clone.as_uri(), "shallow")

    assert "is a shallow clone" in refusal(tmp_path / "shallow")
    git(tmp_path / "shallow", "fetch", "--quiet", "--unshallow")
    Clone.around(tmp_path / "shallow").check(BRANCH, "main")


def test_partial_clone_is_refused(clone: Path, tmp_path: Path):
    git(clone, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "--quiet", "--filter=blob:none", clone.as_uri(), "partial")

    assert "is a partial clone" in refusal(tmp_path / "partial")


def test_branch_that_is_checked_out_here_is_refused(clone: Path):
    git(clone, "switch", "--quiet", "-c", BRANCH)

    assert refusal(clone).startswith(f"The branch {BRANCH} is checked out in {clone}; check out")


def test_branch_that_a_linked_work_tree_has_checked_out_is_refused_from_both(
    clone: Path, tmp_path: Path
):
    linked = tmp_path / "linked tree"
    git(clone, "worktree", "add", "--quiet", "-b", BRANCH, str(linked))

    for folder in (clone, linked):
        assert f"is checked out in {linked};" in refusal(folder)


def test_linked_work_tree_is_of_the_same_clone(clone: Path, tmp_path: Path):
    git(clone, "worktree", "add", "--quiet", "-b", "other", str(tmp_path / "linked"))

    assert Clone.around(tmp_path / "linked").digest == Clone.around(clone).digest


@pytest.mark.parametrize("other", ["afresh", "afresh/demo/more"])
def test_branch_that_has_the_name_of_a_folder_of_ours_is_refused(other: str, clone: Path):
    git(clone, "branch", other)

    assert f"Beside the branch {other} there cannot be one called {BRANCH}" in refusal(clone)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to a folder that is read-only")
def test_clone_that_cannot_be_written_is_refused(clone: Path):
    (clone / ".git/objects").chmod(0o500)

    assert "cannot be written, so no branch can be made in it" in refusal(clone)
    (clone / ".git/objects").chmod(0o700)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_clone_of_another_user_is_refused_with_the_setting_that_trusts_it(
    clone: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(clone / "global"))
    os.chown(clone, 65534, 65534)
    os.chown(clone / ".git", 65534, 65534)

    assert f"git config --global --add safe.directory {clone}." in refusal(clone)


def test_detached_head_dirty_tree_and_a_repository_around_are_no_obstacle(
    clone: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    git(clone, "checkout", "--quiet", "--detach")
    (clone / "new.txt").write_text("New.")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))  # as a hook's program has it

    found = Clone.around(clone)

    found.check(BRANCH, "main")
    assert found.head_branch() is None
    assert found.has_changes


def test_clean_tree_has_no_changes_and_looking_writes_nothing(clone: Path):
    (clone / "readme.txt").touch()  # git's index has to be refreshed
    before = (clone / ".git/index").stat().st_mtime_ns

    assert not Clone.around(clone).has_changes
    assert (clone / ".git/index").stat().st_mtime_ns == before


def test_clone_is_found_from_a_folder_in_it_and_by_a_relative_path(
    clone: Path, monkeypatch: pytest.MonkeyPatch
):
    (clone / "sub").mkdir()
    monkeypatch.chdir(clone)

    for folder in (Path("sub"), Path(), clone / "sub"):
        found = Clone.around(folder)
        assert (found.tree, found.common) == (clone, clone / ".git")


def run(clone: Path, package: dict[str, object] | None = None) -> PackagePhase | None:
    session = Session.around(clone)
    name = session.apply(package or package_manifest("T1"), class_manifest(*MAKE_FILE))
    return session.run(name, lambda _seen, _decision: None, {}).package.status.phase


@needs_sandbox
@pytest.mark.slow
@pytest.mark.parametrize("name", ["my clone", "größe", 'a"quote', "back\\slash", "100%25 #?;'$x"])
def test_clone_at_an_unusual_path_gets_the_work(name: str, tmp_path: Path):
    clone = make_clone(tmp_path / name)

    assert run(clone) is PackagePhase.SUCCEEDED
    assert subjects(clone) == ["T1"]


def state_of(clone: Path) -> dict[str, str]:
    """Every file of the clone but those that a new branch needs, with content, mode and time."""
    ours = (".git/objects/", ".git/refs/heads/afresh/", ".git/refs/afresh/")
    logs = (".git/logs/refs/heads/afresh/", ".git/logs/refs/afresh/")
    found = {}
    for path in sorted(clone.rglob("*")):
        name = str(path.relative_to(clone))
        if path.is_dir() or name.startswith((*ours, *logs)):
            continue
        about = path.stat()
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        found[name] = f"{digest} {about.st_mode:o} {about.st_mtime_ns}"
    return found


@needs_sandbox
@pytest.mark.slow
def test_everything_that_is_the_persons_is_byte_for_byte_as_before_and_no_hook_runs(
    clone: Path, tmp_path: Path
):
    ran = tmp_path / "hooks-that-ran"
    names = "pre-receive update post-receive post-update reference-transaction post-checkout"
    for name in (*names.split(), "pre-push", "pre-auto-gc", "push-to-checkout", "proc-receive"):
        hook = clone / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\necho {name} >> '{ran}'\n")
        hook.chmod(0o755)
    (clone / "stashed.txt").write_text("Later.\n")
    git(clone, "stash", "push", "--quiet", "--include-untracked")
    ran.unlink(missing_ok=True)  # those of the stash
    git(clone, "config", "receive.denyCurrentBranch", "updateInstead")
    git(clone, "config", "gc.auto", "1")
    (clone / "staged.txt").write_text("Staged.\n")
    git(clone, "add", "staged.txt")
    (clone / "readme.txt").write_text("Hello, changed.\n")
    (clone / "untracked.txt").write_text("Mine.\n")
    git(clone, "status")
    ran.unlink(missing_ok=True)
    before = state_of(clone)

    assert run(clone) is PackagePhase.SUCCEEDED

    assert state_of(clone) == before
    assert not ran.exists()
    assert git(clone, "show", f"{BRANCH}:readme.txt") == "Hello.\n"
    assert git(clone, "ls-tree", "--name-only", BRANCH, "untracked.txt", "staged.txt") == ""


@needs_sandbox
@pytest.mark.slow
def test_clone_without_an_identity_and_with_a_detached_head_gets_the_work(
    clone: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    git(clone, "checkout", "--quiet", "--detach")

    assert run(clone) is PackagePhase.SUCCEEDED

    assert git(clone, "log", "-1", "--format=%an <%ae>", BRANCH) == "Afresh <afresh@localhost>\n"


@needs_sandbox
@pytest.mark.slow
def test_submodule_that_the_package_does_not_list_is_an_empty_folder(clone: Path, tmp_path: Path):
    make_clone(tmp_path / "library")
    allow = ("-c", "protocol.file.allow=always")
    git(clone, *allow, "submodule", "--quiet", "add", str(tmp_path / "library"), "lib")
    git(clone, "commit", "--quiet", "-m", "Add a library")

    assert run(clone) is PackagePhase.SUCCEEDED
    assert git(clone, "ls-tree", BRANCH, "lib").startswith("160000 commit")
