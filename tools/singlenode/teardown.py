"""Removes a cluster completely, in whatever state it is.

All state is discarded, so processes need not end cleanly: everything is killed at once.
"""

import shutil

from tools.singlenode import cgroups, network, processes
from tools.singlenode.paths import ClusterPaths

_PATIENCE_SECONDS = 30


def take_down(paths: ClusterPaths) -> None:
    """Remove the cluster's processes, mounts, groups, network and files, as far as they exist."""
    kill_recorded(paths)
    # This also ends processes that were never recorded: shims and the processes of pods.
    cgroups.kill_all(paths.namespace, wait_seconds=_PATIENCE_SECONDS)
    cgroups.remove(paths.namespace, wait_seconds=_PATIENCE_SECONDS)
    # The mounts were in a namespace that ended with its last process.
    network.delete(paths.namespace)
    if paths.root.exists():
        shutil.rmtree(paths.root)


def kill_recorded(paths: ClusterPaths) -> None:
    """Kill the components that were started."""
    for file in sorted(paths.records.glob("*")):
        if record := processes.read_record(file):
            processes.kill(record, wait_seconds=_PATIENCE_SECONDS)
