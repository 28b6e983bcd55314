"""`make bench`: the hand-over between two agents, against bare Jobs, on one cluster in one run."""

import argparse
import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

from kubernetes.aio import client, config

from afresh.kube.client import Kube
from tests.bench import bare_jobs
from tests.bench.figures import Figure, document, table
from tests.bench.package_run import manifests, run_package, write
from tests.bench.watching import watching
from tools.demo import installation, target
from tools.demo import run as demo

ROOT = Path(__file__).parents[2]
CLUSTER = [sys.executable, str(ROOT / "tools" / "singlenode")]
NAME = "bench"
NAMESPACE = "bench"
IMAGE = "localhost/afresh/agent-command:dev"
OUTPUT = ROOT / "build" / "bench.json"
STEPS = 10
SIGNALS = {
    "bare_terminated": bare_jobs.containers_terminated,
    "bare_pod_phase": bare_jobs.pod_phase,
    "bare_job_condition": bare_jobs.job_condition,
}


def main() -> int:
    """Start a cluster, measure in it, take it down; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog="example: python3 -m tests.bench.handover --keep"
    )
    parser.add_argument("--keep", action="store_true", help="leave the cluster up")
    parser.add_argument("--inside", metavar="GIT_URL", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        asyncio.run(_measure(options.inside))
        return 0
    try:
        git_url = _prepare()
        inside = [sys.executable, "-m", "tests.bench.handover", "--inside", git_url]
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'controller'}"}
        return subprocess.run(
            [*CLUSTER, "run", NAME, "--", *inside], cwd=ROOT, env=environment, check=False
        ).returncode
    finally:
        if not options.keep:
            subprocess.run([*CLUSTER, "down", NAME], check=False)


def _prepare() -> str:
    """Start the cluster with the operator and a git server in it; return the server's URL."""
    own = target.own(NAME, ("runner", "operator", "agent-command", "demo"))
    installation.install_with_helm(own)
    demo.start_servers(own, "unused")
    own.kubectl("create", "namespace", NAMESPACE)
    secret = json.loads(
        own.kubectl("get", "secret", "git-credentials", "-n", demo.NAMESPACE, "-o", "json")
    )
    copy = {**secret, "metadata": {"name": "git-credentials", "namespace": NAMESPACE}}
    own.kubectl("apply", "-f", "-", text=json.dumps(copy))
    return demo.address(own, "git")


async def _measure(git_url: str) -> None:
    kube = await Kube.connect()
    settings = client.Configuration()
    await config.load_kube_config(client_configuration=settings)
    async with client.ApiClient(settings) as api, watching(api, NAMESPACE) as seen:
        figures, first_code = {}, []
        for name, signal in SIGNALS.items():
            handovers, starts = await bare_jobs.run_in_a_row(
                kube, seen, NAMESPACE, IMAGE, signal, STEPS
            )
            figures[name] = Figure.of(handovers)
            first_code += starts
        figures["bare_first_code"] = Figure.of(first_code)
        for manifest in manifests(NAMESPACE, IMAGE, git_url, STEPS):
            subprocess.run(
                ["kubectl", "apply", "-f", "-"],
                input=json.dumps(manifest),
                text=True,
                check=True,
                capture_output=True,
            )
        handovers, stages = await run_package(kube, seen, NAMESPACE)
    await kube.close()
    figures["handover"] = Figure.of(handovers)
    phases = {name: Figure.of(seconds) for name, seconds in stages.items()}
    print(table(figures, phases))
    write(OUTPUT, document(figures, phases))
    print(f"\nwritten to {OUTPUT.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
