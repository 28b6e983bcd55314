"""Which logs are meant, what has changed, and what may be waited for."""

from typing import Any

import pytest

from afresh.api.phases import PackagePhase
from afresh.cli.look.changes import changes
from afresh.cli.look.episode_choice import Chosen, choose, episodes
from afresh.cli.look.package_view import PackageView, is_current, view_of
from afresh.cli.looks import EXIT_CODES, TIMED_OUT, Awaited
from afresh.cli.requests import CommandError
from tests.cli.packages import busy_package, children_of
from tests.make import NOW, make_child, make_entry, make_package, make_record, seconds

CHILDREN = children_of(busy_package())


def of(item: Chosen) -> tuple[str, int]:
    return item.subtask, item.attempt.number


@pytest.mark.parametrize(
    ("subtask", "attempt", "want"),
    [
        pytest.param(None, None, [("T003", 2)], id="what runs"),
        pytest.param("T001", None, [("T001", 1)], id="the last of a subtask"),
        pytest.param("T003", 1, [("T003", 1)], id="an earlier one of a subtask"),
        pytest.param("T004", None, [], id="none has started"),
    ],
)
def test_log_is_that_of_the_episode_that_is_meant(
    subtask: str | None, attempt: int | None, want: list[tuple[str, int]]
):
    assert [of(item) for item in choose(CHILDREN, subtask, attempt)] == want


def test_subtask_that_the_operator_has_not_made_yet_has_no_episode_and_is_no_mistake():
    assert choose([], "T001", None, ["T001"]) == []


def test_log_of_a_package_at_rest_is_that_of_the_episode_that_began_last():
    package = make_package()
    old = {"number": 1, "startTime": "2030-01-02T03:00:05Z", "outcome": "VerifyFailed"}
    new = {"number": 2, "startTime": "2030-01-02T03:02:05Z", "outcome": "Success"}

    found = choose([make_child(package, "T001", attempts=[old, new])], None, None)

    assert [of(item) for item in found] == [("T001", 2)]


def test_episodes_come_in_the_order_of_their_start():
    assert [of(item) for item in episodes(CHILDREN)] == [("T001", 1), ("T003", 1), ("T003", 2)]


def test_episode_of_a_batch_is_one_log_whichever_of_its_subtasks_is_named():
    package = make_package([make_entry(id) for id in "ABC"])
    batch = {"number": 1, "startTime": "2030-01-02T03:00:05Z", "jobName": "token-auth-a-1-abc"}
    done = {**batch, "outcome": "Success"}
    children = [make_child(package, id, attempts=[done if id == "A" else batch]) for id in "ABC"]

    (running,) = choose(children, None, None)
    (named,) = choose(children, "C", 1)

    assert (running.subtask, running.others, running.ended) == ("B", ("A", "C"), False)
    assert (named.subtask, named.others) == ("C", ("A", "B"))
    assert running.key == named.key


@pytest.mark.parametrize(
    ("subtask", "attempt", "want"),
    [
        pytest.param("T9", None, 'no subtask "T9"; there are T001, T002', id="unknown subtask"),
        pytest.param("T003", 7, "no attempt 7 of T003: the status keeps 1, 2.", id="not kept"),
        pytest.param("T004", 1, "no attempt 1 of T004: it has not started yet.", id="not started"),
    ],
)
def test_log_that_there_is_not_is_refused_with_what_there_is(
    subtask: str, attempt: int | None, want: str
):
    with pytest.raises(CommandError) as caught:
        choose(CHILDREN, subtask, attempt)

    assert want in str(caught.value)


def view(**changed: Any) -> PackageView:
    records = {"T001": {"phase": "Running", "reason": "EpisodeRunning", "attempts": 1}}
    status = {
        "phase": "Running", "reason": "EpisodeRunning", "progress": "0/1",
        "subtasks": [make_record(id, **{**known, **changed}).to_manifest()
                     for id, known in records.items()],
    }  # fmt: skip
    return view_of(make_package(status=status), NOW, ())


def test_first_look_says_where_the_package_stands_and_what_has_begun():
    assert list(changes(None, view())) == [
        "team-a/token-auth: Running (EpisodeRunning), 0/1 done",
        "team-a/token-auth T001: [~] Running (EpisodeRunning), attempt 1",
    ]


def test_what_has_changed_is_one_line_and_time_alone_is_no_change():
    after = view(phase="Done", reason="Verified")
    package = busy_package()
    later = view_of(package, NOW + seconds(60), children_of(package))

    assert list(changes(view(), after)) == [
        "team-a/token-auth T001: Running -> [x] Done (Verified), attempt 1"
    ]
    assert list(changes(view_of(package, NOW, children_of(package)), later)) == []


def test_every_phase_is_a_state_that_a_wait_knows():
    assert {str(item) for item in Awaited} == {*map(str, PackagePhase), "Deleted"}


def test_outcomes_have_exit_codes_of_their_own():
    codes = [*EXIT_CODES.values(), TIMED_OUT]

    assert len(set(codes)) == len(codes)
    assert not {0, 1, 2, 130} & set(codes)


@pytest.mark.parametrize(
    ("metadata", "want"),
    [
        pytest.param({}, True, id="the operator has looked"),
        pytest.param({"generation": 2}, False, id="edited since"),
        pytest.param({"annotations": {"afresh.dev/retry-requested-at": "now"}}, False,
                     id="asked to go on since"),
        pytest.param({"annotations": {"afresh.dev/cancel-requested-at": "now"}}, False,
                     id="asked to stop since"),
    ],
)  # fmt: skip
def test_status_counts_once_it_is_about_the_package_as_it_is(metadata: dict[str, Any], want: bool):
    package = make_package(status={"observedGeneration": 1}, metadata=metadata)

    assert is_current(package) is want
