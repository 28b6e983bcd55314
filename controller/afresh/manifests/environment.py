"""The environment variables of an episode's containers.

Agent and verify get the class's variables, the runner only the proxies to the provider.
"""

from typing import Any

from afresh.api.agent_class import AgentClassSpec
from afresh.contract import pod_layout as at
from afresh.contract.order import Agent
from afresh.contract.words import CredentialsMode

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
EXCEPTIONS = ("NO_PROXY", "no_proxy")
# The addresses on which the gateway listens.
LOOPBACK = "127.0.0.1,localhost"


def runner_environment(spec: AgentClassSpec) -> list[dict[str, Any]]:
    """Return the runner's variables: those of the class that configure a proxy for the gateway."""
    proxies = [item for item in _of_class(spec) if item["name"] in PROXIES + EXCEPTIONS]
    return [{"name": "HOME", "value": "/tmp"}, *proxies]  # noqa: S108  # an emptyDir of its own


def shim_environment(pids_limit: int) -> list[dict[str, Any]]:
    """Return the variables for the shim, which starts the other containers."""
    return [
        {"name": "HOME", "value": at.AGENT_HOME},
        {"name": "AFRESH_PIDS_LIMIT", "value": str(pids_limit)},
    ]


def agent_environment(spec: AgentClassSpec) -> list[dict[str, Any]]:
    """Return the class's variables for agent and verify.

    If the class sets a proxy, the gateway's addresses are added to the exceptions.
    """
    variables = _of_class(spec)
    if not any(item["name"] in PROXIES for item in variables):
        return variables
    rest = [item for item in variables if item["name"] not in EXCEPTIONS]
    own = [item["value"] for item in variables if item["name"] in EXCEPTIONS and item["value"]]
    exceptions = ",".join((*own, LOOPBACK))
    return [*rest, *({"name": name, "value": exceptions} for name in EXCEPTIONS)]


def agent_environment_from(agent: Agent) -> dict[str, Any]:
    """Return the `envFrom` field of the agent's container; empty unless the mode is Environment.

    Variables of the pod and the class take precedence over those of the Secret. The Secret is
    optional for the kubelet, because the runner reports a missing Secret.
    """
    if agent.credentials_mode is not CredentialsMode.ENVIRONMENT or not agent.secret_name:
        return {}
    return {"envFrom": [{"secretRef": {"name": agent.secret_name, "optional": True}}]}


def _of_class(spec: AgentClassSpec) -> list[dict[str, Any]]:
    return [{"name": item.name, "value": item.value} for item in spec.env]
