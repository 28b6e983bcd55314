"""The meter by itself: room in the budget for several requests, abandoned ones, and peaks."""

from dataclasses import replace

import pytest

from afresh.contract.order import Budget, Price
from afresh.contract.report import Result
from afresh.contract.words import Outcome
from afresh.episode.gateway.meter import Meter, NothingLeft, Turn
from afresh.episode.gateway.model_api import ModelAnswer, ModelFault, TokenCounts
from afresh.episode.gateway.model_faults import CROWDED, with_use
from afresh.episode.gateway.request_reading import GenerationParameters
from afresh.episode.gateway.usage_totals import Peak
from tests.episode.gateway_client import PRICE

PARAMETERS = GenerationParameters(output_tokens=2000)
RESULT = Result(id="T001", outcome=Outcome.SUCCESS, warnings=("Another one.",))


def begun(meter: Meter, size: int = 0, parameters: GenerationParameters = PARAMETERS) -> Turn:
    turn = meter.begin(parameters, size)
    assert turn
    return turn


def answer(*, model: str = "claude-x", whole: bool = True, **tokens: int) -> ModelAnswer:
    return ModelAnswer(model=model, tokens=TokenCounts(**tokens), began=True, ended=whole)


def answered(meter: Meter, *, model: str = "claude-x", **tokens: int) -> None:
    with begun(meter) as turn:
        turn.answer = answer(model=model, **tokens)


@pytest.mark.parametrize(
    ("budget", "sizes", "want"),
    [
        # 2000 tokens each for the answers.
        pytest.param(Budget(max_tokens=5000), (2000, 2000), True, id="both fit in"),
        pytest.param(Budget(max_tokens=5000), (2004, 2000), False, id="they do not"),
        # 500 tokens each at most at 3.75 dollars per million, and the answers at 15.
        pytest.param(Budget(max_cost_usd="0.06375"), (2000, 2000), True, id="both are paid for"),
        pytest.param(Budget(max_cost_usd="0.06374"), (2000, 2000), False, id="they cannot be"),
        pytest.param(None, (10**9, 10**9), True, id="there is no budget"),
    ],
)
def test_second_request_waits_where_the_budget_may_not_be_enough_for_both(
    budget: Budget | None, sizes: tuple[int, int], want: bool
):
    meter = Meter(20, (PRICE,), budget)
    first, second = sizes
    with begun(meter, first):
        got = meter.begin(PARAMETERS, second)

    assert (got is not None) is want
    assert meter.begin(PARAMETERS, second), "a request that is alone passes"


@pytest.mark.parametrize(
    ("parameters", "want"),
    [
        pytest.param(GenerationParameters(), 32_768, id="what models can say at once"),
        pytest.param(GenerationParameters(model="small"), 2000, id="a quarter of the window"),
        pytest.param(GenerationParameters(model="known"), 5000, id="what the price list says"),
        pytest.param(GenerationParameters(output_tokens=10**6), 10**6, id="what the request says"),
        pytest.param(
            GenerationParameters(output_tokens=7000, answers=3), 7000, id="each of several answers"
        ),
    ],
)
def test_answer_may_take_what_the_request_or_the_price_list_says(
    parameters: GenerationParameters, want: int
):
    prices = (
        Price(model="small", context_window_tokens=8000),
        Price(model="known", max_output_tokens=5000),
    )
    with begun(Meter(20, prices, Budget(max_tokens=10**7)), parameters=parameters) as turn:
        pass

    assert turn.reserved
    assert turn.reserved.limit == want
    assert turn.reserved.output == want * parameters.answers


def test_dense_text_is_expected_to_be_as_dense_again():
    meter = Meter(20, (), Budget(max_tokens=10**6))
    with begun(meter, 10_000) as turn:
        turn.answer = answer(input=8000, output=1)
    with begun(meter, 20_000) as turn:
        assert turn.reserved
        assert turn.reserved.input == 16_000


def test_turn_limit_is_told_to_a_request_that_would_have_to_wait():
    meter = Meter(1, (), Budget(max_tokens=2000))
    with begun(meter, 400), pytest.raises(NothingLeft):
        meter.begin(PARAMETERS, 400)

    assert meter.limit_reached


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        pytest.param({"is_abandoned": True}, 1, id="the provider had all of it"),
        pytest.param({}, 0, id="the provider had not all of it"),
        pytest.param(
            {"answer": ModelAnswer(tokens=TokenCounts())}, 1, id="an answer was about to begin"
        ),
        pytest.param({"answer": answer(whole=False)}, 1, id="an answer had begun"),
        pytest.param(
            {"answer": ModelAnswer(tokens=TokenCounts(), fault=ModelFault.EMPTY)},
            0,
            id="nothing came of it",
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
