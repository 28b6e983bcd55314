"""What a listener reads of a request: one reading of every byte, or a refusal."""

import pytest

from afresh.kube.http_message import (
    MOST_FIELDS,
    MOST_LINE,
    Request,
    RequestError,
    length_of_body,
    parse_head,
)

START = b"POST /v1/report HTTP/1.1"


@pytest.mark.parametrize(
    ("head", "want"),
    [
        pytest.param(START, ("POST", "/v1/report", {}), id="no field"),
        pytest.param(b"GET /metrics?x=1 HTTP/1.0", ("GET", "/metrics", {}), id="a query"),
        pytest.param(
            START + b"\r\nHost: a:1\r\nX-One:  two three \t\r\nEmpty:",
            ("POST", "/v1/report", {"host": "a:1", "x-one": "two three", "empty": ""}),
            id="fields",
        ),
        pytest.param(
            START + b"\r\nVia: a\r\nvia: b", ("POST", "/v1/report", {"via": "b"}),
            id="a field twice that may be",
        ),
    ],
)  # fmt: skip
def test_a_head_is_read(head: bytes, want: tuple[str, str, dict[str, str]]) -> None:
    request = parse_head(head)

    assert (request.method, request.path, request.fields) == want


@pytest.mark.parametrize(
    ("head", "want"),
    [
        pytest.param(b"", 400, id="nothing"),
        pytest.param(b"\r\n" + START, 400, id="an empty line first"),
        pytest.param(b"POST  /v1/report HTTP/1.1", 400, id="two spaces"),
        pytest.param(b"POST /v1/report HTTP/2", 400, id="another version"),
        pytest.param(b"post /v1/report HTTP/1.1", 400, id="a method in lower case"),
        pytest.param(b"POST http://a/v1/report HTTP/1.1", 400, id="a whole address"),
        pytest.param(b"POST /v1/report\x00 HTTP/1.1", 400, id="a NUL in the path"),
        pytest.param(START + b"\r\n a: b", 400, id="a folded line"),
        pytest.param(START + b"\r\na : b", 400, id="a space before the colon"),
        pytest.param(START + b"\r\na: b\nc: d", 400, id="a bare line feed"),
        pytest.param(START + b"\r\na: b\rc: d", 400, id="a bare carriage return"),
        pytest.param(START + b"\r\nno colon", 400, id="no colon"),
        pytest.param(START + b"\r\n: b", 400, id="no name"),
        pytest.param(START + b"\r\nContent-Length: 1\r\ncontent-length: 1", 400, id="two lengths"),
        pytest.param(
            START + b"\r\nAuthorization: a\r\nauthorization: b", 400, id="two authorizations"
        ),
        pytest.param(START + b"\r\na: b" * (MOST_FIELDS + 1), 431, id="too many fields"),
        pytest.param(START + b"\r\na: " + b"b" * MOST_LINE, 431, id="too long a field"),
        pytest.param(b"GET /" + b"b" * MOST_LINE + b" HTTP/1.1", 431, id="too long a path"),
    ],
)
def test_a_head_that_could_be_read_in_two_ways_or_is_too_large_is_refused(
    head: bytes, want: int
) -> None:
    with pytest.raises(RequestError) as refused:
        parse_head(head)

    assert refused.value.status == want


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        pytest.param({}, 0, id="no length"),
        pytest.param({"content-length": "007"}, 7, id="leading zeros"),
        pytest.param({"content-length": "10", "content-encoding": "identity"}, 10, id="identity"),
    ],
)
def test_the_length_of_a_body_is_its_content_length(fields: dict[str, str], want: int) -> None:
    assert length_of_body(Request("POST", "/", fields), most=10) == want


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        pytest.param({"content-length": "11"}, 413, id="too long"),
        pytest.param({"content-length": "-1"}, 400, id="negative"),
        pytest.param({"content-length": "+1"}, 400, id="a sign"),
        pytest.param({"content-length": "1, 1"}, 400, id="a list"),
        pytest.param({"content-length": "\u0661"}, 400, id="another script's digit"),
        pytest.param({"content-length": ""}, 400, id="empty"),
        pytest.param({"transfer-encoding": "chunked"}, 501, id="chunks"),
        pytest.param({"content-encoding": "gzip"}, 415, id="compressed"),
    ],
)
def test_a_body_that_is_not_taken_is_refused(fields: dict[str, str], want: int) -> None:
    with pytest.raises(RequestError) as refused:
        length_of_body(Request("POST", "/", fields), most=10)

    assert refused.value.status == want
