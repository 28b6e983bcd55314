"""The information boundary, as the core keeps it: a subtask's history leaves no trace in its brief.

What the pod itself shows is the episode's tests' matter.
"""

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from afresh.api.phases import SubtaskPhase
from afresh.contract.order import Order
from afresh.core.actions import StartEpisode
from afresh.core.brief import BriefParts, Fact, write_brief
from afresh.core.denylist import history_wording
from afresh.core.planner import decide
from tests.make import make_class, make_entry, make_package, make_record, make_seen

FORBIDDEN = re.compile(
    r"\b(attempts?|previous(ly)?|prior|earlier|again|retr(y|ies|ied)|histor(y|ical)|"
    r"last time|already|fail(s|ed|ures?)?|stuck|so far|restart(ed)?|resume[ds]?|episodes?|"
    r"was|were|had|did|ago|still|anew)\b",
    re.IGNORECASE,
)
REASONS = st.sampled_from(["Waiting", "VerifyFailed", "Timeout", "Infrastructure", "Cancelled"])
MESSAGES = st.sampled_from(["", "The acceptance command failed again.", "The node was lost."])


@st.composite
def histories(draw: st.DrawFn) -> dict[str, Any]:
    """What may have happened to a subtask that starts now."""
    return {
        "attempts": draw(st.integers(0, 40)),
        "consecutive_failures": draw(st.integers(0, 2)),
        "transient_retries": draw(st.integers(0, 9)),
        "reason": draw(REASONS),
        "message": draw(MESSAGES),
    }


@st.composite
def packages(draw: st.DrawFn) -> Any:
    words = st.sampled_from(["Add tokens.", "Keep names short.", "Use JWT.", "Change the API."])
    return make_package(
        [
            make_entry("A", title=draw(words)),
            make_entry(
                "B",
                prompt=draw(words),
                files=draw(st.lists(st.sampled_from(["a.py", "b/*.py"]), unique=True)),
                guidance=draw(st.lists(words, unique=True)),
                dependsOn=["A"],
            ),
            make_entry("C", title=draw(words), dependsOn=["B"]),
        ],
        guidance=draw(st.lists(words, unique=True)),
        maxEpisodes=99,
    )


def order_of(package: Any, history: dict[str, Any]) -> Order:
    done = make_record("A", phase=SubtaskPhase.DONE, attempts=1, reason="Verified")
    seen = make_seen(package, [done, make_record("B", **history)], agent_class=make_class())
    (start,) = [item for item in decide(seen).actions if isinstance(item, StartEpisode)]
    return start.order


def brief_of(order: Order) -> str:
    """The brief as the runner writes it on one branch, where A is done."""
    return write_brief(
        BriefParts(
            goal=order.goal,
            repository="team/api",
            branch=order.repository.branch,
            task=order.tasks[0],
            guidance=order.guidance,
            plan=order.plan,
            facts=(Fact(id="A", title="Tokens", summary="`tokens.py` has `issue`."),),
        )
    )


@given(packages(), st.lists(histories(), min_size=2, max_size=4))
def test_every_attempt_on_one_head_gets_the_same_brief_to_the_byte(
    package: Any, pasts: list[dict[str, Any]]
) -> None:
    briefs = {brief_of(order_of(package, past)) for past in pasts}

    assert len(briefs) == 1
    (brief,) = briefs
    assert not FORBIDDEN.findall(brief)
    assert history_wording(brief) is None


@given(packages(), histories())
def test_an_order_tells_of_the_past_only_by_its_name_and_what_the_runner_must_know(
    package: Any, past: dict[str, Any]
) -> None:
    fresh, later = order_of(package, {"attempts": 0}), order_of(package, past)

    differing = {
        name for name in fresh.__dataclass_fields__ if getattr(fresh, name) != getattr(later, name)
    }
    assert differing <= {"episode", "tasks"}
    first, second = fresh.tasks[0], later.tasks[0]
    own = {
        name for name in first.__dataclass_fields__ if getattr(first, name) != getattr(second, name)
    }
    assert own <= {"marker_on_failure", "has_work_aside"}
