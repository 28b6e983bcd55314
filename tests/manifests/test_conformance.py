"""The pod that tries an agent's image."""

import pytest

from afresh.contract.words import AdapterName
from afresh.manifests.conformance import ConformanceParts, build_conformance_pod


@pytest.mark.parametrize(
    ("names", "want"),
    [
        pytest.param((), None, id="none, where none is named"),
        pytest.param(
            ("registry", "mirror.key"), [{"name": "registry"}, {"name": "mirror.key"}], id="all"
        ),
    ],
)
def test_the_pod_of_a_trial_pulls_with_the_secrets_that_are_named(
    names: tuple[str, ...], want: list[dict[str, str]] | None
) -> None:
    pod = build_conformance_pod(
        ConformanceParts(
            name="trial",
            namespace="team-a",
            image="registry.example.com/agent:1",
            runner_image="registry.example.com/runner:1",
            adapter=AdapterName.CLAUDE,
            pull_secrets=names,
        )
    )

    assert pod["spec"].get("imagePullSecrets") == want
