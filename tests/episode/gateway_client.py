"""A gateway between a provider made for the test and a client in the agent's place."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from afresh.contract.order import Budget, Price
from afresh.contract.report import Usage
from afresh.episode.gateway.bounds import PATIENCE, ConnectionPatience
from afresh.episode.gateway.meter import Meter
from afresh.episode.gateway.model_api import ModelApi, Upstream
from afresh.episode.gateway.providers.anthropic import AnthropicApi
from afresh.episode.gateway.server import Gateway
from afresh.episode.reporting.log import Log
from afresh.episode.reporting.redact import Redactor
from tests.episode.upstream import Answer, Provider, providing

KEY = "the-real-key"
MESSAGES = "/v1/messages"
PRICE = Price(
    model="claude-*",
    input_usd_per_million="3",
    output_usd_per_million="15",
    cache_read_usd_per_million="0.30",
    cache_write_usd_per_million="3.75",
)


def make_gateway(
    endpoint: str,
    *,
    max_turns: int = 20,
    model: str | None = None,
    prices: tuple[Price, ...] = (),
    budget: Budget | None = None,
    authorities: Path = Path("/nowhere"),
    port: int = 0,
    patience: ConnectionPatience = PATIENCE,
    silence: float = 120,
) -> Gateway:
    """A gateway that has not been started."""
    upstream = Upstream(
        api=AnthropicApi(),
        endpoint=endpoint,
        key=KEY,
        model=model,
        authorities=authorities,
        silence_seconds=silence,
    )
    meter = Meter(max_turns, prices, budget)
    return Gateway(upstream, meter, Log(Redactor()), port, patience)


@dataclass
class Talk:
    """Provider, gateway and client."""

    provider: Provider
    gateway: Gateway
    client: aiohttp.ClientSession

    async def ask(self, body: object = None, path: str = MESSAGES) -> tuple[int, bytes]:
        """Ask for the model; return status and body of the answer."""
        async with self.client.post(path, json=body or {"model": "claude-x"}) as answer:
            return answer.status, await answer.read()

    @property
    def usage(self) -> Usage:
        return self.gateway.meter.usage()

    async def close(self) -> None:
        await asyncio.to_thread(self.gateway.close)


@asynccontextmanager
async def talking(
    answer: Answer,
    *,
    path: str = "",
    max_turns: int = 20,
    model: str | None = None,
    prices: tuple[Price, ...] = (),
    budget: Budget | None = None,
    silence: float = 120,
) -> AsyncIterator[Talk]:
    """Start all three; requests pass. The gateway is closed at the end."""
    async with providing(answer) as provider:
        gateway = make_gateway(
            provider.url + path,
            max_turns=max_turns,
            model=model,
            prices=prices,
            budget=budget,
            silence=silence,
        )
        async with _opened(provider, gateway) as talk:
            yield talk


@asynccontextmanager
async def talking_to(
    api: ModelApi,
    answer: Answer,
    *,
    model: str | None = None,
    prices: tuple[Price, ...] = (),
    budget: Budget | None = None,
    server_tools: bool = False,
    agent_key: str | None = None,
) -> AsyncIterator[Talk]:
    """As `talking`, with a provider whose API is `api`."""
    async with providing(answer) as provider:
        upstream = Upstream(
            api=api,
            endpoint=provider.url,
            key=KEY,
            agent_key=agent_key,
            model=model,
            authorities=Path("/nowhere"),
            allows_server_tools=server_tools,
        )
        gateway = Gateway(upstream, Meter(20, prices, budget, model), Log(Redactor()), 0)
        async with _opened(provider, gateway) as talk:
            yield talk


@asynccontextmanager
async def _opened(provider: Provider, gateway: Gateway) -> AsyncIterator[Talk]:
    gateway.open()
    async with aiohttp.ClientSession(gateway.url, auto_decompress=False) as client:
        talk = Talk(provider, gateway, client)
        try:
            yield talk
        finally:
            await talk.close()
