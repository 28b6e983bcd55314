"""The gateway and a provider whose certificate comes from an authority of one's own."""

import asyncio
from pathlib import Path

import aiohttp
import pytest

from afresh.episode.gateway.model_api import ModelFault
from tests.episode.authority import server_context
from tests.episode.gateway_client import MESSAGES, make_gateway
from tests.episode.upstream import events, providing, streams


@pytest.mark.parametrize(
    ("is_in_bundle", "is_in_roots", "want"),
    [
        pytest.param(True, False, 200, id="in the bundle of the class"),
        pytest.param(False, True, 200, id="among the roots of the system"),
        pytest.param(False, False, 502, id="unknown"),
    ],
)
async def test_certificate_is_verified_by_the_systems_roots_and_those_of_the_class(
    authority: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_in_bundle: bool,
    is_in_roots: bool,
    want: int,
):
    if is_in_roots:
        monkeypatch.setenv("SSL_CERT_FILE", str(authority / "bundle/ca.crt"))
    bundle = authority / "bundle" if is_in_bundle else Path("/nowhere")
    async with providing(streams(*events()), server_context(authority)) as provider:
        gateway = make_gateway(provider.url, authorities=bundle)
        gateway.open()
        async with (
            aiohttp.ClientSession(gateway.url) as client,
            client.post(MESSAGES, json={}) as answer,
        ):
            status = answer.status
            await answer.read()
        await asyncio.to_thread(gateway.close)

    assert status == want
    assert gateway.meter.last_fault is (None if want == 200 else ModelFault.UNTRUSTED)
    assert len(provider.asked) == (1 if want == 200 else 0)
