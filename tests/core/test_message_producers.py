"""Every producer of messages: with 5,000 characters of cause it says what to do, in one text."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from afresh.adapters import endings
from afresh.api.rules import Clipped, stored_size
from afresh.contract.order import Agent, Order, Repository
from afresh.contract.pod_layout import RUNNER
from afresh.contract.sentences import sentence_of
from afresh.contract.stable_words import steady
from afresh.contract.words import AdapterName, Outcome
from afresh.core.history.classify import Finished, verdict_of
from afresh.core.history.shared_causes import Refusal, refusal_trouble, trouble_at_start
from afresh.episode.container import commands
from afresh.episode.gateway import model_faults
from afresh.episode.gateway.model_api import ModelFault
from afresh.episode.git import plan_commit, push, refusals
from afresh.episode.git.faults import GitError, GitFault, classify
from afresh.episode.stages import verify
from afresh.kube.parse import parse_pod
from tests.make import NOW, make_episode

ROOT = Path(__file__).resolve().parents[2]
URL = "https://git.example.com/team/api.git"
IMAGE = "registry.example.com/platform/agents/claude:2.1"
ORDER = Order(
    episode="demo-t001-1",
    package="team-a/demo",
    goal="Greet people.",
    repository=Repository(
        url=URL, base_ref="main", branch="afresh/demo", secret_name="git-credentials"
    ),
    agent=Agent(adapter=AdapterName.CLAUDE, secret_name="anthropic", timeout_seconds=9),
    tasks=(),
    plan=(),
)
Produce = Callable[[str, int], str]
"""Makes a message of a cause, told about the pod of so many others."""


def cause(said: str, number: int) -> str:
    """5,000 characters as a cluster says them, with what differs each time."""
    messages = (
        f'(combined from similar events): {said}: pods "demo-t001-1-x7k{number}p" on a node: '
        f"read tcp 10.244.0.{number}:4321{number}->203.0.113.9:443: exceeds, used: pods={number}, "
        f"limited: pods=9 back-off {number}0s 0b1c2d3e-aaaa-bbbb-cccc-01234567890{number} "
    )
    return messages + "x <&> " * ((5000 - len(messages)) // 6)


GIT = {
    GitFault.NOT_FOUND: ("fatal: repository '" + URL + "' not found", URL, "spec.repository.url."),
    GitFault.REDIRECTED: ("error: The requested URL returned error: 301", URL, "it leads to."),
    GitFault.UNTRUSTED: ("SSL certificate problem: expired", URL, "or known_hosts for SSH."),
    GitFault.REFUSED: ("remote: error: GH006: Protected branch", URL, "spec.repository.branch."),
    GitFault.HOOK: (" ! [remote rejected] x (pre-receive hook declined)", URL, "log names."),
    GitFault.UNSIGNED: ("remote: commits must be signed", URL, "spec.repository.signing"),
    GitFault.AUTHOR: ("remote: author is not a member of team", URL, "spec.repository.author"),
    GitFault.READ_ONLY: ("ERROR: This repository was archived", URL, "allow pushes there."),
    GitFault.FULL: ("remote: quota exceeded", URL, "raise the quota."),
    GitFault.TOO_LARGE: ("remote: large files detected", URL, "raise the server's limit."),
    GitFault.DENIED: ("fatal: Authentication failed", "git-credentials", "correct that Secret."),
    GitFault.UNREACHABLE: ("Connection refused", URL, "and the network."),
    GitFault.OTHER: ("fatal: something new", URL, "and the network."),
}
# They never end an episode by themselves.
WITHIN = {GitFault.REF_MISSING, GitFault.NO_EXCLUDE, GitFault.MOVED}


def of_git(fault: GitFault) -> Produce:
    def produce(messages: str, number: int) -> str:
        text = f"{messages}\n{cause('', number)}"
        assert classify(text) is fault
        return refusals.remote_problem(ORDER, GitError("push", text, fault=classify(text))).message

    return lambda _, number: produce(GIT[fault][0], number)


def of_git_cases() -> Iterator[Any]:
    for fault, (_, name, remedy) in GIT.items():
        yield pytest.param(of_git(fault), name, remedy, id=f"git {fault.name}")


MODEL = {
    ModelFault.KEY_REFUSED: ('"anthropic"', "correct its entry api-key."),
    ModelFault.NO_CREDIT: ('"anthropic"', "add credit or change the key."),
    ModelFault.RATE_LIMITED: ('"anthropic"', "or check spec.endpoint of the AgentClass."),
    ModelFault.UNAVAILABLE: ("endpoint", "or check spec.endpoint of the AgentClass."),
    ModelFault.UNREACHABLE: ("endpoint", "or check spec.endpoint of the AgentClass."),
    ModelFault.EMPTY: ("endpoint", "or check spec.endpoint of the AgentClass."),
    ModelFault.SILENT: ("endpoint", "raise spec.modelSilenceSeconds of the AgentClass"),
    ModelFault.UNTRUSTED: ("endpoint", "correct spec.endpoint or spec.caBundle"),
    ModelFault.NOT_THERE: ("endpoint", "correct spec.endpoint or spec.model"),
    ModelFault.TOO_LONG: ("model's context", "make the subtask smaller, or raise that limit."),
}


def of_model(fault: ModelFault) -> Produce:
    return lambda *_: model_faults.fault_verdict(ORDER, fault).message


def of_price(_: str, __: int) -> str:
    meter: Any = SimpleNamespace(unpriced_model="m; " * 1700)
    (verdict,) = model_faults.price_verdicts(meter)
    return verdict.message


def of_adapter(outcome: Outcome) -> Produce:
    return lambda _, number: endings.failed(outcome, cause("error", number)).message


def of_refusal(words: str) -> Produce:
    def produce(_: str, number: int) -> str:
        trouble = refusal_trouble(steady(cause(words, number)))
        assert trouble
        return trouble.message

    return produce


REFUSALS = {
    Refusal.QUOTA: ("exceeded quota", "Raise the quota of the namespace"),
    Refusal.POD_SECURITY: ("violates PodSecurity", "Label the namespace with a Pod Security level"),
    Refusal.LIMIT_RANGE: ("maximum cpu usage per Pod is 1", "Change the LimitRange of the"),
    Refusal.WEBHOOK: ("failed calling webhook", "Repair the admission webhook"),
    Refusal.POLICY: ("denied the request", "Follow the admission policy, or change it"),
    Refusal.ACCOUNT: ("looking up service account", "Create the ServiceAccount of the namespace"),
}


def pod_of(state: dict[str, Any], name: str = "agent", **status: Any) -> Any:
    """An episode whose pod has one container in this state, as the API server shows it."""
    container = {"name": name, "image": IMAGE, "state": state}
    shown = {"phase": "Pending", "containerStatuses": [container], **status}
    pod = {"metadata": {"name": "demo-t001-1-x7k2p", "uid": "u"}, "status": shown}
    return make_episode(pod=parse_pod(pod))


def of_kubelet(reason: str) -> Produce:
    def produce(_: str, number: int) -> str:
        waiting = {"waiting": {"reason": reason, "message": cause(reason, number)}}
        return message_by(pod_of(waiting))

    return produce


def of_start_error(_: str, number: int) -> str:
    ended = {"reason": "StartError", "message": cause("no such file", number), "exitCode": 128}
    return message_by(pod_of({"terminated": ended}))


def of_eviction(_: str, number: int) -> str:
    status = {"phase": "Failed", "reason": "Evicted", "message": cause("low on", number)}
    return message_by(pod_of({"running": {}}, **status))


def of_scheduler(_: str, number: int) -> str:
    said = f"0/{number} nodes are available: {number} Insufficient cpu. {'x <&> ' * 800}"
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    pod: Any = {"metadata": {"name": "p", "uid": "u"}, "status": {"phase": "Pending"}}
    pod["status"]["conditions"] = [{**condition, "message": said}]
    return message_by(make_episode(pod=parse_pod(pod)))


def of_missing_image(container: str) -> Produce:
    def produce(_: str, number: int) -> str:
        said = {"reason": "ErrImagePull", "message": cause("not found", number)}
        trouble = trouble_at_start(pod_of({"waiting": said}, container))
        assert trouble
        return trouble.message

    return produce


def message_by(episode: Any) -> str:
    verdict = verdict_of(episode, "T001", now=NOW)
    return verdict.message if isinstance(verdict, Finished) else verdict.problem or ""


CASES = [
    *of_git_cases(),
    pytest.param(lambda *_: push.moved(ORDER).message, '"afresh/demo"', "done again", id="moved"),
    pytest.param(
        lambda *_: push.moved(ORDER, ["a" * 5000, "b.py"]).message,
        "The work conflicts",
        "it is done again on top of those changes.",
        id="conflict",
    ),
    pytest.param(
        lambda *_: refusals.foreign_commits(ORDER).message,
        '"afresh/demo"',
        "Recreate the WorkPackage",
        id="branch in use",
    ),
    pytest.param(lambda *_: verify.LEFT_BEHIND, "queues", "that it creates.", id="left behind"),
    pytest.param(lambda *_: commands.GONE, "container", "another episode starts", id="gone"),
    pytest.param(lambda *_: plan_commit.NOT_COMMITTED, "plan", "another episode starts", id="plan"),
    *(
        pytest.param(of_model(fault), name, remedy, id=f"model {fault.name}")
        for fault, (name, remedy) in MODEL.items()
    ),
    pytest.param(of_price, "The model", "spec.pricing of the AgentClass.", id="price"),
    pytest.param(
        lambda *_: model_faults.budget_sentence("maxCostUSD"),
        "budget",
        "raise spec.budget.maxCostUSD",
        id="budget",
    ),
    pytest.param(
        lambda *_: endings.not_in_image("x; " * 1666).message,
        "The agent's image",
        "correct spec.image.",
        id="no program",
    ),
    pytest.param(
        of_adapter(Outcome.AGENT_ERROR), "program", "read the end of its log", id="agent failed"
    ),
    pytest.param(of_adapter(Outcome.AUTH), "key", "correct the Secret", id="agent's key"),
    pytest.param(
        of_adapter(Outcome.CONFIG), "program", "correct the setting", id="agent's settings"
    ),
    pytest.param(of_adapter(Outcome.TRANSIENT), "endpoint", "there is nothing to do", id="outage"),
    *(
        pytest.param(of_refusal(words), "the cluster refuses", remedy, id=f"refused {kind}")
        for kind, (words, remedy) in REFUSALS.items()
    ),
    pytest.param(of_missing_image("agent"), IMAGE, "Correct the image", id="image"),
    pytest.param(of_missing_image("proxy"), IMAGE, "adds it to pods", id="an added image"),
    pytest.param(of_missing_image(RUNNER), "runner", "Correct the chart's", id="runner's image"),
    pytest.param(of_kubelet("InvalidImageName"), IMAGE, "correct the image", id="image's name"),
    pytest.param(of_kubelet("ErrImagePull"), IMAGE, "Correct the image", id="image pull"),
    pytest.param(of_kubelet("CreateContainerError"), "agent", "correct the image", id="container"),
    pytest.param(of_start_error, "agent", "use an image with /bin/sh", id="start error"),
    pytest.param(of_eviction, "disk", "limits.ephemeral-storage", id="eviction"),
    pytest.param(of_scheduler, "No node", "lower spec.resources.requests", id="no room"),
]


def check_message(produce: Produce, name: str, remedy: str) -> None:
    """Fail unless the message keeps both in every place that it stands in, and stays the same."""
    message = produce("", 2)

    assert produce("", 7) == message
    for limit in (200, 400, 2048):
        cut = Clipped(limit).cut(message)
        assert remedy in cut
        assert name in cut
        assert stored_size(cut) <= limit
    assert re.fullmatch(r"[A-Z].*\.", sentence_of(message), re.DOTALL)


@pytest.mark.parametrize(("produce", "name", "remedy"), CASES)
def test_a_message_keeps_its_remedy_and_names_and_is_the_same_for_the_same_cause(
    produce: Produce, name: str, remedy: str
) -> None:
    check_message(produce, name, remedy)


def test_every_fault_of_git_and_of_models_that_ends_an_episode_is_in_the_table() -> None:
    assert set(GitFault) == {*GIT, *WITHIN}
    assert {*MODEL, ModelFault.REJECTED} == set(ModelFault)
    assert set(REFUSALS) == set(Refusal)


def sentences_of_admission() -> Iterator[Any]:
    """Every sentence that the API server refuses an object of ours, or one like ours, with."""
    files = [*(ROOT / "crds").glob("*.yaml"), ROOT / "deploy/manifests/operator/operator.yaml"]
    for path in sorted(files):
        for document in yaml.safe_load_all(path.read_text()):
            for said in sorted({*_sentences(document)}):
                yield pytest.param(said, id=f"{path.stem} {said[:60]}")


def _sentences(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _sentences(item)
    if isinstance(value, dict):
        if {"expression", "rule"} & set(value) and {"message", "messageExpression"} & set(value):
            yield " ".join(str(value.get("messageExpression") or value["message"]).split())
        for item in value.values():
            yield from _sentences(item)


# The field has one form, an object that is to be left alone, or what to do follows the colon.
WHAT_TO_DO = re.compile(r"\b(must|needs?|write|make|give|use)\b|: \S|or ask for")


@pytest.mark.parametrize("said", [*sentences_of_admission()])
def test_every_sentence_of_admission_says_what_to_do_and_fits(said: str) -> None:
    assert WHAT_TO_DO.search(said)
    assert len(said.encode()) <= 400
    for refused in (said, f"{said} {cause('denied the request', 3)}"):
        trouble = refusal_trouble(f"ValidatingAdmissionPolicy denied: {refused}")
        assert trouble
        assert trouble.message.startswith("Follow the admission policy, or change it; ")
        assert sentence_of(Clipped(200).cut(trouble.message)) == sentence_of(trouble.message)
