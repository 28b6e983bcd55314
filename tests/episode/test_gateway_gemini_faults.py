"""What refusals of the Gemini API mean, as it really writes them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afresh.episode.gateway.model_api import ModelAnswer, ModelFault, TokenCounts
from afresh.episode.gateway.providers.gemini import GeminiApi

NOW = 1_800_000_000.0
RPC = "type.googleapis.com/google.rpc"
PLAN = "You exceeded your current quota, please check your plan and billing details."
DAILY = {
    "@type": f"{RPC}.QuotaFailure",
    "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}],
}


def body(code: int, status: str, message: str, *details: dict[str, Any]) -> bytes:
    """An error as the API writes it."""
    error = {"code": code, "message": message, "status": status, "details": list(details)}
    return json.dumps({"error": error}).encode()


def reason(text: str) -> dict[str, Any]:
    return {"@type": f"{RPC}.ErrorInfo", "reason": text, "domain": "googleapis.com"}


def retry(delay: object) -> dict[str, Any]:
    return {"@type": f"{RPC}.RetryInfo", "retryDelay": delay}


@pytest.mark.parametrize(
    ("status", "refusal", "want"),
    [
        pytest.param(
            400,
            body(
                400,
                "INVALID_ARGUMENT",
                "API key not valid. Please pass a valid API key.",
                reason("API_KEY_INVALID"),
            ),
            ModelFault.KEY_REFUSED,
            id="a wrong key, which is a bad request",
        ),
        pytest.param(
            400,
            body(400, "INVALID_ARGUMENT", "API key expired. Please renew the API key."),
            ModelFault.KEY_REFUSED,
            id="a key that has expired",
        ),
        pytest.param(401, body(401, "UNAUTHENTICATED", "no"), ModelFault.KEY_REFUSED, id="401"),
        pytest.param(403, body(403, "PERMISSION_DENIED", "no"), ModelFault.KEY_REFUSED, id="403"),
        pytest.param(
            403,
            body(403, "PERMISSION_DENIED", "not used before", reason("SERVICE_DISABLED")),
            ModelFault.KEY_REFUSED,
            id="a project that may not use the API",
        ),
        pytest.param(
            403,
            body(403, "PERMISSION_DENIED", "no", reason("BILLING_DISABLED")),
            ModelFault.NO_CREDIT,
            id="a project without billing",
        ),
        pytest.param(
            429,
            body(429, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted."),
            ModelFault.NO_CREDIT,
            id="no credit left, which is a limit of the rate",
        ),
        pytest.param(
            400,
            body(400, "FAILED_PRECONDITION", "Please enable billing on your project."),
            ModelFault.NO_CREDIT,
            id="no free tier here",
        ),
        pytest.param(
            429,
            body(429, "RESOURCE_EXHAUSTED", f"{PLAN} * metric: m, limit: 0, model: gemini-x"),
            ModelFault.NO_CREDIT,
            id="a plan without the model",
        ),
        pytest.param(
            429,
            body(429, "RESOURCE_EXHAUSTED", f"{PLAN} * metric: m, limit: 20"),
            ModelFault.RATE_LIMITED,
            id="a quota of a minute",
        ),
        pytest.param(
            429,
            body(429, "RESOURCE_EXHAUSTED", PLAN, DAILY),
            ModelFault.RATE_LIMITED,
            id="the quota of a day",
        ),
        pytest.param(429, b"slow down", ModelFault.RATE_LIMITED, id="429 of a proxy"),
        pytest.param(404, body(404, "NOT_FOUND", "no model"), ModelFault.NOT_THERE, id="404"),
        pytest.param(302, b"", ModelFault.NOT_THERE, id="302"),
        pytest.param(
            400,
            body(
                400,
                "INVALID_ARGUMENT",
                "The input token count (1200000) exceeds the maximum number of tokens allowed.",
            ),
            ModelFault.TOO_LONG,
            id="a conversation that is too long",
        ),
        pytest.param(413, b"", ModelFault.TOO_LONG, id="413"),
        pytest.param(
            400,
            body(400, "INVALID_ARGUMENT", "Please ensure that function call turns alternate."),
            ModelFault.REJECTED,
            id="400 of the agent's making",
        ),
        pytest.param(500, body(500, "INTERNAL", "an error"), ModelFault.UNAVAILABLE, id="500"),
        pytest.param(503, body(503, "UNAVAILABLE", "overloaded"), ModelFault.UNAVAILABLE, id="503"),
        pytest.param(504, body(504, "DEADLINE_EXCEEDED", "late"), ModelFault.UNAVAILABLE, id="504"),
        pytest.param(529, b"<html>", ModelFault.UNAVAILABLE, id="529 of a proxy"),
        pytest.param(
            503,
            b"[" + body(503, "UNAVAILABLE", "overloaded") + b"]",
            ModelFault.UNAVAILABLE,
            id="an error in a list",
        ),
        pytest.param(400, b'{"error": "no"}', ModelFault.REJECTED, id="an error in another form"),
        pytest.param(
            400, b"[" * 100_000, ModelFault.REJECTED, id="a body that is nested too deeply"
        ),
    ],
)
def test_fault_is_what_the_error_says_of_itself(status: int, refusal: bytes, want: ModelFault):
    assert GeminiApi().fault_of(status, refusal) is want


@pytest.mark.parametrize(
    ("headers", "refusal", "want"),
    [
        pytest.param({}, body(429, "", PLAN, retry("34s")), NOW + 34, id="seconds"),
        pytest.param({}, body(429, "", PLAN, retry("34.5s")), NOW + 34.5, id="parts of a second"),
        pytest.param({}, body(429, "", PLAN, retry("250ms")), NOW + 0.25, id="milliseconds"),
        pytest.param({}, body(429, "", "Please retry in 7.5s."), NOW + 7.5, id="words"),
        pytest.param({}, body(429, "", PLAN, DAILY, retry("9s")), NOW + 9, id="a day's quota"),
        pytest.param(
            {"retry-after": "60"}, body(429, "", PLAN, retry("34s")), NOW + 60, id="a header"
        ),
        pytest.param({}, body(429, "", PLAN, DAILY), None, id="no time at all"),
        pytest.param({}, body(429, "", PLAN, retry("soon")), None, id="a word"),
        pytest.param({}, body(429, "", PLAN, retry(["9s"])), None, id="a list"),
        pytest.param({}, b"slow down", None, id="no error of the API"),
    ],
)
def test_reset_time_is_what_the_refusal_advises(
    headers: dict[str, str], refusal: bytes, want: float | None
):
    assert GeminiApi().reset_time(headers, refusal, NOW) == want


NAMES = st.sampled_from(
    [
        *("candidates", "content", "parts", "text", "thought", "finishReason", "modelVersion"),
        *("promptFeedback", "blockReason", "usageMetadata", "promptTokenCount"),
        *("cachedContentTokenCount", "candidatesTokenCount", "thoughtsTokenCount"),
        *("error", "code", "status", "message", "details", "reason", "retryDelay"),
    ]
)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.sampled_from(["STOP", "9s", "x", ""])
)
VALUES = st.recursive(
    SCALARS, lambda some: st.one_of(st.lists(some, max_size=3), st.dictionaries(NAMES, some))
)


@given(st.dictionaries(NAMES, VALUES), st.integers(100, 599))
def test_any_json_is_read_without_an_error_and_never_counts_below_nothing(
    value: dict[str, Any], status: int
):
    api, answer = GeminiApi(), ModelAnswer(tokens=TokenCounts())
    text = json.dumps(value).encode()

    api.take_event(answer, value)
    api.take_message(answer, value)

    counts = answer.tokens
    assert min(counts.input, counts.output, counts.cache_read, counts.cache_write) >= 0
    assert isinstance(api.fault_of(status, text), ModelFault)
    assert (api.reset_time({}, text, NOW) or NOW) >= NOW
