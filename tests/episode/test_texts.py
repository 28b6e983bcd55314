"""Lines, logs and redaction: what is kept of texts that others wrote."""

import base64
import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afresh.adapters.claude import ClaudeAdapter
from afresh.episode.container.lines import LineReader, OutputLine
from afresh.episode.reporting.log import LINE_LENGTH, TAIL_LENGTH, Log, Tail, clipped
from afresh.episode.reporting.redact import HIDDEN, Redactor
from tests.episode.pod import CONTROLLER

PASSWORD = "correct-horse/battery+staple"


@given(st.lists(st.binary(max_size=40), max_size=20), st.integers(1, 30))
def test_lines_are_the_same_however_the_bytes_are_cut(pieces: list[bytes], limit: int):
    whole = LineReader(limit)
    want = [*whole.feed(b"".join(pieces)), *whole.end()]

    cut = LineReader(limit)
    got = [line for piece in pieces for line in cut.feed(piece)] + [*cut.end()]

    assert got == want


def test_line_over_the_limit_keeps_its_beginning_and_says_how_much_is_gone():
    reader = LineReader(limit=5)

    assert [*reader.feed(b"0123456"), *reader.feed(b"789\nab\r\n"), *reader.end()] == [
        OutputLine("01234", cut=5),
        OutputLine("ab"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        PASSWORD,
        f"https://ada:{PASSWORD}@git.example.com/x",
        "correct-horse%2Fbattery%2Bstaple",
        base64.b64encode(PASSWORD.encode()).decode(),
        f"before{PASSWORD}after",
    ],
)
def test_known_secret_is_hidden_in_every_form(text: str):
    shown = Redactor([f"{PASSWORD}\n"])(text)

    assert HIDDEN in shown
    assert PASSWORD not in shown
    assert "horse" not in shown


@pytest.mark.parametrize(
    "text",
    [
        "sk-ant-api03-abcdefghijklmnop",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "glpat-abcdefghijklmnopqrst",
        "AKIAABCDEFGHIJKLMNOP",
        "AIzaSyA-0123456789abcdefghijklmnopqrstu",
        "https://ada:secret-word@git.example.com/",
        "redis://:secret-word@cache.example.com:6379/0",
        "Authorization: Basic YTpi",
        "authorization: bearer abc.def",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0abc.c2lnbmF0dXJlMTIz",
        "TOKEN_eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0abc.c2lnbmF0dXJlMTIz",
        "at.example.eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0abc.c2lnbmF0dXJlMTIz.",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nabc",
    ],
)
def test_text_that_looks_like_a_key_is_hidden(text: str):
    shown = Redactor()(text)

    assert HIDDEN in shown
    for part in ("abc", "secret-word", "YTpi", "ABCDEF", "c2lnb"):
        assert part not in shown


@pytest.mark.parametrize(
    "text",
    [
        "a skeleton",
        "https://git.example.com/a:b",
        "task-0123456789",
        "",
        "eyJhbGciOiJIUzI1NiJ9.a.long.name.of.some.module.that.nobody.would.choose",
    ],
)
def test_ordinary_text_is_left_alone(text: str):
    assert Redactor(["abc", " \n", ""])(text) == text


@pytest.mark.parametrize(
    "piece",
    [
        "eyJ",
        "eyJaaaaaaaaaaaaa.",
        "a.",
        "sk-",
        "a:",
        "://a:",
        "-----BEGIN ",
        "authorization: basic",
        "gho_",
        "a-known-secre",
    ],
)
def test_hostile_text_takes_no_more_than_a_pass_over_it(piece: str):
    # A pattern that begins anew at every piece would take hours; the kernel ends it.
    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_CPU, (30, 30)); "
        "from afresh.episode.reporting.redact import Redactor; "
        "text = sys.argv[1] * (3_000_000 // len(sys.argv[1])); "
        "Redactor(['a-known-secret'])(text)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, piece],
        env={"PYTHONPATH": str(CONTROLLER)},
        check=False,
        timeout=300,
    )

    assert done.returncode == 0


def test_longer_secret_is_hidden_whole_where_one_is_part_of_another():
    assert Redactor(["secret-1", "secret-1-and-more"])("x secret-1-and-more y") == f"x {HIDDEN} y"


@given(st.text(), st.integers(1, 50))
def test_clipped_text_is_one_printable_line_within_its_limit(text: str, limit: int):
    line = clipped(text, limit)

    assert len(line) <= limit
    assert line.isprintable()


@given(st.lists(st.text(max_size=300), max_size=40))
def test_tail_is_the_end_of_the_text_within_its_limit(lines: list[str]):
    tail = Tail(limit=200)
    for line in lines:
        tail.add(line)

    assert len(tail.text(Redactor())) <= 200


def test_tail_hides_a_secret_that_spans_lines():
    tail = Tail()
    for line in ("-----BEGIN PRIVATE KEY-----", "c2VjcmV0", "-----END PRIVATE KEY-----", "after"):
        tail.add(line)

    assert tail.text(Redactor()) == f"{HIDDEN}\nafter"


LONG_KEY = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEYab"


@pytest.mark.parametrize(
    ("said", "want"),
    [
        pytest.param(
            {"type": "tool_result", "content": f"{'P' * 260} {LONG_KEY}"}, "P ", id="an output"
        ),
        pytest.param(
            {"type": "tool_result", "content": f"{'P' * 260} {LONG_KEY}", "is_error": True},
            " failed",
            id="an output of what failed",
        ),
        pytest.param(
            {"type": "tool_use", "name": "Bash", "input": f"{'P' * 280} {LONG_KEY}"},
            "P ",
            id="an input",
        ),
    ],
)
def test_secret_that_is_cut_in_the_middle_is_hidden(
    said: dict[str, object], want: str, capsys: pytest.CaptureFixture[str]
):
    log = Log(Redactor([LONG_KEY]))
    reader = ClaudeAdapter().reader(behind_gateway=False)

    log.agent(str(reader.event(json.dumps({"type": "user", "message": {"content": [said]}}))))

    for shown in (capsys.readouterr().out, log.tail):
        assert want in shown
        assert LONG_KEY[:12] not in shown


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(f"x {LONG_KEY[:12]}", f"x {HIDDEN}", id="at the end of a text"),
        pytest.param(f"x {LONG_KEY[:39]}… y", f"x {HIDDEN}… y", id="before an ellipsis"),
        pytest.param(f"x {LONG_KEY[:11]}", f"x {LONG_KEY[:11]}", id="too short to tell"),
        pytest.param(f"x {LONG_KEY[:20]} y", f"x {LONG_KEY[:20]} y", id="where nothing is cut"),
        pytest.param(f"{LONG_KEY} {LONG_KEY[:20]}", f"{HIDDEN} {HIDDEN}", id="after a whole one"),
    ],
)
def test_beginning_of_a_known_secret_is_hidden_where_a_text_is_cut(text: str, want: str):
    assert Redactor(["another-secret", LONG_KEY])(text) == want


def test_log_is_redacted_bounded_and_keeps_the_end(capsys: pytest.CaptureFixture[str]):
    log = Log(Redactor([PASSWORD]))
    for number in range(6000):
        log.agent(f"{number} {PASSWORD} {'x' * 3000}")
    log.agent("the end")

    printed = capsys.readouterr().out
    assert PASSWORD not in printed + log.tail
    assert len(printed) < 9_000_000
    assert max(map(len, printed.splitlines())) == LINE_LENGTH
    assert printed.splitlines()[-1].endswith("the rest is left out")
    assert log.tail.splitlines()[-1] == "the end"
    assert len(log.tail) <= TAIL_LENGTH


def test_words_of_the_runner_are_printed_however_much_others_have_said(
    capsys: pytest.CaptureFixture[str],
):
    log = Log(Redactor([PASSWORD]))
    for _ in range(6000):
        log.step("verify", "x" * 3000)

    log.say(f"the remote has refused {PASSWORD}")
    log.failure(ValueError("odd"))
    log.step("verify", "more")

    *_, said, failed = capsys.readouterr().out.splitlines()
    assert said == f"afresh: the remote has refused {HIDDEN}"
    assert failed == "afresh: ValueError: odd"
