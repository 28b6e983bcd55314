"""Why requests to the Anthropic API fail, as the gateway tells."""

import contextlib

import aiohttp
import pytest

from afresh.contract.report import Usage
from afresh.episode.gateway.model_api import ModelFault
from tests.episode.gateway_client import talking
from tests.episode.upstream import Answer, answers, breaks, events, refuses, streams


@pytest.mark.parametrize(
    ("answer", "want"),
    [
        pytest.param(refuses(401, "authentication_error"), ModelFault.KEY_REFUSED, id="401"),
        pytest.param(refuses(403, "permission_error"), ModelFault.KEY_REFUSED, id="403"),
        pytest.param(
            refuses(400, "invalid_request_error", "Your credit balance is too low to access"),
            ModelFault.NO_CREDIT,
            id="400 without credit",
        ),
        pytest.param(
            refuses(
                400, "invalid_request_error", "You have reached your specified API usage limits"
            ),
            ModelFault.NO_CREDIT,
            id="400 beyond the account's own limit",
        ),
        pytest.param(
            refuses(400, "invalid_request_error", "This organization has been disabled."),
            ModelFault.KEY_REFUSED,
            id="400 with a closed account",
        ),
        pytest.param(
            refuses(400, "invalid_request_error", "prompt is too long: 210000 tokens"),
            ModelFault.TOO_LONG,
            id="400 with a long prompt",
        ),
        pytest.param(
            refuses(400, "invalid_request_error", "messages: field required"),
            ModelFault.REJECTED,
            id="400 of the agent's making",
        ),
        pytest.param(refuses(404, "not_found_error", "model: x"), ModelFault.NOT_THERE, id="404"),
        pytest.param(answers(302, b"", Location="/login"), ModelFault.NOT_THERE, id="302"),
        pytest.param(refuses(413, "request_too_large"), ModelFault.TOO_LONG, id="413"),
        pytest.param(refuses(429, "rate_limit_error"), ModelFault.RATE_LIMITED, id="429"),
        pytest.param(
            refuses(429, "rate_limit_error", "Extra usage is required for long context requests."),
            ModelFault.NO_CREDIT,
            id="429 for what the account has not paid for",
        ),
        pytest.param(refuses(500, "api_error"), ModelFault.UNAVAILABLE, id="500"),
        pytest.param(answers(503, b"<html>"), ModelFault.UNAVAILABLE, id="503 of a proxy"),
        pytest.param(refuses(529, "overloaded_error"), ModelFault.UNAVAILABLE, id="529"),
        pytest.param(
            streams({"type": "error", "error": {"type": "overloaded_error"}}),
            ModelFault.UNAVAILABLE,
            id="an error as the first event",
        ),
        pytest.param(streams(), ModelFault.EMPTY, id="an empty stream"),
        pytest.param(answers(200, b""), ModelFault.EMPTY, id="an empty body"),
        pytest.param(
            breaks(), ModelFault.UNREACHABLE, id="a connection that breaks before the answer"
        ),
    ],
)
async def test_request_without_an_answer_is_no_turn_and_its_fault_is_kept(
    answer: Answer, want: ModelFault
):
    async with talking(answer) as talk:
        await talk.ask()

    assert talk.gateway.meter.last_fault is want
    assert talk.usage == Usage()


@pytest.mark.parametrize(
    ("answer", "want"),
    [
        pytest.param(breaks(*events(stop=False)), ModelFault.UNREACHABLE, id="it breaks off"),
        pytest.param(streams(*events(stop=False)), ModelFault.UNREACHABLE, id="it ends too early"),
        pytest.param(
            streams(*events(stop=False), {"type": "error", "error": {"type": "overloaded_error"}}),
            ModelFault.UNAVAILABLE,
            id="it ends with an error",
        ),
    ],
)
async def test_answer_that_begins_and_is_not_whole_is_a_turn_with_a_fault(
    answer: Answer, want: ModelFault
):
    async with talking(answer) as talk:
        with contextlib.suppress(aiohttp.ClientError):
            await talk.ask()

    assert talk.gateway.meter.last_fault is want
    assert (talk.usage.turns, talk.usage.input_tokens) == (1, 10)
