"""The hint to the operator: it goes to nobody else, and whatever is wrong, the episode goes on."""

from pathlib import Path

import pytest

from afresh.contract.report import fit
from afresh.episode.reporting.log import Log
from afresh.episode.reporting.redact import Redactor
from afresh.episode.reporting.sender import Destination, send_hint
from tests.episode.report_endpoint import listening
from tests.make import make_report


@pytest.mark.parametrize(
    ("url", "token"),
    [
        pytest.param("https://fd00::1:8080/reports", "t", id="an IPv6 literal without brackets"),
        pytest.param("https://[fd00::1/reports", "t", id="half a bracket"),
        pytest.param("https://127.0.0.1:port/reports", "t", id="a port that is a word"),
        pytest.param("https://127.0.0.1:99999/reports", "t", id="a port that is too high"),
        pytest.param("https:///reports", "t", id="no host"),
        pytest.param("", "t", id="nothing"),
        pytest.param("http://127.0.0.1:9/reports", "t", id="no TLS"),
        pytest.param(f"https://{'a' * 70}.invalid/", "t", id="a label that is too long"),
        pytest.param("https://127.0.0.1:9/a b", "t", id="a space"),
        pytest.param("https://127.0.0.1:9/", None, id="no token"),
        pytest.param("https://127.0.0.1:9/", "two\nlines", id="a token of two lines"),
        pytest.param("https://127.0.0.1:9/", "\u20ac", id="a token that no header can hold"),
    ],
)
def test_hint_that_cannot_be_sent_is_said_in_the_log_and_raises_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], url: str, token: str | None
):
    file = tmp_path / "token"
    if token is not None:
        file.write_text(token)

    send_hint(Destination(url, ("0" * 64,)), file, b"{}", Log(Redactor()))

    assert "the report did not reach the operator" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("others", "want"),
    [
        pytest.param((), 1, id="the key in use"),
        pytest.param(("0" * 64,), 1, id="the key in use and another"),
        pytest.param(None, 0, id="another key alone"),
    ],
)
def test_report_and_token_go_to_the_server_whose_key_the_order_pins_and_to_nobody_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], others: tuple[str, ...] | None, want: int
):
    token = tmp_path / "token"
    token.write_text("a-token")
    report = make_report()

    with listening() as (place, got):
        pins = ("0" * 64,) if others is None else (*others, *place["report_pins"])
        to = Destination(place["report_url"], pins)
        send_hint(to, token, fit(report).encode(), Log(Redactor()))

    assert got == [("Bearer a-token", report)] * want
    refused = "the server has a certificate that the Order does not pin" in capsys.readouterr().out
    assert refused == (want == 0)
