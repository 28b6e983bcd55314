"""The mirror of the repository on a volume that many episodes share."""

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from afresh.contract.words import Outcome
from afresh.episode import credentials
from afresh.episode.git.mirror import (
    CURRENT,
    GIVEN_UP,
    MOST_PACKS,
    RETRY_SECONDS,
    UNUSED_SECONDS,
    Mirror,
)
from afresh.episode.stopped import SubtaskStopped
from tests.episode.lone_runner import LoneRunner
from tests.episode.mirrors import (
    cached,
    damage,
    grow_old,
    mirror_of,
    mounting,
    own_objects,
    runner_at,
    start,
)
from tests.episode.pod import Pod, make_task
from tests.episode.privileges import bound_by_permissions
from tests.episode.servers import PASSWORD, USERNAME, Remote, git

BRANCH = "afresh/demo"
ANOTHER = 4711


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    """What the claim stands for."""
    made = tmp_path / "volume"
    made.mkdir()
    return made


@pytest.fixture
def filled(tmp_path: Path, volume: Path, remote: Remote) -> Path:
    """The volume with a mirror of the remote."""
    start(runner_at(volume, tmp_path / "filling", cached(remote)))
    return volume


def test_first_episode_fills_the_mirror_and_the_next_one_fetches_nothing(
    tmp_path: Path, filled: Path, remote: Remote
):
    runner = runner_at(filled, tmp_path / "next", cached(remote))

    begun = start(runner)

    assert begun.head == remote.head("main")
    assert own_objects(runner) == 0


def test_branch_is_fetched_with_what_the_mirror_lacks(tmp_path: Path, filled: Path, remote: Remote):
    head = remote.commit(BRANCH, {"new.txt": "x"}, base="main")
    runner = runner_at(filled, tmp_path / "next", cached(remote))

    begun = start(runner)

    assert begun.head == head
    assert own_objects(runner) == 3  # a commit, a tree and a file
    assert [commit.subject for commit in begun.commits] == ["Add files"]


def test_mirror_that_is_old_is_brought_up_to_date(tmp_path: Path, filled: Path, remote: Remote):
    head = remote.commit("main", {"newer.txt": "x"})
    grow_old(filled)
    runner = runner_at(filled, tmp_path / "next", cached(remote))

    begun = start(runner)

    assert begun.head == head
    assert own_objects(runner) == 0


def test_mirror_of_many_packs_is_repacked_and_whole(tmp_path: Path, filled: Path, remote: Remote):
    for number in range(MOST_PACKS + 1):
        head = remote.commit("main", {f"{number}.txt": str(number)})
        grow_old(filled)
        start(runner_at(filled, tmp_path / f"next-{number}", cached(remote)))

    packs = list((mirror_of(filled) / "objects/pack").glob("*.pack"))
    assert len(packs) < MOST_PACKS
    git(mirror_of(filled), "--git-dir=.", "fsck", "--connectivity-only", head)


def test_episodes_that_begin_together_without_a_mirror_all_start_and_leave_one(
    tmp_path: Path, volume: Path, remote: Remote
):
    runners = [runner_at(volume, tmp_path / f"pod-{n}", cached(remote)) for n in range(4)]
    together = threading.Barrier(len(runners), timeout=120)
    heads: list[str] = []

    def begin(runner: LoneRunner) -> None:
        together.wait()
        heads.append(start(runner).head)

    threads = [threading.Thread(target=begin, args=(runner,)) for runner in runners]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert heads == [remote.head("main")] * len(runners)
    git(mirror_of(volume), "--git-dir=.", "fsck", "--connectivity-only", heads[0])


def test_mirror_that_cannot_be_read_costs_an_episode_nothing_and_is_made_anew(
    tmp_path: Path, filled: Path, remote: Remote
):
    broken = mirror_of(filled)
    remote.commit(BRANCH, {"new.txt": "x"}, base="main")
    damage(filled)
    pod = Pod(mounting(filled, tmp_path / "pod"))
    pod.give_credentials(USERNAME, PASSWORD)
    second = Pod(mounting(filled, tmp_path / "pod-2"))
    second.give_credentials(USERNAME, PASSWORD)

    pod.run(cached(remote))
    second.run(
        cached(remote, "cat hello.txt > copy.txt", tasks=(make_task(id="T002", title="Next"),))
    )

    assert [pod.result.outcome, second.result.outcome] == [Outcome.SUCCESS] * 2, pod.log
    assert mirror_of(filled) != broken


def test_mirror_with_a_damaged_file_is_infrastructure_and_made_anew(
    tmp_path: Path, filled: Path, remote: Remote
):
    mirror, first, second = mirror_of(filled), tmp_path / "pod", tmp_path / "pod-2"
    for pack in (mirror / "objects/pack").glob("*.pack"):
        moved = pack.rename(tmp_path / pack.name)
        pack.with_suffix(".idx").unlink()
        with moved.open("rb") as file:
            subprocess.run(
                ["git", "--git-dir=.", "unpack-objects", "-q"], cwd=mirror, stdin=file, check=True
            )
    blob = git(remote.directory, "rev-parse", "main:README.md")
    loose = mirror / "objects" / blob[:2] / blob[2:]
    loose.chmod(0o644)
    loose.write_bytes(b"damaged")
    pods = [Pod(mounting(filled, root)) for root in (first, second)]
    for pod in pods:
        pod.give_credentials(USERNAME, PASSWORD)
        pod.run(cached(remote))

    assert [pod.result.outcome for pod in pods] == [Outcome.INFRASTRUCTURE, Outcome.SUCCESS]
    assert pods[0].result.message == (
        'The mirror of the repository on the claim "mirrors" is damaged; '
        "the next episode creates a new one."
    )


def test_volume_that_cannot_be_written_is_done_without(
    tmp_path: Path, volume: Path, remote: Remote
):
    (volume / "full").write_text("")
    runner = runner_at(volume / "full", tmp_path / "next", cached(remote))

    assert start(runner).head == remote.head("main")


@contextmanager
def unreadable(remote: Remote, away: Path) -> Iterator[None]:
    """Let the server lack a file of its repository."""
    blob = git(remote.directory, "rev-parse", "main:README.md")
    file = remote.directory / "objects" / blob[:2] / blob[2:]
    moved = file.rename(away / blob)
    yield
    moved.rename(file)


def test_mirror_that_could_not_be_filled_is_not_tried_again_at_once(
    tmp_path: Path, volume: Path, remote: Remote
):
    with unreadable(remote, tmp_path), pytest.raises(SubtaskStopped):
        start(runner_at(volume, tmp_path / "failing", cached(remote)))
    (folder,) = volume.iterdir()
    left = [path.name for path in folder.iterdir()]

    begun = start(runner_at(volume, tmp_path / "next", cached(remote)))

    assert begun.head == remote.head("main")
    assert left == [path.name for path in folder.iterdir()] == [GIVEN_UP]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a file to another user")
def test_mirror_that_another_user_gave_up_is_given_up_again_after_the_next_trial(
    tmp_path: Path, volume: Path, remote: Remote
):
    runners = [runner_at(volume, tmp_path / name, cached(remote)) for name in ("one", "other")]
    with unreadable(remote, tmp_path):
        with pytest.raises(SubtaskStopped):
            start(runners[0])
        (folder,) = volume.iterdir()
        given_up = folder / GIVEN_UP
        given_up.chmod(0o644)
        then = given_up.stat().st_mtime - RETRY_SECONDS - 1
        os.utime(given_up, (then, then))
        os.chown(given_up, ANOTHER, ANOTHER)

        with bound_by_permissions(), pytest.raises(SubtaskStopped):
            start(runners[1])

    assert given_up.stat().st_mtime > then + RETRY_SECONDS


def test_mirror_that_was_replaced_goes_after_a_week_though_the_new_one_is_well(
    tmp_path: Path, filled: Path, remote: Remote
):
    mirror = mirror_of(filled)
    old, young = mirror.with_name("old"), mirror.with_name("young")
    for path in (old, young):
        (path / "objects").mkdir(parents=True)
    then = old.stat().st_mtime - UNUSED_SECONDS - 1
    os.utime(old, (then, then))
    grow_old(filled)

    start(runner_at(filled, tmp_path / "next", cached(remote)))

    left = {path.name for path in mirror.parent.iterdir()}
    assert left == {CURRENT, mirror.name, young.name}


def test_no_credential_is_on_the_volume(filled: Path):
    for path in filled.rglob("*"):
        if path.is_file() and not path.is_symlink():
            assert PASSWORD.encode() not in path.read_bytes()
            assert b"Authorization" not in path.read_bytes()


def test_every_part_of_the_mirror_can_be_added_to_by_episodes_of_other_users(filled: Path):
    folders = [path for path in filled.rglob("*") if path.is_dir() and not path.is_symlink()]

    assert {path.stat().st_mode & 0o777 for path in folders} == {0o777}


def test_mirror_that_cannot_be_refreshed_is_borrowed_from_as_it_is(
    tmp_path: Path, volume: Path, remote: Remote
):
    start(runner_at(volume, tmp_path / "first", cached(remote)))
    grow_old(volume)
    runner = runner_at(volume, tmp_path / "next", cached(remote))
    credentials.write_git_credentials(runner.order, runner.context.paths)
    runner.git.create()
    gone = f"{remote.url.rpartition(':')[0]}:1/nobody.git"
    order = replace(runner.order, repository=replace(runner.order.repository, url=gone))
    mirror = Mirror(folder=next(volume.iterdir()), git=runner.git, order=order)

    begun = mirror.bring_up_to_date()

    assert begun
    assert mirror.is_attached


def test_part_of_a_pack_that_a_killed_fetch_has_left_is_removed(
    tmp_path: Path, volume: Path, remote: Remote
):
    start(runner_at(volume, tmp_path / "first", cached(remote)))
    grow_old(volume)
    old, young = (mirror_of(volume) / "objects/pack" / f"tmp_pack_{name}" for name in "ab")
    for part in (old, young):
        part.write_bytes(b"PACK")
    then = young.stat().st_mtime - RETRY_SECONDS - 1
    os.utime(old, (then, then))

    start(runner_at(volume, tmp_path / "next", cached(remote)))

    assert (old.exists(), young.exists()) == (False, True)
