"""The demo on kind: what it asks for, and that its cluster goes whatever the end."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.makefile import ROOT

# Stands for a program of the cluster's: says how it was called, and fails where it is told to.
STAND_IN = """\
#!/bin/sh
echo "$(basename "$0") $* $([ -z "$KUBECONFIG" ] || echo own kubeconfig)" >>"$CALLS"
case "$0 $1" in *"$FAILS") exit 1 ;; esac
"""
PROGRAMS = ("docker", "kind", "kubectl", "helm")


def run(directory: Path, *programs: str, fails: str) -> tuple[int, str, list[str]]:
    """Run the script with these programs alone in front of the system's own."""
    places = directory / "bin"
    places.mkdir()
    for name in programs:
        (places / name).write_text(STAND_IN)
        (places / name).chmod(0o755)
    for name in ("bash", "basename", "dirname", "mktemp", "rm", "sh"):
        (places / name).symlink_to(_found(name))
    (places / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (places / "python3").chmod(0o755)
    calls = directory / "calls"
    calls.touch()
    scratch = directory / "scratch"
    scratch.mkdir()
    done = subprocess.run(
        [str(places / "bash"), str(ROOT / "tools" / "demo" / "kind.sh")],
        env={"PATH": str(places), "CALLS": str(calls), "FAILS": fails, "TMPDIR": str(scratch)},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert list(scratch.iterdir()) == []
    return done.returncode, done.stderr, calls.read_text().splitlines()


def _found(name: str) -> Path:
    places = [Path(place) / name for place in os.get_exec_path()]
    return next(place for place in places if place.exists())


@pytest.mark.parametrize("missing", PROGRAMS)
def test_a_program_that_is_missing_is_named_before_anything_is_made(
    tmp_path: Path, missing: str
) -> None:
    there = [name for name in PROGRAMS if name != missing]

    code, said, calls = run(tmp_path, *there, fails="")

    assert (code, calls) == (1, [])
    assert said == f"make e2e-kind needs {missing} on the PATH: install it.\n"


@pytest.mark.parametrize(
    "fails",
    [
        pytest.param("kind create", id="the cluster cannot be made"),
        pytest.param("kubectl config", id="the demo fails"),
    ],
)
def test_the_cluster_is_removed_and_the_failure_is_passed_on(tmp_path: Path, fails: str) -> None:
    code, _, calls = run(tmp_path, *PROGRAMS, fails=fails)

    assert code == 1
    created, deleted = (call for call in calls if call.startswith(("kind create", "kind delete")))
    name = created.split("--name ")[1].split()[0]
    assert deleted == f"kind delete cluster --name {name} own kubeconfig"
    assert calls[-1] == deleted
    assert any(fails in call for call in calls)
