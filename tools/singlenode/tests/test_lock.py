import subprocess
import sys
from pathlib import Path

import pytest

from tools.singlenode.errors import ClusterError
from tools.singlenode.lock import exclusive

_HOLD = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from tools.singlenode.lock import exclusive
with exclusive(Path(sys.argv[2]), wait_seconds=60, busy="busy"):
    print("held", flush=True)
    sys.stdin.read()
"""
_REPOSITORY = Path(__file__).parents[3]


def _holder(lock: Path) -> "subprocess.Popen[str]":
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(_REPOSITORY), str(lock)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


def test_a_lock_that_another_process_holds_is_refused(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with _holder(lock) as holder:
        with (
            pytest.raises(ClusterError, match="another one works"),
            exclusive(lock, wait_seconds=0, busy="another one works"),
        ):
            pytest.fail("two held the lock")
        holder.communicate()


def test_a_lock_whose_holder_was_killed_is_free(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with _holder(lock) as holder:
        holder.kill()
        holder.communicate()

    with exclusive(lock, wait_seconds=0, busy="busy"):
        assert lock.exists()


def test_a_lock_whose_holder_ends_while_another_waits_passes_on(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with _holder(lock) as holder:
        assert holder.stdin is not None
        holder.stdin.close()

        with exclusive(lock, wait_seconds=60, busy="busy"):
            # Ours is the file that others will see, not one that the last holder removed.
            assert lock.exists()


def test_a_released_lock_leaves_no_file(tmp_path: Path) -> None:
    with exclusive(tmp_path / "lock", wait_seconds=0, busy="busy"):
        pass

    assert list(tmp_path.iterdir()) == []


def test_a_lock_is_released_when_its_block_fails(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), exclusive(tmp_path / "l", wait_seconds=0, busy=""):
        _ = 1 / 0

    with exclusive(tmp_path / "l", wait_seconds=0, busy="busy"):
        assert (tmp_path / "l").exists()
