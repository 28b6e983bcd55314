"""An image of verify's own: whether the class allows it, and what it means for batches."""

from typing import Any

import pytest

from afresh.core.planner import decide
from afresh.core.reasons import Reason
from tests.make import make_class, make_entry, make_package, make_seen, starts_of

PASSES = {"command": ["true"]}
CLAUDE = {"adapter": "Claude", "command": None, "credentials": {"secretName": "s"}}


def with_image(image: str) -> dict[str, Any]:
    return {"verify": {**PASSES, "image": image}}


STRANGE = [
    pytest.param(with_image("other.example.com/x:1"), [], id="the package's"),
    pytest.param(
        {}, [make_entry("A"), make_entry("B", **with_image("other.example.com/x:1"))],
        id="that of a later subtask",
    ),
    pytest.param(
        {"image": "example.com/tools/own:1", **with_image("other.example.com/x:1")}, [],
        id="beside an allowed image of the agent",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "entries"), STRANGE)
def test_an_image_of_verify_that_the_class_does_not_allow_stalls_the_package(
    spec: dict[str, Any], entries: list[dict[str, Any]]
) -> None:
    kind = make_class(allowedImages=["example.com/tools/*"])

    decision = decide(make_seen(make_package(entries or None, **spec), agent_class=kind))

    assert decision.reason == Reason.IMAGE_NOT_ALLOWED
    assert "other.example.com/x:1" in decision.message


@pytest.mark.parametrize("image", ["example.com/tools/jdk:21", "example.com/agent:1"])
def test_an_image_of_verify_that_the_class_allows_or_has_itself_starts_an_episode(
    image: str,
) -> None:
    kind = make_class(allowedImages=["example.com/tools/*"])

    decision = decide(make_seen(make_package(**with_image(image)), agent_class=kind))

    assert starts_of(decision) == ["T001"]


BATCHES = [
    pytest.param(["a:1", "a:1", "a:1"], ["T0+T1+T2"], id="one image throughout"),
    pytest.param(["a:1", "a:1", "b:1"], ["T0+T1"], id="another image at the end"),
    pytest.param(["a:1", "b:1", "a:1"], ["T0"], id="another image in between"),
    pytest.param([None, "a:1", None], ["T0"], id="an image after none"),
]


@pytest.mark.parametrize(("images", "want"), BATCHES)
def test_a_batch_ends_where_verify_asks_for_another_image(
    images: list[str | None], want: list[str]
) -> None:
    verifies = [{**PASSES, **({"image": image} if image else {})} for image in images]
    entries = [make_entry(f"T{n}", verify=verify) for n, verify in enumerate(verifies)]
    package = make_package(entries, context={"mode": "Persistent"})
    kind = make_class(**CLAUDE, allowedImages=["*"])

    assert starts_of(decide(make_seen(package, agent_class=kind))) == want
