"""The gateway and a provider whose certificate comes from an authority of one's own."""

import asyncio
import ssl
import subprocess
from pathlib import Path

import aiohttp
import pytest

from afresh.episode.model_api import Fault
from tests.episode.gateway_client import MESSAGES, make_gateway
from tests.episode.upstream import events, providing, streams


def openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=30)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an authority (`bundle/ca.crt`) and a certificate of it for 127.0.0.1."""
    folder = tmp_path_factory.mktemp("authority")
    (folder / "bundle").mkdir()
    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    ca, key = str(folder / "bundle/ca.crt"), str(folder / "ca.key")
    openssl(
        *("req", "-x509", *new, "-subj", "/CN=authority", "-keyout", key, "-out", ca),
        *("-addext", "basicConstraints=critical,CA:TRUE"),
        *("-addext", "keyUsage=critical,keyCertSign,cRLSign"),
    )
    openssl(
        *("req", "-x509", *new, "-subj", "/CN=provider", "-CA", ca, "-CAkey", key),
        *("-keyout", str(folder / "key"), "-out", str(folder / "certificate")),
        *("-addext", "subjectAltName=IP:127.0.0.1"),
        *("-addext", "basicConstraints=critical,CA:FALSE"),
    )
    return folder


@pytest.mark.parametrize("known", [True, False], ids=["a known authority", "an unknown one"])
async def test_certificate_is_verified_against_the_authorities_of_the_class(
    authority: Path, known: bool
):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(authority / "certificate", authority / "key")
    bundle = authority / "bundle" if known else Path("/nowhere")
    async with providing(streams(*events()), context) as provider:
        gateway = make_gateway(provider.url, authorities=bundle)
        gateway.open()
        async with (
            aiohttp.ClientSession(gateway.url) as client,
            client.post(MESSAGES, json={}) as answer,
        ):
            status = answer.status
            await answer.read()
        await asyncio.to_thread(gateway.close)

    assert status == (200 if known else 502)
    assert gateway.meter.last_fault is (None if known else Fault.UNTRUSTED)
    assert len(provider.asked) == (1 if known else 0)
