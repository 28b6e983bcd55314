"""The information boundary over every agent program: what each is started with, attempt by attempt.

In the place of the program itself stands a probe of its name, which tells all that it is given.
"""

import os
import re
import shutil
from dataclasses import replace

import pytest

from afresh.adapters.registry import adapter_of
from afresh.contract.order import Agent, PlanLine
from afresh.contract.words import AdapterName, CredentialsMode, Marker, Outcome
from tests.episode.matrix import AGENT_SECONDS
from tests.episode.pod import Pod, make_order, make_task
from tests.episode.servers import PASSWORD, USERNAME, Remote

BRANCH = "afresh/demo"
KEY = "sk-test-0123456789abcdef0123456789"
FIRST = (
    "T001: Greeting\n\nThe greeting exists.\n\nAfresh-Package: team-a/demo\n"
    "Afresh-Subtask: T001\nAfresh-Revision: 0\nAfresh-Files: hello.txt\n"
)
ADAPTERS = list(AdapterName)
# What each program is known to leave in its working directory.
DROPPINGS = {
    AdapterName.CLAUDE: (".claude/settings.local.json",),
    AdapterName.AIDER: (
        ".aider.chat.history.md", ".aider.input.history", ".aider.tags.cache.v4/cache.db",
    ),
}  # fmt: skip
# What the call itself writes before the program starts: dated by the clock.
WRITTEN_AT_START = {AdapterName.AIDER: (".afresh", ".afresh/.gitignore")}
PROBE = """\
#!/bin/sh
{{ printf 'argument: %s\\n' "$@"; env | sort; umask; id; hostname; pwd; cat
  find . -printf '%p %y %m %s %T@ %l\\n' | sort
  find . -type f -exec sha256sum {{}} + | sort
  find $HOME {root}/afresh/control/agent -printf '%p %y %m %s %l\\n' | sort
  find $HOME -type f -exec cat {{}} +
  git log --all --format='%H %an %ae %ad %cn %ce %cd %s'; git status --short; git reflog
}} > {root}/seen 2>&1
{then}
exit 1
"""


def install_probe(pod: Pod, then: str = "") -> None:
    """Put the probe in the place of every agent program."""
    for name in ADAPTERS:
        program = adapter_of(name).launch(agent_of(name), "", None).argv[0]
        pod.put(f"/image/bin/{program}", PROBE.format(root=pod.root, then=then)).chmod(0o755)
    pod.put("/afresh/secrets/model/api-key", KEY)
    pod.image_environment = {"PATH": f"{pod.root}/image/bin:{os.environ['PATH']}"}


def agent_of(name: AdapterName) -> Agent:
    return Agent(
        adapter=name,
        command=("house-agent", "--task", "-"),
        model="some-model",
        endpoint="http://127.0.0.1:9",
        credentials_mode=CredentialsMode.GATEWAY,
        secret_name="model-key",
        timeout_seconds=AGENT_SECONDS,
    )


def look(pod: Pod, remote: Remote, name: AdapterName, attempt: int) -> str:
    """Run one episode for T002, and return what the probe has seen."""
    shutil.rmtree(pod.root, ignore_errors=True)
    pod.give_credentials(USERNAME, PASSWORD)
    install_probe(pod)
    last = Marker.SKIPPED if attempt == 3 else Marker.PENDING
    task = make_task(
        id="T002", title="Farewell", marker_on_failure=last, has_work_aside=attempt > 1
    )
    order = replace(
        make_order(remote.url, "", agent=agent_of(name)),
        episode=f"demo-t002-{attempt}-{'abcdef'[attempt]}",
        tasks=(task,),
        plan=(
            PlanLine(id="T001", title="Greeting", marker=Marker.DONE),
            PlanLine(id="T002", title="Farewell", marker=Marker.PENDING),
        ),
    )
    pod.run(order)
    seen = (pod.root / "seen").read_text()
    for path in WRITTEN_AT_START.get(name, ()):
        seen = re.sub(rf"(?m)^(\./{re.escape(path)} \w \d+ \d+) \S+", r"\1 NOW", seen)
    # Here the gateway takes any free port; in a pod it is always the same.
    return re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", seen)


@pytest.mark.parametrize("name", ADAPTERS)
def test_program_is_given_the_same_bytes_at_every_attempt_on_the_same_head(
    pod: Pod, remote: Remote, name: AdapterName
):
    remote.commit(BRANCH, {"hello.txt": "hello\n"}, base="main", message=FIRST)

    first, second, third = (look(pod, remote, name, attempt) for attempt in (1, 2, 3))

    assert first.splitlines() == second.splitlines() == third.splitlines()
    assert "Write hello.txt." in first
    assert len(first.splitlines()) > 60
    for secret in ("demo-t002", "team-a", PASSWORD, KEY, "git-credentials", "model-key"):
        assert secret not in first


@pytest.mark.parametrize("name", [name for name in ADAPTERS if name in DROPPINGS])
def test_what_a_program_leaves_for_its_own_use_is_in_no_commit_of_the_remote(
    pod: Pod, remote: Remote, name: AdapterName
):
    leave = "".join(f"mkdir -p $(dirname {path}); echo mine > {path}\n" for path in DROPPINGS[name])
    install_probe(pod, f"{leave}echo hello > hello.txt")

    pod.run(make_order(remote.url, "", agent=agent_of(name)))

    # A probe says nothing that its program would: the work is kept aside, not on the branch.
    assert pod.result.outcome is not Outcome.SUCCESS
    kept = remote.files("refs/afresh/team-a/demo/T001")
    assert "hello.txt" in kept
    assert not set(DROPPINGS[name]) & set(kept)
