"""`python3 -m tests.bench.status`: how long `afresh status` takes, and what of that is its start.

Needs a kubeconfig of a cluster with the CRDs. Prints processor and wall time of the fastest of
several runs, for `status` as it is and for the same requests by the Kubernetes client, and the
ratio of the two.
"""

import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass

RUNS = 8
STATUS = "from afresh.cli.__main__ import main; main(['status', '-A'])"
BY_CLIENT = (
    "import asyncio\n"
    "from afresh.cli.commands import afresh\n"
    "from afresh.cli.look import pictures\n"
    "from afresh.kube.client import Kube\n"
    "from afresh.kube.resources import WORK_PACKAGES\n"
    "async def ask():\n"
    "    kube = await Kube.connect()\n"
    "    await kube.list_items(WORK_PACKAGES, None)\n"
    "    await kube.close()\n"
    "asyncio.run(ask())\n"
)


@dataclass(frozen=True)
class Duration:
    """Seconds of a process: of the processor, and until its end."""

    processor: float
    wall: float


def fastest(program: str) -> Duration:
    """Return the least that any of several runs took."""
    found = [_run(program) for _ in range(RUNS)]
    return Duration(min(item.processor for item in found), min(item.wall for item in found))


def _run(program: str) -> Duration:
    before, start = _processor(), time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL)
    return Duration(_processor() - before, time.perf_counter() - start)


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure and print."""
    if "KUBECONFIG" not in os.environ:
        sys.exit("Name a kubeconfig in KUBECONFIG: `afresh status` asks its cluster.")
    status, client = fastest(STATUS), fastest(BY_CLIENT)
    for name, item in (("afresh status -A", status), ("by the Kubernetes client", client)):
        print(f"{name:<26} {item.processor * 1000:5.0f} ms processor {item.wall * 1000:5.0f} ms")
    print(f"{'ratio':<26} {status.processor / client.processor:5.2f} of the processor's time")


if __name__ == "__main__":
    main()
