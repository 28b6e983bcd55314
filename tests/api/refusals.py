"""Bad manifests, each a small change of a good one, with what the refusal must say.

One table for two readers: the API server with the CRDs, and the models.
"""

from dataclasses import dataclass
from typing import Any

from tests.api.manifests import (
    ABSENT,
    Manifest,
    changed,
    entries,
    entry,
    minimal_class,
    minimal_package,
)


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """`field` is where the API server reports it; `sentence` is ours, and the models' too."""

    id: str
    changes: dict[str, Any]
    field: str
    sentence: str = ""
    of_class: bool = False

    def manifest(self) -> Manifest:
        good = minimal_class("refused") if self.of_class else minimal_package("refused")
        return changed(good, self.changes)


def _package(id_: str, changes: dict[str, Any], field: str, sentence: str = "") -> Refusal:
    return Refusal(id=id_, changes=changes, field=field, sentence=sentence)


def _class(id_: str, changes: dict[str, Any], field: str, sentence: str = "") -> Refusal:
    return Refusal(id=id_, changes=changes, field=field, sentence=sentence, of_class=True)


def _subtasks(*items: Manifest) -> dict[str, Any]:
    return {"spec.subtasks": list(items)}


def _first(**fields: Any) -> dict[str, Any]:
    return _subtasks(entry("T001", **fields))


_SUBTASKS = (
    _package(
        "unknown dependency",
        _subtasks(entry("T001"), entry("T002", dependsOn=["T001", "T009"])),
        "spec.subtasks",
        "dependsOn names a subtask that does not exist: correct the id",
    ),
    _package(
        "dependency on itself",
        _first(dependsOn=["T001"]),
        "spec.subtasks[0].dependsOn",
        "dependsOn names the subtask itself: remove it",
    ),
    _package("duplicate id", _subtasks(entry("T1"), entry("T2"), entry("T1")), "spec.subtasks[2]"),
    _package(
        "same dependency twice",
        _subtasks(entry("T1"), entry("T2", dependsOn=["T1", "T1"])),
        "spec.subtasks[1].dependsOn[1]",
    ),
    _package(
        "17 dependencies",
        _subtasks(*entries(17), entry("T099", dependsOn=[f"T{n:03d}" for n in range(17)])),
        "spec.subtasks[17].dependsOn: Too many: 17: must have at most 16",
    ),
    _package(
        "201 subtasks",
        {"spec.subtasks": entries(201), "spec.maxEpisodes": 300},
        "spec.subtasks: Too many: 201: must have at most 200",
    ),
    _package("no subtask in the list", {"spec.subtasks": []}, "spec.subtasks"),
    _package("no list of subtasks", {"spec.subtasks": ABSENT}, "spec.subtasks: Required"),
    _package("subtask without id", _subtasks({"prompt": "Do it."}), "spec.subtasks[0].id"),
    _package("id of 21 characters", _subtasks(entry("T" * 21)), "spec.subtasks[0].id"),
    _package("empty id", _subtasks(entry("")), "spec.subtasks[0].id"),
    _package("id with a slash", _subtasks(entry("a/b")), "spec.subtasks[0].id"),
    _package(
        "id that is no git ref",
        _subtasks(entry("a.lock")),
        "spec.subtasks[0].id",
        "an id becomes part of a git ref: no '..', and neither '.' nor '.lock' at the end",
    ),
    _package("title of two lines", _first(title="a\nb"), "spec.subtasks[0].title", "one line"),
    _package("subtask without prompt", _subtasks({"id": "T001"}), "spec.subtasks[0].prompt"),
    _package("empty prompt", _first(prompt=""), "spec.subtasks[0].prompt", "prompt is empty"),
    _package("blank prompt", _first(prompt=" \n"), "spec.subtasks[0].prompt", "prompt is empty"),
    _package("prompt over 32 KiB", _first(prompt="p" * 32769), "spec.subtasks[0].prompt"),
    _package(
        "prompt over 32 KiB in fewer characters",
        _first(prompt="é" * 16385),
        "spec.subtasks[0].prompt",
        "prompt is over 32 KiB",
    ),
    _package(
        "prompts over 160 KiB together",
        _subtasks(*(entry(f"T{n}", prompt="é" * 16384) for n in range(5)), entry("T5")),
        "spec.subtasks",
        "the prompts of spec.subtasks are over 160 KiB together",
    ),
    _package(
        "absolute path in files",
        _first(files=["src/**", "/etc/passwd"]),
        "spec.subtasks[0].files[1]",
        "files holds globs relative to the root of the repository",
    ),
    _package(
        "path out of the repository in files",
        _first(files=["src/../../x"]),
        "spec.subtasks[0].files[0]",
        "files holds globs relative to the root of the repository",
    ),
    _package("negative maxNewFiles", _first(maxNewFiles=-1), "spec.subtasks[0].maxNewFiles"),
    _package("negative revision", _first(revision=-1), "spec.subtasks[0].revision"),
    _package("21 directives", _first(guidance=[str(n) for n in range(21)]), "[0].guidance"),
    _package("directive too long", _first(guidance=["g" * 501]), "[0].guidance[0]"),
)

_VERIFY = (
    _package(
        "no verify anywhere",
        {"spec.verify": ABSENT},
        "spec.verify",
        "spec.verify is missing: set spec.verify.command",
    ),
    _package(
        "verify on one of two subtasks",
        {
            "spec.verify": ABSENT,
            **_subtasks(entry("T1", verify={"command": ["true"]}), entry("T2")),
        },
        "spec.verify",
        "spec.verify is missing: set spec.verify.command",
    ),
    _package("verify without command", {"spec.verify": {}}, "spec.verify.command"),
    _package("empty verify command", {"spec.verify.command": []}, "spec.verify.command"),
    _package("verify command as text", {"spec.verify.command": "make test"}, "spec.verify.command"),
    _package("verify timeout of 0", {"spec.verify.timeoutSeconds": 0}, "spec.verify.timeoutSeconds"),
    _package("unknown checkout", {"spec.verify.checkout": "Dirty"}, "spec.verify.checkout"),
    _package("setup without command", {"spec.setup": {"timeoutSeconds": 1}}, "spec.setup.command"),
)

_LIMITS = (
    _package(
        "maxEpisodes below the number of subtasks",
        {"spec.subtasks": entries(3), "spec.maxEpisodes": 2},
        "spec.maxEpisodes",
        "spec.maxEpisodes is below the number of subtasks: set spec.maxEpisodes",
    ),
    _package(
        "60 subtasks with the default maxEpisodes",
        {"spec.subtasks": entries(60)},
        "spec.maxEpisodes",
        "set spec.maxEpisodes (50 by default) to at least that number",
    ),
    _package("maxEpisodes of 0", {"spec.maxEpisodes": 0}, "spec.maxEpisodes"),
    _package(
        "negative episode timeout", {"spec.episode.timeoutSeconds": -1}, "spec.episode.timeoutSeconds"
    ),
    _package("no turns", {"spec.episode.maxTurns": 0}, "spec.episode.maxTurns"),
    _package(
        "negative startup timeout",
        {"spec.episode.startupTimeoutSeconds": -5},
        "spec.episode.startupTimeoutSeconds",
    ),
    _package(
        "no failure allowed", {"spec.maxConsecutiveFailures": 0}, "spec.maxConsecutiveFailures"
    ),
    _package("parallelism of 0", {"spec.parallelism": 0}, "spec.parallelism"),
    _package("parallelism as text", {"spec.parallelism": "2"}, "spec.parallelism"),
    _package("negative budget", {"spec.budget.maxCostUSD": "-1.00"}, "spec.budget.maxCostUSD"),
    _package("budget with a currency", {"spec.budget.maxCostUSD": "$5"}, "spec.budget.maxCostUSD"),
    _package("budget as a number", {"spec.budget.maxCostUSD": 5.5}, "spec.budget.maxCostUSD"),
    _package("budget of 0 tokens", {"spec.budget.maxTokens": 0}, "spec.budget.maxTokens"),
    _package("bad quantity", {"spec.resources.limits.memory": "4GB"}, "spec.resources.limits.memory"),
    _package("negative quantity", {"spec.resources.limits.cpu": -1}, "spec.resources.limits.cpu"),
    _package(
        "request above the limit",
        {"spec.resources": {"requests": {"memory": "2Gi"}, "limits": {"memory": "1900M"}}},
        "spec.resources",
        "requests.memory exceeds limits.memory: lower the request or raise the limit",
    ),
    _package("one process", {"spec.pidsLimit": 1}, "spec.pidsLimit"),
    _package("unknown context mode", {"spec.context.mode": "Fresh"}, "spec.context.mode"),
    _package("negative reset interval", {"spec.context.resetInterval": -1}, "resetInterval"),
)

_REF_SENTENCE = "must be the name of a git branch"
_CREDENTIALS_SENTENCE = "spec.repository.url holds credentials"
_URL_SENTENCE = "spec.repository.url must be the address of a git repository"


def _url(id_: str, url: str, sentence: str) -> Refusal:
    return _package(id_, {"spec.repository.url": url}, "spec.repository.url", sentence)


def _branch(id_: str, branch: str) -> Refusal:
    return _package(id_, {"spec.repository.branch": branch}, "spec.repository.branch", _REF_SENTENCE)


_PLACES = (
    _url("password in the URL", "https://me:secret@git.example.com/a.git", _CREDENTIALS_SENTENCE),
    _url("token in the URL", "https://token@git.example.com/a.git", _CREDENTIALS_SENTENCE),
    _url("password in an ssh URL", "ssh://git:pw@git.example.com/a.git", _CREDENTIALS_SENTENCE),
    _url("password with an @", "https://me:p@ss@git.example.com/a.git", _CREDENTIALS_SENTENCE),
    _url("file URL", "file:///srv/git/a.git", _URL_SENTENCE),
    _url("local path", "/srv/git/a.git", _URL_SENTENCE),
    _url("URL without a path", "https://git.example.com", _URL_SENTENCE),
    _url("host that reads as an option", "ssh://-oProxyCommand=x/a.git", _URL_SENTENCE),
    _url("URL with a blank", "https://git.example.com/a b.git", _URL_SENTENCE),
    _url("URL with a line end", "https://git.example.com/a.git\n", _URL_SENTENCE),
    _url("URL with a query", "https://git.example.com/a.git?token=x", _URL_SENTENCE),
    _branch("branch with a blank", "my branch"),
    _branch("branch with two dots", "a..b"),
    _branch("branch with a leading hyphen", "-b"),
    _branch("branch with refs/heads", "refs/heads/a"),
    _branch("branch with .lock", "a.lock/b"),
    _branch("branch with a trailing slash", "a/"),
    _branch("branch with a line end", "a\n"),
    _branch("branch with a hidden part", "a/.b"),
    _branch("branch HEAD", "HEAD"),
    _package("bad base", {"spec.repository.baseRef": "a~1"}, "spec.repository.baseRef", _REF_SENTENCE),
    _package(
        "branch that is the base",
        {"spec.repository.branch": "main"},
        "spec.repository.branch",
        "branch must differ from baseRef",
    ),
    _package("no repository", {"spec.repository": ABSENT}, "spec.repository: Required"),
    _package("no URL", {"spec.repository": {"baseRef": "main"}}, "spec.repository.url: Required"),
    _package("no class", {"spec.agentClassName": ABSENT}, "spec.agentClassName: Required"),
    _package("class with capitals", {"spec.agentClassName": "Claude"}, "spec.agentClassName"),
    _package("bad queue name", {"spec.queueName": "My Queue"}, "spec.queueName"),
    _package("bad Secret name", {"spec.repository.secretName": "a_b"}, "spec.repository.secretName"),
    _package("image with a blank", {"spec.image": "a b"}, "spec.image", "must be an image reference"),
    _package("no spec", {"spec": ABSENT}, "spec: Required"),
    _package(
        "name of 41 characters", {"metadata.name": "n" * 41}, "metadata.name", "at most 40 characters"
    ),
    _package("name with a dot", {"metadata.name": "a.b"}, "metadata.name", "and no '.'"),
)

_CLASSES = (
    _class(
        "adapter Command without a command",
        {"spec.adapter": "Command"},
        "spec.command",
        "spec.command is required with adapter Command",
    ),
    _class(
        "command with another adapter",
        {"spec.command": ["run"]},
        "spec.command",
        "spec.command is for adapter Command only",
    ),
    _class("unknown adapter", {"spec.adapter": "Copilot"}, "spec.adapter"),
    _class("no adapter", {"spec.adapter": ABSENT}, "spec.adapter: Required"),
    _class("no image", {"spec.image": ABSENT}, "spec.image: Required"),
    _class("no Secret", {"spec.credentials.mode": "Gateway"}, "spec.credentials.secretName"),
    _class(
        "unknown credentials mode",
        {"spec.credentials": {"mode": "File", "secretName": "a"}},
        "spec.credentials.mode",
    ),
    _class(
        "endpoint without a scheme", {"spec.endpoint": "api.example.com"}, "spec.endpoint", "base URL"
    ),
    _class(
        "endpoint with credentials",
        {"spec.endpoint": "https://key@api.example.com"},
        "spec.endpoint",
        "without credentials",
    ),
    _class(
        "price with a currency",
        {"spec.pricing": [{"model": "m", "inputUSDPerMillion": "$3", "outputUSDPerMillion": "1"}]},
        "spec.pricing[0].inputUSDPerMillion",
    ),
    _class(
        "same variable twice",
        {"spec.env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]},
        "spec.env[1]",
    ),
    _class("bad variable name", {"spec.env": [{"name": "A-B"}]}, "spec.env[0].name"),
    _class("bad ceiling", {"spec.ceilings.limits.cpu": "two"}, "spec.ceilings.limits.cpu"),
    _class(
        "limit below the default request",
        {"spec.resources.limits.cpu": "50m"},
        "spec.resources",
        "requests.cpu exceeds limits.cpu",
    ),
    _class("no episodes", {"spec.maxConcurrentEpisodes": 0}, "spec.maxConcurrentEpisodes"),
    _class("too many processes", {"spec.pidsLimit": 70_000}, "spec.pidsLimit"),
)

REFUSALS = (*_SUBTASKS, *_VERIFY, *_LIMITS, *_PLACES, *_CLASSES)
