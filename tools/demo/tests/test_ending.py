import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
# What the demo shows at its end, on the cluster of the kubeconfig.
SHOWN = "from tools.demo import run, target; run._show(target.using_current())"


def test_a_demo_on_a_users_cluster_prints_the_command_that_removes_it(
    tmp_path: Path,
) -> None:
    for name in ("kubectl", "helm"):
        program = tmp_path / name
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}

    shown = subprocess.run(
        [sys.executable, "-c", SHOWN],
        cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True,
    ).stdout  # fmt: skip

    assert "Everything stays until you run make demo-down CLUSTER=current." in shown
