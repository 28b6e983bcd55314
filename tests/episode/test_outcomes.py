"""One episode per situation: what is reported, what is on the branch, and that nothing is left."""

from afresh.contract.words import Outcome
from tests.episode.pod import Pod, make_order
from tests.episode.servers import Remote

BRANCH = "afresh/demo"


def test_agent_does_its_work_ends_as_success_with_one_commit_on_a_new_branch(
    pod: Pod, remote: Remote
):
    pod.run(make_order(remote.url, "echo hello > hello.txt"))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert pod.exit_code == 0
    assert remote.head(BRANCH) == pod.result.commit == pod.report.head
    assert remote.file(BRANCH, "hello.txt") == "hello"
    assert remote.subjects(BRANCH) == ["T001: Greeting", "Add files"]
    assert "- [x] T001 Greeting" in remote.file(BRANCH, ".afresh/PLAN.md")
