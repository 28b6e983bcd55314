"""Commands, limits and amounts that are refused."""

from tests.api.manifests import ABSENT, entries, entry
from tests.api.refusal import of_package, subtasks

AS_WORDS = 'write each word as an item of its own: ["make", "test"]'
VERIFY = (
    of_package(
        "command line of verify in one word",
        {"spec.verify": {"command": ["make test"]}},
        "spec.verify.command",
        AS_WORDS,
    ),
    of_package(
        "command line of one subtask's verify in one word",
        subtasks(entry("T1", verify={"command": ["make test", "-k"]})),
        "spec.subtasks[0].verify.command",
        AS_WORDS,
    ),
    of_package(
        "command line of setup in one word",
        {"spec.setup": {"command": ["make deps all"]}},
        "spec.setup.command",
        'write each word as an item of its own: ["make", "deps", "all"]',
    ),
    of_package(
        "longest command line in one word",
        {"spec.setup": {"command": ["x " * 2048]}},
        "spec.setup.command",
        "write each word as an item of its own",
    ),
    of_package(
        "no verify anywhere",
        {"spec.verify": ABSENT},
        "spec.verify",
        "spec.verify is missing: set spec.verify.command",
    ),
    of_package(
        "verify on one of two subtasks",
        {
            "spec.verify": ABSENT,
            **subtasks(entry("T1", verify={"command": ["true"]}), entry("T2")),
        },
        "spec.verify",
        "spec.verify is missing: set spec.verify.command",
    ),
    of_package("verify without command", {"spec.verify": {}}, "spec.verify.command"),
    of_package("empty verify command", {"spec.verify.command": []}, "spec.verify.command"),
    of_package(
        "verify command as text", {"spec.verify.command": "make test"}, "spec.verify.command"
    ),
    of_package(
        "verify timeout of 0", {"spec.verify.timeoutSeconds": 0}, "spec.verify.timeoutSeconds"
    ),
    of_package("unknown checkout", {"spec.verify.checkout": "Dirty"}, "spec.verify.checkout"),
    of_package(
        "setup without command", {"spec.setup": {"timeoutSeconds": 1}}, "spec.setup.command"
    ),
)

LIMITS = (
    of_package(
        "maxEpisodes below the number of subtasks",
        {"spec.subtasks": entries(3), "spec.maxEpisodes": 2},
        "spec.maxEpisodes",
        "spec.maxEpisodes is below the number of subtasks: set spec.maxEpisodes",
    ),
    of_package(
        "60 subtasks with the default maxEpisodes",
        {"spec.subtasks": entries(60)},
        "spec.maxEpisodes",
        "set spec.maxEpisodes (50 by default) to at least that number",
    ),
    of_package("maxEpisodes of 0", {"spec.maxEpisodes": 0}, "spec.maxEpisodes"),
    of_package(
        "negative episode timeout",
        {"spec.episode.timeoutSeconds": -1},
        "spec.episode.timeoutSeconds",
    ),
    of_package("no turns", {"spec.episode.maxTurns": 0}, "spec.episode.maxTurns"),
    of_package(
        "negative startup timeout",
        {"spec.episode.startupTimeoutSeconds": -5},
        "spec.episode.startupTimeoutSeconds",
    ),
    of_package(
        "no failure allowed", {"spec.maxConsecutiveFailures": 0}, "spec.maxConsecutiveFailures"
    ),
    of_package("parallelism of 0", {"spec.parallelism": 0}, "spec.parallelism"),
    of_package("parallelism as text", {"spec.parallelism": "2"}, "spec.parallelism"),
    of_package("negative budget", {"spec.budget.maxCostUSD": "-1.00"}, "spec.budget.maxCostUSD"),
    of_package(
        "budget with a currency", {"spec.budget.maxCostUSD": "$5"}, "spec.budget.maxCostUSD"
    ),
    of_package("budget as a number", {"spec.budget.maxCostUSD": 5.5}, "spec.budget.maxCostUSD"),
    of_package("budget of 0 tokens", {"spec.budget.maxTokens": 0}, "spec.budget.maxTokens"),
    of_package(
        "bad quantity", {"spec.resources.limits.memory": "4GB"}, "spec.resources.limits.memory"
    ),
    of_package("negative quantity", {"spec.resources.limits.cpu": -1}, "spec.resources.limits.cpu"),
    of_package(
        "request above the limit",
        {"spec.resources": {"requests": {"memory": "2Gi"}, "limits": {"memory": "1900M"}}},
        "spec.resources",
        "requests.memory exceeds limits.memory: lower the request or raise the limit",
    ),
    of_package(
        "request of cores above the limit",
        {"spec.resources": {"requests": {"cpu": "1500m"}, "limits": {"cpu": 1}}},
        "spec.resources",
        "requests.cpu exceeds limits.cpu: lower the request or raise the limit",
    ),
    of_package(
        "request of disk above the limit",
        {
            "spec.resources": {
                "requests": {"ephemeral-storage": "2Gi"},
                "limits": {"ephemeral-storage": "1Gi"},
            }
        },
        "spec.resources",
        "requests.ephemeral-storage exceeds limits.ephemeral-storage",
    ),
    of_package("one process", {"spec.pidsLimit": 1}, "spec.pidsLimit"),
    of_package("unknown context mode", {"spec.context.mode": "Fresh"}, "spec.context.mode"),
    of_package("negative reset interval", {"spec.context.resetInterval": -1}, "resetInterval"),
)
