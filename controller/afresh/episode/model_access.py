"""Decides how the agent reaches its model: through the gateway, or directly.

Owns the lifetime of the gateway, which lasts for one run of the agent.
"""

import contextlib
import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from afresh.adapters.adapter import PLACEHOLDER_KEY
from afresh.contract.abilities import gateway_api
from afresh.contract.words import CredentialsMode, ModelApiName
from afresh.episode import credentials
from afresh.episode.context import EpisodeContext
from afresh.episode.gateway.model_api import ModelApi, Upstream
from afresh.episode.gateway.server import Gateway

_PLACES = {
    ModelApiName.ANTHROPIC: ("anthropic", "AnthropicApi"),
    ModelApiName.GEMINI: ("gemini", "GeminiApi"),
    ModelApiName.OPENAI: ("openai", "OpenAiApi"),
}


def api_of(name: ModelApiName) -> ModelApi:
    """Return the API of that name.

    Only its module is imported: the others would delay the start of every episode.
    """
    module, kind = _PLACES[name]
    provider = importlib.import_module(f"afresh.episode.gateway.providers.{module}")
    api: ModelApi = getattr(provider, kind)()
    return api


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How the agent reaches its model.

    `base_url` is None if the agent needs no gateway; `open` lets its requests pass. `key` is what
    the agent sends to the gateway.
    """

    base_url: str | None = None
    key: str = PLACEHOLDER_KEY
    open: Callable[[], None] = lambda: None


@contextlib.contextmanager
def open_access(context: EpisodeContext) -> Iterator[Access]:
    """Provide the access to the model, with a gateway if one is needed, until the block ends.

    Raises SubtaskStopped if the key or the variables of the agent's Secret are missing.
    """
    agent = context.order.agent
    name = gateway_api(agent)
    if agent.credentials_mode is CredentialsMode.ENVIRONMENT:
        credentials.require_variables(context.order, context.paths)
    if name is None:
        yield Access()
        return
    api = api_of(name)
    agent_key = context.paths.agent_key.read_text() if context.paths.agent_key else None
    upstream = Upstream(
        api=api,
        endpoint=_root(agent.endpoint or api.default_endpoint),
        key=credentials.model_key(context.order, context.paths),
        agent_key=agent_key,
        model=agent.model,
        authorities=context.paths.authorities,
        silence_seconds=agent.silence_seconds,
        # A price list by tokens does not cover what the provider's tools cost.
        allows_server_tools=agent.allows_server_tools and context.order.budget is None,
    )
    gateway = Gateway(upstream, context.meter, context.log, context.paths.gateway_port)
    try:
        yield Access(base_url=gateway.url, key=agent_key or PLACEHOLDER_KEY, open=gateway.open)
    finally:
        gateway.close()


def _root(endpoint: str) -> str:
    """Return the prefix of the API's paths: many users write an endpoint with its `/v1`."""
    return endpoint.rstrip("/").removesuffix("/v1")
