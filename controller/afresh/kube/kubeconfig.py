"""Finds the API server and the credentials to use.

This module owns the precedence of a user's kubeconfig and a pod's ServiceAccount, and the messages
about a kubeconfig that cannot be used.
"""

import asyncio
import os
from pathlib import Path

import yaml
from kubernetes.aio import client, config

from afresh.kube.errors import ConfigurationError

REFRESH_SECONDS = 10
POD_NAMESPACE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
ODD_FILE = (AttributeError, KeyError, OSError, TypeError, ValueError)

Access = tuple[client.Configuration, str, asyncio.Task[None] | None]


async def access(kubeconfig: str | None, context: str | None) -> Access:
    """Return the settings of the connection, its namespace or "", and the renewal of its tokens.

    They come from `kubeconfig`, else from the user's own one, else from the pod's ServiceAccount.
    Raises ConfigurationError if there is none of them.
    """
    settings = client.Configuration()
    settings.connection_pool_maxsize = 64
    try:
        if not (kubeconfig or context or _exists(_usual())) and _in_cluster():
            config.load_incluster_config(client_configuration=settings)
            return settings, _pod_namespace(), None
        loaded = await config.load_kube_config(
            kubeconfig or _usual(), context, client_configuration=settings
        )
        namespace = loaded.current_context["context"].get("namespace") or ""
        # Tokens from an exec plugin are valid for minutes only.
        again = config.refresh_token(loaded, settings, interval=REFRESH_SECONDS)
        return settings, namespace, asyncio.create_task(again)
    # The loader does not validate the form of a kubeconfig.
    except (config.ConfigException, yaml.YAMLError, *ODD_FILE) as error:
        raise _unconfigured(kubeconfig or _usual(), error) from error


def _usual() -> str:
    """Return the path of the user's kubeconfig, or several paths; empty names are ignored."""
    return os.environ.get("KUBECONFIG") or "~/.kube/config"


def _exists(paths: str) -> bool:
    return any(_is_there(Path(path)) for path in paths.split(os.pathsep) if path)


def _is_there(path: Path) -> bool:
    """Whether the file exists and can be accessed; False if its home directory is unknown."""
    try:
        return path.expanduser().exists()
    except (OSError, RuntimeError):
        return False


def _in_cluster() -> bool:
    return "KUBERNETES_SERVICE_HOST" in os.environ


def _pod_namespace() -> str:
    path = Path(POD_NAMESPACE)  # a token that was mounted by hand lacks it
    return path.read_text().strip() if path.exists() else ""


def _unconfigured(paths: str, error: Exception) -> ConfigurationError:
    if not _exists(paths):
        return ConfigurationError(
            f"There is no kubeconfig at {paths}: name one with --kubeconfig or in KUBECONFIG."
        )
    odd = isinstance(error, AttributeError | KeyError | TypeError)  # errors of its code
    why = "it is empty, or not in the form of a kubeconfig" if odd else error
    return ConfigurationError(f"The kubeconfig {paths} cannot be used: {why}")
