"""Stories that run at once: all begin with the first, each in a thread and a namespace of its own.

A story mostly waits for pods, so telling one after the other would take many times as long. A test
with the mark `story` is one; its fixture `team` is its namespace. Must not know what they tell.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from tests.e2e.cluster import wait
from tests.e2e.survivors import programs_of, users_of
from tests.e2e.team import ENDED, Team

MARK = "story"
# Two cores: more pods at a time only starve each other.
AT_ONCE = 6
# How long a program may take to end after it was asked to.
LAST_SECONDS = 180


@dataclass(frozen=True)
class Stage:
    """The stories that have begun, by the test's id."""

    teams: dict[str, Team]
    ends: dict[str, Future[None]]


@contextmanager
def begin(items: list[pytest.Item], make_team: Callable[[str], Team]) -> Iterator[Stage]:
    """Begin every story among the tests, those marked `story(long=True)` first."""
    stories = [item for item in items if isinstance(item, pytest.Function) and is_story(item)]
    stories.sort(key=_is_short)
    teams = {item.nodeid: make_team(item.nodeid) for item in stories}
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        ends = {item.nodeid: pool.submit(_tell, item, teams[item.nodeid]) for item in stories}
        yield Stage(teams, ends)
    finally:
        pool.shutdown(cancel_futures=True)


def is_story(item: pytest.Item) -> bool:
    """Whether the test runs at once with the others."""
    return item.get_closest_marker(MARK) is not None


def _is_short(item: pytest.Function) -> bool:
    return not any("long" in mark.kwargs for mark in item.iter_markers(MARK))


def _see_out(team: Team) -> None:
    """Wait until no program of an episode is alive. Packages that go on are deleted first."""
    api = team.cluster.api
    packages = api.items("workpackages", team.namespace)
    users = users_of(packages, api.items("pods", team.namespace))
    for package in packages:
        if package.get("status", {}).get("phase") not in ENDED:
            api.delete("workpackages", package["metadata"]["name"], team.namespace)
    wait("no agent is alive", lambda: not programs_of(users), seconds=LAST_SECONDS, every=1)


def _tell(item: pytest.Function, team: Team) -> None:
    given = item.callspec.params if hasattr(item, "callspec") else {}
    try:
        team.move_in()
        item.function(team=team, **given)
        _see_out(team)
    except BaseException as error:
        error.add_note(team.evidence())
        team.stop()
        raise
