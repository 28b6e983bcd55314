"""Builds the gateway's own requests to the provider: address, headers, key, and TLS.

Owns what leaves the pod. Reads no answer.
"""

import io
import ssl
from collections.abc import Mapping
from dataclasses import dataclass

import aiohttp
from aiohttp import web
from yarl import URL

from afresh.episode.gateway.model_api import Upstream

CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 600.0
HOP_BY_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
# Answers must come uncompressed to be metered on their way.
NOT_SENT = frozenset({"host", "accept-encoding", "expect"})
NOT_RETURNED = frozenset({"set-cookie"})


@dataclass(frozen=True, slots=True)
class Asked:
    """What of a request is the gateway's to decide: its path, and its body."""

    path: str
    body: bytes | aiohttp.StreamReader | None = None


def open_session(upstream: Upstream) -> aiohttp.ClientSession:
    """Return a client session for the provider, through the standard proxy variables if set."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=_tls(upstream), limit=0),
        timeout=aiohttp.ClientTimeout(
            total=None, sock_connect=CONNECT_SECONDS, sock_read=SILENCE_SECONDS
        ),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        skip_auto_headers=("User-Agent", "Accept", "Content-Type"),
        trust_env=True,
    )


def build_request(
    session: aiohttp.ClientSession, upstream: Upstream, request: web.BaseRequest, asked: Asked
) -> "aiohttp.client._RequestContextManager":
    """Return the request to the provider, with the real key and none of the agent's."""
    body = asked.body
    not_sent = NOT_SENT | ({"content-length"} if isinstance(body, bytes) else set())
    headers = {
        name: value
        for name, value in _end_to_end(request.headers).items()
        if name.lower() not in not_sent and not upstream.api.is_key_header(name.lower())
    }
    query = upstream.api.passed_query(asked.path, request.rel_url.raw_query_string)
    url = f"{upstream.endpoint}{asked.path}{'?' if query else ''}{query}"
    return session.request(
        request.method,
        URL(url, encoded=True),
        headers=headers | {"Accept-Encoding": "identity"} | upstream.api.key_headers(upstream.key),
        data=io.BytesIO(body) if isinstance(body, bytes) else body,
        allow_redirects=False,
    )


def returned_headers(answer: aiohttp.ClientResponse) -> dict[str, str]:
    """Return the headers of an answer that the agent may see."""
    headers = _end_to_end(answer.headers)
    return {name: value for name, value in headers.items() if name.lower() not in NOT_RETURNED}


def _end_to_end(headers: Mapping[str, str]) -> dict[str, str]:
    named = {name.strip().lower() for name in headers.get("Connection", "").split(",")}
    return {
        name: value for name, value in headers.items() if name.lower() not in HOP_BY_HOP | named
    }


def _tls(upstream: Upstream) -> ssl.SSLContext | bool:
    if not upstream.endpoint.startswith("https:"):
        return True
    context = ssl.create_default_context()
    if upstream.authorities.is_dir():
        for file in sorted(upstream.authorities.iterdir()):
            if file.is_file():
                context.load_verify_locations(cafile=file)
    return context
