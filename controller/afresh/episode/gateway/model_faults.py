"""Explains an agent's failure from its last request to the model.

Owns the messages. The provider's own text is only logged, since it changes from time to time.
"""

from collections.abc import Iterator
from dataclasses import replace

from afresh.adapters.adapter import Verdict
from afresh.contract.order import Order
from afresh.contract.report import Result
from afresh.contract.words import Outcome, ProviderFault
from afresh.episode.gateway.meter import Meter
from afresh.episode.gateway.model_api import ModelFault

# The quality of an agent's work decreases above this share of its context window (S1-12).
MOST_PERCENT = 60
CROWDED = (
    f"The conversation took more than {MOST_PERCENT} % of the model's context window; make the "
    "subtask smaller."
)


def with_use(result: Result, meter: Meter) -> Result:
    """Return the result of a subtask with its usage of models, and a warning if it is high."""
    used, peak = meter.subtask_usage(), meter.subtask_peak()
    is_crowded = peak.percent is not None and peak.percent > MOST_PERCENT
    return replace(
        result,
        usage=used if used.turns or used.output_tokens else None,
        peak_input_tokens=peak.tokens,
        peak_input_percent=peak.percent,
        warnings=(*result.warnings, *((CROWDED,) if is_crowded else ())),
    )


def model_verdicts(order: Order, meter: Meter) -> Iterator[Verdict]:
    """Yield the reasons for the agent's failure that the gateway knows."""
    if meter.refused_by:
        yield Verdict(outcome=Outcome.BUDGET_EXCEEDED, message=budget_sentence(meter.refused_by))
    fault = fault_verdict(order, meter.last_fault)
    if fault.outcome:
        yield fault
    if meter.limit_reached:
        yield Verdict(
            outcome=Outcome.TURN_LIMIT,
            message="The agent used up spec.episode.maxTurns; raise that, or make the subtask "
            "smaller.",
        )


def budget_sentence(field: str) -> str:
    """Return the message about a field of spec.budget that is used up."""
    return f"The budget of this episode is used up; raise spec.budget.{field} of the WorkPackage."


def fault_verdict(order: Order, fault: ModelFault | None) -> Verdict:
    """Return the verdict for a fault; without an outcome if the agent itself caused it."""
    if fault not in _OUTCOMES:
        return Verdict()
    return Verdict(outcome=_OUTCOMES[fault], message=_sentence(order, fault))


def provider_fault(fault: ModelFault | None) -> ProviderFault | None:
    """Return the kind of a provider's fault for which waiting helps; None for any other."""
    return _FAULTS.get(fault) if fault else None


def price_verdicts(meter: Meter) -> Iterator[Verdict]:
    """Yield a verdict if an answer had no price; it applies however the agent ended."""
    if meter.unpriced_model is None:
        return
    yield Verdict(
        outcome=Outcome.CONFIG,
        message=(
            f'The model "{meter.unpriced_model}" has no price, so spec.budget.maxCostUSD of the '
            "WorkPackage cannot be enforced; add the model to spec.pricing of the AgentClass."
        ),
    )


_WAITS = "the next episode waits for it, or check spec.endpoint of the AgentClass"
_OUTCOMES = {
    ModelFault.KEY_REFUSED: Outcome.AUTH,
    ModelFault.NO_CREDIT: Outcome.AUTH,
    ModelFault.RATE_LIMITED: Outcome.TRANSIENT,
    ModelFault.UNAVAILABLE: Outcome.TRANSIENT,
    ModelFault.UNREACHABLE: Outcome.TRANSIENT,
    ModelFault.SILENT: Outcome.MODEL_SILENT,
    ModelFault.EMPTY: Outcome.TRANSIENT,
    ModelFault.UNTRUSTED: Outcome.CONFIG,
    ModelFault.NOT_THERE: Outcome.CONFIG,
    ModelFault.TOO_LONG: Outcome.CONTEXT_EXHAUSTED,
}


_FAULTS = {
    ModelFault.RATE_LIMITED: ProviderFault.RATE_LIMITED,
    ModelFault.UNAVAILABLE: ProviderFault.OVERLOADED,
    ModelFault.UNREACHABLE: ProviderFault.UNREACHABLE,
    ModelFault.EMPTY: ProviderFault.EMPTY_ANSWERS,
    ModelFault.SILENT: ProviderFault.MODEL_SILENT,
}


def _sentence(order: Order, fault: ModelFault) -> str:
    secret = f'Secret "{order.agent.secret_name}" in namespace "{order.package.partition("/")[0]}"'
    return {
        ModelFault.KEY_REFUSED: (
            f"The model's endpoint refuses the key in {secret}; correct its entry api-key."
        ),
        ModelFault.NO_CREDIT: (
            f"The account of the key in {secret} has no credit left; add credit or change the key."
        ),
        ModelFault.RATE_LIMITED: (
            f"The model's endpoint limits the rate of requests with {secret}; {_WAITS}."
        ),
        ModelFault.UNAVAILABLE: f"The model's endpoint is overloaded or failing; {_WAITS}.",
        ModelFault.UNREACHABLE: (
            f"The connection to the model's endpoint fails or breaks; {_WAITS}."
        ),
        ModelFault.EMPTY: f"The model's endpoint returns empty or invalid answers; {_WAITS}.",
        ModelFault.SILENT: (
            "The model accepts requests and does not answer; check whether its endpoint works, or "
            "raise spec.modelSilenceSeconds of the AgentClass if it is slow."
        ),
        ModelFault.UNTRUSTED: (
            "The identity of the model's endpoint cannot be verified; "
            "correct spec.endpoint or spec.caBundle of the AgentClass."
        ),
        ModelFault.NOT_THERE: (
            "The model's endpoint does not serve this model; "
            "correct spec.endpoint or spec.model of the AgentClass."
        ),
        ModelFault.TOO_LONG: (
            "The conversation does not fit into the model's context, or exceeds the account's "
            "limit for one request; make the subtask smaller, or raise that limit."
        ),
    }[fault]
