"""The information boundary, as the core keeps it: a subtask's history leaves no trace in its brief.

What the pod itself shows is the episode's tests' matter.
"""

import re
import unicodedata
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from afresh.api.phases import SubtaskPhase
from afresh.contract.brief import BriefParts, Fact, write_brief
from afresh.contract.history_words import history_wording, without_history
from afresh.contract.order import Order
from afresh.core.decision import StartEpisode
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


def brief_of(order: Order, summary: str = "`tokens.py` has `issue`.") -> str:
    """The brief as the runner writes it on one branch, where A is done."""
    return write_brief(
        BriefParts(
            goal=order.goal,
            repository="team/api",
            branch=order.repository.branch,
            task=order.tasks[0],
            guidance=order.guidance,
            plan=order.plan,
            facts=(Fact(id="A", title="Tokens", summary=summary),),
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


HISTORY = st.sampled_from(
    [
        "The first two attempts failed.",
        "Earlier agents had broken the tests",
        "**Att**empt 3 of 5: it works now!",
        "This was tried before; again without luck",
        "T h i r d  t r y, f a i l e d twice",
        "f\u200bailed a\u00adgain",
        "\uff46\uff41\uff49\uff4c\uff45\uff44 twice",
        "fai\u0301led",
        "- still red after my _previous_ run",
        "The reviewer rejected revision 2?",
        "A FAILURE: retried at once",
        "No\u2028longer stuck",
        "you\u2019ve already been asked",
        "f.a.i.l.e.d",
        "resumed work\x0bthat had timed out",
    ]
)
FACTS = st.sampled_from(
    ["`tokens.py` has `issue`.", "Tokens expire after a day.", "`GET /v1` needs one;"]
)
JOINS = st.sampled_from([" ", "\n", "\n\n", "\n- ", "\t", " \u2014 "])


@given(packages(), st.lists(st.tuples(st.one_of(FACTS, HISTORY), JOINS), max_size=8))
def test_an_agents_summary_reveals_no_history_to_others(
    package: Any, said: list[tuple[str, str]]
) -> None:
    order = order_of(package, {"attempts": 0})
    summary = "".join(f"{text}{join}" for text, join in said)

    brief = brief_of(order, summary)

    read = "".join(ch for ch in unicodedata.normalize("NFKD", brief) if ch.isascii())
    for text in (brief, read.replace("*", "").replace("_", "")):
        assert not FORBIDDEN.findall(text)
        assert history_wording(text) is None


@given(st.lists(FACTS, min_size=1, max_size=3), HISTORY)
def test_facts_pass_and_only_the_sentence_about_the_past_is_removed(
    facts: list[str], history: str
) -> None:
    assert without_history("\n".join(facts)) == " ".join(facts)
    assert without_history("\n".join([*facts, history, *facts])) == " ".join([*facts, *facts])


@given(packages(), histories())
def test_an_order_reveals_the_past_only_by_its_name_and_what_the_runner_must_know(
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
