"""An agent program that goes on asking a provider that will not answer."""

import os
from pathlib import Path

from afresh.contract.order import Agent
from afresh.contract.words import AdapterName, CredentialsMode, Outcome
from tests.episode.matrix import AGENT_SECONDS
from tests.episode.pod import Pod, make_order
from tests.episode.servers import Remote, serving

# Asks for as long as it lives, whatever it is told, and claims success when it is told to end.
STUBBORN = """\
#!/usr/bin/env python3
import json, os, signal, sys, time, urllib.request
result = {"type": "result", "subtype": "success", "is_error": False}
signal.signal(signal.SIGTERM, lambda *_: sys.exit(print(json.dumps(result), flush=True)))
while True:
    try:
        address = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
        urllib.request.urlopen(address, b"{}").read()
    except OSError as error:
        print(error, flush=True)
    time.sleep(0.2)
"""


def test_program_that_believes_no_refusal_is_ended_with_the_reason_of_its_provider(
    pod: Pod, remote: Remote, tmp_path: Path
):
    (tmp_path / "api-key").write_text("another-key")
    program = pod.put("/bin/claude", STUBBORN)
    program.chmod(0o755)
    pod.put("/afresh/secrets/model/api-key", "a-key-that-is-refused")
    pod.image_environment = {"PATH": f"{program.parent}:{os.environ['PATH']}"}

    key = ("--api-key-file", str(tmp_path / "api-key"))
    with serving("tools.fakemodel.model_server", *key, log=tmp_path / "log") as port:
        agent = Agent(
            adapter=AdapterName.CLAUDE,
            endpoint=f"http://127.0.0.1:{port}",
            credentials_mode=CredentialsMode.GATEWAY,
            secret_name="anthropic",
            timeout_seconds=AGENT_SECONDS,
        )
        pod.run(make_order(remote.url, "", agent=agent))

    assert pod.result.outcome is Outcome.AUTH, pod.log
    assert pod.result.message == (
        'The model\'s endpoint refuses the key in Secret "anthropic" in namespace "team-a"; '
        "correct its entry api-key."
    )
    # Asked twice, then refused by the gateway: a 400 is what programs do not repeat a request for.
    assert pod.log.count("HTTP Error 401") == 2
    assert "HTTP Error 400" in pod.log
