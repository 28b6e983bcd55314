"""A scripted model behind the Anthropic Messages API, which drives a real agent.

    python3 model_server.py --port 8081 --api-key-file /s/api-key --delay 0.3

It owns the API's routes, its key and its failures on the wire. It must not know what a script says.
"""

import argparse
import json
import os
import select
import socket
import struct
import sys
import time
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from pathlib import Path
from typing import Any

from http_wire import (
    ALL_ADDRESSES,
    BrokenBodyError,
    WireHandler,
    WireServer,
    body_pieces,
    is_secret,
    read_secret,
    serve_until_term,
)
from model_behaviours import (
    FAILURES,
    Break,
    Countdown,
    Failure,
    Refusal,
    UnknownBehaviourError,
    act,
    find_directives,
    without_directives,
)
from model_messages import (
    build_message,
    count_tokens,
    error_body,
    list_models,
    server_sent,
    stream_events,
)
from model_script import (
    Conversation,
    Reply,
    find_script,
    load_scripts,
    read_conversation,
    without_script,
)

_FOLDER = Path(__file__).parent
_BODY_BYTES = 32 * 1024 * 1024
_STREAM = {"content-type": "text/event-stream", "cache-control": "no-cache"}
_JSON = {"content-type": "application/json"}
_UNFINISHED = Reply("I have read the code and will now change it, beginning with")


class ModelServer(WireServer):
    """Answers with the demo's scripts, `delay` seconds after each request.

    While `limit_file` exists, everybody is rate-limited.
    """

    def __init__(
        self, address: tuple[str, int], key_file: Path, delay: float, limit_file: Path | None
    ) -> None:
        super().__init__(address, _ModelHandler)
        self.key_file = key_file
        self.delay = delay
        self._limit_file = limit_file
        self._scripts = load_scripts(_FOLDER)
        self._countdown = Countdown()

    def respond(self, conversation: Conversation) -> tuple[str, Reply | Failure]:
        """Return a name for the log, and what to answer; raises UnknownBehaviourError."""
        if self._limit_file and self._limit_file.exists():
            return "limited", FAILURES["rate-limited"]
        directives = find_directives(conversation.brief)
        if failure := self._countdown.due_failure(conversation, directives):
            return "failure", failure
        if asked := act(directives, len(conversation.results)):
            return "asked", asked
        script = find_script(self._scripts, without_directives(conversation.brief))
        if script is None:
            return "unscripted", without_script(conversation)
        return script.subtask, script.reply(conversation.results)


class _RefusedError(Exception):
    """A request that cannot be answered; the connection is not used again."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.refusal = Refusal(status, kind, message)


class _ModelHandler(WireHandler):
    server: ModelServer

    def do_HEAD(self) -> None:  # noqa: N802 - the inherited name
        self.do_GET()

    def do_GET(self) -> None:  # noqa: N802 - the inherited name
        path = self.path.partition("?")[0]
        if path in ("/", "/healthz"):
            self.answer(200, b"ok\n", {"content-type": "text/plain"})
            return
        try:
            self._check_key()
            if path != "/v1/models":
                raise _not_found(path)
        except _RefusedError as error:
            self._refuse(error.refusal)
        else:
            self._answer_json(200, list_models())

    def do_POST(self) -> None:  # noqa: N802 - the inherited name
        path = self.path.partition("?")[0]
        try:
            # The body comes first: a client that is still sending would miss the refusal.
            text = self._read_body()
            self._check_key()
            if path == "/v1/messages/count_tokens":
                self._answer_json(200, count_tokens(_messages_request(text)))
            elif path == "/v1/messages":
                self._converse(_messages_request(text))
            else:
                raise _not_found(path)
        except _RefusedError as error:
            self.close_connection = True
            self._refuse(error.refusal)

    def _check_key(self) -> None:
        key = self.headers.get("x-api-key", "").encode("latin-1", "replace")
        if not is_secret(key, self.server.key_file):
            raise _RefusedError(401, "authentication_error", "invalid x-api-key")

    def _read_body(self) -> bytes:
        text = bytearray()
        try:
            for piece in body_pieces(self.headers, self.rfile):
                text += piece
                if len(text) > _BODY_BYTES:
                    raise _RefusedError(413, "request_too_large", "the request is over 32 MiB")
        except BrokenBodyError as error:
            raise _RefusedError(400, "invalid_request_error", str(error)) from error
        return bytes(text)

    def _converse(self, body: dict[str, Any]) -> None:
        conversation = read_conversation(body)
        try:
            name, response = self.server.respond(conversation)
        except UnknownBehaviourError as error:
            raise _RefusedError(400, "invalid_request_error", str(error)) from error
        time.sleep(self.server.delay)
        where = f"brief {conversation.briefs}, turn {len(conversation.results) + 1}"
        self.log_message("%s", f"{name}, {where}: {_in_short(response)}")
        match response:
            case Reply():
                self._send_message(build_message(body, response), bool(body.get("stream")))
            case Refusal():
                self._refuse(response)
            case Break.RESET:
                self._reset()
            case Break.EMPTY:
                self.answer(200, b"", _STREAM if body.get("stream") else _JSON)
            case Break.CUT_OFF:
                self._cut_off(build_message(body, _UNFINISHED), bool(body.get("stream")))
            case Break.HANG:
                # Whatever the client does next, giving up included, makes its connection readable.
                select.select([self.connection], [], [])
                self.close_connection = True

    def _send_message(self, message: dict[str, Any], is_stream: bool) -> None:
        if not is_stream:
            self._answer_json(200, message)
            return
        self.start_chunks(200, _STREAM)
        for event in stream_events(message):
            self.send_chunk(server_sent(event))
        self.send_chunk(b"")

    def _cut_off(self, message: dict[str, Any], is_stream: bool) -> None:
        self.close_connection = True
        if not is_stream:
            text = json.dumps(message).encode()
            self.start_answer(200, {**_JSON, "content-length": str(len(text))})
            self.wfile.write(text[: len(text) // 2])
            return
        self.start_chunks(200, _STREAM)
        for event in takewhile(
            lambda event: event["type"] != "content_block_stop", stream_events(message)
        ):
            self.send_chunk(server_sent(event))

    def _reset(self) -> None:
        # Closing a socket that lingers for no time sends RST; a shutdown would send FIN first.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())
        self.close_connection = True

    def _refuse(self, refusal: Refusal) -> None:
        headers = {}
        if refusal.retry_after is not None:
            now = datetime.now(UTC)  # noqa: TID251 - a server's answer tells the real time
            reset = now + timedelta(seconds=refusal.retry_after)
            headers = {
                "retry-after": str(refusal.retry_after),
                "anthropic-ratelimit-requests-remaining": "0",
                "anthropic-ratelimit-requests-reset": reset.isoformat(timespec="seconds"),
            }
        self._answer_json(refusal.status, error_body(refusal.kind, refusal.message), headers)

    def _answer_json(
        self, status: int, value: dict[str, Any], headers: dict[str, str] | None = None
    ) -> None:
        self.answer(status, json.dumps(value).encode(), {**_JSON, **(headers or {})})


def _messages_request(text: bytes) -> dict[str, Any]:
    try:
        body: dict[str, Any] = json.loads(text)
        read_conversation(body)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise _RefusedError(
            400, "invalid_request_error", "this is not a Messages request"
        ) from error
    if not str(body.get("model", "")).startswith("claude-"):
        raise _RefusedError(404, "not_found_error", f"model: {body.get('model')}")
    return body


def _not_found(path: str) -> _RefusedError:
    return _RefusedError(404, "not_found_error", f"there is no {path}")


def _in_short(response: Reply | Failure) -> str:
    match response:
        case Reply():
            return ", ".join(call.name for call in response.calls) or "end of turn"
        case Refusal():
            return f"refuse with {response.status}"
        case Break():
            return response.value


def main() -> int:
    """Serve until told to end."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--api-key-file", type=Path, required=True, help="what x-api-key must be")
    parser.add_argument("--host", default=ALL_ADDRESSES, help="where to listen (default: all)")
    parser.add_argument("--port", type=int, default=8081, help="0 takes a free one (default: 8081)")
    parser.add_argument(
        "--delay", type=float, default=0.3, help="seconds before each reply (default: 0.3)"
    )
    parser.add_argument(
        "--limit-file", type=Path, help="while this file exists, every request meets a rate limit"
    )
    args = parser.parse_args()
    address = (args.host, args.port)
    try:
        read_secret(args.api_key_file)
        server = ModelServer(address, args.api_key_file, args.delay, args.limit_file)
    except OSError as error:
        print(f"model_server: {error.filename or 'port'}: {error.strerror}", file=sys.stderr)
        return 1
    with server:
        serve_until_term(server)
    return 0


if __name__ == "__main__":
    sys.exit(main())
