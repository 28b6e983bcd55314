"""Every agent program against every kind of answer: the real programs, several at a time."""

import itertools
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from afresh.contract.words import Outcome
from tests.episode.matrix import (
    ANSWERS,
    FILE,
    KEY,
    OTHER_APIS,
    PROGRAMS,
    RETRY_SECONDS,
    TURNS,
    Ended,
    Place,
)

pytestmark = pytest.mark.slow
CELLS = {
    f"{program.name}, {answer.name}": (program, answer)
    for program, answer in (
        *itertools.product(PROGRAMS, ANSWERS),
        *itertools.product(OTHER_APIS, ANSWERS[:4]),
    )
}
# A program waits more than it works: two cores have enough to do with this many.
AT_ONCE = 3


@pytest.fixture(scope="session")
def place(git_root: Path, git_port: int, tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("matrix"), git_root, git_port)


@pytest.fixture(scope="session")
def begun(
    request: pytest.FixtureRequest, place: Place, model_port: int
) -> Iterator[dict[str, Future[Ended]]]:
    """Begin the episodes of all cells that are asked for."""
    asked = [
        item.callspec.params["cell"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and "begun" in item.fixturenames
    ]
    for cell in asked:
        CELLS[cell][0].install()
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        yield {cell: pool.submit(place.run, *CELLS[cell], model_port) for cell in asked}
    finally:
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("cell", CELLS)
def test_kind_of_answer_is_the_outcome_whatever_the_program_makes_of_it(
    begun: dict[str, Future[Ended]], cell: str
):
    _, answer = CELLS[cell]

    ended = begun[cell].result()

    assert ended.outcome is answer.want, ended.log
    assert (FILE in ended.files) == (answer.want is Outcome.SUCCESS)
    assert KEY not in ended.log
    _check_usage(ended)
    if answer.behaviour.startswith("rate-limited"):
        assert ended.report.not_before
        assert ended.report.not_before > ended.report.phases["agentEnded"] + RETRY_SECONDS / 2


def _check_usage(ended: Ended) -> None:
    usage = ended.report.usage
    if ended.outcome is Outcome.SUCCESS:
        assert usage.turns >= 1
        assert usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens > 0
        assert usage.output_tokens > 0
    if ended.outcome is Outcome.TURN_LIMIT:
        assert usage.turns == TURNS
