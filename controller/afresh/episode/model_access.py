"""Whether and how the agent reaches its model: through the gateway, or by itself.

Owns the gateway's life around one run of the agent.
"""

import contextlib
import importlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from afresh.adapters.adapter import Adapter
from afresh.contract.order import Order
from afresh.contract.words import CredentialsMode
from afresh.episode import credentials
from afresh.episode.anthropic_api import AnthropicApi
from afresh.episode.gateway import Gateway
from afresh.episode.model_api import ModelApi, Upstream
from afresh.episode.workplace import Workplace

APIS: dict[str, ModelApi] = {"anthropic": AnthropicApi()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """`base_url` is None where the agent needs no gateway; `admit` lets its requests pass."""

    base_url: str | None = None
    admit: Callable[[], None] = lambda: None


def warm_up(order: Order, adapter: Adapter) -> None:
    """Import what the gateway needs beside the next steps, which mostly wait for git."""
    if _needs_gateway(order, adapter):
        target = importlib.import_module
        threading.Thread(target=target, args=("afresh.episode.forward",), daemon=True).start()


@contextlib.contextmanager
def open_access(work: Workplace, adapter: Adapter) -> Iterator[Access]:
    """Serve the gateway while the block runs. Raises Ended if the key is missing."""
    api = APIS.get(adapter.model_api or "")
    if api is None or not _needs_gateway(work.order, adapter):
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
    gateway = Gateway(upstream, work.meter, work.log)
    gateway.start(work.paths.gateway_port)
    try:
        yield Access(base_url=gateway.url, admit=gateway.admit)
    finally:
        gateway.close()


def _needs_gateway(order: Order, adapter: Adapter) -> bool:
    return order.agent.credentials_mode is CredentialsMode.GATEWAY and bool(adapter.model_api)
