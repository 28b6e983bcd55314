"""The brief: its words, its bounds, and that it tells nothing of the past."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from afresh.contract.brief import FACTS_LENGTH, BriefParts, Fact, facts_block, write_brief
from afresh.contract.order import PlanLine, Task, Verify
from afresh.contract.words import Checkout, Marker

GOLDEN = Path(__file__).parent / "golden"
# What S1-3 forbids, and its near relations, as whole words.
FORBIDDEN = re.compile(
    r"\b(attempts?|iterations?|previous(ly)?|prior|earlier|before|again|retry|retries|retried|"
    r"history|historical|last time|once more|already|failed|failures?|fails|stuck|so far|"
    r"restart(ed)?|resume[ds]?|continue[ds]?|loop|episodes?|spawn(ed)?|worked on|"
    r"you (may )?have|was|were|had|did|yesterday|ago|still|anew|afresh agent)\b",
    re.IGNORECASE,
)

TASK = Task(
    id="T003",
    title="Guarded API",
    prompt="Let Api take an optional TokenStore.\n\nTest it in tests/test_api_tokens.py.\n",
    files=("ledger/api.py", "tests/test_api_tokens.py"),
    max_new_files=1,
    guidance=("Header names are lower case.",),
    verify=Verify(command=("python3", "-m", "unittest", "tests.test_api")),
)
WHOLE = BriefParts(
    goal="Add token authentication to the API.",
    repository="team/api",
    branch="afresh/token-auth",
    task=TASK,
    guidance=("Use JWT, signed with the key in settings.",),
    plan=(
        PlanLine(id="T001", title="Token model", marker=Marker.DONE),
        PlanLine(id="T002", title="Token store", marker=Marker.NEEDS_REVIEW),
        PlanLine(id="T003", title="Guarded API", marker=Marker.PENDING, epic="2"),
        PlanLine(id="T004", title="Client", marker=Marker.DONE, epic="2"),
        PlanLine(id="T005", title="Commands", marker=Marker.PENDING),
    ),
    facts=(
        Fact(
            id="T001",
            title="Token model",
            commit="1f3c9ab5d2e84f60a1b2c3d4e5f60718293a4b5c",
            summary="`ledger/tokens.py` has `issue` and `verify`.\nTokens expire.",
            files=("ledger/tokens.py", "tests/test_tokens.py"),
        ),
        Fact(id="T004", title="Client"),
    ),
    pointers=("AGENTS.md", "specs/"),
)
LEAST = BriefParts(
    goal="Greet.",
    repository="greeting",
    branch="afresh/greet",
    task=Task(
        id="a",
        title="a",
        prompt="Say hello.",
        verify=Verify(command=("sh", "-c", "test -e 'hello world'"), checkout=Checkout.WORKTREE),
    ),
)


@pytest.mark.parametrize(("name", "parts"), [("whole", WHOLE), ("least", LEAST)])
def test_brief_equals_its_golden_file(name: str, parts: BriefParts):
    assert write_brief(parts) == (GOLDEN / f"brief-{name}.md").read_text()


def test_brief_fits_on_one_screen_beside_the_users_own_prompt():
    lines = write_brief(WHOLE).splitlines()

    assert len(lines) - len(TASK.prompt.splitlines()) <= 50


def test_prompt_of_the_user_is_in_the_brief_as_it_is():
    assert TASK.prompt.strip() in write_brief(WHOLE)


@pytest.mark.parametrize("word", ["Attempt 3", "you have tried", "Previously,", "try again"])
def test_denylist_finds_what_it_is_for(word: str):
    assert FORBIDDEN.search(f"some text, {word} and more")


# Words that a user may write and that are not forbidden themselves.
WORDS = st.lists(
    st.sampled_from(["add", "token", "model", "API", "(v2)", "`x`", "#", "- [x]", "é"])
)
TEXT = WORDS.map(" ".join)
LINES = st.lists(TEXT, max_size=4).map("\n".join)
IDS = st.from_regex(r"T[0-9]{3}", fullmatch=True)
FACTS = st.builds(
    Fact,
    id=IDS,
    title=TEXT,
    commit=st.from_regex(r"[0-9a-f]{40}", fullmatch=True),
    summary=LINES,
    files=st.tuples(TEXT, TEXT),
)
PLAN_LINES = st.builds(
    PlanLine, id=IDS, title=TEXT, marker=st.sampled_from(list(Marker)), epic=TEXT
)
TASKS = st.builds(
    Task,
    id=IDS,
    title=TEXT,
    prompt=LINES,
    verify=st.builds(
        Verify,
        command=st.lists(TEXT, min_size=1, max_size=5).map(tuple),
        checkout=st.sampled_from(list(Checkout)),
    ),
    revision=st.integers(0, 9),
    files=st.lists(TEXT, max_size=3).map(tuple),
    max_new_files=st.integers(0, 100),
    guidance=st.lists(LINES, max_size=3).map(tuple),
    marker_on_failure=st.sampled_from(list(Marker)),
)
PARTS = st.builds(
    BriefParts,
    goal=LINES,
    repository=TEXT,
    branch=TEXT,
    task=TASKS,
    guidance=st.lists(LINES, max_size=3).map(tuple),
    plan=st.lists(PLAN_LINES, max_size=8).map(tuple),
    facts=st.lists(FACTS, max_size=40).map(tuple),
    pointers=st.sampled_from([(), ("AGENTS.md",), ("AGENTS.md", "specs/")]),
)


@settings(max_examples=settings.default.max_examples * 2 // 5)
@given(PARTS)
def test_brief_of_any_package_has_none_of_the_forbidden_words(parts: BriefParts):
    assert not FORBIDDEN.search(write_brief(parts))


@settings(max_examples=settings.default.max_examples * 2 // 5)
@given(PARTS, st.integers(0, 9), st.sampled_from(list(Marker)))
def test_brief_does_not_depend_on_revision_or_what_a_failure_would_mean(
    parts: BriefParts, revision: int, marker: Marker
):
    other = replace(parts.task, revision=revision, marker_on_failure=marker)

    assert write_brief(replace(parts, task=other)) == write_brief(parts)


@settings(max_examples=settings.default.max_examples * 2 // 5)
@given(PARTS)
def test_facts_are_bounded_and_cut_at_the_end_of_a_line(parts: BriefParts):
    block = facts_block(parts)

    assert len(block) <= FACTS_LENGTH
    assert block.endswith("\n")


def test_facts_that_do_not_fit_leave_out_the_oldest_and_the_next_task_never():
    facts = tuple(
        Fact(id=f"T{n:03}", title="x" * 40, summary="y" * 60, files=("z" * 80,)) for n in range(30)
    )

    block = facts_block(replace(WHOLE, facts=facts))

    assert "After this task comes T005 (Commands)." in block
    assert "The acceptance command of T003" in block
    assert "- T000" in block
    assert "- T029" not in block


def test_facts_contain_progress_epic_acceptance_changed_files_and_commits():
    block = facts_block(WHOLE)

    assert "Of the 5 tasks in the plan, 2 are done." in block
    assert "part of the epic 2: of its 2 tasks, 1 is done." in block
    assert (
        "The acceptance command of each finished task passes on the commit that is named with it."
        in block
    )
    assert "Files that finished tasks changed: ledger/tokens.py, tests/test_tokens.py." in block
    assert "- T001 (Token model) is done, commit 1f3c9ab5d2." in block


def test_a_file_that_several_finished_tasks_changed_is_named_once():
    facts = (
        Fact(id="T002", title="Store", files=("store.py", "tokens.py")),
        Fact(id="T001", title="Model", files=("tokens.py",)),
    )

    block = facts_block(replace(WHOLE, facts=facts))

    assert "Files that finished tasks changed: store.py, tokens.py.\n" in block


def test_many_changed_files_leave_room_for_the_newest_commit():
    files = tuple(f"{n:03}/" + "z" * 50 for n in range(99))
    facts = (Fact(id="T002", title="Store", files=files), Fact(id="T001", title="Model"))

    block = facts_block(replace(WHOLE, facts=facts))

    assert "000/zz" in block
    assert "098/zz" not in block
    assert "- T002 (Store) is done." in block
