"""Every agent program in pods against every kind of answer: `make test-matrix`.

The name keeps it out of the daily run, in which the same table is run by processes.
"""

import itertools

import pytest

from tests.e2e import agents
from tests.e2e.team import Team
from tests.episode.matrix import ANSWERS, OTHER_APIS, PROGRAMS, Answer, Program

CASES = [
    pytest.param(
        program,
        answer,
        id=f"{program.name}, {answer.name}",
        marks=pytest.mark.images(agents.image_of(program)),
    )
    for answer, program in itertools.product(ANSWERS, (*PROGRAMS, *OTHER_APIS))
]


@pytest.mark.cluster
@pytest.mark.story
@pytest.mark.parametrize(("program", "answer"), CASES)
def test_kind_of_answer_is_the_outcome_of_the_attempt(
    team: Team, program: Program, answer: Answer
) -> None:
    attempt = agents.run(team, program, answer)

    assert attempt["outcome"] == answer.want, attempt
