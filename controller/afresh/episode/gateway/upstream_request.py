"""Builds the gateway's own requests to the provider: address, headers, key, and TLS.

Owns what leaves the pod: of the agent's request only a path that the API knows, the headers on the
lists, and a body whose length is determined here. Reads no answer.
"""

import io
import ssl
from dataclasses import dataclass

import aiohttp
from yarl import URL

from afresh.episode.gateway.model_api import Upstream
from afresh.episode.gateway.request_head import Head

CONNECT_SECONDS = 10.0
# An answer that is not streamed, or that has begun, may be silent this many times longer.
PATIENCE = 3
READ_BUFFER = 64 << 10
# Headers that programs of all providers send and that no provider obeys as a command.
SENT = frozenset({"accept", "user-agent"})
RETURNED = frozenset(
    {
        "content-encoding",
        "content-type",
        "date",
        "request-id",
        "retry-after",
        "retry-after-ms",
        "x-request-id",
        "x-should-retry",
    }
)


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    """The path and the body of a request to the provider, as the gateway has rewritten them."""

    path: str
    body: bytes | None = None


class UpstreamAnswer(aiohttp.ClientResponse):
    """An answer whose connection is reused only after a complete exchange.

    Otherwise the upstream could take the next request for the rest of one that it refused early.
    """

    @property
    def is_sent(self) -> bool:
        """Whether the whole body of the request was sent."""
        return self._writer is None or self._writer.done()

    def finish(self) -> None:
        """Release the connection for reuse after a complete success; close it otherwise."""
        if self.is_sent and 200 <= self.status < 300 and self.content.is_eof():
            self.release()
        else:
            self.close()

    def close(self) -> None:
        """Close the connection, and drop at once what was not sent of the request."""
        transport = self.connection.transport if self.connection else None
        if transport and not self.is_sent:
            transport.abort()
        super().close()

    def _response_eof(self) -> None:
        """Do not release the connection here: aiohttp may call this before the status is known."""


def open_session(upstream: Upstream) -> aiohttp.ClientSession:
    """Return a client session for the provider. It uses the standard proxy variables if set."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=_tls(upstream), limit=0),
        timeout=aiohttp.ClientTimeout(
            total=None,
            sock_connect=CONNECT_SECONDS,
            # Longer than the forwarder's own limit, which normally applies first.
            sock_read=PATIENCE * upstream.silence_seconds + CONNECT_SECONDS,
        ),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        read_bufsize=READ_BUFFER,
        response_class=UpstreamAnswer,
        skip_auto_headers=("User-Agent", "Accept", "Content-Type"),
        trust_env=True,
    )


def build_request(
    session: aiohttp.ClientSession, upstream: Upstream, head: Head, asked: OutgoingRequest
) -> "aiohttp.client._RequestContextManager":
    """Return the request to the provider, with the real key and no credential of the agent."""
    api = upstream.api
    headers = {
        name: value
        for name, value in head.headers.items()
        if name in SENT or api.is_passed_header(name)
    }
    # Answers must be uncompressed so that they can be metered.
    headers |= {"Accept-Encoding": "identity", **api.key_headers(upstream.key)}
    if asked.body is not None:
        headers |= {"Content-Type": "application/json", "Content-Length": str(len(asked.body))}
    query = api.passed_query(asked.path, head.query)
    url = f"{upstream.endpoint}{asked.path}{'?' if query else ''}{query}"
    return session.request(
        head.method,
        URL(url, encoded=True),
        headers=headers,
        data=None if asked.body is None else io.BytesIO(asked.body),
        allow_redirects=False,
    )


def returned_headers(upstream: Upstream, answer: aiohttp.ClientResponse) -> dict[str, str]:
    """Return the headers of an answer that the agent may see."""
    return {
        name: value
        for name, value in answer.headers.items()
        if name.lower() in RETURNED or upstream.api.is_returned_header(name.lower())
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
