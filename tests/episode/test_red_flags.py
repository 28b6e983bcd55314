"""Hints for whoever reviews a change: what is worth a look, and what is not."""

from pathlib import Path

import pytest

from afresh.contract.words import Outcome
from afresh.episode.git import red_flags
from tests.episode.laid_out import LaidOut
from tests.episode.pod import Pod, make_order
from tests.episode.servers import Remote

FILES = {"old.py": "class OldService:\n    pass\n", "app.py": 'choices = ["a"]\nx = 1\n'}


@pytest.fixture
def repo(tmp_path: Path) -> LaidOut:
    return LaidOut.prepare(tmp_path, FILES)


def flags(repo: LaidOut) -> tuple[str, ...]:
    return red_flags.look_at(repo.git, repo.take())


NAME = "A new type is called {} in {}: what does it do?"
BARE = "Nothing new uses or implements the interface {} in {}."
CHOICE = "A setting in {} has a single choice: is it needed?"

FLAGGED = [
    ("a.py", "class TokenService:\n", NAME.format("TokenService", "a.py")),
    ("a.ts", "export class UserManager {}\n", NAME.format("UserManager", "a.ts")),
    ("a.go", "type JobManager struct {\n", NAME.format("JobManager", "a.go")),
    ("a.java", "interface Store {\n  void put();\n}\n", BARE.format("Store", "a.java")),
    ("a.go", "type Store interface {\n\tPut()\n}\n", BARE.format("Store", "a.go")),
    ("a.py", "class Store(Protocol):\n", BARE.format("Store", "a.py")),
    ("a.cs", "public abstract class Shape {\n", BARE.format("Shape", "a.cs")),
    ("a.rs", "pub trait Draw {\n}\n", BARE.format("Draw", "a.rs")),
    ("a.py", 'p.add_argument("--db", choices=["sqlite"])\n', CHOICE.format("a.py")),
    ("a.py", '@option("--db", type=click.Choice(["sqlite"]))\n', CHOICE.format("a.py")),
    ("a.yaml", "backend: {type: string, enum: [sqlite]}\n", CHOICE.format("a.yaml")),
    ("a.json", '{"type": "string", "enum": ["sqlite"]}\n', CHOICE.format("a.json")),
]
PLAIN = [
    ("a.py", "class ServiceWorker:\n", "a name that only begins so"),
    ("a.py", "# the class of a TokenService\n", "a name in a sentence"),
    ("a.py", "service = TokenService()\n", "a use"),
    ("a.ts", "interface Point { x: number }\nlet p: Point;\n", "an interface that is used"),
    ("a.py", "class A(Protocol):\n  ...\nclass B(A):\n", "an interface that is implemented"),
    ("a.py", 'choices=["a", "b"]\n', "two choices"),
    ("a.yaml", "enum: [a, b]\n", "two values"),
    ("a.md", "class TokenService:\n", "a text"),
    ("tests/a.py", "class FakeService:\n", "a test"),
    ("moved.py", "class OldService:\n    pass\n", "a type that is moved"),
    ("a.bin", "\0class TokenService:\n", "no text at all"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "want"), FLAGGED, ids=[item[1] for item in FLAGGED])
def test_what_is_worth_a_look_is_named_with_its_file(
    repo: LaidOut, name: str, text: str, want: str
):
    (repo.worktree / name).write_text(text)

    assert flags(repo) == (want,)


@pytest.mark.parametrize(("name", "text", "what"), PLAIN, ids=[item[2] for item in PLAIN])
def test_what_is_common_is_not_named(repo: LaidOut, name: str, text: str, what: str):
    path = repo.worktree / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    (repo.worktree / "old.py").unlink()
    (repo.worktree / "app.py").write_text('choices = ["a"]\nx = 2\n')

    assert flags(repo) == (), what


def test_attributes_of_the_agents_hide_nothing_and_show_no_large_file(repo: LaidOut):
    (repo.worktree / ".gitattributes").write_text("a.py -diff\nlarge.py diff\n")
    (repo.worktree / "a.py").write_text("class TokenService:\n")
    (repo.worktree / "large.py").write_text("class LargeService:\n" * 10_000)

    assert flags(repo) == (NAME.format("TokenService", "a.py"),)


def test_hints_of_a_change_that_is_full_of_them_are_few_and_short(repo: LaidOut):
    for number in range(200):
        lines = (f"interface I{number}x{line} class C{line}Manager" for line in range(1200))
        (repo.worktree / f"{number}.ts").write_text("\n".join(lines))

    found = flags(repo)

    assert len(found) == red_flags.MOST_WARNINGS
    assert max(map(len, found)) <= 200


def test_hints_are_in_the_result_and_change_nothing_of_it(pod: Pod, remote: Remote):
    pod.run(make_order(remote.url, "echo 'class TokenService:' > tokens.py"))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert pod.result.warnings == (NAME.format("TokenService", "tokens.py"),)
