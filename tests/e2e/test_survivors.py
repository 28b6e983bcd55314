"""What every story is checked with at its end finds a program that is alive."""

import subprocess
from collections.abc import Iterator

import pytest

from afresh.core.names import user_id
from tests.e2e.survivors import programs_of, users_of

pytestmark = pytest.mark.cluster

PACKAGE = {
    "metadata": {"uid": "11111111-2222-3333-4444-555555555555"},
    "spec": {"subtasks": [{"id": "T001"}]},
    "status": {"subtasks": [{"id": "T002"}]},
}


@pytest.fixture
def program() -> Iterator[subprocess.Popen[bytes]]:
    """A program of the user of a subtask's episodes."""
    user = user_id(PACKAGE["metadata"]["uid"], "T002")
    with subprocess.Popen(["sleep", "600"], user=user) as process:
        yield process
        process.kill()


def test_a_program_of_an_episode_is_found_until_it_has_ended(
    program: subprocess.Popen[bytes],
) -> None:
    users = users_of([PACKAGE], [])

    found = programs_of(users)
    program.kill()
    program.wait()

    assert found == ["sleep 600 "]
    assert programs_of(users) == []
