"""A scripted model behind the APIs of real providers, which drives a real agent.

    python3 -m tools.fakemodel.model_server --port 8081 --api-key-file /s/api-key --delay 0.3

Owns the check of the key, and failures of the connection. It must not know the content of a script
or the format of an API, which the dialects know.
"""

import argparse
import json
import os
import select
import socket
import struct
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tools.fakemodel.anthropic_messages import AnthropicMessages
from tools.fakemodel.gemini_messages import GeminiContents
from tools.fakemodel.model_behaviours import (
    FAILURES,
    ApiRefusal,
    ApiRefusalReason,
    Break,
    Countdown,
    Failure,
    UnknownBehaviourError,
    act,
    act_at_once,
    find_directives,
    without_directives,
)
from tools.fakemodel.model_dialect import ApiRefusedError, Dialect, MessageRequest, Operation
from tools.fakemodel.model_edits import edits_by_text, use_text
from tools.fakemodel.model_script import (
    Conversation,
    Reply,
    find_script,
    load_scripts,
    without_script,
)
from tools.fakemodel.model_tools import ModelTurn, can_write, use_tools
from tools.fakemodel.openai_chat import OpenAiChat
from tools.fakemodel.openai_responses import OpenAiResponses
from tools.http_wire import (
    ALL_ADDRESSES,
    BrokenBodyError,
    WireHandler,
    WireServer,
    body_pieces,
    is_secret,
    read_secret,
    serve_until_term,
)

DIALECTS: tuple[Dialect, ...] = (
    AnthropicMessages(),
    OpenAiChat(),
    OpenAiResponses(),
    GeminiContents(),
)
_FOLDER = Path(__file__).parent
_BODY_BYTES = 32 * 1024 * 1024
_STREAM = {"content-type": "text/event-stream", "cache-control": "no-cache"}
_JSON = {"content-type": "application/json"}
_UNFINISHED = ModelTurn("I have read the code and will now change it, beginning with")


class ModelServer(WireServer):
    """Answers with the demo's scripts, `delay` seconds after each request.

    While `limit_file` exists, every request is rate-limited.
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

    def respond(self, conversation: Conversation) -> tuple[str, ModelTurn | Failure]:
        """Return a name for the log, and the answer. Raises UnknownBehaviourError."""
        if self._limit_file and self._limit_file.exists():
            return "limited", FAILURES["rate-limited"]
        directives = find_directives(conversation.brief)
        if failure := self._countdown.due_failure(conversation, directives):
            return "failure", failure
        script = find_script(self._scripts, without_directives(conversation.brief))
        if edits_by_text(conversation):
            asked, scripted = act_at_once(directives), script and script.reply_at_once()
            can = True
        else:
            results = conversation.results
            asked, scripted = act(directives, len(results)), script and script.reply(results)
            can = can_write(conversation.tools) and not results
        name = "asked" if asked else script.subtask if script else "unscripted"
        reply = asked or scripted or without_script(can_write=can)
        return name, _turn(reply, conversation)


def _turn(reply: Reply, conversation: Conversation) -> ModelTurn:
    if edits_by_text(conversation):
        return use_text(reply, conversation.instructions)
    return use_tools(reply, conversation.tools)


class _ModelHandler(WireHandler):
    server: ModelServer

    def do_HEAD(self) -> None:  # noqa: N802 - the inherited name
        self.do_GET()

    def do_GET(self) -> None:  # noqa: N802 - the inherited name
        if self._path() in ("/", "/healthz"):
            self.answer(200, b"ok\n", {"content-type": "text/plain"})
            return
        self._serve()

    def do_POST(self) -> None:  # noqa: N802 - the inherited name
        self._serve()

    def _path(self) -> str:
        return self.path.partition("?")[0]

    def _serve(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        dialect = find_dialect(self._path(), headers)
        try:
            # Read the body first: a client that is still sending would miss the refusal.
            text = self._read_body()
            self._check_key(dialect.key_of(headers))
            self._answer_route(dialect, text)
        except ApiRefusedError as error:
            self.close_connection = True
            self._refuse(dialect, error.refusal)

    def _read_body(self) -> bytes:
        text = bytearray()
        try:
            for piece in body_pieces(self.headers, self.rfile):
                text += piece
                if len(text) > _BODY_BYTES:
                    raise ApiRefusedError(
                        ApiRefusal(ApiRefusalReason.TOO_LARGE, "the request is over 32 MiB")
                    )
        except BrokenBodyError as error:
            raise ApiRefusedError(ApiRefusal(ApiRefusalReason.BAD_REQUEST, str(error))) from error
        return bytes(text)

    def _check_key(self, key: str) -> None:
        if not is_secret(key.encode("latin-1", "replace"), self.server.key_file):
            raise ApiRefusedError(ApiRefusal(ApiRefusalReason.UNAUTHORIZED))

    def _answer_route(self, dialect: Dialect, text: bytes) -> None:
        path = self._path()
        method = "GET" if self.command == "HEAD" else self.command
        match dialect.route(method, path):
            case Operation.CONVERSE:
                self._converse(dialect, _understand(dialect, path, text))
            case Operation.COUNT:
                self._answer_json(200, dialect.count(_understand(dialect, path, text)))
            case Operation.MODELS:
                self._answer_json(200, dialect.models())
            case None:
                raise ApiRefusedError(ApiRefusal(ApiRefusalReason.NOT_FOUND, f"there is no {path}"))

    def _converse(self, dialect: Dialect, asked: MessageRequest) -> None:
        conversation = asked.conversation
        try:
            name, response = self.server.respond(conversation)
        except UnknownBehaviourError as error:
            raise ApiRefusedError(ApiRefusal(ApiRefusalReason.BAD_REQUEST, str(error))) from error
        time.sleep(self.server.delay)
        where = f"brief {conversation.briefs}, turn {len(conversation.results) + 1}"
        self.log_message("%s", f"{name}, {where}: {_in_short(dialect, response)}")
        match response:
            case ModelTurn():
                self._send_turn(dialect, asked, response)
            case ApiRefusal():
                self._refuse(dialect, response)
            case Break.RESET:
                self._reset()
            case Break.EMPTY:
                self.answer(200, b"", _STREAM if asked.is_stream else _JSON)
            case Break.CUT_OFF:
                self._cut_off(dialect, asked)
            case Break.HANG:
                # The connection becomes readable when the client sends more or closes it.
                select.select([self.connection], [], [])
                self.close_connection = True

    def _send_turn(self, dialect: Dialect, asked: MessageRequest, turn: ModelTurn) -> None:
        if not asked.is_stream:
            self._answer_json(200, dialect.message(asked, turn))
            return
        self.start_chunks(200, _STREAM)
        for event in dialect.stream(asked, turn):
            self.send_chunk(event)
        self.send_chunk(b"")

    def _cut_off(self, dialect: Dialect, asked: MessageRequest) -> None:
        self.close_connection = True
        if not asked.is_stream:
            text = json.dumps(dialect.message(asked, _UNFINISHED)).encode()
            self.start_answer(200, {**_JSON, "content-length": str(len(text))})
            self.wfile.write(text[: len(text) // 2])
            return
        events = list(dialect.stream(asked, _UNFINISHED))
        self.start_chunks(200, _STREAM)
        for event in events[: len(events) // 2]:
            self.send_chunk(event)

    def _reset(self) -> None:
        # Closing a socket with a linger time of zero sends RST; a shutdown would send FIN first.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())
        self.close_connection = True

    def _refuse(self, dialect: Dialect, refusal: ApiRefusal) -> None:
        said = dialect.refuse(refusal, _now())
        self._answer_json(said.status, said.body, said.headers)

    def _answer_json(
        self, status: int, value: dict[str, Any], headers: Mapping[str, str] | None = None
    ) -> None:
        self.answer(status, json.dumps(value).encode(), {**_JSON, **(headers or {})})


def find_dialect(path: str, headers: Mapping[str, str]) -> Dialect:
    """Return the first API that recognizes the request; the first of all if none does."""
    return next((dialect for dialect in DIALECTS if dialect.claims(path, headers)), DIALECTS[0])


def _understand(dialect: Dialect, path: str, text: bytes) -> MessageRequest:
    try:
        return dialect.read(path, json.loads(text))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ApiRefusedError(ApiRefusal(ApiRefusalReason.BAD_REQUEST)) from error


def _now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - a server's answer has the real time


def _in_short(dialect: Dialect, response: ModelTurn | Failure) -> str:
    match response:
        case ModelTurn():
            return ", ".join(use.name for use in response.uses) or "end of turn"
        case ApiRefusal():
            return f"refuse with {dialect.refuse(response, _now()).status}"
        case Break():
            return response.value


def main() -> int:
    """Serve until SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--api-key-file", type=Path, required=True, help="file with the key that requests must have"
    )
    parser.add_argument("--host", default=ALL_ADDRESSES, help="address to listen on (default: all)")
    parser.add_argument(
        "--port", type=int, default=8081, help="0 selects a free port (default: 8081)"
    )
    parser.add_argument(
        "--delay", type=float, default=0.3, help="seconds before each reply (default: 0.3)"
    )
    parser.add_argument(
        "--limit-file", type=Path, help="while this file exists, all requests are rate-limited"
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
