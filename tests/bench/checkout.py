"""`python3 -m tests.bench.checkout`: what an episode adds to git's own time, in a large repository.

Owns the repository that is made for it and the git server, both below a temporary folder. Plain git
is measured beside the runner, over the same server, in the same run.
"""

import argparse
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from afresh.contract.order import Order
from afresh.episode.git import snapshot, worktree
from afresh.episode.git.fetching import HEAD_REF
from afresh.episode.outbox import Outbox
from tests.bench.figures import Figure
from tests.episode.lone_runner import LoneRunner
from tests.episode.pod import make_order
from tests.episode.servers import PASSWORD, USERNAME, git, serving_git

PLAIN = "git clone --depth=1"
PREPARE = "prepare"
BRANCH = "bench"
FILES = 100_000
COMMITS = 30
CHANGED = 2_000
RUNS = 3
CLONE_SECONDS = 600


def main() -> int:
    """Measure, print the medians, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--runs", type=int, default=RUNS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="afresh-bench-") as folder:
        root = Path(folder)
        _make_repository(root / "large.git", options.files)
        with _serving(root) as address:
            figures = _measure(root, address, options.runs)
    for name, figure in figures.items():
        print(figure.row(name))
    added = figures[PREPARE].median - figures[PLAIN].median
    print(
        f"  prepare adds {added:.2f} s to git's own time in a repository of {options.files} files"
    )
    return 0


def _measure(root: Path, address: str, runs: int) -> dict[str, Figure]:
    seconds: dict[str, list[float]] = {}
    for number in range(runs + 1):
        for name, act in _stages(root, address):
            started = time.monotonic()
            act()
            if number:  # the first run warms the disk's cache, and fills the mirror
                seconds.setdefault(name, []).append(time.monotonic() - started)
        for folder in root.glob("*-*"):
            shutil.rmtree(folder)
    return {name: Figure.of(taken) for name, taken in seconds.items()}


def _stages(root: Path, address: str) -> Iterator[tuple[str, Callable[[], object]]]:
    login = f"http://{USERNAME}:{PASSWORD}@{address}/large.git"
    clone = ["git", "clone", "-q", "--depth=1", login, f"{root}/plain-clone"]
    yield PLAIN, lambda: subprocess.run(clone, check=True, timeout=CLONE_SECONDS)
    order = make_order(f"http://{address}/large.git", "")
    plain = _runner(root, "plain-pod", order)
    yield PREPARE, lambda: _prepare(plain)
    paths, outbox = plain.context.paths, Outbox()
    (paths.worktree / "new.txt").write_text("x")
    head = plain.git.text("rev-parse", HEAD_REF)
    yield "snapshot", lambda: snapshot.take(plain.git, plain.order, head, paths.worktree, outbox)
    yield "clean checkout", lambda: worktree.check_out(plain.git, head, BRANCH, paths.checkout)
    mirrored = replace(order, repository=replace(order.repository, cache_claim_name="mirrors"))
    borrowing = _runner(root, "mirrored-pod", mirrored)
    yield f"{PREPARE} with a mirror", lambda: _prepare(borrowing)


def _runner(root: Path, name: str, order: Order) -> LoneRunner:
    (root / "mirrors").mkdir(exist_ok=True)
    (root / name / "afresh").mkdir(parents=True)
    (root / name / "afresh/cache").symlink_to(root / "mirrors")
    return LoneRunner.create(root / name, order)


def _prepare(runner: LoneRunner) -> None:
    """Do all that comes before the agent."""
    start = runner.begin_fetch().start()
    layout = worktree.WorktreeLayout(
        tree=start.head, date=start.date, branch=BRANCH, plan="# Plan\n"
    )
    worktree.lay_out(runner.git, layout, runner.context.paths.worktree)


@contextmanager
def _serving(root: Path) -> Iterator[str]:
    with serving_git(root, root) as port:
        yield f"127.0.0.1:{port}"


def _make_repository(directory: Path, files: int) -> None:
    git(directory.parent, "init", "-q", "--bare", "--initial-branch=main", str(directory))
    with subprocess.Popen(
        ["git", "fast-import", "--quiet"], cwd=directory, stdin=subprocess.PIPE
    ) as importer:
        assert importer.stdin
        chance = random.Random(1)
        for number in range(COMMITS):
            of_commit = range(files) if number == 0 else chance.sample(range(files), CHANGED)
            importer.stdin.write(b"commit refs/heads/main\n")
            importer.stdin.write(
                b"committer A <a@example.com> %d +0000\n" % (1_700_000_000 + number)
            )
            importer.stdin.write(b"data 5\nFiles\n")
            for file in of_commit:
                importer.stdin.write(_file(chance, file))
    git(directory, "repack", "-adq")


def _file(chance: random.Random, number: int) -> bytes:
    line = b"line %d of file %d\n" % (chance.getrandbits(64), number)
    content = line * chance.randint(1, 40)
    path = b"d%02d/s%02d/f%06d.txt" % (number % 50, number // 50 % 40, number)
    return b"M 100644 inline %s\ndata %d\n%s\n" % (path, len(content), content)


if __name__ == "__main__":
    raise SystemExit(main())
