"""Runs a client of a cluster, with the cluster's network, kubeconfig and programs.

Must not know what the client does.
"""

import os
from collections.abc import Sequence
from typing import NoReturn

from tools.singlenode import binaries, configuration, network
from tools.singlenode.errors import ClusterError
from tools.singlenode.paths import ClusterPaths


def become(paths: ClusterPaths, command: Sequence[str]) -> NoReturn:
    """Replace this process by `command`, in the cluster's network and with its kubeconfig.

    Raises ClusterError if there is no such command.
    """
    if network.path(paths.namespace).exists():
        network.enter(paths.namespace)
    environment = {**os.environ, **configuration.client_environment(paths)}
    environment["PATH"] = f"{binaries.directory()}:{os.environ.get('PATH', os.defpath)}"
    try:
        os.execvpe(command[0], list(command), environment)  # noqa: S606 - the user's own command
    except OSError as error:
        raise ClusterError(f"cannot run {command[0]}: {error.strerror}") from error
