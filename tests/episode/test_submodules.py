"""Submodules that a package lists: files for agent and verify, the same link on the branch."""

from dataclasses import replace
from pathlib import Path

import pytest

from afresh.contract.order import Order, Submodule
from afresh.contract.words import Outcome
from tests.episode.pod import Pod, make_order, make_task
from tests.episode.servers import Remote, git

BRANCH = "afresh/demo"
PLACE = "vendor/lib"


def link(remote: Remote, path: str, commit: str, url: str) -> None:
    """Commit a submodule to main, as `git submodule add` does."""
    index = remote.directory / "test-index"
    index.unlink(missing_ok=True)
    parent = remote.head("main")
    assert parent
    git(remote.directory, "read-tree", parent, index=index)
    text = f'[submodule "{path}"]\n\tpath = {path}\n\turl = {url}\n'
    blob = git(remote.directory, "hash-object", "-w", "--stdin", stdin=text)
    for entry in (f"100644,{blob},.gitmodules", f"160000,{commit},{path}"):
        git(remote.directory, "update-index", "--add", "--cacheinfo", entry, index=index)
    tree = git(remote.directory, "write-tree", index=index)
    made = git(remote.directory, "commit-tree", tree, "-p", parent, "-m", "Add a submodule")
    git(remote.directory, "update-ref", "refs/heads/main", made)


def linked(remote: Remote, branch: str = BRANCH, path: str = PLACE) -> str:
    """The mode and the id of what is at a path on a branch."""
    return git(remote.directory, "ls-tree", "--format=%(objectmode) %(objectname)", branch, path)


@pytest.fixture
def library(git_root: Path, git_port: int, remote: Remote) -> Remote:
    """A second repository, which the first has as a submodule."""
    made = Remote.create(git_root, f"library-of-{remote.directory.name[:-4]}", git_port)
    made.commit("main", {"old.txt": "old\n"})
    commit = made.commit("main", {"lib.txt": "a library\n", "sub/deep.txt": "deep\n"})
    # Elsewhere: what the tree says of it must not matter.
    link(remote, PLACE, commit, "http://127.0.0.1:1/nowhere.git")
    return made


def ordered(remote: Remote, script: str, *listed: Submodule, **changes: object) -> Order:
    order = make_order(remote.url, script, **changes)
    return replace(order, repository=replace(order.repository, submodules=listed))


def at(library: Remote, path: str = PLACE) -> Submodule:
    return Submodule(path=path, url=library.url)


def test_listed_submodule_is_shown_to_agent_and_verify_and_its_link_stays(
    pod: Pod, remote: Remote, library: Remote
) -> None:
    looks = f"test -f {PLACE}/sub/deep.txt"
    task = make_task()
    task = replace(task, verify=replace(task.verify, command=("sh", "-c", looks)))
    script = f"git status --porcelain > seen.txt; cat {PLACE}/lib.txt >> seen.txt"

    pod.run(ordered(remote, script, at(library), tasks=(task,)))

    assert pod.result.outcome is Outcome.SUCCESS
    assert remote.file(BRANCH, "seen.txt") == "?? seen.txt\na library"
    assert linked(remote) == linked(remote, "main") == f"160000 {library.head('main')}"
    assert pod.result.warnings == ()


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(f"echo mine > {PLACE}/lib.txt", id="changed"),
        pytest.param(f"echo mine > {PLACE}/new.txt", id="added"),
        pytest.param(f"rm -r {PLACE}", id="removed"),
        pytest.param(f"rm -r {PLACE}; echo a file > {PLACE}", id="replaced by a file"),
        pytest.param("rm -r vendor; echo a file > vendor", id="its folder replaced by a file"),
        pytest.param("rm -r vendor; ln -s /etc vendor", id="its folder replaced by a link"),
    ],
)
def test_agent_changes_a_submodule_the_link_stays_and_people_are_told(
    script: str, pod: Pod, remote: Remote, library: Remote
) -> None:
    pod.run(ordered(remote, f"{script}; echo hello > hello.txt", at(library)))

    assert pod.result.outcome is Outcome.SUCCESS
    assert linked(remote) == linked(remote, "main")
    assert remote.file(BRANCH, "hello.txt") == "hello"
    assert pod.result.warnings == ("Changes below vendor/lib are not kept: it is a submodule.",)


def test_submodule_at_an_old_commit_is_shown_as_it_was(
    pod: Pod, remote: Remote, library: Remote
) -> None:
    old = git(library.directory, "rev-parse", "main~")
    link(remote, "vendor/old", old, library.url)

    pod.run(ordered(remote, "ls vendor/old > seen.txt", at(library, "vendor/old")))

    assert remote.file(BRANCH, "seen.txt") == "old.txt"


def test_brief_names_the_submodules_as_what_may_not_be_changed(
    pod: Pod, remote: Remote, library: Remote
) -> None:
    pod.run(ordered(remote, "cat > seen.txt", at(library)))

    assert "Not these, which are submodules: vendor/lib." in remote.file(BRANCH, "seen.txt")


def test_submodule_not_listed_stays_an_empty_folder(
    pod: Pod, remote: Remote, library: Remote
) -> None:
    pod.run(ordered(remote, f"ls {PLACE} | wc -l > seen.txt"))

    assert remote.file(BRANCH, "seen.txt") == "0"
    assert linked(remote) == linked(remote, "main")


def test_listed_path_without_a_submodule_is_a_warning(pod: Pod, remote: Remote) -> None:
    pod.run(ordered(remote, "echo hello > hello.txt", Submodule(path="lib", url=remote.url)))

    assert pod.result.outcome is Outcome.SUCCESS
    assert pod.result.warnings == ("There is no submodule at lib to fetch.",)


def test_commit_that_the_submodules_repository_lacks_starts_no_agent_and_names_it(
    pod: Pod, remote: Remote, library: Remote
) -> None:
    missing = "0123456789abcdef0123456789abcdef01234567"
    link(remote, "vendor/lost", missing, library.url)

    pod.run(ordered(remote, "echo hello > hello.txt", at(library, "vendor/lost")))

    assert pod.result.outcome is Outcome.CONFIG
    assert "The submodule vendor/lost cannot be had from" in (pod.result.message or "")
    assert f"it does not give out commit {missing[:12]}" in (pod.result.message or "")
    assert remote.head(BRANCH) is None


def test_submodules_repository_is_not_there_says_which_address(
    pod: Pod, remote: Remote, library: Remote
) -> None:
    url = library.url.replace("library", "nothing")

    pod.run(ordered(remote, "echo hello > hello.txt", Submodule(path=PLACE, url=url)))

    assert pod.result.outcome is Outcome.CONFIG
    assert f"from {url}: there is no such repository" in (pod.result.message or "")
    assert "spec.repository.submodules" in (pod.result.message or "")


def test_submodule_on_another_host_is_asked_without_our_credentials(
    pod: Pod, remote: Remote, library: Remote
) -> None:
    elsewhere = Submodule(path=PLACE, url=library.url.replace("127.0.0.1", "localhost"))

    pod.run(ordered(remote, "echo hello > hello.txt", elsewhere))

    assert pod.result.outcome is Outcome.AUTH
    assert "localhost" in (pod.result.message or "")
    assert "it asks for credentials" in (pod.result.message or "")
