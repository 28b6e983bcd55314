"""How long a failing provider is asked again, told as what happens at which second."""

from dataclasses import dataclass

import pytest

from afresh.episode.gateway.circuit_breaker import END_SECONDS, RETRY_SECONDS, TRANSIENT, Outage
from afresh.episode.gateway.model_api import ModelFault


@dataclass(frozen=True)
class Failed:
    """A request that failed at a second, after it had taken some."""

    at: float
    fault: ModelFault
    wait: float | None = None
    took: float = 0.0
    has_begun: bool = False


ANSWERED = "answered"
BUSY = ModelFault.RATE_LIMITED
GONE = ModelFault.UNREACHABLE
REFUSED = ModelFault.KEY_REFUSED
IN_ORDER = sorted(TRANSIENT, key=lambda fault: fault.name)


def after(*happened: Failed | str) -> Outage:
    outage = Outage()
    for event in happened:
        if isinstance(event, Failed):
            outage.failed(
                event.fault,
                event.at,
                asked=event.at - event.took,
                wait=event.wait,
                has_begun=event.has_begun,
            )
        else:
            outage.answered()
    return outage


@pytest.mark.parametrize(
    ("happened", "at", "want"),
    [
        pytest.param([], 100, False, id="nothing has happened"),
        pytest.param([Failed(0, BUSY)], 0, True, id="busy before the first answer"),
        pytest.param([ANSWERED, Failed(0, BUSY)], 7, False, id="busy in mid-work, for a moment"),
        pytest.param([ANSWERED, Failed(0, BUSY)], 60, False, id="busy in mid-work, once"),
        pytest.param(
            [ANSWERED, Failed(0, BUSY), Failed(2, BUSY)], 8, True, id="busy in mid-work, it lasts"
        ),
        pytest.param(
            [ANSWERED, *[Failed(1, BUSY, took=1)] * 50], 9, False, id="fifty requests at once"
        ),
        pytest.param(
            [ANSWERED, Failed(0, BUSY), Failed(30, BUSY)], 31, False, id="faults far apart"
        ),
        pytest.param([ANSWERED, Failed(0, BUSY, wait=600)], 0, True, id="it says that it lasts"),
        pytest.param([ANSWERED, Failed(0, BUSY, wait=5)], 5, False, id="it says when to come"),
        pytest.param([ANSWERED, *[Failed(0, ModelFault.EMPTY)] * 3], 0, False, id="empty thrice"),
        pytest.param([ANSWERED, *[Failed(0, ModelFault.EMPTY)] * 4], 0, True, id="empty for ever"),
        pytest.param([Failed(0, GONE)], 0, True, id="out of reach before the first answer"),
        pytest.param(
            [Failed(0, GONE, took=1, has_begun=True)], 1, False, id="the first answer breaks off"
        ),
        pytest.param(
            [ANSWERED, Failed(0, GONE), Failed(5, GONE)], 8, True, id="out of reach, and it lasts"
        ),
        pytest.param([Failed(0, REFUSED)], 1, False, id="one request is refused"),
        pytest.param([Failed(0, REFUSED), Failed(1, REFUSED)], 1, True, id="two are, in a row"),
        pytest.param([Failed(0, REFUSED), ANSWERED, Failed(1, REFUSED)], 1, False, id="not in row"),
        pytest.param(
            [Failed(0, ModelFault.NOT_THERE), Failed(1, ModelFault.NOT_THERE)],
            1,
            True,
            id="no such model",
        ),
        pytest.param(
            [ANSWERED, Failed(0, ModelFault.NOT_THERE), Failed(1, ModelFault.NOT_THERE)],
            100,
            False,
            id="another model than the one that has answered is not there",
        ),
        pytest.param(
            [Failed(0, ModelFault.REJECTED)] * 9, 100, False, id="the agent's own mistakes"
        ),
        pytest.param([Failed(0, ModelFault.TOO_LONG)] * 9, 100, False, id="too long conversations"),
        pytest.param(
            [ANSWERED, Failed(0, BUSY), Failed(60, GONE, took=55, has_begun=True)],
            61,
            False,
            id="a long answer breaks off after a fault",
        ),
        pytest.param(
            [Failed(0, GONE, took=1, has_begun=True), Failed(4, GONE, took=1, has_begun=True)],
            8,
            True,
            id="answers break off again and again",
        ),
    ],
)
def test_provider_that_fails_is_asked_again_until_there_is_no_use_in_it(
    happened: list[Failed | str], at: float, want: bool
):
    assert after(*happened).refuses(at) is want


@pytest.mark.parametrize(
    ("happened", "at", "want"),
    [
        pytest.param([], 100, None, id="nothing has happened"),
        pytest.param([Failed(0, BUSY)], 9, None, id="it may end by itself"),
        pytest.param([Failed(0, BUSY)], 10, BUSY, id="it was turned away, and has not ended"),
        pytest.param([ANSWERED, Failed(0, BUSY)], 100, None, id="one fault in mid-work"),
        pytest.param(
            [ANSWERED, *[Failed(1, BUSY, took=1)] * 50], 99, None, id="fifty requests at once"
        ),
        pytest.param([ANSWERED, Failed(0, BUSY, wait=600)], 10, BUSY, id="one that lasts"),
        pytest.param([ANSWERED, Failed(0, BUSY), Failed(9, GONE)], 10, GONE, id="two faults"),
        pytest.param(
            [ANSWERED, Failed(0, BUSY), Failed(9, BUSY), ANSWERED], 99, None, id="a success after"
        ),
        pytest.param([Failed(0, REFUSED), Failed(0, REFUSED)], 10, REFUSED, id="a refused key"),
        pytest.param(
            [Failed(0, REFUSED), Failed(0, REFUSED), Failed(1, ModelFault.REJECTED)],
            10,
            REFUSED,
            id="a mistake of the agent's after that",
        ),
    ],
)
def test_agent_is_given_up_when_it_lives_on_without_an_answer(
    happened: list[Failed | str], at: float, want: ModelFault | None
):
    assert after(*happened).gives_up_for(at) is want


@pytest.mark.parametrize("fault", IN_ORDER, ids=lambda fault: fault.name)
def test_quick_retry_that_succeeds_ends_every_passing_fault(fault: ModelFault):
    outage = after(ANSWERED, Failed(0, fault), Failed(2, fault))
    allowed = not outage.refuses(RETRY_SECONDS - 1)
    outage.answered()

    assert allowed
    assert not outage.refuses(100)
    assert outage.gives_up_for(100) is None


def test_next_run_of_the_agent_begins_without_faults_and_knows_that_the_provider_has_answered():
    outage = after(ANSWERED, Failed(0, BUSY, wait=600))
    outage.begin_again()

    assert not outage.refuses(100)
    outage.failed(BUSY, 100, asked=100)
    assert not outage.refuses(101)


def test_agent_is_ended_within_fifteen_seconds_of_the_first_fault():
    assert RETRY_SECONDS < END_SECONDS <= 15 - 5  # five more for TERM and KILL
