"""The meter by itself: room in the budget for several requests, abandoned ones, and peaks."""

from dataclasses import replace

import pytest

from afresh.contract.order import Budget
from afresh.contract.report import Result
from afresh.contract.words import Outcome
from afresh.episode.gateway.meter import Meter, NothingLeft, Turn
from afresh.episode.gateway.model_api import Answer, Fault, Tokens
from afresh.episode.gateway.model_faults import CROWDED, with_use
from afresh.episode.gateway.tally import Peak
from tests.episode.gateway_client import PRICE

RESULT = Result(id="T001", outcome=Outcome.SUCCESS, warnings=("Another one.",))


def begun(meter: Meter, size: int = 0) -> Turn:
    turn = meter.begin(size)
    assert turn
    return turn


def answer(*, model: str = "claude-x", whole: bool = True, **tokens: int) -> Answer:
    return Answer(model=model, tokens=Tokens(**tokens), began=True, ended=whole)


def answered(meter: Meter, *, model: str = "claude-x", **tokens: int) -> None:
    with begun(meter) as turn:
        turn.answer = answer(model=model, **tokens)


@pytest.mark.parametrize(
    ("budget", "sizes", "want"),
    [
        pytest.param(Budget(max_tokens=1000), (2000, 2000), True, id="both fit in"),
        pytest.param(Budget(max_tokens=1000), (2004, 2000), False, id="they do not"),
        # 500 tokens each, at most at 3.75 dollars per million.
        pytest.param(Budget(max_cost_usd="0.00375"), (2000, 2000), True, id="both can be paid for"),
        pytest.param(Budget(max_cost_usd="0.00374"), (2000, 2000), False, id="they cannot"),
        pytest.param(None, (10**9, 10**9), True, id="there is no budget"),
    ],
)
def test_second_request_waits_where_the_budget_may_not_be_enough_for_both(
    budget: Budget | None, sizes: tuple[int, int], want: bool
):
    meter = Meter(20, (PRICE,), budget)
    first, second = sizes
    with begun(meter, first):
        got = meter.begin(second)

    assert (got is not None) is want
    assert meter.begin(second), "a request that is alone always passes"


def test_every_request_is_expected_to_use_as_much_as_the_largest_one_so_far():
    meter = Meter(20, (), Budget(max_tokens=100))
    answered(meter, input=40)
    with begun(meter):
        assert meter.begin(0) is None

    answered(meter, input=59)
    assert meter.used_up is None
    answered(meter, input=1)
    with pytest.raises(NothingLeft):
        meter.begin(0)


def test_turn_limit_is_told_to_a_request_that_would_have_to_wait():
    meter = Meter(1, (), Budget(max_tokens=100))
    with begun(meter, 400), pytest.raises(NothingLeft):
        meter.begin(400)

    assert meter.limit_reached


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        pytest.param({"is_abandoned": True}, 1, id="the provider had all of it"),
        pytest.param({}, 0, id="the provider had not all of it"),
        pytest.param({"answer": Answer(tokens=Tokens())}, 1, id="an answer was about to begin"),
        pytest.param({"answer": answer(whole=False)}, 1, id="an answer had begun"),
        pytest.param(
            {"answer": Answer(tokens=Tokens(), fault=Fault.EMPTY)}, 0, id="nothing came of it"
        ),
    ],
)
def test_request_that_the_agent_abandons_is_a_turn_once_the_provider_works_on_it(
    fields: dict[str, object], want: int
):
    meter = Meter(20, ())
    with begun(meter) as turn:
        for name, value in fields.items():
            setattr(turn, name, value)

    assert meter.usage().turns == want


@pytest.mark.parametrize(
    ("tokens", "want"),
    [
        pytest.param({}, 100, id="nothing has been counted"),
        pytest.param({"input": 7}, 7, id="the beginning has been counted"),
    ],
)
def test_answer_whose_count_never_comes_uses_what_its_requests_bytes_stand_for(
    tokens: dict[str, int], want: int
):
    meter = Meter(20, (PRICE,))
    with begun(meter, 400) as turn:
        turn.answer = answer(whole=False, **tokens)

    assert meter.usage().input_tokens == want


def test_peak_is_all_that_one_request_tells_the_model_and_its_share_of_that_models_window():
    prices = (replace(PRICE, context_window_tokens=1000), replace(PRICE, model="other-*"))
    meter = Meter(20, prices)
    answered(meter, input=100, cache_read=300, cache_write=201, output=399)
    answered(meter, input=200)
    answered(meter, input=900, model="other-1")

    assert meter.subtask_peak() == Peak(tokens=900, percent=61)


@pytest.mark.parametrize(
    ("tokens", "want"),
    [
        pytest.param(600, ("Another one.",), id="at sixty percent"),
        pytest.param(601, ("Another one.", CROWDED), id="above sixty percent"),
    ],
)
def test_result_warns_of_a_conversation_that_nearly_fills_the_window(
    tokens: int, want: tuple[str, ...]
):
    meter = Meter(20, (replace(PRICE, context_window_tokens=1000),))
    answered(meter, input=tokens)

    result = with_use(RESULT, meter)

    assert result.warnings == want
    assert result.peak_input_tokens == tokens
    assert result.usage == meter.usage()


def test_peak_is_that_of_the_present_subtask():
    meter = Meter(20, (replace(PRICE, context_window_tokens=1000),))
    answered(meter, input=900)
    meter.begin_subtask()
    answered(meter, input=100)

    assert with_use(RESULT, meter).warnings == RESULT.warnings
    assert meter.subtask_peak() == Peak(tokens=100, percent=10)
