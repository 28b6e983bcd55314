"""The information boundary: what an agent can find out about the episodes before its own."""

import re
import shutil
from dataclasses import replace

from afresh.contract.order import PlanLine
from afresh.contract.words import Marker, Outcome
from tests.episode.pod import Pod, make_agent, make_order, make_task
from tests.episode.servers import PASSWORD, USERNAME, Remote

BRANCH = "afresh/demo"
PENDING = Marker.PENDING
FIRST = (
    "T001: Greeting\n\nThe greeting exists.\n\nAfresh-Package: team-a/demo\n"
    "Afresh-Subtask: T001\nAfresh-Revision: 0\nAfresh-Files: hello.txt\n"
)
# Everything that a curious agent could look at, in one text.
LOOK = """
{{ env | sort; id; hostname; pwd; cat
  find . -printf '%p %y %m %s %T@ %l\\n' | sort
  find . -type f -exec sha256sum {{}} + | sort
  find $HOME {root}/afresh/control/agent -printf '%p %y %m %s %l\\n' | sort
  find {root}/afresh/control/agent -type f -exec sha256sum {{}} + | sort
  git log --all --format='%H %an %ae %ad %cn %ce %cd %s'; git status --short; git reflog
}} > {root}/seen 2>&1
exit 1
"""


def look(
    pod: Pod, remote: Remote, *, attempt: int, others: tuple[Marker, Marker] = (PENDING, PENDING)
) -> str:
    """Run one episode for T002 and return what its agent has seen."""
    shutil.rmtree(pod.root, ignore_errors=True)
    pod.give_credentials(USERNAME, PASSWORD)
    last = Marker.SKIPPED if attempt == 3 else Marker.PENDING
    order = replace(
        make_order(remote.url, "", agent=make_agent(LOOK.format(root=pod.root))),
        episode=f"demo-t002-{attempt}-{'abcdef'[attempt]}",
        tasks=(make_task(id="T002", title="Farewell", marker_on_failure=last),),
        plan=(
            PlanLine(id="T001", title="Greeting", marker=Marker.DONE),
            PlanLine(id="T002", title="Farewell", marker=Marker.PENDING),
            PlanLine(id="T003", title="Thanks", marker=others[0]),
            PlanLine(id="T004", title="Applause", marker=others[1]),
        ),
    )
    pod.run(order)
    assert pod.result.outcome is Outcome.AGENT_ERROR, pod.log
    return (pod.root / "seen").read_text()


def test_third_attempt_on_the_same_head_sees_the_same_bytes_as_the_first(pod: Pod, remote: Remote):
    remote.commit(
        BRANCH,
        {"hello.txt": "hello\n", "bin/tool": "#!/bin/sh\n", ".afresh/DISCOVERY.md": "# Old\n"},
        base="main",
        message=FIRST,
    )

    first = look(pod, remote, attempt=1)
    third = look(pod, remote, attempt=3)

    assert first.splitlines() == third.splitlines()
    assert len(first.splitlines()) > 60


def test_what_became_of_other_subtasks_without_a_commit_changes_no_byte(pod: Pod, remote: Remote):
    remote.commit(BRANCH, {"hello.txt": "hello\n"}, base="main", message=FIRST)

    first = look(pod, remote, attempt=1)
    second = look(pod, remote, attempt=1, others=(Marker.SKIPPED, Marker.NEEDS_REVIEW))

    assert first.splitlines() == second.splitlines()
    assert "After this task comes T003 (Thanks)." in first


def test_plan_that_the_agent_sees_has_the_markers_of_the_branch(pod: Pod, remote: Remote):
    plan = "# Greet\n\n- [~] T003 Thanks\n- [S] T004 Applause\n"
    remote.commit(BRANCH, {"hello.txt": "x", ".afresh/PLAN.md": plan}, base="main", message=FIRST)
    lines = tuple(PlanLine(id=f"T00{number}", title="x", marker=PENDING) for number in range(1, 5))
    order = make_order(remote.url, "cp .afresh/PLAN.md plan.md", plan=lines)

    pod.run(replace(order, tasks=(make_task(id="T002", title="x"),)))

    assert remote.file(BRANCH, "plan.md").splitlines()[-4:] == [
        "- [x] T001 x", "- [~] T002 x", "- [ ] T003 x", "- [S] T004 x",
    ]  # fmt: skip
    assert remote.file(BRANCH, ".afresh/PLAN.md").splitlines()[-1] == "- [ ] T004 x"


def test_plan_that_another_package_has_left_on_the_base_says_nothing_of_this_one(
    pod: Pod, remote: Remote
):
    remote.commit("main", {".afresh/PLAN.md": "# Other\n\n- [x] T002 Other\n"})

    pod.run(make_order(remote.url, "cp .afresh/PLAN.md plan.md"))

    assert remote.file(BRANCH, "plan.md").splitlines()[-1] == "- [ ] T002 Farewell"


def test_agent_sees_one_commit_without_history_and_none_of_the_runners_own_files(
    pod: Pod, remote: Remote
):
    remote.commit("main", {"README.md": "Secret plans were here.\n"}, message="Failed try 7")
    remote.commit("main", {"README.md": "Nothing here.\n"}, message="Retry after failure 8")
    remote.commit(
        BRANCH, {"hello.txt": "x", ".afresh/DISCOVERY.md": "# Old\n"}, base="main", message=FIRST
    )

    seen = look(pod, remote, attempt=2)

    for word in ("Failed try", "Retry after", "DISCOVERY", "Afresh-", "T002-2", "demo-t002"):
        assert word not in seen
    assert not re.search(rf"\b{USERNAME}\b", seen)  # its letters may be in any checksum
    assert "Afresh afresh@localhost" in seen
    assert "KUBERNETES" not in seen
    assert "AFRESH" not in seen
    assert PASSWORD not in seen


def test_agent_finds_a_clean_repository_in_which_it_can_work(pod: Pod, remote: Remote):
    script = (
        'test -z "$(git status --porcelain)" && echo x > hello.txt && git add hello.txt'
        " && git commit -q -m mine && git diff HEAD~1 --stat && git log --oneline"
    )

    pod.run(make_order(remote.url, script))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert remote.subjects(BRANCH) == ["T001: Greeting", "Add files"]


def test_plan_in_the_worktree_shows_this_subtask_as_running_and_others_as_they_stand(
    pod: Pod, remote: Remote
):
    pod.run(make_order(remote.url, "cp .afresh/PLAN.md plan.md"))

    plan = remote.file(BRANCH, "plan.md").splitlines()
    assert plan[0] == "# Greet people."
    assert plan[-2:] == ["- [~] T001 Greeting", "- [ ] T002 Farewell"]


def test_secret_that_an_agent_comes_by_is_in_no_log_report_or_commit_message(
    pod: Pod, remote: Remote
):
    notes = "summary discovery ideas unchanged"
    script = f"echo {PASSWORD}; for n in {notes}; do echo {PASSWORD} > .afresh/outbox/$n.md; done"

    pod.run(make_order(remote.url, script))

    assert pod.result.outcome is Outcome.NO_CHANGES, pod.log
    texts = (pod.log, pod.written, remote.message(BRANCH), remote.file(BRANCH, ".afresh/IDEAS.md"))
    for text in texts:
        assert PASSWORD not in text
        assert "[redacted]" in text
