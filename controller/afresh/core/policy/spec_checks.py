"""The rules that check the spec, the branch and the class before anything starts.

Each rule is named after the fact that it finds. The package stalls; the message says what to do.
"""

from collections.abc import Iterator
from fnmatch import fnmatchcase

from afresh.api.work_package import WorkPackage
from afresh.core.decision import RuleResult
from afresh.core.history import graph
from afresh.core.policy.ceilings import excesses
from afresh.core.policy.results import stall
from afresh.core.policy.unsupported import unsupported
from afresh.core.reasons import Reason
from afresh.core.situation import Situation


def spec_invalid(situation: Situation) -> RuleResult | None:
    """The spec contradicts itself; the user has to edit it."""
    entries = situation.spec.subtasks
    alike = graph.same_name(entries)
    if alike:
        return stall(
            Reason.INVALID_SPEC,
            f"The subtask ids {alike[0]} and {alike[1]} differ only in case; rename one.",
        )
    path = graph.cycle(entries)
    if not path:
        return None
    return stall(
        Reason.INVALID_SPEC,
        f"spec.subtasks depend on each other in a circle: {' -> '.join(path)}; remove one "
        "dependsOn.",
    )


def branch_in_use(situation: Situation) -> RuleResult | None:
    """Another package of the namespace works on the same branch."""
    if situation.seen.rival is None:
        return None
    return stall(
        Reason.BRANCH_IN_USE,
        f"The branch {situation.package.branch} of this repository is in use by the package "
        f"{situation.seen.rival}; delete that package, or create this one again with "
        "another spec.repository.branch.",
    )


def class_not_found(situation: Situation) -> RuleResult | None:
    """The package names a class that does not exist."""
    if situation.agent_class:
        return None
    return stall(
        Reason.AGENT_CLASS_NOT_FOUND,
        f'There is no AgentClass "{situation.spec.agent_class_name}"; create it or correct '
        "spec.agentClassName.",
    )


def image_not_allowed(situation: Situation) -> RuleResult | None:
    """The package names an image, for the agent or verify, that its class does not allow."""
    if situation.agent_class is None:
        return None
    allowed = (situation.agent_class.spec.image, *situation.agent_class.spec.allowed_images)
    strange = (
        image
        for image in _images(situation.package)
        if not any(fnmatchcase(image, pattern) for pattern in allowed)
    )
    image = next(strange, None)
    if image is None:
        return None
    return stall(
        Reason.IMAGE_NOT_ALLOWED,
        f"The image {image} is not allowed by the AgentClass "
        f"{situation.spec.agent_class_name}; use its image or have it added to "
        "spec.allowedImages there.",
    )


def _images(package: WorkPackage) -> Iterator[str]:
    """Yield the images that the package itself names."""
    verifies = (package.verify_of(entry) for entry in package.spec.subtasks)
    for image in (package.spec.image, *(verify.image for verify in verifies)):
        if image is not None:
            yield image


def not_supported(situation: Situation) -> RuleResult | None:
    """The package or its class sets a field that this version does not support."""
    if situation.agent_class is None:
        return None
    sentence = next(unsupported(situation.spec, situation.agent_class.spec), None)
    return stall(Reason.NOT_SUPPORTED, sentence) if sentence else None


def unpriced_model(situation: Situation) -> RuleResult | None:
    """The budget is in US dollars, but the class has no price for its model."""
    limits, agent_class = situation.spec.budget, situation.agent_class
    if limits is None or limits.max_cost_usd is None or agent_class is None:
        return None
    spec = agent_class.spec
    globs = [price.model for price in spec.pricing]
    if globs and (spec.model is None or any(fnmatchcase(spec.model, glob) for glob in globs)):
        return None
    return stall(
        Reason.UNPRICED_MODEL,
        "spec.budget.maxCostUSD needs a price for the model of the AgentClass "
        f"{situation.spec.agent_class_name}; have it added to spec.pricing there, or use "
        "spec.budget.maxTokens.",
    )


def above_ceiling(situation: Situation) -> RuleResult | None:
    """The package sets a limit that is higher than its class allows."""
    if situation.agent_class is None:
        return None
    first = next(excesses(situation.spec, situation.agent_class.spec), None)
    if first is None:
        return None
    field, asked, allowed = first
    return stall(
        Reason.ABOVE_CEILING,
        f"{field} is {asked}, and the AgentClass {situation.spec.agent_class_name} allows "
        f"{allowed}; lower it or have spec.ceilings raised there.",
    )
