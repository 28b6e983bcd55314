"""Which programs of acceptance commands are looked for, and when not any more."""

import pytest

from afresh.core.decision import StartEpisode
from afresh.core.planner import decide
from afresh.core.programs import MOST_KEPT, found_after
from afresh.core.status import package_status
from tests.make import (
    make_class,
    make_entry,
    make_episode,
    make_package,
    make_record,
    make_report,
    make_seen,
)

RUNNING = {"phase": "Running", "attempts": 1, "reason": "EpisodeRunning"}


def check_of(*command: str, status: dict[str, object] | None = None, **verify: str) -> str:
    package = make_package([make_entry(verify={"command": list(command), **verify})], status)
    kind = make_class(allowedImages=["example.com/*"])
    (start,) = [
        a
        for a in decide(make_seen(package, agent_class=kind)).actions
        if isinstance(a, StartEpisode)
    ]
    return start.order.tasks[0].verify.check


@pytest.mark.parametrize("program", ["./run.sh", "bin/test", "/opt/test", "-x"])
def test_a_path_is_never_looked_for(program: str) -> None:
    assert check_of(program) == ""


def test_a_bare_name_is_looked_for_once_per_image() -> None:
    key = check_of("pytest", "-q")

    assert key
    assert check_of("pytest", status={"programs": [key]}) == ""
    assert check_of("make", status={"programs": [key]})
    assert check_of("pytest", image="example.com/agent:1", status={"programs": [key]}) == ""
    assert check_of("pytest", image="example.com/other:1", status={"programs": [key]})


def test_what_an_episode_has_found_is_recorded() -> None:
    told = make_report(programs=("0123456789abcdef", "hostile" * 9))
    seen = make_seen(records=[make_record(**RUNNING)], episodes=(make_episode(report=told),))

    assert package_status(seen, decide(seen)).programs == ("0123456789abcdef",)


def test_only_the_last_are_kept() -> None:
    keys = tuple(f"{number:016}" for number in range(MOST_KEPT + 5))

    assert found_after(keys[:MOST_KEPT], [make_report(programs=keys[MOST_KEPT:])]) == keys[5:]
