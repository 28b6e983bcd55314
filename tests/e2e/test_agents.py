"""Every agent program in pods, from its own image: one episode that ends well, one that fails."""

import pytest

from tests.e2e import agents
from tests.e2e.team import Team
from tests.episode.matrix import FILE, PROGRAMS, Answer, Program, answer_named

DONE = answer_named("the work is done")
REFUSED = answer_named("the key is refused")


def pods_of(program: Program, answer: Answer) -> object:
    """A case that needs the program's image."""
    image = pytest.mark.images(agents.image_of(program))
    return pytest.param(program, answer, id=f"{program.name}, {answer.name}", marks=image)


@pytest.mark.cluster
@pytest.mark.story
@pytest.mark.parametrize(
    ("program", "answer"),
    [pods_of(program, answer) for answer in (DONE, REFUSED) for program in PROGRAMS],
)
def test_program_in_its_image_ends_as_the_provider_has_answered(
    team: Team, program: Program, answer: Answer
) -> None:
    attempt = agents.run(team, program, answer)

    assert attempt["outcome"] == answer.want, attempt
    assert (answer is DONE) == (attempt["turns"] > 0)
    if answer is DONE:
        assert team.branch().read(FILE)
