"""Whether a Report says that the model's provider answers: an agent cannot make it say so."""

import contextlib
import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from afresh.contract.order import Agent
from afresh.contract.words import AdapterName, CredentialsMode, Outcome
from tests.episode.matrix import AGENT_SECONDS
from tests.episode.pod import Pod, make_order
from tests.episode.servers import Remote

WHOLE = {
    "type": "message",
    "model": "claude-x",
    "stop_reason": "end_turn",
    "content": [{"type": "text", "text": "Hi."}],
    "usage": {"input_tokens": 5, "output_tokens": 2},
}
# Hangs up twice, once before and once after the answer begins; asks for a whole answer if told to.
PROGRAM = """\
#!/usr/bin/env python3
import http.client, json, os
host = os.environ["ANTHROPIC_BASE_URL"].removeprefix("http://")
def ask(word):
    connection = http.client.HTTPConnection(host)
    body = {"model": "claude-x", "max_tokens": 2000, "stream": word == "begin",
            "messages": [{"role": "user", "content": word}]}
    connection.request("POST", "/v1/messages", json.dumps(body))
    return connection
HANG_UPS
open("hello.txt", "w").write("hello")
print(json.dumps({"type": "result", "subtype": "success", "is_error": False}), flush=True)
"""
HANG_UPS = """\
connection = ask("begin")
connection.getresponse().read1(10)
connection.close()
connection = ask("say nothing")
open(os.environ["HOME"] + "/asked", "w").close()
while not os.path.exists(os.environ["HOME"] + "/heard"):
    pass
connection.close()
"""
ONE_ANSWER = 'print(ask("answer").getresponse().read())\n'


class Provider(BaseHTTPRequestHandler):
    """Answers what asks for it; begins an answer, or says nothing, until the asker has gone."""

    heard = threading.Event()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        word = json.loads(body)["messages"][0]["content"]
        if word == "answer":
            text = json.dumps(WHOLE).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)
            return
        if word == "begin":
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            start = {"type": "message_start", "message": {"model": "claude-x", "usage": {}}}
            self.wfile.write(f"event: message_start\ndata: {json.dumps(start)}\n\n".encode())
            self.wfile.flush()
        else:
            self.heard.set()
        with contextlib.suppress(OSError):
            self.connection.recv(1)
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def providing() -> Iterator[int]:
    Provider.heard.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize(
    ("asks", "want"),
    [
        pytest.param(HANG_UPS, False, id="it hangs up each time"),
        pytest.param(HANG_UPS + ONE_ANSWER, True, id="it hears one answer to its end"),
    ],
)
def test_requests_that_an_agent_gives_up_are_no_answers_of_the_provider(
    pod: Pod, remote: Remote, asks: str, want: bool
):
    program = pod.put("/bin/claude", PROGRAM.replace("HANG_UPS", asks))
    program.chmod(0o755)
    pod.put("/afresh/secrets/model/api-key", "a-key")
    pod.image_environment = {"PATH": f"{program.parent}:{os.environ['PATH']}"}

    with providing() as port:
        agent = Agent(
            adapter=AdapterName.CLAUDE,
            endpoint=f"http://127.0.0.1:{port}",
            credentials_mode=CredentialsMode.GATEWAY,
            secret_name="anthropic",
            timeout_seconds=AGENT_SECONDS,
        )

        def let_go(started: object) -> None:
            Provider.heard.wait(60)
            pod.put("/home/agent/heard", "")

        report = pod.run(make_order(remote.url, "", agent=agent), let_go)

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert report.usage.turns >= 2
    assert report.answered is want
