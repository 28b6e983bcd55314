"""The Gemini API through the gateway: what passes, under which model, and what is counted."""

import json
from typing import Any

import pytest

from afresh.contract.order import Price
from afresh.contract.report import Usage
from afresh.episode.gateway.model_api import ModelFault, Route
from afresh.episode.gateway.providers.gemini import GeminiApi
from tests.episode.gateway_client import KEY, talking_to
from tests.episode.upstream import Answer, answers, breaks, streams

STREAM = "/v1beta/models/gemini-2.5-pro:streamGenerateContent"
WHOLE = "/v1beta/models/gemini-2.5-pro:generateContent"
PRICE = Price(
    model="gemini-2.5-*",
    input_usd_per_million="1",
    output_usd_per_million="10",
    cache_read_usd_per_million="0.1",
)


def piece(text: str = "Hi", **changes: Any) -> dict[str, Any]:
    """One piece of an answer."""
    candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0}
    return {"candidates": [candidate], "modelVersion": "gemini-2.5-pro", **changes}


def last(usage: dict[str, int] | None = None, **candidate: Any) -> dict[str, Any]:
    """The piece that ends an answer: 70 in, 30 read from a cache, 5 + 4 out."""
    counts = {
        "promptTokenCount": 100,
        "cachedContentTokenCount": 30,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 4,
        "totalTokenCount": 109,
    }
    end = {"content": {"role": "model", "parts": [{"text": "."}]}, "finishReason": "STOP"}
    return piece(candidates=[end | candidate], usageMetadata=counts if usage is None else usage)


def sent(*pieces: dict[str, Any]) -> Answer:
    """A stream of pieces, which have no event names."""
    return streams(*(f"data: {json.dumps(item)}\r\n\r\n".encode() for item in pieces))


@pytest.mark.parametrize(
    ("method", "path", "want"),
    [
        ("POST", STREAM, Route.GENERATE),
        ("POST", WHOLE, Route.GENERATE),
        ("POST", "/v1/models/gemini-2.5-pro:generateContent", Route.GENERATE),
        ("POST", "/v1beta/models/gemini-2.5-pro:countTokens", Route.FORWARD),
        ("GET", "/v1beta/models", Route.FORWARD),
        ("GET", "/v1beta/models/gemini-2.5-pro", Route.FORWARD),
        ("POST", "/v1beta/models/gemini-2.5-pro:batchGenerateContent", Route.FORBIDDEN),
        ("POST", "/v1beta/models/gemini-2.5-pro:embedContent", Route.FORBIDDEN),
        ("POST", "/v1beta/models/gemini-2.5-pro:predict", Route.FORBIDDEN),
        ("POST", "/v1beta/models/gemini-2.5-pro", Route.FORBIDDEN),
        ("POST", "/v1beta/models/:generateContent", Route.FORBIDDEN),
        ("POST", "/v1beta/models/..:generateContent", Route.FORBIDDEN),
        ("POST", "/v1beta/models/a%2Fb:generateContent", Route.FORBIDDEN),
        ("POST", "/v1beta/models/../tunedModels/a:generateContent", Route.FORBIDDEN),
        ("POST", "/v1beta/models/a:generateContent/", Route.FORBIDDEN),
        ("POST", "/v1beta/models/a:generateContent%3Fkey=b", Route.FORBIDDEN),
        ("POST", "/v1beta/models/a\n:generateContent", Route.FORBIDDEN),
        ("POST", "/v1beta/tunedModels/a:generateContent", Route.FORBIDDEN),
        ("POST", "/v1beta/cachedContents", Route.FORBIDDEN),
        ("POST", "/upload/v1beta/files", Route.FORBIDDEN),
        ("GET", "/v1beta/files", Route.FORBIDDEN),
        ("GET", STREAM, Route.FORBIDDEN),
        ("PUT", WHOLE, Route.FORBIDDEN),
        ("GET", "/", Route.FORBIDDEN),
    ],
)
def test_only_generating_counting_and_listing_models_pass(method: str, path: str, want: Route):
    assert GeminiApi().route(method, path) is want


async def test_stream_passes_unchanged_and_is_counted_and_priced():
    pieces = [piece(usageMetadata={"promptTokenCount": 100}), piece(), last()]
    async with (
        talking_to(GeminiApi(), sent(*pieces), prices=(PRICE,)) as talk,
        talk.client.post(f"{STREAM}?alt=sse", json={"contents": []}) as answer,
    ):
        body = await answer.read()

    assert [json.loads(line[5:]) for line in body.splitlines() if line] == pieces
    # 70 x 1 + 30 x 0.1 + 9 x 10 = 163 millionths
    assert talk.usage == Usage(
        turns=1, input_tokens=70, output_tokens=9, cache_read_tokens=30, cost_usd="0.000163"
    )
    assert talk.gateway.meter.last_fault is None


async def test_answer_in_one_message_is_counted():
    async with (
        talking_to(GeminiApi(), answers(200, last())) as talk,
        talk.client.post(WHOLE, json={}) as answer,
    ):
        assert await answer.json() == last()

    assert talk.usage == Usage(turns=1, input_tokens=70, output_tokens=9, cache_read_tokens=30)


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        pytest.param(f"{STREAM}?alt=sse&key=mine", f"{STREAM}?alt=sse", id="a key"),
        pytest.param(STREAM, f"{STREAM}?alt=sse", id="a stream that would be a list"),
        pytest.param(f"{STREAM}?alt=json&$alt=proto", f"{STREAM}?alt=sse", id="another form"),
        pytest.param(f"{WHOLE}?fields=candidates", f"{WHOLE}?alt=json", id="a choice of fields"),
        pytest.param(f"{WHOLE}?%6bey=mine", f"{WHOLE}?alt=json", id="a key in disguise"),
    ],
)
async def test_query_that_reaches_the_provider_is_the_form_of_the_answer(asked: str, want: str):
    async with (
        talking_to(GeminiApi(), sent(last())) as talk,
        talk.client.post(asked, json={}) as answer,
    ):
        await answer.read()

    assert talk.provider.asked[0].path == want


async def test_list_of_models_is_asked_for_page_by_page_without_a_key():
    async with (
        talking_to(GeminiApi(), answers(200, {"models": []})) as talk,
        talk.client.get("/v1beta/models?pageSize=5&pageToken=a%2Fb&key=mine") as answer,
    ):
        assert answer.status == 200

    assert talk.provider.asked[0].path == "/v1beta/models?pageSize=5&pageToken=a%2Fb"
    assert talk.usage == Usage()


async def test_provider_gets_the_real_key_and_no_header_that_changes_the_request():
    headers = {
        "x-goog-api-key": "placeholder",
        "Authorization": "Bearer placeholder",
        "X-Goog-User-Project": "placeholder",
        "X-Goog-FieldMask": "placeholder",
        "X-HTTP-Method-Override": "placeholder",
        "x-goog-api-client": "google-genai-sdk/1.0",
    }
    async with (
        talking_to(GeminiApi(), sent(last())) as talk,
        talk.client.post(STREAM, json={}, headers=headers) as answer,
    ):
        await answer.read()
        (asked,) = talk.provider.asked

    assert asked.headers["x-goog-api-key"] == KEY
    assert asked.headers["x-goog-api-client"] == "google-genai-sdk/1.0"
    assert "placeholder" not in str(asked.headers)


@pytest.mark.parametrize(
    ("body", "want"),
    [
        pytest.param({"contents": []}, {"contents": []}, id="a body without a model"),
        pytest.param({"model": "models/b"}, {"model": "models/cheap"}, id="a body with a model"),
        pytest.param(
            {"generateContentRequest": {"model": "models/b"}},
            {"generateContentRequest": {"model": "models/cheap"}},
            id="a request in the body",
        ),
    ],
)
async def test_model_of_the_class_stands_in_the_path_and_in_the_body(
    body: dict[str, Any], want: dict[str, Any]
):
    async with (
        talking_to(GeminiApi(), sent(last()), model="cheap") as talk,
        talk.client.post(STREAM, json=body) as answer,
    ):
        await answer.read()
        (asked,) = talk.provider.asked

    assert asked.path == "/v1beta/models/cheap:streamGenerateContent?alt=sse"
    assert json.loads(asked.body) == want


async def test_request_without_a_body_cannot_ask_for_another_model():
    async with (
        talking_to(GeminiApi(), answers(400, {"error": {"code": 400}}), model="cheap") as talk,
        talk.client.post(WHOLE) as answer,
    ):
        assert answer.status == 400

    assert talk.provider.asked[0].path == "/v1beta/models/cheap:generateContent?alt=json"


NOTHING = {"promptTokenCount": 9, "totalTokenCount": 9}


@pytest.mark.parametrize(
    ("answer", "want", "turns"),
    [
        pytest.param(sent(), ModelFault.EMPTY, 0, id="an empty stream"),
        pytest.param(answers(200, b"[]"), ModelFault.EMPTY, 0, id="an empty list"),
        pytest.param(
            sent(last(NOTHING, content={})), ModelFault.EMPTY, 1, id="an end without a word"
        ),
        pytest.param(sent(last(NOTHING)), None, 1, id="a word that nobody has counted"),
        pytest.param(
            sent(last(NOTHING, content={}, finishReason="SAFETY")),
            None,
            1,
            id="an answer that is withheld for good",
        ),
        pytest.param(
            sent(piece(candidates=[], promptFeedback={"blockReason": "SAFETY"})),
            ModelFault.REJECTED,
            1,
            id="a prompt that is refused",
        ),
        pytest.param(sent(piece()), ModelFault.UNREACHABLE, 1, id="a stream that ends too early"),
        pytest.param(breaks(), ModelFault.UNREACHABLE, 0, id="a connection that breaks"),
        pytest.param(
            sent({"error": {"code": 503, "status": "UNAVAILABLE"}}),
            ModelFault.UNAVAILABLE,
            0,
            id="an error in place of an answer",
        ),
        pytest.param(
            sent(piece(), {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}),
            ModelFault.RATE_LIMITED,
            1,
            id="an error in the middle",
        ),
        pytest.param(sent(last(finishReason="MAX_TOKENS")), None, 1, id="an answer cut by a limit"),
        pytest.param(
            sent(
                last(
                    {"promptTokenCount": 9, "thoughtsTokenCount": 7},
                    content={"parts": [{"text": "Hm.", "thought": True}]},
                )
            ),
            ModelFault.EMPTY,
            1,
            id="thoughts only",
        ),
    ],
)
async def test_answer_that_is_not_one_has_a_fault(
    answer: Answer, want: ModelFault | None, turns: int
):
    async with (
        talking_to(GeminiApi(), answer) as talk,
        talk.client.post(STREAM, json={}) as got,
    ):
        await got.read()

    assert talk.gateway.meter.last_fault is want
    assert talk.usage.turns == turns


async def test_file_that_is_written_in_one_piece_is_counted():
    call = {"functionCall": {"name": "write_file", "args": {"content": "<" * 250_000}}}
    whole = last(content={"role": "model", "parts": [call]})
    text = json.dumps(whole).replace("<", "\\u003c").encode()
    async with (
        talking_to(GeminiApi(), streams(b"data: " + text + b"\n\n")) as talk,
        talk.client.post(STREAM, json={}) as answer,
    ):
        await answer.read()

    assert talk.usage.output_tokens == 9
    assert talk.gateway.meter.last_fault is None


async def test_refusal_of_the_gateway_has_the_form_of_the_api():
    async with (
        talking_to(GeminiApi(), sent(last())) as talk,
        talk.client.post("/v1beta/cachedContents", json={}) as answer,
    ):
        assert answer.status == 403
        error = (await answer.json())["error"]

    assert error["message"] == "Only requests to the model are allowed."
    assert error["status"] == "INVALID_ARGUMENT"
