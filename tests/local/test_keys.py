"""The keys of a run: where they come from, and where they are."""

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from afresh.api.agent_class import AgentClass
from afresh.local import keys
from afresh.local.classes import ADAPTERS, class_for
from afresh.local.keys import KeyMissingError, agent_key, kept_in_memory, read_seed, secrets_for
from tests.episode.pod import make_order, make_task

ENVIRONMENT = {
    "ANTHROPIC_API_KEY": "of-anthropic",
    "GEMINI_API_KEY": "of-gemini",
    "GOOGLE_API_KEY": "of-google",
    "OPENAI_API_KEY": "of-openai",
}


def known(name: str) -> AgentClass:
    found = class_for(name)
    assert found
    return found


@pytest.mark.parametrize(
    ("agent", "want"),
    [
        ("claude", "of-anthropic"),
        ("codex", "of-openai"),
        ("gemini", "of-gemini"),
        ("opencode", "of-openai"),
        ("aider", "of-openai"),
        ("qwen", "of-openai"),
    ],
)
def test_each_program_gets_the_key_of_its_own_model(agent: str, want: str):
    assert secrets_for(known(agent), ENVIRONMENT) == {"api-key": want}


def test_every_program_has_a_class():
    assert [known(name).spec.adapter for name in ADAPTERS] == list(ADAPTERS.values())


@pytest.mark.parametrize(
    ("agent", "want"),
    [("claude", "ANTHROPIC_API_KEY to it"), ("codex", "CODEX_API_KEY or OPENAI_API_KEY to it")],
)
def test_key_that_is_not_there_or_empty_is_asked_for(agent: str, want: str):
    with pytest.raises(KeyMissingError, match=want):
        secrets_for(known(agent), {"ANTHROPIC_API_KEY": " "})


def test_class_that_gives_its_secret_to_the_agent_is_refused():
    spec = {
        "adapter": "Claude",
        "image": "a:1",
        "credentials": {"mode": "Environment", "secretName": "key"},
    }
    agent_class = AgentClass.model_validate({"metadata": {"name": "own"}, "spec": spec})

    with pytest.raises(KeyMissingError, match="to Gateway"):
        secrets_for(agent_class, ENVIRONMENT)


def test_keys_are_private_while_they_are_needed_and_gone_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))

    with kept_in_memory({"api-key": "secret"}) as folder:
        assert folder
        assert folder.parent == tmp_path
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE((folder / "api-key").stat().st_mode) == 0o600
        assert (folder / "api-key").read_text() == "secret"

    assert not list(tmp_path.iterdir())


def test_keys_that_a_killed_run_has_left_are_removed_and_those_of_a_run_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    left = tmp_path / f"afresh-keys-{os.getuid()}-left"
    left.mkdir()
    (left / "api-key").write_text("secret")

    with kept_in_memory({"api-key": "one"}) as one, kept_in_memory({"api-key": "two"}):
        assert one
        assert (one / "api-key").read_text() == "one"
        assert not left.exists()


def test_run_without_keys_has_no_folder():
    with kept_in_memory({}) as folder:
        assert folder is None


def test_each_subtask_of_each_package_has_a_key_of_its_own_in_all_of_its_attempts(tmp_path: Path):
    seed = read_seed(tmp_path)
    order = make_order("https://git.example.com/a.git", "")

    def key(ids: tuple[str, ...], episode: str) -> str:
        tasks = tuple(make_task(id=ident) for ident in ids)
        return agent_key(seed, replace(order, tasks=tasks, episode=episode))

    assert read_seed(tmp_path) == seed
    assert key(("T1",), "demo-t1-1") == key(("T1",), "demo-t1-2")
    assert key(("T1",), "a") != key(("T2",), "a")
    assert (tmp_path / keys.SEED_FILE).stat().st_mode & 0o077 == 0
