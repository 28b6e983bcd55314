"""The agent's only way to its model: adds the key, forwards model requests, and meters them.

Owns the listening socket and the forwarding. Anybody in the pod can reach it, so it lets nothing
through before the agent starts or after it has ended, nothing but model paths, and no credential
back. aiohttp is imported in its own thread: the socket listens at once, and connections wait.
"""

import asyncio
import contextlib
import socket
import ssl
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from afresh.contract.order import Agent
from afresh.episode.log import Log
from afresh.episode.meter import Meter
from afresh.episode.model_api import ModelApi

if TYPE_CHECKING:
    from afresh.episode.forward import Forwarder

STOP_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """Where model requests go, and with what."""

    api: ModelApi
    endpoint: str
    key: str
    model: str | None
    authorities: Path


def upstream_of(agent: Agent, api: ModelApi, key: str, authorities: Path) -> Upstream:
    """Return the upstream that the Order asks for."""
    return Upstream(
        api=api,
        endpoint=(agent.endpoint or api.default_endpoint).rstrip("/"),
        key=key,
        model=agent.model,
        authorities=authorities,
    )
