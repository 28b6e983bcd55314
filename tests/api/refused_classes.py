"""AgentClasses that are refused."""

from tests.api.manifests import ABSENT
from tests.api.refusal import of_class

CLASSES = (
    of_class(
        "adapter Command without a command",
        {"spec.adapter": "Command"},
        "spec.command",
        "spec.command is required with adapter Command",
    ),
    of_class(
        "command with another adapter",
        {"spec.command": ["run"]},
        "spec.command",
        "spec.command is for adapter Command only",
    ),
    of_class(
        "command line of the agent in one word",
        {"spec.adapter": "Command", "spec.command": ["run agent"]},
        "spec.command",
        'write each word as an item of its own: ["run", "agent"]',
    ),
    of_class("unknown adapter", {"spec.adapter": "Copilot"}, "spec.adapter"),
    of_class("no adapter", {"spec.adapter": ABSENT}, "spec.adapter: Required"),
    of_class("no image", {"spec.image": ABSENT}, "spec.image: Required"),
    of_class("no Secret", {"spec.credentials.mode": "Gateway"}, "spec.credentials.secretName"),
    of_class(
        "unknown credentials mode",
        {"spec.credentials": {"mode": "File", "secretName": "a"}},
        "spec.credentials.mode",
    ),
    of_class(
        "endpoint without a scheme",
        {"spec.endpoint": "api.example.com"},
        "spec.endpoint",
        "base URL",
    ),
    of_class(
        "endpoint with credentials",
        {"spec.endpoint": "https://key@api.example.com"},
        "spec.endpoint",
        "without credentials",
    ),
    of_class(
        "price with a currency",
        {"spec.pricing": [{"model": "m", "inputUSDPerMillion": "$3", "outputUSDPerMillion": "1"}]},
        "spec.pricing[0].inputUSDPerMillion",
    ),
    of_class(
        "same variable twice",
        {"spec.env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]},
        "spec.env[1]",
    ),
    of_class("bad variable name", {"spec.env": [{"name": "A-B"}]}, "spec.env[0].name"),
    of_class("bad ceiling", {"spec.ceilings.limits.cpu": "two"}, "spec.ceilings.limits.cpu"),
    of_class(
        "limit below the default request",
        {"spec.resources.limits.cpu": "50m"},
        "spec.resources",
        "requests.cpu exceeds limits.cpu",
    ),
    of_class(
        "an empty egress rule",
        {"spec.egress": [{}]},
        "spec.egress[0]",
        "an empty entry would allow all traffic",
    ),
    of_class(
        "an egress peer of two kinds",
        {"spec.egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}, "podSelector": {}}]}]},
        "spec.egress[0].to[0]",
        "either ipBlock, or one or both of podSelector",
    ),
    of_class(
        "an egress peer that is nobody",
        {"spec.egress": [{"to": [{}]}]},
        "spec.egress[0].to[0]",
        "either ipBlock, or one or both of podSelector",
    ),
    of_class(
        "egress to an address without a prefix",
        {"spec.egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.1"}}]}]},
        "spec.egress[0].to[0].ipBlock.cidr",
        "an address range in CIDR notation",
    ),
    of_class("no episodes", {"spec.maxConcurrentEpisodes": 0}, "spec.maxConcurrentEpisodes"),
    of_class("too many processes", {"spec.pidsLimit": 70_000}, "spec.pidsLimit"),
)
