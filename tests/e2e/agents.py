"""One agent program in pods, against one kind of answer of its provider."""

from typing import Any

from tests.e2e.cluster import wait
from tests.e2e.team import Team
from tests.episode.matrix import AGENT_SECONDS, FILE, Answer, Program

# Pods, and several programs at a time: much slower than processes.
SECONDS = 300


def image_of(program: Program) -> str:
    """Return the name of the image that holds the program."""
    return f"agent-{program.adapter.lower()}"


def run(team: Team, program: Program, answer: Answer) -> dict[str, Any]:
    """Run a package of one subtask; return its first attempt, once that has ended."""
    team.secret("model-key", **{"api-key": team.model_key})
    team.agent(
        adapter=program.adapter,
        image=f"localhost/afresh/{image_of(program)}:dev",
        model=program.model,
        endpoint=team.model,
        credentials={"secretName": "model-key"},
        **({"modelAPI": program.model_api} if program.model_api else {}),
    )
    prompt = f"Write {FILE}.\n\ndemo-model: {answer.behaviour}"
    limits = {
        "timeoutSeconds": answer.changes.get("timeout_seconds", AGENT_SECONDS),
        "maxTurns": answer.changes.get("max_turns", 20),
    }
    team.apply(team.package("p", prompt, episode=limits))
    wait("there is a subtask", lambda: team.status().get("subtasks"), seconds=SECONDS)
    wait("an attempt has ended", lambda: _ended(team), seconds=SECONDS)
    attempt = team.attempts("T001")[0]
    team.stop()
    return attempt


def _ended(team: Team) -> bool:
    attempts = team.attempts("T001")
    return bool(attempts) and "outcome" in attempts[0]
