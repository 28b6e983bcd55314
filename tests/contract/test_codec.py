"""The wire form of the contract: what is written can be read, and what is wrong is named."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afresh.contract import codec, report
from afresh.contract.codec import ContractError
from afresh.contract.report import Report, Result, Usage, VerifyResult
from afresh.contract.words import Outcome

# Any text, and what JSON writes much longer than it is.
texts = st.text(max_size=3000) | st.integers(0, 600).flatmap(
    lambda times: st.text('"\\\n\0\x1b\u2028é😀', max_size=9).map(lambda text: text * times)
)
usages = st.builds(
    Usage,
    turns=st.integers(0, 10**4),
    input_tokens=st.integers(0, 10**9),
    output_tokens=st.integers(0, 10**9),
    cost_usd=st.none() | st.decimals(0, 10**4, places=7).map(str),
)
results = st.builds(
    Result,
    id=st.text("abcdefghijklmnopqrstuvwxyzABCXYZ0123456789._-", min_size=1, max_size=20),
    outcome=st.sampled_from(Outcome),
    revision=st.integers(0, 10**6),
    commit=st.none() | st.text("0123456789abcdef", min_size=40, max_size=40),
    message=texts,
    summary=texts,
    exit_code=st.none() | st.integers(0, 255),
    verify=st.none()
    | st.builds(
        VerifyResult, exit_code=st.integers(0, 255), duration_seconds=st.floats(0, 1e4), tail=texts
    ),
    usage=st.none() | usages,
    warnings=st.lists(texts, max_size=8).map(tuple),
)
reports = st.builds(
    Report,
    episode=st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=63),
    stage=st.sampled_from(["prepared", "reported"]),
    final=st.booleans(),
    results=st.lists(results, max_size=25).map(tuple),
    head=st.none() | st.text("0123456789abcdef", min_size=40, max_size=40),
    plan_digest=st.none() | st.just(f"sha256:{'0' * 64}"),
    usage=usages,
    answered=st.booleans(),
    not_before=st.none() | st.floats(0, 1e10),
    phases=st.dictionaries(st.sampled_from(report.PHASES), st.floats(0, 1e10)),
    log_tail=texts,
)


@given(reports)
def test_a_report_that_is_written_and_read_is_the_same(told: Report) -> None:
    assert report.parse(codec.dumps(told)) == told


@given(reports)
def test_a_fitted_report_is_valid_small_and_keeps_what_decides(told: Report) -> None:
    text = report.fit(told)

    read = report.parse(text)
    decides = [(item.id, item.outcome, item.commit) for item in told.results]
    assert len(text.encode()) <= report.REPORT_MAX_BYTES
    assert [(item.id, item.outcome, item.commit) for item in read.results] == decides
    assert (read.episode, read.final, read.usage) == (told.episode, told.final, told.usage)
    assert (read.head, read.plan_digest) == (told.head, told.plan_digest)
    assert read.answered is told.answered


@given(reports, results)
def test_why_the_only_subtask_failed_is_the_last_text_to_be_cut(
    told: Report, result: Result
) -> None:
    failed = replace(result, commit=None)

    (read,) = report.parse(report.fit(replace(told, results=(failed,)))).results

    assert read.message == failed.message or "…" in read.message
    assert len(read.message) >= min(200, len(failed.message))


@pytest.mark.parametrize("outcome", [Outcome.SUCCESS, Outcome.NO_CHANGES])
def test_report_of_the_largest_batch_fits_with_every_commit(outcome: Outcome) -> None:
    usage = Usage(
        turns=500,
        input_tokens=10**9,
        output_tokens=10**9,
        cache_read_tokens=10**10,
        cache_write_tokens=10**10,
        cost_usd="12345.6789012",
    )
    told = Report(
        episode="e" * 63,
        stage="done",
        final=True,
        results=tuple(
            Result(
                id=f"T{number:019}",
                outcome=outcome,
                revision=10**6,
                commit="f" * 40,
                verify=VerifyResult(exit_code=0, duration_seconds=1.5, tail="OK\n" * 100),
                usage=usage,
                warnings=("The unfinished work is not kept.",),
            )
            for number in range(25)
        ),
        head="f" * 40,
        plan_digest=f"sha256:{'f' * 64}",
        usage=usage,
        answered=True,
        not_before=1_700_000_000.5,
        phases=dict.fromkeys(report.PHASES, 1_700_000_000.123),
        log_tail="x" * 2048,
    )

    read = report.parse(report.fit(told))

    assert [item.commit for item in read.results] == ["f" * 40] * 25
    assert (read.usage, read.head, read.plan_digest) == (usage, told.head, told.plan_digest)


def test_usage_of_the_subtasks_outlives_every_text() -> None:
    told = Report(
        episode="e",
        stage="done",
        final=True,
        results=tuple(
            Result(
                id=f"T{number}",
                outcome=Outcome.SUCCESS,
                commit="f" * 40,
                message="x" * 400,
                usage=Usage(turns=number, input_tokens=1000),
                warnings=("w" * 200,),
            )
            for number in range(15)
        ),
        log_tail="x" * 2048,
    )

    read = report.parse(report.fit(told))

    assert [item.usage for item in read.results] == [item.usage for item in told.results]


def test_text_that_no_encoding_can_hold_is_written_and_cut_like_any_other() -> None:
    told = Report(episode="e", stage="x", log_tail="\ud800" * 4000)

    text = report.fit(told)

    assert len(text.encode()) <= report.REPORT_MAX_BYTES
    assert set(report.parse(text).log_tail) == {"?"}


BAD = [
    pytest.param('{"episode":' * 100_000, "Report is not JSON", id="nested too deeply"),
    pytest.param("", "Report is not JSON", id="empty"),
    pytest.param("[]", "Report must be an object", id="a list"),
    pytest.param("{}", "Report.episode is missing", id="no episode"),
    pytest.param('{"episode":1,"stage":"x"}', "Report.episode must be of type str", id="a number"),
    pytest.param(
        '{"episode":"e","stage":"x","results":[{"id":"T","outcome":"Great"}]}',
        "Report.results[0].outcome: 'Great' is not one of",
        id="an unknown outcome",
    ),
    pytest.param(
        f'{{"episode":"e","stage":"x","notBefore":1{"0" * 400}}}',
        "Report.notBefore is too large for a float",
        id="a number that is no float",
    ),
    pytest.param(
        '{"episode":"e","stage":"x","final":1}', "Report.final must be", id="1 is not true"
    ),
]


@pytest.mark.parametrize(("text", "want"), BAD)
def test_what_is_wrong_with_a_message_is_named(text: str, want: str) -> None:
    with pytest.raises(ContractError) as caught:
        report.parse(text)

    assert want in str(caught.value)


def test_unknown_fields_are_ignored_so_that_a_newer_runner_can_be_read() -> None:
    text = json.dumps({"episode": "e", "stage": "x", "newField": {"a": 1}})

    assert report.parse(text) == Report(episode="e", stage="x")


def test_a_summary_that_is_cut_says_so_and_outlasts_half_of_the_log() -> None:
    done = Result(id="T1", outcome=Outcome.SUCCESS, commit="c", summary="word " * 80)
    told = Report(episode="e", stage="report", final=True, log_tail="x" * 2900, results=(done,))

    read = report.parse(report.fit(told))

    (result,) = read.results
    assert len(read.log_tail) == 1024
    assert len(result.summary) == 341
    assert result.summary.endswith("…")
