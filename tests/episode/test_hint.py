"""The hint to the operator: whatever is wrong with it, the episode goes on."""

from pathlib import Path

import pytest

from afresh.episode.hint import send_hint
from afresh.episode.log import Log
from afresh.episode.redact import Redactor


@pytest.mark.parametrize(
    ("url", "token"),
    [
        pytest.param("http://fd00::1:8080/reports", "t", id="an IPv6 literal without brackets"),
        pytest.param("http://[fd00::1/reports", "t", id="half a bracket"),
        pytest.param("http://127.0.0.1:port/reports", "t", id="a port that is a word"),
        pytest.param("http://127.0.0.1:99999/reports", "t", id="a port that is too high"),
        pytest.param("http:///reports", "t", id="no host"),
        pytest.param("", "t", id="nothing"),
        pytest.param(f"http://{'a' * 70}.invalid/", "t", id="a label that is too long"),
        pytest.param("http://127.0.0.1:9/a b", "t", id="a space"),
        pytest.param("http://127.0.0.1:9/", None, id="no token"),
        pytest.param("http://127.0.0.1:9/", "two\nlines", id="a token of two lines"),
        pytest.param("http://127.0.0.1:9/", "\u20ac", id="a token that no header can hold"),
    ],
)
def test_hint_that_cannot_be_sent_is_said_in_the_log_and_raises_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], url: str, token: str | None
):
    file = tmp_path / "token"
    if token is not None:
        file.write_text(token)

    send_hint(url, file, b"{}", Log(Redactor()))

    assert "the report did not reach the operator" in capsys.readouterr().out
