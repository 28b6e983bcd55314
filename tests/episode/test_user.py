"""Programs under a user that no image knows, with the /etc/passwd that the pod is given."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from afresh.manifests.pod import passwd_lines

UID = 1_234_567_890
# What root alone may read is no image's.
PATH = "/usr/local/bin:/usr/bin:/bin"
pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root and setpriv"
)


def run_as_stranger(passwd: Path | None, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a user of no image, with `passwd` in the place where the pod has it."""
    bind = f"mount --bind {passwd} /etc/passwd && " if passwd else ""
    become = f"exec setpriv --reuid {UID} --regid {UID} --clear-groups --no-new-privs"
    script = f'{bind}{become} "$@"'
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, "sh", *command],
        env={"PATH": PATH, "HOME": "/"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("command", "want"),
    [
        pytest.param(("ssh", "-G", "git.example.com"), "hostname git.example.com", id="ssh"),
        pytest.param(
            ("node", "-p", "require('os').userInfo().username"), "agent", id="Node's userInfo"
        ),
        pytest.param(("id", "-un"), "agent", id="id"),
        pytest.param(
            ("python3", "-c", "import getpass; print(getpass.getuser())"), "agent", id="getpass"
        ),
        pytest.param(("sh", "-c", "echo ~agent"), "/home/agent", id="the user's home"),
    ],
)
def test_program_that_asks_who_it_runs_as_is_answered(
    tmp_path: Path, command: tuple[str, ...], want: str
):
    if shutil.which(command[0], path=PATH) is None:
        pytest.skip(f"needs {command[0]}")
    passwd = tmp_path / "passwd"
    passwd.write_text(passwd_lines(UID))

    done = run_as_stranger(passwd, *command)

    assert done.returncode == 0, done.stderr
    assert want in done.stdout.splitlines()


def test_ssh_refuses_to_run_for_a_user_without_an_entry():
    done = run_as_stranger(None, "ssh", "-G", "git.example.com")

    assert done.returncode != 0
    assert "No user exists" in done.stderr
