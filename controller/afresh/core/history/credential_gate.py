"""One gate per credential, which a provider's refusal closes for all packages with the Secret.

This module owns when a gate closes, for how long, and when it opens. It decides nothing about
episodes. Pure.
"""

from afresh.api.agent_class import Gate
from afresh.contract.outcomes import TABLE, backoff_after, reset_of, slower, whole_second
from afresh.contract.words import Outcome, ProviderFault
from afresh.core.history.classify import Finished
from afresh.core.history.replay import PackageState
from afresh.core.names import probe_of
from afresh.core.observed import Episode, Observed

# Without a gateway the runner cannot tell, because the agent connects to the provider itself.
FAILING = "ProviderFailing"

_SENTENCES: dict[str, str] = {
    ProviderFault.RATE_LIMITED: "The model's endpoint limits the rate of requests",
    ProviderFault.OVERLOADED: "The model's endpoint is overloaded or failing",
    ProviderFault.UNREACHABLE: "The connection to the model's endpoint fails or breaks",
    ProviderFault.EMPTY_ANSWERS: "The model's endpoint returns empty answers",
    ProviderFault.MODEL_SILENT: "The model accepts requests and does not answer",
}


def credential_of(seen: Observed) -> str | None:
    """Return the name of the Secret with the model's key; None if the class needs none."""
    credentials = seen.agent_class.spec.credentials if seen.agent_class else None
    return credentials.secret_name if credentials else None


def gate_after(seen: Observed, state: PackageState) -> Gate | None:
    """Return the credential's gate after the episodes that have ended; None: it is open.

    Only a failed probe lengthens the wait: the other episodes started before the gate closed.
    """
    gate = seen.shared_limits.gate
    secret = credential_of(seen)
    if secret is None:
        return gate
    for attempt_result in state.attempt_results:
        episode, ended = attempt_result.episode, attempt_result.ended
        if TABLE[ended.outcome].of_provider:
            gate = _closed(gate, episode, ended, seen, secret)
        elif gate and _probes(episode, gate) and _answered(episode, ended.outcome):
            gate = None
    for episode, _ in state.live:
        if gate and _probes(episode, gate) and _answered(episode, None):
            gate = None
    return gate


def gate_sentence(gate: Gate) -> str:
    """Return the message of a package that waits for the gate."""
    what = _SENTENCES.get(gate.reason, "The model's endpoint fails")
    return (
        f'{what} for the Secret "{gate.secret_name}"; there is nothing to do if it recovers: one '
        "episode at a time tries whether it answers."
    )


def _closed(
    gate: Gate | None, episode: Episode, ended: Finished, seen: Observed, secret: str
) -> Gate:
    now = seen.now
    resets = reset_of(ended.report.not_before, now) if ended.report else None
    if gate and not _probes(episode, gate):
        until = max(gate.until, whole_second(resets)) if resets else gate.until
        return gate.model_copy(update={"until": until})
    step = gate.step + 1 if gate else 1
    since = gate.since if gate else whole_second(now)
    return Gate(
        namespace=seen.package.metadata.namespace,
        secret_name=secret,
        since=since,
        until=whole_second(max(now + slower(backoff_after(step), since, now), resets or now)),
        step=step,
        reason=(ended.report and ended.report.fault) or FAILING,
    )


def _probes(episode: Episode, gate: Gate) -> bool:
    return episode.probe == probe_of(gate)


def _answered(episode: Episode, outcome: Outcome | None) -> bool:
    """Whether the provider has answered: with a whole answer, or by refusing the key.

    The count of turns proves nothing: a request that the agent aborted counts as a turn.
    """
    has_answered = episode.report is not None and episode.report.answered
    return has_answered or outcome is Outcome.AUTH
