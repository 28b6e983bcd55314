from pathlib import Path

import pytest

from tools.singlenode.errors import ClusterError
from tools.singlenode.paths import (
    ClusterPaths,
    cache_home,
    checked_name,
    problem_with_homes,
    state_home,
)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("a", id="one letter"),
        pytest.param("demo-2", id="letters, a hyphen and a digit"),
        pytest.param("a" * 20, id="the longest"),
    ],
)
def test_a_usable_name_is_accepted(name: str) -> None:
    assert checked_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("", id="empty"),
        pytest.param("a" * 21, id="too long"),
        pytest.param("Demo", id="a capital"),
        pytest.param("-demo", id="a hyphen first"),
        pytest.param("demo-", id="a hyphen last"),
        pytest.param("../demo", id="a path"),
        pytest.param("demo\n", id="a line break"),
        pytest.param("a b", id="a space"),
    ],
)
def test_an_unusable_name_is_refused_with_the_rule(name: str) -> None:
    with pytest.raises(ClusterError, match="use 1 to 20 of"):
        checked_name(name)


def test_homes_follow_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/somewhere/state")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere/cache")

    assert state_home() == Path("/somewhere/state/afresh")
    assert cache_home() == Path("/somewhere/cache/afresh")


@pytest.mark.parametrize(
    "value", [pytest.param("", id="empty"), pytest.param("x/y", id="relative")]
)
def test_a_home_that_is_no_absolute_path_counts_as_unset(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", value)
    monkeypatch.setenv("HOME", "/home/someone")

    assert state_home() == Path("/home/someone/.local/state/afresh")


@pytest.mark.parametrize(
    ("variable", "value", "want"),
    [
        pytest.param("XDG_STATE_HOME", "/run/me", "is below /run", id="state in /run"),
        pytest.param("XDG_STATE_HOME", "/var/lib/x/..", "below /var/lib", id="state in /var/lib"),
        pytest.param("XDG_CACHE_HOME", "/var/log/x", "set XDG_CACHE_HOME", id="cache in /var/log"),
        pytest.param("XDG_STATE_HOME", "/" + "a" * 40, "at most 35 bytes", id="too long a state"),
    ],
)
def test_an_unusable_home_is_named_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, want: str
) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.setenv(variable, value)

    assert want in str(problem_with_homes())


def test_the_longest_allowed_state_home_leaves_room_for_every_socket(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.setenv("XDG_STATE_HOME", "/" + "a" * 34)
    longest = ClusterPaths("a" * 20)

    assert problem_with_homes() is None
    assert len(f"{longest.containerd_socket}.ttrpc") <= 107
    assert len(str(longest.root / "kubelet" / "pod-resources" / "kubelet.sock")) <= 107
