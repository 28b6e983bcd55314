"""What an agent can find of the secrets that its episode works with."""

import base64
import json
from hashlib import sha256
from pathlib import Path

import pytest

from tests.e2e.team import Team, message_of

pytestmark = [pytest.mark.cluster, pytest.mark.story]

SEARCH = Path(__file__).with_name("secret_search.py")
CANARY = "a-canary-that-the-class-gives-its-agent"
VALUE = "a-token-of-the-provider-itself"


def searching(**secrets: str) -> str:
    """A shell command that looks for these values, which stand nowhere in clear."""
    program = base64.b64encode(SEARCH.read_bytes()).decode()
    encoded = base64.b64encode(json.dumps(secrets).encode()).decode()
    return f"printf %s {program} | base64 -d >/tmp/search.py && python3 /tmp/search.py {encoded}"


def test_agent_finds_no_secret_in_its_environment_files_processes_or_on_loopback(
    team: Team,
) -> None:
    team.secret("model-key", **{"api-key": team.model_key})
    team.claude(env=[{"name": "CANARY", "value": CANARY}])
    command = searching(password=team.git_password, key=team.model_key, canary=CANARY)
    team.apply(team.package("p", f"Search.\ndemo-model: shell {command}"))

    team.wait_for("Succeeded")
    branch = team.branch()
    found = branch.read("found.txt").splitlines()
    heard = branch.read("heard.txt").splitlines()
    processes = branch.read("processes.txt")

    assert [line for line in found if not line.startswith("canary in ")] == []
    assert [line for line in found if line.startswith("canary in /proc/")], "it can search"
    assert "claude" in processes
    assert "afresh.episode" not in processes
    assert [line for line in heard if line.startswith("127.0.0.1:8787/v1/files")] == [
        "127.0.0.1:8787/v1/files HTTP/1.1 403"
    ]


def test_agent_with_credentials_of_its_own_works_once_their_secret_is_there_and_prints_none(
    team: Team,
) -> None:
    team.agent(credentials={"mode": "Environment", "secretName": "provider"})
    use = 'printf %s "$PROVIDER_TOKEN" | tee /dev/stderr | sha256sum >used.txt'
    team.apply(team.package("p", f"Use it.\ndo: {use}"))

    stalled = team.wait_for("Stalled", reason="Config")
    team.secret("provider", PROVIDER_TOKEN=VALUE)
    team.wait_for("Succeeded")

    assert f'Secret "provider" in namespace "{team.namespace}" is missing' in message_of(stalled)
    (*_, attempt) = team.attempts("T001")
    assert "[redacted]" in attempt["logTail"]
    assert VALUE not in json.dumps(team.status()) + json.dumps(team.attempts("T001"))
    assert team.branch().read("used.txt").split()[0] == sha256(VALUE.encode()).hexdigest()
