"""A message keeps what to do, whatever is quoted in it, down to the shortest place it stands in."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afresh.api.agent_class import Gate
from afresh.api.conditions import SHORT
from afresh.api.phases import PackagePhase, SubtaskPhase
from afresh.api.rules import Clipped, stored_size
from afresh.contract.sentences import DETAILS, fitted, sentence_of, with_details
from afresh.contract.stable_words import steady
from afresh.contract.words import Outcome, ProviderFault
from afresh.core.history.classify import Finished, verdict_of
from afresh.core.history.credential_gate import gate_sentence
from afresh.core.planner import decide
from afresh.core.status import package_status, subtask_statuses
from tests.make import (
    NOW,
    make_container,
    make_entry,
    make_episode,
    make_package,
    make_pod,
    make_record,
    make_report,
    make_seen,
    seconds,
)

CAUSE = "failed to reach 203.0.113.9: " + "x <&> " * 833
IMAGE = "registry.example.com/platform/agents/claude:2.1"


def waiting(reason: str) -> Any:
    """A pod whose agent's container waits, with many words of the kubelet."""
    agent = make_container("agent", "Waiting", image=IMAGE, reason=reason, message=CAUSE)
    return make_episode(pod=make_pod(agent, phase="Pending"))


KUBELET: list[Any] = [
    pytest.param(waiting("InvalidImageName"), f"correct the image {IMAGE} of", id="image name"),
    pytest.param(waiting("ErrImagePull"), f"Correct the image {IMAGE} of", id="image pull"),
    pytest.param(
        make_episode(
            pod=make_pod(phase="Pending", unschedulable=f"0/2 nodes are available: {CAUSE}")
        ),
        "Lower the requests, correct the node selector",
        id="no node ever",
    ),
    pytest.param(
        make_episode(pod=None, refusal=f"exceeded quota: {CAUSE}"),
        "Raise the quota of the namespace, or wait until other pods end;",
        id="quota",
    ),
    pytest.param(
        make_episode(pod=None, refusal=CAUSE), "correct the cause that the details name", id="event"
    ),
    pytest.param(waiting("CreateContainerError"), "correct the image", id="container"),
    pytest.param(waiting("StartError"), "use an image with /bin/sh", id="start"),
    pytest.param(
        make_episode(pod=make_pod(phase="Failed", reason="Evicted", message=CAUSE)),
        "raise spec.resources.limits.ephemeral-storage or make the subtask smaller.",
        id="eviction",
    ),
    pytest.param(
        replace(waiting("ErrImagePull"), failure="DeadlineExceeded"),
        "check that its registry answers.",
        id="start deadline",
    ),
    pytest.param(
        make_episode(report=replace(make_report(), episode="", results=(), log_tail=CAUSE)),
        "set the chart's runner.image to the image of the operator's version.",
        id="runner of another version",
    ),
]


@pytest.mark.parametrize(("episode", "remedy"), KUBELET)
def test_what_keeps_a_pod_from_working_keeps_its_remedy_in_the_shortest_place(
    episode: Any, remedy: str
) -> None:
    verdict = verdict_of(episode, "T001", now=NOW)

    told = verdict.message if isinstance(verdict, Finished) else verdict.problem or ""
    assert remedy in told
    for message in (SHORT.cut(told), Clipped(2048).cut(told)):
        assert sentence_of(message) == sentence_of(told)
    assert "203.0.113.9" in Clipped(2048).cut(told)


def test_a_stalled_package_says_the_whole_message_now_and_after_a_restart() -> None:
    seen = make_seen(records=[make_record(attempts=1, phase=SubtaskPhase.RUNNING)])
    ended = with_details(f"The container agent cannot start; correct {IMAGE}.", CAUSE)
    episode = make_episode(report=make_report(Outcome.CONFIG, message=ended))
    first = replace(seen, episodes=(replace(episode, complete=True),))
    decision = decide(first)
    status = package_status(first, decision)
    (child,) = subtask_statuses(first, decision).values()
    later = make_seen(seen.package.model_copy(update={"status": status}))
    later = replace(
        later, subtasks=(later.subtasks[0].model_copy(update={"status": child}),), episodes=()
    )

    afterwards = package_status(later, decide(later))

    for message in (status.message, child.message, afterwards.message):
        assert "correct " + IMAGE in message
        assert "203.0.113.9" in message
        assert 1900 <= stored_size(message) <= 2048
    assert stored_size(status.subtasks[0].message) <= 200
    assert status.subtasks[0].message.startswith(sentence_of(ended))
    assert (status.phase, afterwards.phase) == (PackagePhase.STALLED, PackagePhase.STALLED)


def test_the_api_servers_refusal_keeps_what_to_do_about_it() -> None:
    seen = make_seen(make_package([make_entry()]), obstacle=CAUSE)

    message = package_status(seen, decide(seen)).message

    assert message.startswith("The cluster refuses an object that the next episode needs; correct ")
    assert "203.0.113.9" in message


def test_every_subtask_that_waits_for_a_person_is_named_where_one_left_its_scope() -> None:
    names = [f"T{number:03}" for number in range(1, 5)]
    waiting = {
        "T001": (SubtaskPhase.NEEDS_REVIEW, Outcome.OUT_OF_SCOPE),
        "T002": (SubtaskPhase.NEEDS_REVIEW, Outcome.BLOCKED),
        "T003": (SubtaskPhase.SKIPPED, "TooManyFailures"),
        "T004": (SubtaskPhase.SKIPPED, "SkippedByUser"),
    }
    records = [make_record(n, phase=p, reason=str(r)) for n, (p, r) in waiting.items()]
    package = make_package([make_entry(n, skip=n == "T004") for n in names])

    message = decide(make_seen(package, records)).message

    assert message.startswith(
        "The agent of T001 left its scope, and T002, T003 need a person, too; "
    )
    assert message.endswith("review the attempt and raise the revision, or skip the subtask.")


GATES = [
    (ProviderFault.RATE_LIMITED, "limits the rate of requests"),
    (ProviderFault.OVERLOADED, "is overloaded or failing"),
    (ProviderFault.UNREACHABLE, "connection to the model's endpoint fails or breaks"),
    (ProviderFault.EMPTY_ANSWERS, "returns empty answers"),
    (ProviderFault.MODEL_SILENT, "accepts requests and does not answer"),
    ("ProviderFailing", "endpoint fails"),
]


@pytest.mark.parametrize(("reason", "want"), GATES)
def test_a_closed_gate_says_what_the_provider_does(reason: str, want: str) -> None:
    gate = Gate(
        namespace="a", secret_name="anthropic", since=NOW, until=NOW + seconds(2), reason=reason
    )

    assert want in gate_sentence(gate)
    assert '"anthropic"' in gate_sentence(gate)


PAIRS = [
    pytest.param(
        'Error creating: pods "demo-t001-1-abc-x7k2p" is forbidden: exceeded quota: q, '
        "requested: pods=1, used: pods=4, limited: pods=4",
        '(combined from similar events): Error creating: pods "demo-t001-1-abc-99zzq" is forbidden:'
        " exceeded quota: q, requested: pods=1, used: pods=5, limited: pods=4",
        "Error creating: pod is forbidden: exceeded quota: q, requested: pods=1, limited: pods=4",
        id="a quota",
    ),
    pytest.param(
        "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: 3 No "
        "preemption victims found for incoming pod.",
        "0/4 nodes are available: 4 Insufficient cpu. no new claims to deallocate, preemption: 0/4 "
        "nodes are available: 4 No preemption victims found for incoming pod.",
        "Insufficient cpu.",
        id="the scheduler",
    ),
    pytest.param(
        'Back-off pulling image "r.example.com/a:1": ErrImagePull: dial tcp: no such host',
        "dial tcp: no such host",
        "dial tcp: no such host",
        id="an image",
    ),
    pytest.param(
        "read tcp 10.244.0.5:43210->10.0.0.2:443: connection reset by peer",
        "read tcp 10.244.0.9:51234->10.0.0.2:443: connection reset by peer",
        "read tcp 10.0.0.2:443: connection reset by peer",
        id="a connection",
    ),
    pytest.param(
        "back-off 40s restarting failed container=agent pod=a-x7k2p_ns"
        "(0b1c2d3e-aaaa-bbbb-cccc-0123456789ab)",
        "back-off 1m20s restarting failed container=agent pod=a-x7k2p_ns"
        "(11111111-aaaa-bbbb-cccc-0123456789ab)",
        "back-off restarting failed container=agent pod=a-x7k2p",
        id="a container",
    ),
    pytest.param(
        "container's runAsUser breaks non-root policy (pod: \"a-x7k2p_ns"
        '(0b1c2d3e-aaaa-bbbb-cccc-0123456789ab)", container: mesh-setup)',
        "container's runAsUser breaks non-root policy (pod: \"b-99zzq_ns"
        '(11111111-aaaa-bbbb-cccc-0123456789ab)", container: mesh-setup)',
        "container's runAsUser breaks non-root policy (pod, container: mesh-setup)",
        id="a kubelet",
    ),
    pytest.param(
        'jobs.batch "p1-t001-1-x8670726b" is forbidden: the label cost-centre is missing',
        'jobs.batch "p2-t004-2-x11111111" is forbidden: the label cost-centre is missing',
        "Job is forbidden: the label cost-centre is missing",
        id="a Job",
    ),
]


@pytest.mark.parametrize(("first", "second", "want"), PAIRS)
def test_one_cause_has_one_text_however_often_the_cluster_reports_it(
    first: str, second: str, want: str
) -> None:
    assert (steady(first), steady(second)) == (want, want)


@given(st.text(min_size=1, max_size=80), st.text(max_size=600), st.integers(80, 400))
def test_no_details_push_the_sentence_out(sentence: str, details: str, limit: int) -> None:
    message = with_details(sentence, details)

    cut = fitted(message, limit)

    assert len(cut) <= limit
    assert sentence_of(cut) == sentence_of(message)


@given(st.text("ab; ", min_size=1, max_size=900), st.integers(0, 400), st.booleans())
def test_a_remedy_is_kept_longer_than_the_fact_before_it(
    what: str, limit: int, stored: bool
) -> None:
    size = stored_size if stored else len
    cut = fitted(f"{what}x; correct that Secret.", limit, size)

    assert size(cut) <= limit
    assert limit < 60 or cut.endswith("; correct that Secret.")


def test_a_quote_in_the_sentence_does_not_begin_the_details() -> None:
    name = f"a{DETAILS}b"

    cut = fitted(with_details(f'The file "{name}" is too large; remove it.', "y" * 500), 120)

    assert "; remove it." in cut
