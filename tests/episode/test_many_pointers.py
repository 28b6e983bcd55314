"""A repository with very many Git LFS pointers."""

import subprocess
import sys
from pathlib import Path

from tests.episode.pod import CONTROLLER

# The kernel ends what takes far longer than one pass over what git says of the pointers.
PROGRAM = """
import resource, sys
from pathlib import Path
from afresh.episode.git.repository import GitRepository
from afresh.episode.git.lfs.files import Entry, _pointers

resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
git = GitRepository(git_dir=Path(sys.argv[1]))
git.create()
lines = ("version https://git-lfs.github.com/spec/v1", f"oid sha256:{'a' * 64}", "size 12345")
texts = ["".join(f"{line}\\n" for line in lines), "no pointer"]
blobs = [(git.store(text.encode()), len(text)) for text in texts]
entries = [
    Entry(mode="100644", blob=blob, path=f"{number}-{blob}", size=size)
    for number in range(50_000) for blob, size in blobs
]
found = _pointers(git, entries)
are_all = {path.partition("-")[2] for path in found} == {blobs[0][0]}
print(len(found), {item.size for item in found.values()}, are_all)
"""


def test_very_many_pointers_take_no_more_than_a_pass_over_them(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "git")],
        env={"PYTHONPATH": str(CONTROLLER), "PATH": "/usr/bin:/bin"},
        check=False,
        timeout=300,
        capture_output=True,
        text=True,
    )

    assert (done.stdout, done.returncode) == ("50000 {12345} True\n", 0), done.stderr
