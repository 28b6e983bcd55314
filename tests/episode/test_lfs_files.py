"""Files in Git LFS: content for agent and verify, pointers on the branch, objects on the server."""

import base64
import hashlib
import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from afresh.contract.order import Order
from afresh.contract.words import Marker, Outcome
from afresh.episode.git.overlay import tree_to_check_out
from tests.episode.lone_runner import LoneRunner, over_ssh
from tests.episode.pod import Pod, make_order, make_task
from tests.episode.servers import PASSWORD, USERNAME, Remote, serving_git
from tests.episode.ssh_server import Sshd

BRANCH = "afresh/demo"
PICTURE = "a picture, " * 1000
ATTRIBUTES = "*.bin filter=lfs diff=lfs merge=lfs -text\n"
SERVER = "tests.episode.lfs_server"
NUMBERS = count()


def oid_of(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


def pointer(content: str) -> str:
    return (
        "version https://git-lfs.github.com/spec/v1\n"
        f"oid sha256:{oid_of(content)}\nsize {len(content.encode())}\n"
    )


def keep(remote: Remote, content: str) -> None:
    """Give the server an object."""
    folder = remote.directory / "large"
    folder.mkdir(exist_ok=True)
    (folder / oid_of(content)).write_text(content)


def kept(remote: Remote) -> set[str]:
    """The contents of the server's objects."""
    return {file.read_text() for file in (remote.directory / "large").iterdir()}


@pytest.fixture(scope="module")
def lfs_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lfs-repositories")


@pytest.fixture(scope="module")
def lfs_port(lfs_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with serving_git(lfs_root, tmp_path_factory.mktemp("lfs-server"), SERVER) as port:
        yield port


@pytest.fixture
def remote(lfs_root: Path, lfs_port: int) -> Remote:
    """A repository with one file in Git LFS."""
    made = Remote.create(lfs_root, f"large-{next(NUMBERS)}", lfs_port)
    files = {".gitattributes": ATTRIBUTES, "art/logo.bin": pointer(PICTURE), "README.md": "Hi.\n"}
    made.commit("main", files)
    keep(made, PICTURE)
    return made


def ordered(remote: Remote, script: str, **changes: object) -> Order:
    order = make_order(remote.url, script, **changes)
    return replace(order, repository=replace(order.repository, lfs=True))


def test_file_in_lfs_is_shown_whole_to_agent_and_verify_and_stays_a_pointer(
    pod: Pod, remote: Remote
) -> None:
    looks = f'test "$(sha256sum < art/logo.bin)" = "{oid_of(PICTURE)}  -"'
    task = make_task()
    task = replace(task, verify=replace(task.verify, command=("sh", "-c", looks)))

    pod.run(ordered(remote, f"{looks} && git status --porcelain > status.txt", tasks=(task,)))

    assert pod.result.outcome is Outcome.SUCCESS
    assert remote.file(BRANCH, "art/logo.bin") == pointer(PICTURE).rstrip()
    assert remote.file(BRANCH, "status.txt") in ("", "?? status.txt")


def test_file_added_for_lfs_goes_to_the_server_and_its_pointer_to_the_branch(
    pod: Pod, remote: Remote
) -> None:
    pod.run(ordered(remote, "printf 'new art' > art/new.bin; printf changed > art/logo.bin"))

    assert pod.result.outcome is Outcome.SUCCESS
    assert remote.file(BRANCH, "art/new.bin") == pointer("new art").rstrip()
    assert remote.file(BRANCH, "art/logo.bin") == pointer("changed").rstrip()
    assert kept(remote) == {PICTURE, "new art", "changed"}


def test_branch_with_large_files_is_cloned_whole_by_the_real_client(
    pod: Pod, remote: Remote, tmp_path: Path
) -> None:
    pod.run(ordered(remote, "printf 'new art' > art/new.bin"))
    address = remote.url.replace("http://", f"http://{USERNAME}:{PASSWORD}@")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_TERMINAL_PROMPT": "0"}

    for command in (
        ["git", "lfs", "install", "--skip-repo"],
        ["git", "clone", "-q", "-b", BRANCH, address, str(tmp_path / "clone")],
    ):
        subprocess.run(command, env=environment, check=True, timeout=120, capture_output=True)

    assert (tmp_path / "clone/art/new.bin").read_text() == "new art"
    assert (tmp_path / "clone/art/logo.bin").read_text() == PICTURE


def test_file_pushed_by_the_real_client_is_shown_whole(
    pod: Pod, remote: Remote, tmp_path: Path
) -> None:
    address = remote.url.replace("http://", f"http://{USERNAME}:{PASSWORD}@")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_TERMINAL_PROMPT": "0"}
    script = f"""
        git lfs install --skip-repo && git clone -q {address} there && cd there
        git config user.name Ada && git config user.email ada@example.com
        printf 'by hand' > art/hand.bin && git add . && git commit -qm Art && git push -q
    """
    subprocess.run(["sh", "-ec", script], env=environment, cwd=tmp_path, check=True, timeout=120)

    pod.run(ordered(remote, "cp art/hand.bin seen.txt"))

    assert remote.file(BRANCH, "seen.txt") == "by hand"


@pytest.mark.parametrize(
    ("status", "want", "words"),
    [
        pytest.param(403, Outcome.AUTH, "denies access", id="denied"),
        pytest.param(404, Outcome.CONFIG, "does not offer Git LFS", id="no LFS there"),
        pytest.param(503, Outcome.INFRASTRUCTURE, "cannot be reached", id="out of order"),
        pytest.param(507, Outcome.CONFIG, "reached its server's quota", id="full"),
    ],
)
def test_server_refuses_the_batch_ends_with_its_class(
    status: int, want: Outcome, words: str, pod: Pod, remote: Remote
) -> None:
    (remote.directory / "lfs-status").write_text(str(status))

    pod.run(ordered(remote, "echo hello > hello.txt"))

    assert pod.result.outcome is want
    assert words in (pod.result.message or "")
    assert remote.head(BRANCH) is None


@pytest.mark.parametrize("content", [None, "other" * 2200], ids=["missing", "another content"])
def test_object_missing_or_wrong_on_the_server_starts_no_agent_and_names_it(
    content: str | None, pod: Pod, remote: Remote
) -> None:
    file = remote.directory / "large" / oid_of(PICTURE)
    file.unlink()
    if content:
        file.write_text(content)

    pod.run(ordered(remote, "echo hello > hello.txt"))

    assert pod.result.outcome is Outcome.CONFIG
    assert f"lacks the Git LFS object {oid_of(PICTURE)[:12]}" in (pod.result.message or "")


def test_lfsconfig_in_the_tree_leads_nobody_elsewhere(
    pod: Pod, remote: Remote, silent_port: int
) -> None:
    remote.commit("main", {".lfsconfig": f"[lfs]\n\turl = http://127.0.0.1:{silent_port}/\n"})

    pod.run(ordered(remote, "printf 'new art' > art/new.bin"))

    assert pod.result.outcome is Outcome.SUCCESS
    assert "new art" in kept(remote)


def test_package_without_lfs_shows_pointers_and_keeps_them(pod: Pod, remote: Remote) -> None:
    pod.run(make_order(remote.url, "cp art/logo.bin seen.txt"))

    assert remote.file(BRANCH, "seen.txt") == pointer(PICTURE).rstrip()
    assert remote.file(BRANCH, "art/logo.bin") == pointer(PICTURE).rstrip()


def test_repository_by_ssh_asks_there_for_the_address_and_a_header(
    tmp_path: Path,
    remote: Remote,
    sshd: Sshd,
) -> None:
    pair = base64.b64encode(f"{USERNAME}:{PASSWORD}".encode()).decode()
    said = {"href": f"{remote.url}/info/lfs", "header": {"Authorization": f"Basic {pair}"}}
    program = sshd.programs / "git-lfs-authenticate"
    program.parent.mkdir(exist_ok=True)
    program.write_text(
        f"#!/bin/sh\nprintf '%s\\n' \"$@\" > {tmp_path}/asked\necho '{json.dumps(said)}'\n"
    )
    program.chmod(0o755)
    order, secret = over_ssh(remote, sshd)
    order = replace(order, repository=replace(order.repository, lfs=True))
    runner = LoneRunner.create(tmp_path / "runner", order, secret)

    tree = tree_to_check_out(runner.git, order, runner.fetch().head)

    assert runner.git.text("cat-file", "blob", f"{tree}:art/logo.bin") == PICTURE.strip()
    assert (tmp_path / "asked").read_text() == f"{remote.directory}\ndownload\n"


def test_file_that_should_have_been_a_pointer_stays_as_it_is_on_the_branch(
    pod: Pod, remote: Remote
) -> None:
    remote.commit("main", {"art/raw.bin": "raw\n"})
    task = make_task(files=("hello.txt",))

    pod.run(ordered(remote, "echo hello > hello.txt", tasks=(task,)))

    assert pod.result.outcome is Outcome.SUCCESS
    assert remote.file(BRANCH, "art/raw.bin") == "raw"


def test_notes_and_plan_are_never_given_to_lfs(pod: Pod, remote: Remote) -> None:
    remote.commit("main", {".gitattributes": "*.md filter=lfs\n"})

    pod.run(ordered(remote, "echo a fact > .afresh/outbox/discovery.md; echo hi > hello.txt"))

    assert pod.result.outcome is Outcome.SUCCESS
    assert "a fact" in remote.file(BRANCH, ".afresh/DISCOVERY.md")
    assert "[x] T001" in remote.file(BRANCH, ".afresh/PLAN.md")


def test_pointer_that_the_agent_makes_up_is_its_own_failure(pod: Pod, remote: Remote) -> None:
    pod.put("/forged", pointer("nowhere"))

    pod.run(ordered(remote, f"cp {pod.root}/forged art/new.bin"))

    assert pod.result.outcome is Outcome.AGENT_ERROR
    assert "Details: art/new.bin" in (pod.result.message or "")


def test_download_that_leads_elsewhere_is_followed_without_our_credential(
    pod: Pod, remote: Remote
) -> None:
    (remote.directory / "lfs-redirect").touch()

    pod.run(ordered(remote, "cp art/logo.bin seen.txt"))

    assert remote.file(BRANCH, "seen.txt") == PICTURE


@pytest.mark.parametrize(
    ("status", "want", "words"),
    [
        pytest.param(413, Outcome.AGENT_ERROR, "of this size", id="too large"),
        pytest.param(422, Outcome.CONFIG, "refuses the Git LFS object", id="refused"),
        pytest.param(509, Outcome.CONFIG, "reached its server's quota", id="beyond its limit"),
    ],
)
def test_server_refuses_an_upload_nothing_is_pushed_and_the_class_is(
    status: int, want: Outcome, words: str, pod: Pod, remote: Remote
) -> None:
    (remote.directory / "lfs-put-status").write_text(str(status))

    pod.run(ordered(remote, "printf 'new art' > art/new.bin"))

    assert pod.result.outcome is want
    assert words in (pod.result.message or "")
    assert remote.head(BRANCH) is None


@pytest.mark.parametrize(
    ("status", "want"),
    [
        pytest.param(None, {PICTURE, "new art"}, id="taken"),
        pytest.param(413, {PICTURE}, id="refused"),
    ],
)
def test_failure_that_ends_a_subtask_is_in_the_plan_whatever_becomes_of_its_large_files(
    status: int | None, want: set[str], pod: Pod, remote: Remote
) -> None:
    if status:
        (remote.directory / "lfs-put-status").write_text(str(status))
    task = make_task(marker_on_failure=Marker.SKIPPED)

    pod.run(ordered(remote, "printf 'new art' > art/new.bin; exit 3", tasks=(task,)))

    assert pod.result.outcome is Outcome.AGENT_ERROR
    assert "- [S] T001" in remote.file(BRANCH, ".afresh/PLAN.md")
    assert [text[:31] for text in pod.result.warnings] == ["The unfinished work is not kept"] * (
        status is not None
    )
    assert kept(remote) == want
