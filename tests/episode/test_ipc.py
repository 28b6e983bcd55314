"""What an agent leaves in the pod's IPC namespace is gone before verify begins."""

import subprocess
import sys
from pathlib import Path

from afresh.episode.container.ipc import clear_ipc
from tests.episode.pod import CONTROLLER, UNSHARE, require_namespaces

# In namespaces of its own: what there is on this machine is nobody's to remove.
PROGRAM = """
import ctypes, os, subprocess, sys
from pathlib import Path
libc = ctypes.CDLL(None, use_errno=True)
queues = Path(sys.argv[1])
subprocess.run(["mount", "-t", "mqueue", "none", queues], check=True)
subprocess.run(["mount", "-t", "proc", "none", "/proc"], check=True)
assert libc.mq_open(b"/left", os.O_CREAT | os.O_RDWR, 0o600, None) >= 0
assert libc.shmget(0x5EC, 64, 0o1600) >= 0
assert libc.msgget(0x5EC, 0o1600) >= 0
assert libc.semget(0x5EC, 1, 0o1600) >= 0
def left():
    kinds = [Path("/proc/sysvipc", kind) for kind in ("shm", "msg", "sem")]
    lines = [len(kind.read_text().splitlines()) for kind in kinds]
    return [len(list(queues.iterdir())), *(number - 1 for number in lines)]
from afresh.episode.container.ipc import clear_ipc
print(left(), clear_ipc(queues, Path("/proc/sysvipc")), left())
"""


def test_queues_segments_and_semaphores_are_removed(tmp_path: Path):
    require_namespaces()
    unshare = [*UNSHARE, "--ipc", "--mount", "--pid", "--fork", "--kill-child"]
    done = subprocess.run(
        [*unshare, sys.executable, "-c", PROGRAM, str(tmp_path)],
        env={"PYTHONPATH": str(CONTROLLER), "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.stdout == "[1, 1, 1, 1] True [0, 0, 0, 0]\n", done.stderr


def test_without_a_place_to_see_them_there_is_nothing_to_remove(tmp_path: Path):
    assert clear_ipc(tmp_path / "mqueue", tmp_path / "sysvipc")


def test_what_cannot_be_removed_is_said(tmp_path: Path):
    (tmp_path / "mqueue" / "a-folder-stays").mkdir(parents=True)

    assert not clear_ipc(tmp_path / "mqueue", tmp_path / "sysvipc")
