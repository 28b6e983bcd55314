import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_TOOL = Path(__file__).parents[1]


@pytest.fixture
def homes() -> Iterator[Path]:
    """A place with a name that is short enough for sockets, as tmp_path has not."""
    with tempfile.TemporaryDirectory() as place:
        yield Path(place)


def _run(homes: Path, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    places = {"XDG_STATE_HOME": f"{homes}/s", "XDG_CACHE_HOME": f"{homes}/c", **environment}
    return subprocess.run(
        [sys.executable, str(_TOOL), *arguments],
        env={**os.environ, **places},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize(
    "command", ["check", "install", "up", "down", "list", "run", "images", "load", "kueue"]
)
def test_the_help_of_a_command_has_an_example(homes: Path, command: str) -> None:
    answer = _run(homes, command, "--help")

    assert answer.returncode == 0
    assert f"example: python3 tools/singlenode {command}" in answer.stdout


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        pytest.param([], "required: COMMAND", id="no command"),
        pytest.param(["go"], "invalid choice: 'go'", id="an unknown command"),
        pytest.param(["up"], "required: NAME", id="no name"),
        pytest.param(["up", "../x"], '"../x" cannot name a cluster', id="an unusable name"),
        pytest.param(["run", "demo"], "name the command to run, after --", id="nothing to run"),
        pytest.param(["down", "demo", "--", "x"], "unrecognized arguments: x", id="too many"),
        pytest.param(["install", "--only", "helm"], "invalid choice: 'helm'", id="an unknown set"),
    ],
)
def test_a_usage_error_is_explained_and_ends_with_2(
    homes: Path, arguments: list[str], want: str
) -> None:
    answer = _run(homes, *arguments)

    assert answer.returncode == 2
    assert want in answer.stderr


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        pytest.param(
            ["run", "x", "--", "true"],
            "error: x is not running: run `python3 tools/singlenode up x`\n",
            id="run in a cluster that is not running",
        ),
        pytest.param(
            ["load", "x"],
            "error: x is not running: run `python3 tools/singlenode up x`\n",
            id="load into a cluster that is not running",
        ),
        pytest.param(
            ["up", "x", "--control-plane"],
            "error: etcd is not built: run `python3 tools/singlenode install`\n",
            id="up before install",
        ),
    ],
)
def test_an_error_is_one_sentence_and_ends_with_1(
    homes: Path, arguments: list[str], want: str
) -> None:
    answer = _run(homes, *arguments)

    assert answer.returncode == 1
    assert answer.stderr.splitlines(keepends=True)[-1] == want


def test_a_cluster_that_is_not_there_is_down_already(homes: Path) -> None:
    answer = _run(homes, "down", "x")

    assert answer.returncode == 0
    assert "x did not exist" in answer.stderr


def test_without_clusters_the_list_is_empty(homes: Path) -> None:
    answer = _run(homes, "list")

    assert (answer.returncode, answer.stdout) == (0, "")


def test_a_failed_start_leaves_nothing(homes: Path) -> None:
    _run(homes, "up", "x", "--control-plane")

    assert list((homes / "s").rglob("*")) == [
        homes / "s/afresh",
        homes / "s/afresh/clusters",
    ]


def test_a_check_names_everything_that_is_missing_in_one_sentence(homes: Path) -> None:
    answer = _run(homes, "check", PATH=f"{homes}/empty", XDG_STATE_HOME="/run/x")

    assert answer.returncode == 1
    assert len(answer.stderr.splitlines()) == 1
    assert "is below /run: set XDG_STATE_HOME to a directory elsewhere" in answer.stderr
    assert "install Go 1.26 or newer" in answer.stderr


def test_a_check_names_a_go_that_is_too_old(homes: Path) -> None:
    old = homes / "go"
    old.write_text("#!/bin/sh\necho go1.20.3\n")
    old.chmod(0o755)

    answer = _run(homes, "check", PATH=str(homes))

    assert "install Go 1.26 or newer in place of go1.20.3" in answer.stderr


def test_a_check_changes_nothing(homes: Path) -> None:
    _run(homes, "check")

    assert list(homes.iterdir()) == []
