"""Two packages side by side: the figures, when they cannot be compared, and how it is written."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from afresh.api.repository import RepositorySpec
from afresh.api.subtask import SubtaskEntry
from afresh.api.work_package import ContextSpec, WorkPackageSpec
from afresh.cli.report import comparison
from afresh.cli.report.comparison import Comparison, Told, compare
from afresh.cli.report.comparison_table import write_comparison_markdown, write_terminal
from tests.make import NOW, make_child, make_entry, make_package, make_record

GOLDEN = Path(__file__).parent / "golden"
ENTRIES = [make_entry("A"), make_entry("B", files=["b.py"])]


def attempt(outcome: str, start: str, end: str, job: str = "j", **fields: Any) -> dict[str, Any]:
    return {
        "number": 1, "outcome": outcome, "jobName": job, "startTime": f"2030-01-02T03:{start}Z",
        "completionTime": f"2030-01-02T03:{end}Z", **fields,
    }  # fmt: skip


def told(
    name: str, entries: list[dict[str, Any]] = ENTRIES, records: tuple[Any, ...] = (),
    attempts: dict[str, list[dict[str, Any]]] | None = None, **spec: Any,
) -> Told:  # fmt: skip
    usage = spec.pop("usage", {})
    status = {
        "phase": spec.pop("phase", "Succeeded"), "usage": usage,
        "subtasks": [record.to_manifest() for record in records],
    }  # fmt: skip
    package = make_package(entries, status, {"name": name}, **spec)
    children = [make_child(package, id, attempts=kept) for id, kept in (attempts or {}).items()]
    return package, children


def fresh() -> Told:
    done = {"phase": "Done", "commit": "c0ffee", "reason": "Verified"}
    phases = {"runnerStarted": 0, "prepared": 1, "agentStarted": 2, "agentEnded": 30,
              "committed": 31, "verified": 36, "pushed": 37, "reported": 38}  # fmt: skip
    return told(
        "token-auth",
        records=(
            make_record("A", attempts=2, rejections=1, **done),
            make_record("B", attempts=2, hallucinations=2, **done),
        ),
        attempts={
            "A": [attempt("VerifyFailed", "00:00", "00:40", "j1", phases=phases),
                  attempt("Success", "00:40", "01:20", "j2", phases=phases)],
            "B": [attempt("Transient", "01:20", "01:30", "j3"),
                  attempt("Success", "02:00", "02:40", "j4", phases=phases)],
        },
        usage={"episodes": 3, "transientRetries": 1, "inputTokens": 1000, "outputTokens": 200,
               "cacheReadTokens": 0, "cacheWriteTokens": 50, "costUSD": "0.50"},
    )  # fmt: skip


def persistent() -> Told:
    return told(
        "token-auth-persistent",
        phase="NeedsReview",
        context={"mode": "Persistent"},
        records=(
            make_record("A", phase="Done", attempts=1, commit="c0ffee"),
            make_record("B", phase="NeedsReview", attempts=1, reason="Blocked"),
        ),
        attempts={
            "A": [attempt("Success", "00:00", "01:00")],
            "B": [attempt("Blocked", "01:00", "01:30")],
        },
        usage={"episodes": 1, "inputTokens": 5000, "outputTokens": 150, "cacheReadTokens": 9000,
               "costUSD": "0.75"},
    )  # fmt: skip


def both() -> Comparison:
    return compare(fresh(), persistent(), NOW)


def test_figures_of_a_side_are_those_of_its_records_and_its_history():
    side = both().first

    assert (side.done, side.done_share, side.phase) == (2, 1.0, "Succeeded")
    assert (side.review_rejections, side.review_rejection_rate) == (1, 0.5)
    assert (side.hallucination_reports, side.attempts, side.failed_attempts) == (2, 4, 1)
    assert (side.seconds_elapsed, side.seconds_in_episodes) == (160, 130)
    assert side.cost_usd == Decimal("0.50")


def test_overhead_is_the_share_of_an_episode_beside_setup_agent_and_acceptance_command():
    side = both().first

    # 29 s of agent and setup and 5 s of acceptance command in each of three episodes of 40 s.
    assert side.overhead_share == pytest.approx(1 - 34 / 40)


def test_overhead_of_a_batch_is_not_known_and_that_is_said():
    compared = both()

    assert compared.second.overhead_share is None
    assert any("The overhead of token-auth-persistent" in item for item in compared.remarks)


def test_subtask_that_is_rejected_before_it_was_ever_done_does_not_count_in_the_rate():
    records = (make_record("A", phase="Done", commit="c"), make_record("B", rejections=1))

    side = compare(told("a", records=records), persistent(), NOW).first

    assert (side.review_rejections, side.review_rejection_rate) == (1, 0.0)


def test_rate_of_nothing_done_is_unknown():
    assert compare(told("a"), persistent(), NOW).first.review_rejection_rate is None


SAME = [
    pytest.param(told("b"), id="the same"),
    pytest.param(told("b", [{**entry, "title": "Other"} for entry in ENTRIES]), id="titles"),
    pytest.param(told("b", [{**entry, "guidance": ["Use JWT."], "revision": 3, "skip": True}
                            for entry in ENTRIES]), id="what people answer"),
    pytest.param(told("b", ENTRIES[::-1]), id="another order"),
    pytest.param(told("b", context={"mode": "Persistent"}), id="another mode"),
    pytest.param(told("b", [{**entry, "verify": {"command": ["make", "test"]}}
                            for entry in ENTRIES]), id="the package's verify on each"),
]  # fmt: skip


@pytest.mark.parametrize("other", SAME)
def test_packages_that_were_asked_for_the_same_can_be_compared(other: Told):
    assert compare(told("a"), other, NOW).differences == ()


REPOSITORY = {"url": "https://git.example.com/team/api.git"}
OTHER = [
    pytest.param(told("b", repository={"url": "https://git.example.com/x/y.git"}),
                 "They work on different repositories.", id="repository"),
    pytest.param(told("b", repository={**REPOSITORY, "baseRef": "v1"}),
                 "They start from different refs: main and v1.", id="base"),
    pytest.param(told("b", [*ENTRIES, make_entry("C")]), "Only b has C.", id="one more subtask"),
    pytest.param(told("b", ENTRIES[:1]), "Only a has B.", id="one subtask less"),
    pytest.param(told("b", [make_entry(f"C{n}") for n in range(9)]),
                 "Only b has C0, C1, C2, C3, C4 and 4 more.", id="many others"),
    pytest.param(told("b", [ENTRIES[0], make_entry("B", files=["c.py"])]),
                 "What is asked differs in B.", id="files"),
    pytest.param(told("b", [make_entry("A", prompt="Do less."), ENTRIES[1]]),
                 "What is asked differs in A.", id="prompt"),
    pytest.param(told("b", verify={"command": ["true"]}), "What is asked differs in A, B.",
                 id="verify of the package"),
]  # fmt: skip


@pytest.mark.parametrize(("other", "want"), OTHER)
def test_packages_that_were_asked_for_something_else_are_said_not_to_be_comparable(
    other: Told, want: str
):
    compared = compare(told("a"), other, NOW)

    assert want in compared.differences
    assert compared.to_json()["comparable"] is False
    assert f"Not comparable: {' '.join(compared.differences)}" in write_terminal(compared)


def test_what_else_differs_and_what_is_not_over_is_remarked():
    guided = [{**ENTRIES[0], "guidance": ["Use JWT."]}, ENTRIES[1]]
    other = told("b", guided, phase="Running", agentClassName="claude", maxEpisodes=9)

    compared = compare(told("a"), other, NOW)

    assert compared.remarks == (
        "b has not ended: its figures are not final.",
        "They also differ in spec.agentClassName, spec.maxEpisodes.",
        "The guidance of A differs.",
        "Both have the context mode FreshPerSubtask.",
    )


ELSE = [
    pytest.param(told("b", queueName="agents"), "They also differ in spec.queueName.", id="queue"),
    pytest.param(told("b", context={"resetInterval": 2}),
                 "They also differ in spec.context.resetInterval.", id="reset interval"),
    pytest.param(told("b", repository={**REPOSITORY, "lfs": True, "secretName": "other"}),
                 "They also differ in spec.repository.secretName, spec.repository.lfs.",
                 id="the rest of the repository"),
    pytest.param(told("b", [{**ENTRIES[0], "skip": True}, ENTRIES[1]]),
                 "The skip of A differs.", id="skip"),
    pytest.param(told("b", [ENTRIES[0], {**ENTRIES[1], "epic": "store"}]),
                 "The epic of B differs.", id="epic"),
    pytest.param(told("b", [ENTRIES[0], {**ENTRIES[1], "title": "Store"}]),
                 "The title of B differs.", id="title"),
    pytest.param(told("b", ENTRIES[::-1]), "The order of the subtasks differs.", id="order"),
]  # fmt: skip


@pytest.mark.parametrize(("other", "want"), ELSE)
def test_what_does_not_make_another_request_is_named_as_a_remark(other: Told, want: str):
    compared = compare(told("a"), other, NOW)

    assert compared.differences == ()
    assert compared.remarks == (want, "Both have the context mode FreshPerSubtask.")


def test_every_field_that_a_user_writes_is_compared_or_left_out_on_purpose():
    spec = {*comparison.SURROUNDINGS, "repository", "context", "subtasks", "verify", "suspend"}
    repository = {*comparison.REPOSITORY_SURROUNDINGS, "url", "base_ref", "branch"}
    entry = {*comparison.ASKED, *comparison.REMARKED, "id", "revision", "revision_reason"}

    assert spec == WorkPackageSpec.model_fields.keys()
    assert repository == RepositorySpec.model_fields.keys()
    assert {*comparison.CONTEXT_SURROUNDINGS, "mode"} == ContextSpec.model_fields.keys()
    assert entry == SubtaskEntry.model_fields.keys()


def test_table_is_word_for_word_what_stands_in_its_golden_file():
    assert write_terminal(both()) == (GOLDEN / "comparison.txt").read_text().rstrip("\n")


def test_markdown_has_the_rows_of_the_table():
    cells = [line.split("|")[1:-1] for line in write_comparison_markdown(both()).split("\n")
             if line.startswith("|")]  # fmt: skip

    rows = {cell[0].strip(): [item.strip() for item in cell[1:]] for cell in cells}
    assert rows["cost"] == ["$0.50", "$0.75", "+50 %"]
    assert rows["tokens"] == ["1.25k", "14.2k", "+1032 %"]
    assert rows["overhead"] == ["15 %", "-", ""]


def test_json_has_the_figures_as_numbers_and_amounts_as_decimal_texts():
    read = json.loads(json.dumps(both().to_json()))

    assert read["comparable"] is True
    assert read["first"]["costUSD"] == 0.5
    assert read["second"]["doneShare"] == 0.5
    assert read["second"]["overheadShare"] is None
    assert read["first"]["tokens"] == {
        "input": 1000, "output": 200, "cacheRead": 0, "cacheWrite": 50,
    }  # fmt: skip
