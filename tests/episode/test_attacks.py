"""What a buggy or hostile agent does to its worktree and its container, and what comes of it."""

import pytest

from afresh.contract.words import Outcome
from afresh.episode.git.scope import EMBEDDED
from tests.episode.pod import Pod, make_order
from tests.episode.servers import Remote, git

BRANCH = "afresh/demo"
WORK = "echo hello > hello.txt"


def trap(pod: Pod) -> str:
    """A program in the agent's HOME that leaves a trace when anybody runs it."""
    script = pod.put("/home/agent/trap", f"#!/bin/sh\ntouch {pod.root}/trapped\ncat\n")
    script.chmod(0o755)
    return str(script)


def is_trapped(pod: Pod) -> bool:
    return (pod.root / "trapped").exists()


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(
            "for h in pre-commit post-index-change reference-transaction pre-push post-checkout;"
            " do cp {trap} .git/hooks/$h || {{ mkdir -p .git/hooks; cp {trap} .git/hooks/$h; }};"
            " done",
            id="hooks in the worktree's repository",
        ),
        pytest.param(
            "git config filter.evil.clean {trap}; git config core.fsmonitor {trap};"
            " git config core.hooksPath $HOME; echo '* filter=evil' > .gitattributes",
            id="a filter and a file system monitor in the worktree's repository",
        ),
        pytest.param(
            "mkdir -p $HOME/.config/git; git config --global filter.evil.clean {trap};"
            " git config --global core.fsmonitor {trap}; echo '* filter=evil' > .gitattributes",
            id="the same in the user's configuration",
        ),
        pytest.param(
            "rm -rf .git; echo gitdir: /nowhere > .git", id="no repository in the worktree"
        ),
        pytest.param(
            "rm -rf .git; git init -q .; git commit -q --allow-empty -m other; git checkout -qb x",
            id="another repository in the worktree",
        ),
    ],
)
def test_worktree_with_its_own_ideas_of_git_is_committed_without_running_them(
    pod: Pod, remote: Remote, attack: str
):
    path = trap(pod)

    pod.run(make_order(remote.url, f"{attack.format(trap=path)}; {WORK}"))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert remote.file(BRANCH, "hello.txt") == "hello"
    assert not is_trapped(pod)


def test_trap_is_sprung_by_whoever_runs_git_there(pod: Pod, remote: Remote):
    path = trap(pod)

    pod.run(make_order(remote.url, f"git config core.fsmonitor {path}; git status; exit 1"))

    assert is_trapped(pod)


@pytest.mark.parametrize("place", ["nested", "a/b/nested"])
def test_embedded_repository_with_a_file_system_monitor_is_out_of_scope_and_runs_nothing(
    pod: Pod, remote: Remote, place: str
):
    path = trap(pod)
    agent = (
        f"mkdir -p {place}; cd {place}; git init -q .; echo x > f; git add f;"
        f" git commit -q -m x; git config core.fsmonitor {path}"
    )

    pod.run(make_order(remote.url, agent))

    assert pod.result.outcome is Outcome.OUT_OF_SCOPE, pod.log
    assert pod.result.message == f"{EMBEDDED} Details: {place}"
    assert not is_trapped(pod)


def link_submodule(remote: Remote) -> str:
    """Give the branch main a submodule `lib` that no file tells of; return the commit in it."""
    index = remote.directory / "gitlink-index"
    main = remote.head("main")
    assert main
    git(remote.directory, "read-tree", main, index=index)
    link = f"160000,{main},lib"
    git(remote.directory, "update-index", "--add", "--cacheinfo", link, index=index)
    tree = git(remote.directory, "write-tree", index=index)
    made = git(remote.directory, "commit-tree", tree, "-p", main, "-m", "Link")
    git(remote.directory, "update-ref", "refs/heads/main", made)
    return main


def test_submodule_that_the_agent_fills_is_out_of_scope_and_runs_nothing(pod: Pod, remote: Remote):
    path = trap(pod)
    link_submodule(remote)
    agent = f"cd lib && git init -q . && git config core.fsmonitor {path} && echo x > f"

    pod.run(make_order(remote.url, agent))

    assert pod.result.outcome is Outcome.OUT_OF_SCOPE, pod.log
    assert not is_trapped(pod)


def test_submodule_that_stays_empty_is_kept_as_it_is(pod: Pod, remote: Remote):
    linked = link_submodule(remote)

    pod.run(make_order(remote.url, WORK))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert f"160000 commit {linked}\tlib" in git(remote.directory, "ls-tree", BRANCH)


def test_repositories_in_ignored_folders_and_files_of_tools_are_left_out(pod: Pod, remote: Remote):
    remote.commit("main", {".gitignore": "node_modules/\n"})
    agent = "mkdir -p node_modules/x; git init -q node_modules/x; mkfifo node_modules/pipe"

    pod.run(make_order(remote.url, f"{agent}; {WORK}"))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert remote.files(BRANCH) == [
        ".afresh/PLAN.md", ".gitignore", "AGENTS.md", "README.md", "hello.txt",
    ]  # fmt: skip


def test_links_are_committed_as_links_and_never_followed(pod: Pod, remote: Remote):
    pod.put("/afresh/secret.txt", "a secret of the runner\n")
    pod.put("/afresh/outside/discovery.md", "from outside\n")
    agent = (
        f"ln -s {pod.root}/afresh/secret.txt link; ln -s /etc folder;"
        f" rm -rf .afresh; mkdir .afresh; ln -s {pod.root}/afresh/outside .afresh/outbox"
    )

    pod.run(make_order(remote.url, agent))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert remote.file(BRANCH, "link") == f"{pod.root}/afresh/secret.txt"
    assert remote.file(BRANCH, "folder") == "/etc"
    assert ".afresh/DISCOVERY.md" not in remote.files(BRANCH)
    assert "- [x] T001" in remote.file(BRANCH, ".afresh/PLAN.md")


def test_plan_of_the_branch_that_is_a_link_or_a_folder_is_replaced(pod: Pod, remote: Remote):
    remote.commit("main", {".afresh": "a file\n"})

    pod.run(make_order(remote.url, WORK))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert "- [x] T001" in remote.file(BRANCH, ".afresh/PLAN.md")


def test_line_end_and_encoding_attributes_change_no_byte(pod: Pod, remote: Remote):
    remote.commit("main", {".gitattributes": "*.txt text eol=crlf working-tree-encoding=UTF-16\n"})

    pod.run(make_order(remote.url, r"printf 'one\r\ntwo\n' > hello.txt"))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert git(remote.directory, "cat-file", "-s", f"{BRANCH}:hello.txt") == "9"
