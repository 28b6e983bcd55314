"""AgentClass: how to run an agent. Cluster-scoped, owned by the platform team.

Knows nothing of packages.
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
"""The base URL of a model's API."""

Argument = Annotated[str, Field(max_length=4096)]

Command = Annotated[tuple[Argument, ...], Field(min_length=1, max_length=64), WordByWord()]
"""A program and its arguments; no shell is involved."""

PidsLimit = Annotated[StrictInt, Field(ge=16, le=65536)]


class Credentials(ApiModel):
    """Where the model's key is, and who holds it."""

    mode: CredentialsMode = CredentialsMode.GATEWAY
    """Gateway: only the runner reads the key `api-key` of the Secret, and adds it to the agent's
    requests. Environment: every key of the Secret is an environment variable of the agent."""
    secret_name: DnsName
    """The Secret, in the package's namespace."""


class CaBundle(ApiModel):
    """Certificates of authorities to trust besides the public ones."""

    config_map_name: DnsName
    """The ConfigMap with the key `ca.crt`, in the package's namespace."""


class ClassRequests(ResourceList):
    """What the scheduler reserves for the agent's container."""

    cpu: Quantity = "100m"
    """Cores, such as 500m or 2."""
    memory: Quantity = "256Mi"
    """Bytes, such as 4Gi."""


class ClassLimits(ResourceList):
    """What the agent's container may use at most."""

    cpu: Quantity = "2"
    """Cores, such as 500m or 2."""
    memory: Quantity = "4Gi"
    """Bytes, such as 4Gi."""
    ephemeral_storage: Quantity = Field(default="10Gi", alias="ephemeral-storage")
    """Bytes of disk, such as 10Gi; the agent is stopped before its worktree and HOME together
    reach it."""


class ClassResources(ApiModel):
    """The agent's container, where a package says nothing else."""

    RULES = REQUESTS_WITHIN_LIMITS

    requests: ClassRequests = ClassRequests()
    """What the scheduler reserves."""
    limits: ClassLimits = ClassLimits()
    """What the agent may use at most."""


class Ceilings(ApiModel):
    """The most that a package may ask for. Where one is absent, the class's own limit is it."""

    limits: ResourceList = ResourceList()
    """The highest limits."""
    pids_limit: PidsLimit | None = None
    """The highest pidsLimit."""


class ModelPricing(ApiModel):
    """What tokens of some models cost."""

    model: str = Field(min_length=1, max_length=200)
    """A glob over model names, such as `claude-*`."""
    context_window_tokens: StrictInt | None = Field(default=None, ge=1, le=1_000_000_000)
    """How many tokens one context holds."""
    max_output_tokens: StrictInt | None = Field(default=None, ge=1024, le=1_000_000_000)
    """The most that one answer may take. Where a package has a budget and the program asks for no
    limit, this is what the gateway asks for; absent: 32768, or a quarter of the context if that is
    less."""
    input_usd_per_million: Money
    """US dollars per million tokens sent."""
    output_usd_per_million: Money
    """US dollars per million tokens received."""
    cache_read_usd_per_million: Money | None = None
    """US dollars per million tokens read from the cache; absent: as sent."""
    cache_write_usd_per_million: Money | None = None
    """US dollars per million tokens written to the cache; absent: as sent."""


class EnvVar(ApiModel):
    """An environment variable of the agent."""

    name: str = Field(max_length=128, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """Its name."""
    value: str = Field(default="", max_length=4096)
    """Its value; no secret belongs here."""


class LocalObjectReference(ApiModel):
    """An object in the package's namespace."""

    name: DnsName
    """Its name."""


LabelValue = Annotated[str, Field(max_length=63)]


class PodSettings(ApiModel):
    """Where and how the episodes' pods run, as in a pod's spec."""

    runtime_class_name: DnsName | None = None
    """The RuntimeClass, such as gvisor."""
    node_selector: dict[str, LabelValue] = Field(default_factory=dict, max_length=32)
    """Labels that a node must have."""
    tolerations: tuple[dict[str, Any], ...] = Field(default=(), max_length=32)
    """Taints that the pods tolerate, as in a pod's spec."""
    image_pull_secrets: Annotated[tuple[LocalObjectReference, ...], MapBy("name")] = Field(
        default=(), max_length=16
    )
    """Secrets for pulling images, in the package's namespace."""
    priority_class_name: DnsName | None = None
    """The PriorityClass."""


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
    """Which agent program the image holds."""
    command: Command | None = None
    """The program and its arguments, with adapter Command only; it reads the brief from its
    standard input."""
    image: Image
    """The image with the agent program, where a package names none."""
    allowed_images: Annotated[tuple[ImageGlob, ...], UniqueItems()] = Field(
        default=(), max_length=64
    )
    """Globs for the images that a package may name; none by default."""
    model: str | None = Field(default=None, min_length=1, max_length=200)
    """The model, enforced where the gateway is used; absent: the program's own default."""
    model_api: ModelApiName | None = Field(default=None, alias="modelAPI")
    """The API that the model is reached by, for programs that speak several; absent: the usual one
    of the adapter."""
    credentials: Credentials | None = None
    """The model's key; absent: the agent needs none."""
    model_silence_seconds: StrictInt = Field(default=120, ge=5, le=3600)
    """How long the model may say nothing before the gateway gives the request up. An answer that
    has begun, or comes in one piece, may take three times as long. Raise it for slow models."""
    server_tools: ServerTools = ServerTools.REFUSED
    """Whether the gateway lets the model's provider reach out for the agent: tools such as web
    search, web fetch and code execution, other servers, and addresses that are to be read. Allowed
    opens a way past the NetworkPolicy; where a package has a budget they are refused all the
    same."""
    idle_seconds: StrictInt | None = Field(default=None, ge=60, le=86_400)
    """How long an agent may show no sign of life before it is ended as Timeout: no output, no
    request for the model under way in the gateway, nothing written in the worktree or HOME. Keep it
    above the longest silent command, and without the gateway above the model's longest answer.
    Absent: as long as its time limit."""
    endpoint: Endpoint | None = None
    """The base URL of the model's API; absent: the adapter's default."""
    ca_bundle: CaBundle | None = None
    """Certificates of authorities to trust besides the public ones."""
    max_concurrent_episodes: StrictInt | None = Field(default=None, ge=1, le=100_000)
    """How many episodes of this class run at a time in the cluster; absent: any number."""
    resources: ClassResources = ClassResources()
    """The agent's container, where a package says nothing else."""
    pids_limit: PidsLimit = 512
    """How many processes the agent may have."""
    ceilings: Ceilings = Ceilings()
    """The most that a package may ask for."""
    pricing: Annotated[tuple[ModelPricing, ...], MapBy("model")] = Field(default=(), max_length=64)
    """What tokens cost; the first entry that matches the model's name counts."""
    env: Annotated[tuple[EnvVar, ...], MapBy("name")] = Field(default=(), max_length=64)
    """What agent and verify may see besides, such as a proxy or a private package index."""
    egress: tuple[EgressRule, ...] = Field(default=(), max_length=64)
    """What the pods may reach beyond the default, as in a NetworkPolicy: a git server or a model
    inside the cluster, a proxy, a package index."""
    pod: PodSettings = PodSettings()
    """Where and how the pods run."""


class Gate(ApiModel):
    """A provider's limit that a Secret has met; no episode that uses it starts before `until`."""

    namespace: str = Field(max_length=63)
    """The namespace of the Secret."""
    secret_name: DnsName
    """The Secret."""
    since: AwareDatetime
    """When it closed."""
    until: AwareDatetime
    """When the next episode may try."""
    step: Count = 0
    """How often in a row the provider has refused."""
    reason: Reason = ""
    """Why, such as RateLimited."""


class AgentClassStatus(ApiModel):
    """What the operator observed."""

    conditions: Conditions = ()
    """The state of the class: Ready, and why it is not."""
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
    """What the operator observed."""
