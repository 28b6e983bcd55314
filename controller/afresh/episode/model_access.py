"""Whether and how the agent reaches its model: through the gateway, or by itself.

Owns the gateway's life around one run of the agent.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from afresh.adapters.adapter import Adapter
from afresh.contract.words import CredentialsMode
from afresh.episode import credentials
from afresh.episode.anthropic_api import AnthropicApi
from afresh.episode.model_api import ModelApi, Upstream
from afresh.episode.workplace import Workplace

APIS: dict[str, ModelApi] = {"anthropic": AnthropicApi()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """`base_url` is None where the agent needs no gateway; `admit` lets its requests pass."""

    base_url: str | None = None
    admit: Callable[[], None] = lambda: None


@contextlib.contextmanager
def open_access(work: Workplace, adapter: Adapter) -> Iterator[Access]:
    """Serve the gateway while the block runs. Raises Ended if the key is missing."""
    api = APIS.get(adapter.model_api or "")
    if api is None or work.order.agent.credentials_mode is not CredentialsMode.GATEWAY:
        yield Access()
        return
    agent = work.order.agent
    upstream = Upstream(
        api=api,
        endpoint=(agent.endpoint or api.default_endpoint).rstrip("/"),
        key=credentials.model_key(work.order, work.paths),
        model=agent.model,
        authorities=work.paths.authorities,
    )
    from afresh.episode.gateway import Gateway  # noqa: PLC0415  # asyncio: only where it is needed

    gateway = Gateway(upstream, work.meter, work.log)
    gateway.start(work.paths.gateway_port)
    try:
        yield Access(base_url=gateway.url, admit=gateway.admit)
    finally:
        gateway.close()
