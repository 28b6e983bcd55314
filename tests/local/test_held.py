"""The first process of a sandbox begins only with a run that can end it."""

import subprocess

import pytest

from afresh.local.episodes import HELD


def held(program: str, word: bytes) -> tuple[int, bytes]:
    done = subprocess.run(
        ["/bin/sh", "-c", HELD, program], input=word, capture_output=True, check=False
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("word", "want"),
    [
        pytest.param(b"\n", 7, id="the run says that it may begin"),
        pytest.param(b"", 1, id="the run has ended"),
    ],
)
def test_program_begins_with_a_word_of_the_run(word: bytes, want: int):
    assert held("exit 7", word) == (want, b"\n")


def test_program_gets_neither_the_runs_input_nor_its_output():
    assert held("cat; echo out", b"\nmore\n") == (0, b"\n")
