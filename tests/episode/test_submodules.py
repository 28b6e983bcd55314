"""Submodules that a package lists: files for agent and verify, the same link on the branch."""

from dataclasses import replace

import pytest

from afresh.contract.order import Order, Submodule
from afresh.contract.words import Outcome
from afresh.episode.git.submodules import NO_SUBMODULE, NOT_KEPT
from tests.episode.linking import PLACE, link, linked
from tests.episode.pod import Pod, make_order, make_task
from tests.episode.servers import Remote, git

BRANCH = "afresh/demo"


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
    assert pod.result.warnings == (f"{NOT_KEPT} Details: vendor/lib",)


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
    assert pod.result.warnings == (f"{NO_SUBMODULE} Details: lib",)


def test_commit_that_the_submodules_repository_lacks_starts_no_agent_and_names_it(
    pod: Pod, remote: Remote, library: Remote
) -> None:
    missing = "0123456789abcdef0123456789abcdef01234567"
    link(remote, "vendor/lost", missing, library.url)

    pod.run(ordered(remote, "echo hello > hello.txt", at(library, "vendor/lost")))

    assert pod.result.outcome is Outcome.CONFIG
    assert "Details: vendor/lost" in (pod.result.message or "")
    assert f"its server does not provide commit {missing[:12]}" in (pod.result.message or "")
    assert remote.head(BRANCH) is None


def test_submodules_repository_is_not_there_says_which_address(
    pod: Pod, remote: Remote, library: Remote
) -> None:
    url = library.url.replace("library", "nothing")

    pod.run(ordered(remote, "echo hello > hello.txt", Submodule(path=PLACE, url=url)))

    assert pod.result.outcome is Outcome.CONFIG
    assert f"from {url} cannot be fetched: there is no such repository" in (
        pod.result.message or ""
    )
    assert "spec.repository.submodules" in (pod.result.message or "")


def test_submodule_on_another_host_is_asked_without_our_credentials(
    pod: Pod, remote: Remote, library: Remote
) -> None:
    elsewhere = Submodule(path=PLACE, url=library.url.replace("127.0.0.1", "localhost"))

    pod.run(ordered(remote, "echo hello > hello.txt", elsewhere))

    assert pod.result.outcome is Outcome.AUTH
    assert "localhost" in (pod.result.message or "")
    assert "it asks for credentials" in (pod.result.message or "")
