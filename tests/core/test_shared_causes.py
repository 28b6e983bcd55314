"""The table of shared causes: what each looks like, its key, what ends it, and who tries."""

from dataclasses import replace
from typing import Any

import pytest

from afresh.api.package_status import SharedWait
from afresh.api.phases import SubtaskPhase
from afresh.contract.report import Report, Result
from afresh.contract.words import Outcome
from afresh.core.decision import Decision, DeleteJob, OpenGate, StartEpisode, StartSync
from afresh.core.history.classify import Finished, verdict_of
from afresh.core.history.shared_causes import (
    TABLE,
    Cause,
    Stage,
    keys_of,
    never_fits,
    refusal_trouble,
    stage_of,
    trouble_at_end,
    trouble_at_start,
)
from afresh.core.history.shared_waits import probe_text
from afresh.core.observed import Episode, Observed, SharedLimits
from afresh.core.planner import decide
from tests.make import (
    NOW,
    make_class,
    make_container,
    make_entry,
    make_episode,
    make_package,
    make_pod,
    make_record,
    make_report,
    make_seen,
    seconds,
    starts_of,
)

IMAGE = "example.com/agent:1"
PULLING = make_container(
    "agent", "Waiting", reason="ImagePullBackOff", message="not found", image=IMAGE
)
STARTING = make_container("agent", "Waiting", reason="ContainerCreating")
NEVER = (
    "The pod cannot be scheduled: 0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 "
    "nodes are available: 2 Preemption is not helpful for scheduling."
)
FULL = NEVER.replace("2 Preemption is not helpful for scheduling", "2 No preemption victims found")
QUOTA = "pods is forbidden: exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1"


def unfetched(outcome: Outcome, is_servers: bool = True) -> Report:
    """What a runner tells that could not fetch."""
    result = Result(id="A", outcome=outcome, message="See.", is_servers=is_servers)
    return make_report(results=(result,), phases={"runnerStarted": 1.0})


LOST = unfetched(Outcome.INFRASTRUCTURE)
PREPARED = make_report(final=False, results=(), phases={"runnerStarted": 1.0, "prepared": 2.0})

ROWS = [
    pytest.param(make_episode(pod=make_pod(PULLING)), Cause.IMAGE, "Config", id="image"),
    pytest.param(make_episode(pod=make_pod(phase="Pending", unschedulable=NEVER)),
                 Cause.FIT, "NeverFits", id="never fits"),
    pytest.param(make_episode(pod=None, refusal=QUOTA), Cause.REFUSAL, "StartRefused", id="quota"),
]  # fmt: skip


@pytest.mark.parametrize(("episode", "cause", "reason"), ROWS)
def test_each_cause_is_known_by_what_keeps_a_pod_from_starting(
    episode: Episode, cause: Cause, reason: str
) -> None:
    trouble = trouble_at_start(episode)

    assert trouble is not None
    assert (trouble.cause, trouble.reason) == (cause, reason)


def test_every_cause_of_the_table_is_tried_and_ends_at_a_stage() -> None:
    assert set(TABLE) == set(Cause)
    assert {cause: row.ends_at for cause, row in TABLE.items()} == {
        Cause.IMAGE: Stage.STARTED,
        Cause.FIT: Stage.SCHEDULED,
        Cause.REFUSAL: Stage.POD,
        Cause.REPOSITORY: Stage.PREPARED,
    }
    assert [cause for cause, row in TABLE.items() if row.tries_without_agent] == [Cause.REPOSITORY]


SCHEDULER = [
    pytest.param(NEVER, True, id="every node is too small"),
    pytest.param(FULL, False, id="every node is full"),
    pytest.param(NEVER.replace("2 Preemption", "1 Preemption"), False, id="one of two is full"),
    pytest.param("0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
                 True, id="no node has the label"),
    pytest.param("0/1 nodes are available: 1 Insufficient cpu.", False, id="an older scheduler"),
    pytest.param("0/1 nodes are available: 1 node(s) were unschedulable. preemption: 0/1 nodes are "
                 "available: 1 Preemption is not helpful for scheduling.", False, id="cordoned"),
    pytest.param("0/1 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/"
                 "not-ready: }. preemption: 0/1 nodes are available: 1 Preemption is not helpful "
                 "for scheduling.", False, id="not ready"),
    pytest.param("no nodes available to schedule pods", False, id="no nodes yet"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "want"), SCHEDULER)
def test_a_full_node_is_no_fault_and_one_that_could_never_hold_the_pod_is(
    text: str, want: bool
) -> None:
    assert never_fits(text) is want


REFUSALS = [
    pytest.param(QUOTA, "Quota", id="quota"),
    pytest.param('pods "x" is forbidden: violates PodSecurity "restricted:latest"', "PodSecurity",
                 id="Pod Security"),
    pytest.param('pods "x" is forbidden: maximum memory usage per Container is 1Gi, but limit is '
                 "4Gi", "LimitRange", id="LimitRange"),
    pytest.param('failed calling webhook "m.kb.io": connection refused', "Webhook", id="webhook"),
    pytest.param('admission webhook "v.kb.io" denied the request: no', "Policy", id="policy"),
    pytest.param('error looking up service account a/default: serviceaccount "default" not found',
                 "ServiceAccount", id="service account"),
    pytest.param("Job x already exists and does not belong to this package; delete it.", None,
                 id="a name that is taken is one package's own"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "want"), REFUSALS)
def test_a_refusal_belongs_to_the_class_of_its_words(text: str, want: str | None) -> None:
    trouble = refusal_trouble(text)

    assert (trouble.subject if trouble else None) == want


STAGES = [
    pytest.param(make_episode(pod=None), Stage.NONE, id="no pod"),
    pytest.param(make_episode(pod=replace(make_pod(), containers=())), Stage.POD, id="no node"),
    pytest.param(make_episode(pod=make_pod(PULLING)), Stage.SCHEDULED, id="no image"),
    pytest.param(make_episode(), Stage.STARTED, id="all run"),
    pytest.param(make_episode(report=PREPARED), Stage.PREPARED, id="fetched"),
]


@pytest.mark.parametrize(("episode", "want"), STAGES)
def test_an_episode_has_come_as_far_as_its_pod_and_report_show(
    episode: Episode, want: Stage
) -> None:
    assert stage_of(episode) is want


FETCHES = [
    pytest.param(Outcome.INFRASTRUCTURE, "GitUnreachable", id="no answer"),
    pytest.param(Outcome.AUTH, "Auth", id="login refused"),
    pytest.param(Outcome.CONFIG, "Config", id="no such repository"),
    pytest.param(Outcome.AGENT_ERROR, None, id="what is no fault of the server"),
]


@pytest.mark.parametrize(("outcome", "want"), FETCHES)
def test_what_ends_a_runner_before_it_has_fetched_is_the_repositorys(
    outcome: Outcome, want: str | None
) -> None:
    trouble = trouble_at_end(make_episode(report=unfetched(outcome)), outcome, "See.")

    assert (trouble.reason if trouble else None) == want


def test_what_ends_a_runner_after_it_has_fetched_is_not_known_to_be_the_repositorys() -> None:
    report = replace(unfetched(Outcome.AUTH), phases={"runnerStarted": 1.0, "prepared": 2.0})

    assert trouble_at_end(make_episode(report=report), Outcome.AUTH, "Bad key.") is None


def test_a_base_ref_that_is_missing_is_the_packages_own() -> None:
    report = unfetched(Outcome.CONFIG, is_servers=False)

    assert trouble_at_end(make_episode(report=report), Outcome.CONFIG, "No ref.") is None


def key_of(cause: Cause, package: Any = None, **spec: Any) -> list[str]:
    found = keys_of(package or make_package(), make_class(**spec))
    return [key for other, key in found if other is cause]


def test_each_image_and_pull_secret_is_a_key_of_its_own() -> None:
    package = make_package(verify={"command": ["true"], "image": "example.com/verify:1"})

    assert key_of(Cause.IMAGE, package) == [
        "runner", "added", IMAGE, "example.com/verify:1"
    ]  # fmt: skip
    secret = key_of(Cause.IMAGE, pod={"imagePullSecrets": [{"name": "a"}]})
    assert not set(secret) & set(key_of(Cause.IMAGE))


@pytest.mark.parametrize(
    "other",
    [
        {"resources": {"requests": {"cpu": "9"}, "limits": {"cpu": "9"}}},
        {"pod": {"nodeSelector": {"disk": "ssd"}}},
        {"pod": {"tolerations": [{"key": "gpu", "operator": "Exists"}]}},
    ],
    ids=["requests", "selector", "tolerations"],
)
def test_pods_that_the_scheduler_sees_differently_have_keys_of_their_own(
    other: dict[str, Any],
) -> None:
    assert key_of(Cause.FIT, **other) != key_of(Cause.FIT)


def test_all_addresses_of_a_repository_are_one_key_and_each_secret_is_its_own() -> None:
    def key(url: str, secret: str | None) -> list[str]:
        repository = {"url": url, "secretName": secret}
        return key_of(Cause.REPOSITORY, make_package(repository=repository))

    assert key("https://git.example.com/a.git", "s") == key("https://GIT.example.com:443/a", "s")
    assert key("https://git.example.com/a", "s") != key("https://git.example.com/a", "t")


def closed(cause: Cause, key: str, **fields: Any) -> SharedWait:
    return SharedWait(
        cause=cause,
        key=key,
        **{
            "since": NOW - seconds(60),
            "until": NOW + seconds(60),
            "step": 5,
            "reason": "Config",
            "message": "Correct it.",
            **fields,
        },
    )


AHEAD = closed(Cause.IMAGE, IMAGE)
PAST = closed(Cause.IMAGE, IMAGE, until=NOW - seconds(1))
EDITED = closed(Cause.IMAGE, IMAGE, generations="0/1")
GIT_KEY = key_of(Cause.REPOSITORY)[0]


def seen_at(
    *waits: SharedWait,
    episodes: tuple[Episode, ...] = (),
    own: SharedWait | None = None,
    tried: bool = False,
    at_once: int = 1,
    **fields: Any,
) -> Observed:
    package = make_package([make_entry("A"), make_entry("B")], parallelism=at_once)
    record = make_record("A", phase=SubtaskPhase.RUNNING, attempts=1, reason="EpisodeRunning")
    shared_limits = SharedLimits(
        waits=waits,
        tried=frozenset((wait.cause, wait.key) for wait in waits if tried),
        **fields,
    )
    seen = make_seen(
        package, [record] if episodes else [], episodes=episodes, shared_limits=shared_limits
    )
    status = seen.package.status.model_copy(update={"wait": own})
    return replace(seen, package=seen.package.model_copy(update={"status": status}))


def opened(decision: Decision) -> list[str]:
    return [item.wait.key for item in decision.actions if isinstance(item, OpenGate)]


def test_the_first_episode_that_meets_a_cause_closes_its_gate_and_waits_itself() -> None:
    episode = make_episode("A", pod=make_pod(PULLING))

    decision = decide(seen_at(episodes=(episode,), at_once=2))

    assert decision.wait is not None
    assert (decision.wait.cause, decision.wait.key) == ("ImagePull", IMAGE)
    assert (decision.wait.since, decision.wait.episode) == (NOW, episode.name)
    assert (decision.phase, decision.reason, starts_of(decision)) == ("Stalled", "Config", [])
    assert decision.message.startswith(f"Correct the image {IMAGE}")


@pytest.mark.parametrize(
    "fields",
    [
        {"state": "Waiting", "reason": "CreateContainerConfigError"},
        {"state": "Waiting", "reason": "InvalidImageName"},
        {"state": "Terminated", "reason": "StartError"},
    ],
    ids=lambda fields: fields["reason"],
)
def test_a_container_of_the_clusters_that_cannot_start_is_a_cause_for_all(
    fields: dict[str, Any],
) -> None:
    waiting = [make_container(name, "Waiting") for name in ("runner", "agent", "verify")]
    added = make_container("istio-init", message='secret "ca" not found', **fields)

    decision = decide(seen_at(episodes=(make_episode("A", pod=make_pod(added, *waiting)),)))

    assert decision.wait is not None
    assert (decision.wait.cause, decision.wait.key, decision.wait.step) == ("ImagePull", "added", 1)
    assert (decision.phase, decision.reason, starts_of(decision)) == ("Stalled", "Config", [])
    assert "istio-init" in decision.message
    assert decision.records[0].not_before is None, "it waits at the gate"


INITIALIZING = [
    make_container(name, "Waiting", reason="PodInitializing")
    for name in ("runner", "agent", "verify")
]


def failed_init(container: dict[str, Any], pod: dict[str, Any], **episode: Any) -> Decision:
    """The decision on an episode whose pod failed when an added init container had ended."""
    fields = {"state": "Terminated", "exit_code": 1, "reason": "Error", **container}
    init = make_container("mesh-init", **fields)
    failed = make_pod(init, *INITIALIZING, **{"phase": "Failed", **pod})
    return decide(seen_at(episodes=(make_episode("A", pod=failed, **episode),)))


@pytest.mark.parametrize("failure", [None, "BackoffLimitExceeded"], ids=["pod", "pod and Job"])
@pytest.mark.parametrize(
    ("container", "want"),
    [
        pytest.param(
            {"message": "no certificate"},
            "Correct the init container mesh-init where the cluster adds it to pods, or what it "
            "needs: it ends with exit code 1 before the runner starts. Details: no certificate",
            id="it fails",
        ),
        pytest.param(
            {"reason": "OOMKilled", "exit_code": 137},
            "Correct the init container mesh-init where the cluster adds it to pods, or what it "
            "needs: it ends with exit code 137 before the runner starts.",
            id="it runs out of memory",
        ),
        pytest.param(
            {"reason": "StartError", "exit_code": 128, "message": "no such file"},
            "The container mesh-init cannot start; use an image with /bin/sh and the programs that "
            "the command needs. Details: no such file",
            id="its program is missing",
        ),
    ],
)
def test_an_init_container_of_the_clusters_that_fails_is_a_cause_for_all_and_no_attempt(
    container: dict[str, Any], want: str, failure: str | None
) -> None:
    decision = failed_init(container, {}, failure=failure)

    assert decision.wait is not None
    assert (decision.wait.cause, decision.wait.key, decision.wait.step) == ("ImagePull", "added", 1)
    assert (decision.phase, decision.reason, starts_of(decision)) == ("Stalled", "Config", [])
    assert decision.message == want
    assert (decision.records[0].consecutive_failures, decision.records[0].not_before) == (0, None)


@pytest.mark.parametrize(
    ("container", "pod", "episode"),
    [
        pytest.param({"exit_code": 0, "reason": "Completed"}, {}, {}, id="it ended well"),
        pytest.param({}, {"phase": "Pending"}, {}, id="the kubelet starts it again"),
        pytest.param({}, {"deleting_since": NOW}, {}, id="the pod is deleted"),
        pytest.param({}, {}, {"deleting": True}, id="the Job is deleted"),
        pytest.param({}, {"disruption": "EvictionByEvictionAPI"}, {}, id="the pod is taken away"),
        pytest.param({"reason": "ContainerStatusUnknown"}, {}, {}, id="its end was not seen"),
        pytest.param({"reason": "Unknown"}, {}, {}, id="its node restarted"),
    ],
)
def test_an_added_container_that_did_not_fail_by_itself_is_no_shared_cause(
    container: dict[str, Any], pod: dict[str, Any], episode: dict[str, Any]
) -> None:
    assert failed_init(container, pod, **episode).wait is None


def test_an_added_container_that_fails_after_the_runner_has_started_is_no_shared_cause() -> None:
    proxy = make_container("proxy", "Terminated", exit_code=143, reason="Error")
    ended = [
        make_container(name, "Terminated", exit_code=1) for name in ("runner", "agent", "verify")
    ]
    pod = make_pod(proxy, *ended, phase="Failed")

    decision = decide(seen_at(episodes=(make_episode("A", pod=pod),)))

    assert decision.wait is None


@pytest.mark.parametrize("name", ["runner", "agent", "verify"])
def test_a_container_of_ours_that_cannot_start_is_the_packages_own(name: str) -> None:
    waiting = make_container(name, "Waiting", reason="CreateContainerConfigError")

    decision = decide(seen_at(episodes=(make_episode("A", pod=make_pod(waiting)),)))

    assert (decision.wait, decision.reason) == (None, "Config")


TRIES = [
    pytest.param({}, AHEAD, None, [], id="it is not time yet"),
    pytest.param({}, PAST, None, ["A"], id="it is time"),
    pytest.param({"tried": True}, PAST, None, [], id="another one tries"),
    pytest.param({"at_once": 2}, PAST, None, ["A"], id="one tries although two may run"),
    pytest.param({}, AHEAD, EDITED,
                 ["A"], id="the package was edited since"),
    pytest.param({}, AHEAD, AHEAD.model_copy(update={"generations": "1/1"}), [],
                 id="nothing was edited since"),
    pytest.param({"tried": True}, AHEAD, EDITED, [],
                 id="another one tries, whatever was edited"),
    pytest.param({"first_free": 0}, PAST, None, [], id="four have not started yet"),
    pytest.param({"room": 0}, PAST, None, [], id="ten wait for a node"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "wait", "own", "want"), TRIES)
def test_one_episode_tries_a_cause_when_it_is_time_and_all_say_the_same(
    fields: dict[str, Any], wait: SharedWait, own: SharedWait | None, want: list[str]
) -> None:
    decision = decide(seen_at(wait, own=own, **fields))

    assert starts_of(decision) == want
    text = (decision.phase, decision.reason, decision.message)
    assert text == ("Stalled", "Config", "Correct it.")
    assert decision.wait is not None
    assert (decision.wait.since, decision.wait.step) == (wait.since, wait.step)
    for item in decision.actions:
        if isinstance(item, StartEpisode):
            assert item.probe == probe_text(wait)
            assert decision.wait.episode == item.order.episode


def test_a_runner_without_an_agent_tries_a_repository() -> None:
    wait = closed(Cause.REPOSITORY, GIT_KEY, until=NOW - seconds(1), reason="GitUnreachable")

    decision = decide(seen_at(wait))

    (sync,) = [item for item in decision.actions if isinstance(item, StartSync)]
    assert (starts_of(decision), sync.probe) == ([], probe_text(wait))
    assert decision.phase == "Pending"


PASSES = [
    pytest.param(PAST, make_episode("A", probe=probe_text(PAST)), True, id="its try has started"),
    pytest.param(PAST, make_episode("A", pod=make_pod(STARTING), probe=probe_text(PAST)), False,
                 id="its try has not started yet"),
    pytest.param(PAST, make_episode("A"), False, id="an episode that tries nothing has started"),
    pytest.param(PAST, make_episode("A", probe=probe_text(closed(Cause.IMAGE, IMAGE, step=4))),
                 False, id="the try of a former step has started"),
]  # fmt: skip


@pytest.mark.parametrize(("wait", "episode", "want"), PASSES)
def test_a_gate_opens_when_its_try_has_passed_the_stage_that_failed(
    wait: SharedWait, episode: Episode, want: bool
) -> None:
    decision = decide(seen_at(wait, episodes=(episode,)))

    assert opened(decision) == ([wait.key] if want else [])


OTHER_IMAGE = "example.com/other:2"
MISSING = closed(Cause.IMAGE, OTHER_IMAGE, until=NOW - seconds(1))
WITH_OTHER_IMAGE = {"command": ["make"], "image": OTHER_IMAGE}


def seen_of_two_images(
    wait: SharedWait, own: SharedWait | None = None, episodes: tuple[Episode, ...] = ()
) -> Observed:
    """Only B uses the image whose gate is closed."""
    seen = seen_at(wait, own=own, episodes=episodes)
    allowed = make_class(allowedImages=[OTHER_IMAGE])
    package = seen.package.model_copy(
        update={
            "spec": make_package([make_entry("A"), make_entry("B", verify=WITH_OTHER_IMAGE)]).spec
        }
    )
    return replace(seen, package=package, agent_class=allowed)


def test_a_subtask_that_does_not_use_an_image_does_not_open_its_gate() -> None:
    episode = make_episode("A", probe=probe_text(MISSING))

    decision = decide(seen_of_two_images(MISSING, episodes=(episode,)))

    assert opened(decision) == []


def test_a_subtask_that_does_not_use_an_image_neither_waits_for_it_nor_tries_it() -> None:
    waits = MISSING.model_copy(update={"until": NOW + seconds(60)})

    for wait in (waits, MISSING):
        decision = decide(seen_of_two_images(wait, own=wait))

        (start,) = [item for item in decision.actions if isinstance(item, StartEpisode)]
        assert (starts_of(decision), start.probe) == (["A"], "")
        assert (decision.phase, decision.reason) == ("Running", "EpisodeRunning")
        assert decision.wait is not None
        assert (decision.wait.key, decision.wait.step) == (OTHER_IMAGE, 5)
        assert decision.wait.episode == ""


def test_the_job_that_has_waited_opens_the_gate_when_its_pod_starts() -> None:
    episode = make_episode("A")
    own = AHEAD.model_copy(update={"episode": episode.name, "generations": "1/1"})

    decision = decide(seen_at(own, own=own, episodes=(episode,)))

    assert opened(decision) == [IMAGE]
    assert decision.wait is None
    assert decision.reason == "EpisodeRunning"


def test_a_try_in_vain_makes_the_gate_wait_twice_as_long_and_one_that_was_under_way_does_not() -> (
    None
):
    wait = closed(Cause.REPOSITORY, GIT_KEY, until=NOW - seconds(1), step=3)
    tried = make_episode("A", report=LOST, complete=True, probe=probe_text(wait))
    under_way = make_episode("A", report=LOST, complete=True)

    after = decide(seen_at(wait, episodes=(tried,)))
    same = decide(seen_at(wait, tried=True, episodes=(under_way,)))

    assert after.wait is not None
    assert (after.wait.step, after.wait.until) == (4, NOW + seconds(16))
    assert same.wait is not None
    assert (same.wait.step, same.wait.until) == (wait.step, wait.until)


def test_a_subtask_waits_at_the_gate_and_not_by_itself() -> None:
    lost = make_episode("A", report=LOST, complete=True)

    decision = decide(seen_at(episodes=(lost,)))

    assert [(r.not_before, r.consecutive_failures) for r in decision.records] == [(None, 0)] * 2


OUTDATED = [
    pytest.param(make_episode("A", pod=make_pod(PULLING)), True, id="its image is not there"),
    pytest.param(make_episode("A", pod=make_pod(phase="Pending", unschedulable=FULL,
                                                containers=())), True, id="it has no node"),
    pytest.param(make_episode("A", pod=None, refusal="exceeded quota"), True, id="it has no pod"),
    pytest.param(make_episode("A", pod=make_pod(STARTING)), True, id="it starts for 20 s"),
    pytest.param(make_episode("A", pod=make_pod(STARTING), created=NOW - seconds(2)), False,
                 id="it starts for 2 s"),
    pytest.param(make_episode("A"), False, id="its agent works"),
]  # fmt: skip


@pytest.mark.parametrize(("episode", "want"), OUTDATED)
def test_a_job_is_replaced_when_its_class_was_edited_before_its_agent_started(
    episode: Episode, want: bool
) -> None:
    old = replace(episode, generations="1/0", inputs="of the class before")

    decision = decide(seen_at(episodes=(old,)))

    record = next(item for item in decision.records if item.id == "A")
    assert (record.reason == "Cancelled") is want


def test_an_edit_that_does_not_concern_the_job_leaves_it_alone() -> None:
    (start,) = [item for item in decide(seen_at()).actions if isinstance(item, StartEpisode)]
    waiting = make_episode(
        "A", pod=make_pod(PULLING), generations=start.generations, inputs=start.inputs
    )
    seen = seen_at(episodes=(waiting,))
    spec = seen.package.spec.model_copy(update={"parallelism": 3})
    metadata = seen.package.metadata.model_copy(update={"generation": 2})
    edited = seen.package.model_copy(update={"spec": spec, "metadata": metadata})

    decision = decide(replace(seen, package=edited))

    assert not [item for item in decision.actions if isinstance(item, DeleteJob)]
    assert {record.reason for record in decision.records} == {"EpisodeRunning", "Waiting"}


def test_an_outdated_job_counts_as_no_episode() -> None:
    stopping = make_record(
        "A", phase=SubtaskPhase.RUNNING, attempts=1, reason="Cancelled",
        message="The package or its class was edited before its agent started.",
    )  # fmt: skip
    ending = make_episode("A", failure="BackoffLimitExceeded", pod=make_pod(PULLING))

    decision = decide(make_seen(make_package([make_entry("A")]), [stopping], episodes=(ending,)))

    assert decision.usage.episodes == 0
    assert [(r.reason, r.consecutive_failures) for r in decision.records] == [("EpisodeRunning", 0)]


def test_the_end_of_a_runner_that_cannot_fetch_carries_the_trouble() -> None:
    verdict = verdict_of(make_episode("A", report=LOST, complete=True), "A", now=NOW)

    assert isinstance(verdict, Finished)
    assert verdict.trouble is not None
    assert verdict.trouble.cause is Cause.REPOSITORY
