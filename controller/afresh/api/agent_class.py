"""AgentClass: how to run an agent. Cluster-scoped, owned by the platform team.

This module does not know packages.
"""

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Field, StrictInt

from afresh.api.conditions import Conditions, Reason
from afresh.api.egress import EgressRule
from afresh.api.meta import ApiModel, DnsName, KubernetesObject
from afresh.api.resources import REQUESTS_WITHIN_LIMITS, Count, Money, Quantity, ResourceList
from afresh.api.rules import MapBy, Matching, Rule, UniqueItems, WordByWord
from afresh.contract.words import AdapterName, CredentialsMode, ModelApiName, ServerTools

Image = Annotated[
    str,
    Field(max_length=512),
    Matching(
        r"^[A-Za-z0-9][A-Za-z0-9._:/@-]*$",
        "image must be an image reference, such as registry.example.com/team/agent:1.0",
    ),
]
"""A container image."""

ImageGlob = Annotated[str, Field(min_length=1, max_length=512)]

Endpoint = Annotated[
    str,
    Field(max_length=1024),
    Matching(
        r"^https?://(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9][A-Za-z0-9.-]*)(:[0-9]+)?(/[^\s?#@]*)?$",
        "spec.endpoint must be a base URL without credentials, such as https://api.example.com",
    ),
]
"""The base URL of a model API."""

Argument = Annotated[str, Field(max_length=4096)]

Command = Annotated[tuple[Argument, ...], Field(min_length=1, max_length=64), WordByWord()]
"""A program and its arguments; it is not run by a shell."""

PidsLimit = Annotated[StrictInt, Field(ge=16, le=65536)]


class Credentials(ApiModel):
    """Where the key of the model API is stored, and which container holds it."""

    mode: CredentialsMode = CredentialsMode.GATEWAY
    """Gateway: only the runner reads the key `api-key` of the Secret, and adds it to the agent's
    requests. Environment: every key of the Secret becomes an environment variable of the agent."""
    secret_name: DnsName
    """Name of the Secret, in the package's namespace."""


class CaBundle(ApiModel):
    """Certificates of authorities to trust in addition to the public ones."""

    config_map_name: DnsName
    """Name of the ConfigMap, in the package's namespace, with the certificates in its key
    `ca.crt`."""


class ClassRequests(ResourceList):
    """Resources that the scheduler reserves for the agent's container."""

    cpu: Quantity = "100m"
    """Cores, such as 500m or 2."""
    memory: Quantity = "256Mi"
    """Bytes, such as 4Gi."""


class ClassLimits(ResourceList):
    """The most that the agent's container may use."""

    cpu: Quantity = "2"
    """Cores, such as 500m or 2."""
    memory: Quantity = "4Gi"
    """Bytes, such as 4Gi."""
    ephemeral_storage: Quantity = Field(default="10Gi", alias="ephemeral-storage")
    """Bytes of disk, such as 10Gi. The agent is stopped before its worktree and HOME together
    reach this size."""


class ClassResources(ApiModel):
    """Resources of the agent's container, for packages that do not set their own."""

    RULES = REQUESTS_WITHIN_LIMITS

    requests: ClassRequests = ClassRequests()
    """Resources that the scheduler reserves."""
    limits: ClassLimits = ClassLimits()
    """The most that the agent may use."""


class Ceilings(ApiModel):
    """The highest values that a package may set; where one is absent, the class's own limit."""

    limits: ResourceList = ResourceList()
    """The highest resource limits that a package may set."""
    pids_limit: PidsLimit | None = None
    """The highest pidsLimit that a package may set."""


class ModelPricing(ApiModel):
    """The price of the tokens of one or more models."""

    model: str = Field(min_length=1, max_length=200)
    """A glob that matches model names, such as `claude-*`."""
    context_window_tokens: StrictInt | None = Field(default=None, ge=1, le=1_000_000_000)
    """The size of the model's context window, in tokens."""
    max_output_tokens: StrictInt | None = Field(default=None, ge=1024, le=1_000_000_000)
    """The most tokens that one answer may have. Where a package has a budget and the program sets
    no limit in its request, the gateway sets this one. Absent: 32768, or a quarter of the context
    window if that is less."""
    input_usd_per_million: Money
    """US dollars per million tokens sent."""
    output_usd_per_million: Money
    """US dollars per million tokens received."""
    cache_read_usd_per_million: Money | None = None
    """US dollars per million tokens read from the cache; absent: the price of tokens sent."""
    cache_write_usd_per_million: Money | None = None
    """US dollars per million tokens written to the cache; absent: the price of tokens sent."""


class EnvVar(ApiModel):
    """An environment variable of the agent."""

    name: str = Field(max_length=128, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """The name of the variable."""
    value: str = Field(default="", max_length=4096)
    """The value of the variable. Do not put secrets here."""


class LocalObjectReference(ApiModel):
    """An object in the package's namespace."""

    name: DnsName
    """The name of the object."""


LabelValue = Annotated[str, Field(max_length=63)]


class PodSettings(ApiModel):
    """Where and how the episodes' pods run. The fields are those of a pod's spec."""

    runtime_class_name: DnsName | None = None
    """Name of the RuntimeClass, such as gvisor."""
    node_selector: dict[str, LabelValue] = Field(default_factory=dict, max_length=32)
    """Labels that a node must have."""
    tolerations: tuple[dict[str, Any], ...] = Field(default=(), max_length=32)
    """Taints that the pods tolerate, as in a pod's spec."""
    image_pull_secrets: Annotated[tuple[LocalObjectReference, ...], MapBy("name")] = Field(
        default=(), max_length=16
    )
    """Secrets for pulling images, in the package's namespace."""
    priority_class_name: DnsName | None = None
    """Name of the PriorityClass."""


def _command_given(spec: "AgentClassSpec") -> bool:
    return spec.adapter != AdapterName.COMMAND or bool(spec.command)


def _command_wanted(spec: "AgentClassSpec") -> bool:
    return spec.adapter == AdapterName.COMMAND or spec.command is None


class AgentClassSpec(ApiModel):
    """How to run an agent."""

    RULES = (
        Rule(
            cel="self.adapter != 'Command' || has(self.command)",
            message="spec.command is required with adapter Command: give the program and its"
            " arguments",
            field_path=".command",
            holds=_command_given,
        ),
        Rule(
            cel="self.adapter == 'Command' || !has(self.command)",
            message="spec.command is for adapter Command only: remove it, or set spec.adapter to"
            " Command",
            field_path=".command",
            holds=_command_wanted,
        ),
    )

    adapter: AdapterName
    """The agent program that the image contains."""
    command: Command | None = None
    """The program and its arguments, with adapter Command only. The program reads the brief from
    its standard input."""
    image: Image
    """The image with the agent program, for packages that do not name one."""
    allowed_images: Annotated[tuple[ImageGlob, ...], UniqueItems()] = Field(
        default=(), max_length=64
    )
    """Globs for the images that a package may name; absent: a package may name no image."""
    model: str | None = Field(default=None, min_length=1, max_length=200)
    """The model to use, enforced where the gateway is used; absent: the default of the agent
    program."""
    model_api: ModelApiName | None = Field(default=None, alias="modelAPI")
    """The API through which the model is reached, for programs that support several; absent: the
    default of the adapter."""
    credentials: Credentials | None = None
    """The credentials for the model API; absent: the agent needs none."""
    model_silence_seconds: StrictInt = Field(default=120, ge=5, le=3600)
    """How many seconds the model may send nothing before the gateway aborts the request. An answer
    that has begun, or that is not streamed, may take three times as long. Raise it for slow
    models."""
    server_tools: ServerTools = ServerTools.REFUSED
    """Whether the gateway allows tools that the model's provider runs, such as web search, web
    fetch, code execution and other servers, and URLs that the provider fetches. With Allowed, the
    agent can reach the internet through the provider, past the NetworkPolicy. For a package with a
    budget these tools are always refused."""
    idle_seconds: StrictInt | None = Field(default=None, ge=60, le=86_400)
    """How many seconds an agent may be idle before it is stopped with the outcome Timeout. An agent
    is idle while it prints nothing, has no request under way in the gateway and writes nothing in
    its worktree or HOME. Set it above the longest silent command, and without the gateway above the
    model's longest answer. Absent: the agent's time limit."""
    endpoint: Endpoint | None = None
    """The base URL of the model API; absent: the adapter's default."""
    ca_bundle: CaBundle | None = None
    """Certificates of authorities to trust in addition to the public ones."""
    max_concurrent_episodes: StrictInt | None = Field(default=None, ge=1, le=100_000)
    """How many episodes of this class may run at a time in the cluster; absent: any number."""
    resources: ClassResources = ClassResources()
    """Resources of the agent's container, for packages that do not set their own."""
    pids_limit: PidsLimit = 512
    """How many processes the agent may have."""
    ceilings: Ceilings = Ceilings()
    """The highest values that a package may set."""
    pricing: Annotated[tuple[ModelPricing, ...], MapBy("model")] = Field(default=(), max_length=64)
    """Token prices. The first entry that matches the model's name applies."""
    env: Annotated[tuple[EnvVar, ...], MapBy("name")] = Field(default=(), max_length=64)
    """Additional environment variables of the agent and of verify, such as those for a proxy or a
    private package index."""
    egress: tuple[EgressRule, ...] = Field(default=(), max_length=64)
    """Destinations that the pods may reach in addition to the default ones, as in a NetworkPolicy:
    a git server or a model inside the cluster, a proxy, a package index."""
    pod: PodSettings = PodSettings()
    """Where and how the pods run."""


class Gate(ApiModel):
    """A gate closed by a provider's limit: no episode with this Secret starts before `until`."""

    namespace: str = Field(max_length=63)
    """The namespace of the Secret."""
    secret_name: DnsName
    """Name of the Secret."""
    since: AwareDatetime
    """When the gate closed."""
    until: AwareDatetime
    """When the next episode may try."""
    step: Count = 0
    """How many times in a row the provider has refused."""
    reason: Reason = ""
    """Why the gate closed, such as RateLimited."""


class AgentClassStatus(ApiModel):
    """The state that the operator observed."""

    conditions: Conditions = ()
    """The condition Ready, with the reason if the class is not ready."""
    gates: Annotated[tuple[Gate, ...], MapBy("namespace", "secret_name")] = Field(
        default=(), max_length=1000
    )
    """The closed gates."""


class AgentClass(KubernetesObject):
    """How to run an agent; packages name it in spec.agentClassName."""

    kind: Literal["AgentClass"] = "AgentClass"
    spec: AgentClassSpec
    """How to run an agent."""
    status: AgentClassStatus = AgentClassStatus()
    """The state that the operator observed."""
