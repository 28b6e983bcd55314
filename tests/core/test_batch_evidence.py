"""What a batch's Report and pod say of each of its subtasks, and what that costs each of them."""

from dataclasses import replace
from typing import Any

import pytest

from afresh.api.phases import SubtaskPhase
from afresh.contract.report import Report, Result, Usage
from afresh.contract.words import Outcome
from afresh.core.decision import StartEpisode
from afresh.core.history.classify import Finished, Running, verdict_of
from afresh.core.observed import Episode
from afresh.core.planner import decide
from afresh.core.status import subtask_statuses
from tests.make import (
    NOW,
    make_batch,
    make_class,
    make_container,
    make_entry,
    make_package,
    make_pod,
    make_record,
    make_seen,
)

CLAUDE = {"adapter": "Claude", "command": None, "credentials": {"secretName": "anthropic"}}
RUNNER_ENDED = make_container("runner", "Terminated", exit_code=1)
OOM = make_container("agent", "Terminated", reason="OOMKilled", exit_code=137)


def sent(*results: Result, final: bool = True, tokens: int = 30) -> Report:
    usage = Usage(turns=3, input_tokens=tokens, cost_usd="0.30")
    return Report(episode="e", stage="pushed", final=final, results=results, usage=usage)


def done(id: str, tokens: int | None = 10) -> Result:
    usage = Usage(turns=1, input_tokens=tokens, cost_usd="0.10") if tokens is not None else None
    return Result(id=id, outcome=Outcome.SUCCESS, commit=f"{id}-commit", usage=usage)


def failed(id: str, outcome: Outcome) -> Result:
    return Result(id=id, outcome=outcome, message="So.", usage=Usage(input_tokens=15))


def verdicts(episode: Episode, recorded: str = "") -> list[str]:
    found = []
    for name in "ABC":
        verdict = verdict_of(episode, name, now=NOW, recorded=recorded)
        if isinstance(verdict, Running):
            found.append("later" if verdict.later else "live")
        else:
            found.append(str(verdict.outcome) if verdict.begun else "not begun")
    return found


CASES = [
    pytest.param({}, "", ["live", "later", "later"], id="it is at its first"),
    pytest.param({"report": sent(done("A"), final=False)}, "", ["Success", "live", "later"],
                 id="a provisional report holds for what is committed"),
    pytest.param({"report": sent(done("A"), done("B"), done("C"))}, "", ["Success"] * 3,
                 id="all are done"),
    pytest.param({"report": sent(done("A"), failed("B", Outcome.TURN_LIMIT))}, "",
                 ["Success", "TurnLimit", "not begun"], id="the second fails"),
    pytest.param({"report": sent(done("A"), failed("B", Outcome.VERIFY_FAILED))}, "",
                 ["Success", "live", "later"],
                 id="the second has failed, and a container may still say why"),
    pytest.param({"report": sent(failed("A", Outcome.AUTH))}, "",
                 ["Auth", "not begun", "not begun"], id="the first fails"),
    pytest.param({"report": sent(done("A"), final=False), "pod": make_pod(RUNNER_ENDED, OOM)}, "",
                 ["Success", "OutOfMemory", "not begun"], id="killed for memory at the second"),
    pytest.param({"report": sent(done("A"), final=False), "pod": make_pod(disruption="Drained")},
                 "", ["Success", "Infrastructure", "not begun"], id="drained at the second"),
    pytest.param({"report": sent(done("A"), final=False), "suspended": True, "pod": None}, "",
                 ["Success", "live", "later"], id="a queue took its place at the second"),
    pytest.param({"pod": make_pod(RUNNER_ENDED, OOM)}, "A",
                 ["not begun", "OutOfMemory", "not begun"],
                 id="the report is lost, and the first is known to be done"),
    pytest.param({}, "A", ["later", "live", "later"],
                 id="no report since a restart, and the first is known to be done"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "recorded", "want"), CASES)
def test_each_subtask_of_a_batch_gets_its_own_verdict(
    fields: dict[str, Any], recorded: str, want: list[str]
) -> None:
    assert verdicts(make_batch("A", "B", "C", **fields), recorded) == want


def at_work(done_ids: str = "") -> list[Any]:
    running = [
        make_record(name, phase=SubtaskPhase.QUEUED, attempts=1, reason="EpisodeRunning")
        for name in "ABC"
        if name not in done_ids
    ]
    running[0] = make_record(
        running[0].id, phase=SubtaskPhase.RUNNING, attempts=1, reason="EpisodeRunning"
    )
    known = {"phase": SubtaskPhase.DONE, "attempts": 1, "reason": "Verified"}
    return [*(make_record(name, **known) for name in done_ids), *running]


def result_of(episode: Episode, done_ids: str = "", **spec: Any) -> Any:
    entries = [make_entry(name) for name in "ABC"]
    package = make_package(entries, context={"mode": "Persistent"}, **spec)
    return make_seen(
        package, at_work(done_ids), episodes=(episode,), agent_class=make_class(**CLAUDE)
    )


def test_what_was_not_begun_starts_afresh_with_what_failed_and_nothing_is_counted_for_it() -> None:
    report = sent(done("A"), failed("B", Outcome.TURN_LIMIT))

    decision = decide(result_of(make_batch("A", "B", "C", report=report)))

    records = {record.id: record for record in decision.records}
    assert [records[name].consecutive_failures for name in "ABC"] == [0, 1, 0]
    assert [records[name].marker for name in "ABC"] == ["[x]", "[~]", "[~]"]
    (start,) = [item for item in decision.actions if isinstance(item, StartEpisode)]
    assert [(member.subtask, member.attempt) for member in start.members] == [("B", 2), ("C", 2)]


def test_an_episode_counts_once_and_each_subtask_pays_its_own_share() -> None:
    report = sent(done("A"), failed("B", Outcome.TURN_LIMIT))

    decision = decide(result_of(make_batch("A", "B", "C", report=report)))

    records = {record.id: record for record in decision.records}
    assert (decision.usage.episodes, decision.usage.input_tokens) == (1, 30)
    assert [str(records[name].cost_usd) for name in "ABC"] == ["0.1", "None", "None"]


def test_the_subtask_that_a_kill_interrupted_pays_what_the_others_leave() -> None:
    report = sent(done("A"), final=False)
    episode = make_batch("A", "B", "C", report=report, pod=make_pod(RUNNER_ENDED, OOM))

    decision = decide(result_of(episode))

    records = {record.id: record for record in decision.records}
    assert [str(records[name].cost_usd) for name in "ABC"] == ["0.1", "0.2", "None"]


def test_usage_is_added_once_the_whole_episode_is_over() -> None:
    first = make_batch("A", "B", "C", report=sent(done("A"), final=False, tokens=10))
    last = make_batch("A", "B", "C", report=sent(done("A"), done("B"), done("C")))

    going_on, over = decide(result_of(first)), decide(result_of(last, "A"))

    assert (going_on.usage.episodes, going_on.usage.input_tokens) == (0, 0)
    assert (over.usage.episodes, over.usage.input_tokens) == (1, 30)


def test_the_limit_of_episodes_counts_batches_not_subtasks() -> None:
    report = sent(done("A"), failed("B", Outcome.TURN_LIMIT))
    spec = {"maxEpisodes": 3, "status": {"usage": {"episodes": 2}}}

    decision = decide(result_of(make_batch("A", "B", "C", report=report), **spec))

    assert (decision.phase, decision.reason) == ("Pending", "PlanBehind")
    assert not [item for item in decision.actions if isinstance(item, StartEpisode)]


def attempts_shown(seen: Any) -> list[tuple[int, list[str]]]:
    """Of each subtask how many attempts are counted, and the Jobs of those that are listed."""
    statuses = subtask_statuses(seen, decide(seen)).values()
    return [(item.attempt_count, [one.job_name for one in item.attempts]) for item in statuses]


def test_of_a_batch_only_the_subtask_that_it_is_at_shows_an_attempt() -> None:
    seen = result_of(make_batch("A", "B", "C"))

    assert attempts_shown(seen) == [(1, [seen.episodes[0].name]), (0, []), (0, [])]


def test_a_subtask_that_a_batch_never_came_to_shows_no_attempt() -> None:
    report = sent(done("A"), failed("B", Outcome.BLOCKED))
    seen = result_of(make_batch("A", "B", "C", report=report))
    suspended = seen.package.spec.model_copy(update={"suspend": True})
    held = replace(seen, package=seen.package.model_copy(update={"spec": suspended}))

    job = seen.episodes[0].name
    assert attempts_shown(held) == [(1, [job]), (1, [job]), (0, [])]
    records = {record.id: record for record in decide(held).records}
    assert (records["C"].attempts, records["C"].attempts_begun) == (1, 0)


def test_only_what_was_begun_has_an_event() -> None:
    report = sent(done("A"), failed("B", Outcome.TURN_LIMIT))

    decision = decide(result_of(make_batch("A", "B", "C", report=report)))

    ends = [
        note.reason for note in decision.notes if note.subtask and note.reason != "EpisodeStarted"
    ]
    assert ends == ["Success", "TurnLimit"]


def test_an_end_keeps_whether_it_was_begun() -> None:
    (*_, last) = decide(
        result_of(make_batch("A", "B", "C", report=sent(failed("A", Outcome.AUTH))))
    ).attempt_results

    assert last.ended == Finished(
        outcome=Outcome.CANCELLED, message=last.ended.message, report=last.ended.report, begun=False
    )
