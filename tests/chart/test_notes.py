"""What Helm says after an installation."""

import pytest

from tests.chart.helm import OPERATOR, ROOT, helm


def notes(*values: str) -> str:
    """Return what is said; nothing asks a cluster."""
    settings = [word for value in values for word in ("--set", value)]
    done = helm("install", "x", str(ROOT / "charts" / OPERATOR), "--dry-run=client", *settings)
    assert done.returncode == 0, done.stderr
    return done.stdout.partition("\nNOTES:\n")[2]


def test_images_that_no_registry_has_are_named_once_each() -> None:
    text = notes("agentClasses.codex.enabled=true", "scriptedModel.enabled=true", "image.tag=v7")

    images = [line.strip() for line in text.splitlines() if line.startswith("  localhost/")]
    wanted = ("operator", "runner", "agent-codex", "demo", "agent-claude")
    assert images == [f"localhost/afresh/{name}:v7" for name in wanted]


def test_the_commands_that_build_push_and_name_such_images_are_those_of_the_release() -> None:
    text = notes("image.tag=v7")

    registry = "registry.example.com/afresh"
    assert f"\n  make images REGISTRY={registry} TAG=v7 PUSH=1\n" in text
    assert text.endswith(
        f"  helm upgrade x charts/afresh -n default --reset-then-reuse-values --set "
        f"image.registry={registry}\n"
    )


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(("image.registry=example.com/x",), id="a registry"),
        pytest.param(
            ("operator.image=example.com/a", "runner.image=example.com/b"), id="whole references"
        ),
    ],
)
def test_notes_say_nothing_about_images_on_a_registry(values: tuple[str, ...]) -> None:
    assert "registry" not in notes(*values)


def test_the_namespaces_that_are_served_are_named() -> None:
    assert "serves the packages of a, b." in notes("namespaces={a,b}")
    assert "serves packages in every namespace." in notes("namespaces=null")


def test_with_only_the_scripted_model_the_next_step_is_its_secret() -> None:
    text = notes("scriptedModel.enabled=true", "scriptedModel.key=abc")

    assert "secret generic scripted-model -n team-a --from-literal=api-key='abc'" in text
    assert "--from-file=api-key" not in text
    assert "agentClasses.claude.enabled" not in text
