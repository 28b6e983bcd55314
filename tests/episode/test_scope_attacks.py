"""What an agent may do to names, modes, links, repositories and sizes, and how each is judged."""

from pathlib import Path

import pytest

from afresh.contract.words import Outcome
from afresh.episode.git import scope, snapshot, unsafe_files
from afresh.episode.stopped import SubtaskStopped
from tests.episode.laid_out import LaidOut
from tests.episode.pod import make_task

ALLOWED = ("README.md", "src/**", "docs/über.md")
FILES = {"src/tool.sh": "echo\n", "src/link": "x\n", "lib/a.c": "a\n", "data/big": "b\n"}
OUTSIDE = f"{scope.OUTSIDE} Details: "


@pytest.fixture
def repo(tmp_path: Path) -> LaidOut:
    return LaidOut.prepare(tmp_path, FILES)


def judged(repo: LaidOut, agent: str, **task: object) -> str:
    """Do an agent's work, and return what keeps it from being committed; empty: nothing."""
    repo.work(agent)
    try:
        snapshot.check_scope(repo.git, make_task(**{"files": ALLOWED, **task}), repo.take())
    except SubtaskStopped as ended:
        return ended.message if ended.outcome is Outcome.OUT_OF_SCOPE else ended.outcome
    return ""


IN_SCOPE = [
    pytest.param("mv src/tool.sh src/new.sh", id="a file is renamed within the files"),
    pytest.param("rm -r src", id="a folder is deleted"),
    pytest.param("chmod +x src/tool.sh", id="a file is made executable"),
    pytest.param("rm src/link; ln -s /etc/passwd src/link", id="a file becomes a link"),
    pytest.param("rm src/link; mkdir src/link; echo x > src/link/y", id="a file becomes a folder"),
    pytest.param("printf x > 'docs/über.md'; :", id="a name with an umlaut"),
    pytest.param("echo '* filter=x text eol=crlf' > src/.gitattributes", id="attributes"),
    pytest.param("rm -rf .git", id="the repository is removed"),
    pytest.param("rm -rf .git; echo 'gitdir: /etc' > .git", id="the repository becomes a file"),
    pytest.param("rm -rf .git; ln -s /etc .git", id="the repository becomes a link"),
    pytest.param("rm -rf .git; mkfifo .git", id="the repository becomes a FIFO"),
    pytest.param("git mv src/tool.sh lib/ && git reset -q --hard", id="what was undone"),
    pytest.param(
        "mkdir src/refs src/objects; touch src/refs/x src/objects/x",
        id="folders with names of which one more is wanted",
    ),
    pytest.param("git init -q --bare src/b; echo b > src/.gitignore", id="an ignored repository"),
    pytest.param("touch -d 2001-01-01 lib/a.c", id="another time of another file"),
    pytest.param("echo build > src/.gitignore; mkfifo src/build", id="an ignored FIFO"),
    pytest.param("echo big > src/.gitignore; truncate -s 2G src/big", id="an ignored huge file"),
]


@pytest.mark.parametrize("agent", IN_SCOPE)
def test_what_stays_within_the_files_is_in_scope_whatever_its_kind(repo: LaidOut, agent: str):
    (repo.worktree / "docs").mkdir()

    assert judged(repo, agent) == ""


OUT_OF_SCOPE = [
    pytest.param("mv src/tool.sh tool.sh", OUTSIDE + "tool.sh", id="renamed out of the files"),
    pytest.param("mv lib/a.c src/", OUTSIDE + "lib/a.c", id="renamed into the files"),
    pytest.param("rm lib/a.c", OUTSIDE + "lib/a.c", id="another file is deleted"),
    pytest.param("chmod +x lib/a.c", OUTSIDE + "lib/a.c", id="another file's mode"),
    pytest.param("echo x >> lib/a.c; touch -d @1700000000 lib/a.c", OUTSIDE + "lib/a.c",
                 id="another file, with its size grown and its time as it was"),
    pytest.param("printf 'b\\n' > lib/a.c; touch -d @1700000000 lib/a.c", OUTSIDE + "lib/a.c",
                 id="another file, with its size and its time as they were"),
    pytest.param("rm -r lib; ln -s src lib", OUTSIDE + "lib, lib/a.c", id="a folder is a link"),
    pytest.param("ln -s . SRC; echo x > SRC/y", OUTSIDE + "SRC, y", id="writing through a link"),
    pytest.param("echo x > readme.md", OUTSIDE + "readme.md", id="another case"),
    pytest.param("mkdir SRC; echo x > SRC/y", OUTSIDE + "SRC/y", id="a folder of another case"),
    pytest.param("mkdir docs; printf x > docs/u\u0308ber.md", OUTSIDE + "docs/u\u0308ber.md",
                 id="an umlaut of two characters"),
    pytest.param("printf x > 'src\u2215y'", OUTSIDE + "src\u2215y", id="what looks like a slash"),
    pytest.param("echo '* -text' > .gitattributes", OUTSIDE + ".gitattributes", id="attributes"),
    pytest.param("echo > .gitmodules", OUTSIDE + ".gitmodules", id="submodules are declared"),
    pytest.param("git init -q src/sub", f"{scope.EMBEDDED} Details: src/sub",
                 id="a repository in the files"),
    pytest.param("git init -q --bare src/b; echo 'gitdir: ../b' > src/s; mkdir src/w;"
                 " mv src/s src/w/.git; rm -r src/b",
                 f"{scope.EMBEDDED} Details: src/w", id="a linked worktree"),
    pytest.param("mkdir src/w; ln -s ../../.git src/w/.git",
                 f"{scope.EMBEDDED} Details: src/w", id="a linked repository"),
    pytest.param("git -c protocol.file.allow=always submodule --quiet add ./. src/self"
                 " 2>/dev/null || git clone -q . src/self",
                 f"{scope.EMBEDDED} Details: src/self", id="a submodule of itself"),
    pytest.param("mkdir src/w; echo x > src/w/.GiT",
                 f"{scope.EMBEDDED} Details: src/w", id="a repository in disguise"),
    pytest.param("mkdir -p src/.g\u200cit; echo x > src/.g\u200cit/config",
                 snapshot.INVALID_PATH,
                 id="a repository to systems that skip some characters"),
    pytest.param("mkdir src/git~1; echo x > src/git~1/config",
                 snapshot.INVALID_PATH,
                 id="a repository to systems with short names"),
    pytest.param("mkdir .AFRESH; echo x > .AFRESH/PLAN.md",
                 f"{unsafe_files.LIKE_STATE} Details: .AFRESH",
                 id="the runner's folder in another case"),
    pytest.param("git init -q --bare src/b; touch src/b/refs/x src/b/objects/x",
                 f"{scope.EMBEDDED} Details: src/b", id="a bare repository"),
    pytest.param("git init -q --bare src/b; touch src/b/refs/x src/b/objects/x; cd src/b;"
                 " mv HEAD h; mv h Head; mv refs 'Refs. '; mv objects ob\u200cjects",
                 f"{scope.EMBEDDED} Details: src/b",
                 id="a bare repository to systems that take other names for its own"),
    pytest.param("mkdir -p src/b/objects SRC/B; cp .git/HEAD src/b; touch src/b/objects/x;"
                 " mkdir SRC/B/refs; touch SRC/B/refs/x",
                 f"{scope.EMBEDDED} Details: SRC/B",
                 id="a bare repository in folders that differ in case"),
    pytest.param("mkdir src/b; cp .git/HEAD src/b; ln -s ../x src/b/refs; ln -s ../y src/b/objects",
                 f"{scope.EMBEDDED} Details: src/b",
                 id="a bare repository of links"),
    pytest.param("mkdir src/b; ln -s refs/heads/x src/b/HEAD; echo ../c > src/b/commondir",
                 f"{scope.EMBEDDED} Details: src/b",
                 id="a folder that names the one with objects and refs"),
    pytest.param("mkdir objects refs; touch objects/x refs/x; cp .git/HEAD .",
                 f"{scope.EMBEDDED} Details: .", id="the worktree itself"),
    pytest.param("truncate -s 2G src/big", f"{unsafe_files.HUGE} Details: src/big",
                 id="a file of 2 GB"),
    pytest.param("truncate -s 2G data/big", f"{unsafe_files.HUGE} Details: data/big",
                 id="a file that has grown to 2 GB"),
    pytest.param("mkfifo src/p; echo p > src/.gitignore; git add -f src/.gitignore; mkfifo src/q",
                 f"{unsafe_files.NO_FILE} Details: src/q",
                 id="a FIFO beside an ignored one"),
    pytest.param("echo tool.sh > src/.gitignore; rm src/tool.sh; mkfifo src/tool.sh",
                 f"{unsafe_files.NO_FILE} Details: src/tool.sh",
                 id="a FIFO in the place of a file, hidden by an ignore rule"),
]  # fmt: skip


@pytest.mark.parametrize(("agent", "want"), OUT_OF_SCOPE)
def test_what_leaves_the_files_is_out_of_scope_by_its_name(repo: LaidOut, agent: str, want: str):
    assert judged(repo, agent) == want


BARE = {"b.git/HEAD": "ref: refs/heads/x\n", "b.git/refs/x": "x", "b.git/objects/x": "x"}


@pytest.mark.parametrize("part", BARE)
def test_a_bare_repository_that_an_earlier_subtask_has_begun_is_not_completed(
    tmp_path: Path, part: str
):
    repo = LaidOut.prepare(tmp_path, {name: text for name, text in BARE.items() if name != part})
    agent = f"mkdir -p {part.rpartition('/')[0]}; echo ref: refs/heads/x > {part}"

    want = f"{scope.EMBEDDED} Details: b.git"
    assert judged(repo, agent, files=()) == want


@pytest.mark.parametrize(
    ("agent", "want"),
    [
        pytest.param("echo x > src.txt", "", id="is in nobody's way"),
        pytest.param("rm -r b.git", "", id="may be removed"),
        pytest.param(
            "echo '[core]' > b.git/config",
            f"{scope.EMBEDDED} Details: b.git",
            id="is not given a configuration",
        ),
        pytest.param(
            "mkdir b.git/hooks; echo x > b.git/hooks/post-checkout",
            f"{scope.EMBEDDED} Details: b.git",
            id="is not given a hook",
        ),
    ],
)
def test_a_bare_repository_that_is_on_the_branch(tmp_path: Path, agent: str, want: str):
    assert judged(LaidOut.prepare(tmp_path, BARE), agent, files=()) == want


@pytest.mark.parametrize(
    ("agent", "want"),
    [
        pytest.param("echo x > src/new.c", "", id="a folder"),
        pytest.param("mkdir src/v1; echo x > src/v1/new.c", "", id="a folder's folder"),
        pytest.param("rm -r src; echo x > src", "", id="a folder that becomes a file"),
        pytest.param(
            "rm README.md; mkdir README.md; echo x > README.md/conftest.py",
            OUTSIDE + "README.md/conftest.py",
            id="a file that becomes a folder",
        ),
        pytest.param("mkdir new; echo x > new/a", OUTSIDE + "new/a", id="a new folder"),
    ],
)
def test_name_without_wildcards_means_what_is_in_it_if_it_was(repo: LaidOut, agent: str, want: str):
    assert judged(repo, agent, files=("README.md", "src", "new")) == want


def test_a_huge_file_that_is_so_on_the_branch_is_in_nobodys_way(tmp_path: Path):
    repo = LaidOut.prepare(tmp_path, {"big": "\0" * (101 << 20)})

    assert judged(repo, "echo x >> README.md") == ""


def test_a_renamed_file_counts_as_a_new_one(repo: LaidOut):
    want = f"{scope.TOO_MANY} Details: src/new.sh"

    assert judged(repo, "mv src/tool.sh src/new.sh", max_new_files=0) == want


def test_a_hundred_thousand_ignored_odd_files_are_looked_up_at_once(repo: LaidOut):
    repo.work(
        "echo pipes > src/.gitignore; mkdir src/pipes; python3 -c 'import os\n"
        'for n in range(100_000): os.mkfifo(f"src/pipes/{n}")\''
    )

    assert [change.path for change in repo.take().changes] == ["src/.gitignore"]


def test_twenty_thousand_huge_files_are_looked_up_at_once(repo: LaidOut):
    script = """python3 -c '
for n in range(20_000):
    with open(f"src/{n}", "wb") as file: file.truncate(101 << 20)'"""

    assert judged(repo, script) == f"{unsafe_files.HUGE} Details: src/0"


def test_a_hundred_thousand_new_files_are_out_of_scope_and_few_are_named(repo: LaidOut):
    want = f"{scope.TOO_MANY} Details: src/0, src/1, src/10, src/100"

    message = judged(repo, 'python3 -c \'for n in range(100_000): open(f"src/{n}", "w")\'')

    assert message.startswith(want)
    assert message.endswith(" and others")
