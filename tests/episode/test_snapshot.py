"""What of an agent's worktree becomes part of a commit, and what never does."""

from pathlib import Path

import pytest

from afresh.adapters.claude import ClaudeAdapter
from afresh.contract.words import Outcome
from afresh.episode.git import snapshot
from afresh.episode.git.scope import FileChange
from afresh.episode.outbox import TEXT_LIMIT, Outbox
from afresh.episode.stopped import SubtaskStopped
from tests.episode.laid_out import LaidOut
from tests.episode.pod import make_task


@pytest.fixture
def repo(tmp_path: Path) -> LaidOut:
    return LaidOut.prepare(tmp_path)


def test_worktree_that_nobody_touched_has_no_changes(repo: LaidOut):
    assert repo.take().changes == ()


def test_changes_are_what_was_added_changed_deleted_and_made_executable(repo: LaidOut):
    repo.work("echo x > a; mkdir -p d/e; echo y > d/e/f; chmod +x d/e/f; rm README.md; ln -s a l")

    assert repo.take().changes == (
        FileChange(path="README.md", status="D", mode="000000"),
        FileChange(path="a", status="A", mode="100644"),
        FileChange(path="d/e/f", status="A", mode="100755"),
        FileChange(path="l", status="A", mode="120000"),
    )


@pytest.mark.parametrize(
    ("agent", "want_message"),
    [
        pytest.param("mkfifo pipe", "neither a file nor a link; .* Details: pipe", id="a FIFO"),
        pytest.param(
            "rm README.md; mkfifo README.md",
            "neither a file nor a link; .* Details: README.md",
            id="a FIFO in the place of a file",
        ),
        pytest.param(
            "mkdir d; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"d/s\")'",
            "neither a file nor a link; .* Details: d/s",
            id="a socket",
        ),
        pytest.param("mkdir .GIT; echo x > .GIT/config", "cannot store safely", id="a .GIT folder"),
    ],
)
def test_what_git_cannot_store_is_out_of_scope(repo: LaidOut, agent: str, want_message: str):
    repo.work(agent)

    with pytest.raises(SubtaskStopped, match=want_message) as ended:
        repo.take()
    assert ended.value.outcome is Outcome.OUT_OF_SCOPE


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param("rm -rf .afresh", id="removed"),
        pytest.param("rm -rf .afresh; ln -s /etc .afresh", id="a link"),
        pytest.param("rm -rf .afresh; echo x > .afresh", id="a file"),
        pytest.param("echo '- [x] T002 Farewell' > .afresh/PLAN.md", id="a plan of its own"),
        pytest.param("echo x > .afresh/extra.md; chmod 000 .afresh/PLAN.md", id="other files"),
        pytest.param("rm -rf .afresh/outbox; mkfifo .afresh/outbox", id="an odd outbox"),
        pytest.param("mkfifo .afresh/outbox/blocked.md", id="an odd note"),
        pytest.param("ln -s /etc/passwd .afresh/outbox/blocked.md", id="a note that is a link"),
    ],
)
def test_what_the_agent_does_to_the_runners_folder_is_discarded(repo: LaidOut, attack: str):
    repo.work(f"echo hello > hello.txt; {attack}")

    files = repo.files(repo.commit())

    assert list(files) == [".afresh/PLAN.md", "README.md", "hello.txt"]
    assert files[".afresh/PLAN.md"].splitlines()[-2:] == [
        "- [x] T001 Greeting",
        "- [ ] T002 Farewell",
    ]
    assert repo.take().outbox == Outbox()


def test_notes_are_bounded_and_hold_no_control_characters(repo: LaidOut):
    repo.work(
        r"cd .afresh/outbox; printf 'a\033[31mb\000c\377d\n' > summary.md;"
        r" head -c 100000 /dev/zero | tr '\0' x > ideas.md; mkdir blocked.md"
    )

    outbox = repo.take().outbox

    assert outbox.summary == "abc\ufffdd"
    assert outbox.ideas == "x" * TEXT_LIMIT
    assert outbox.blocked is None


def test_names_that_are_no_text_are_committed_and_named_in_a_readable_way(
    repo: LaidOut,
):
    repo.work(r"""printf x > "$(printf 'a\377b')"; printf y > "$(printf 'c\nd')" """)

    taken = repo.take()

    assert len(taken.changes) == 2
    with pytest.raises(SubtaskStopped, match=r"Details: a b, c d$") as ended:
        snapshot.check_scope(repo.git, make_task(files=("README.md",)), taken)
    assert ended.value.message.isprintable()


def test_path_that_is_too_long_to_be_read_is_the_agents_error(repo: LaidOut):
    deep = "i=0; while [ $i -lt 60 ]; do n=$(printf '%0100d' $i); mkdir $n; cd $n; i=$((i+1)); done"
    repo.work(f"{deep}; echo x > f")

    with pytest.raises(SubtaskStopped, match="cannot be read and stored") as ended:
        repo.take()
    assert ended.value.outcome is Outcome.AGENT_ERROR


def test_folder_of_claude_keeps_what_a_repository_shares_and_nothing_of_one_machine(
    repo: LaidOut,
):
    repo.git.exclude(ClaudeAdapter.program_files)
    own = "settings.local.json scheduled_tasks.lock worktrees/a/b.py plans/x.md"
    shared = "CLAUDE.md settings.json commands/a.md agents/b.md skills/c/SKILL.md"
    folders = (".claude", "part/.claude")

    for folder in folders:
        files = [f"{folder}/{name}" for name in f"{own} {shared}".split()]
        repo.work(f"for f in {' '.join(files)}; do mkdir -p $(dirname $f); touch $f; done")

    paths = [change.path for change in repo.take().changes]
    assert paths == sorted(f"{folder}/{name}" for folder in folders for name in shared.split())
