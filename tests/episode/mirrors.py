"""Mirrors on a volume, the episodes that use them, and what becomes of them."""

import os
from dataclasses import replace
from pathlib import Path

from afresh.contract.order import Order
from afresh.episode.git.fetching import BranchStart
from afresh.episode.git.mirror import CURRENT, FRESH_SECONDS
from tests.episode.lone_runner import LoneRunner
from tests.episode.pod import make_order
from tests.episode.servers import Remote, git


def cached(remote: Remote, script: str = "echo hello > hello.txt", **changes: object) -> Order:
    """An Order whose repository is mirrored on a claim."""
    order = make_order(remote.url, script, **changes)
    return replace(order, repository=replace(order.repository, cache_claim_name="mirrors"))


def mounting(volume: Path, root: Path) -> Path:
    """Mount the volume in the pod at `root`."""
    (root / "afresh").mkdir(parents=True, exist_ok=True)
    (root / "afresh/cache").symlink_to(volume)
    return root


def runner_at(volume: Path, root: Path, order: Order) -> LoneRunner:
    return LoneRunner.create(mounting(volume, root), order)


def mirror_of(volume: Path) -> Path:
    """The mirror that the next episode would use."""
    (folder,) = volume.iterdir()
    return (folder / CURRENT).resolve()


def grow_old(volume: Path) -> None:
    """Let the mirror be as old as one that is refreshed."""
    for ref in (mirror_of(volume) / "refs/afresh").iterdir():
        then = ref.stat().st_mtime - FRESH_SECONDS - 1
        os.utime(ref, (then, then))


def own_objects(runner: LoneRunner) -> int:
    """How many objects the episode has fetched for itself."""
    said = git(runner.git.git_dir, "--git-dir=.", "count-objects", "-v")
    counts = dict(line.split(": ") for line in said.splitlines() if not line.startswith("alt"))
    return int(counts["count"]) + int(counts["in-pack"])


def start(runner: LoneRunner) -> BranchStart:
    return runner.begin_fetch().start()


def damage(volume: Path) -> None:
    """Make every pack of the mirror unreadable."""
    for pack in (mirror_of(volume) / "objects/pack").glob("*.pack"):
        pack.chmod(0o644)
        pack.write_bytes(b"\0" * pack.stat().st_size)
