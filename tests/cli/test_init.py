"""`afresh init` writes a first package that is valid, and touches nothing else."""

import hashlib
import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from afresh.cli.__main__ import main
from afresh.cli.init.candidates import find_candidates
from afresh.cli.manifest.checked_file import check_file

CONTROLLER = Path(__file__).parents[2] / "controller"
ORIGIN = "https://git.example.com/team/api.git"
MAKEFILE = "test:\n\t@test -f main.py && touch ran\n"


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]
    done = subprocess.run(
        ["git", "-C", folder, *who, *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def repository(folder: Path, files: dict[str, str], origin: str | None = ORIGIN) -> Path:
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=trunk")
    if origin:
        git(folder, "remote", "add", "origin", origin)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=Begin")
    return folder


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small project with a test; its tests run elsewhere would leave a file `ran`."""
    folder = repository(tmp_path / "Token API", {"main.py": "", "Makefile": MAKEFILE})
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def init(capfd: pytest.CaptureFixture[str]):
    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(("init", *arguments))
        out, err = capfd.readouterr()
        return code, out, err

    return run


def written(clone: Path) -> dict:
    text = (clone / "package.yaml").read_bytes()
    assert check_file("package.yaml", text).faults == ()
    return yaml.safe_load(text)


def digests(clone: Path) -> dict[str, str]:
    return {
        str(path.relative_to(clone)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(clone.rglob("*"))
        if path.is_file()
    }


def test_package_of_a_clone_is_valid_and_has_what_the_clone_says(clone: Path, init) -> None:
    code, out, err = init("--yes")

    assert code == 0
    assert "`make test`: It passes on HEAD." in out
    assert err == "Trying `make test` in a copy of HEAD ...\n  it passes on HEAD.\n"
    package = written(clone)
    assert package["metadata"]["name"] == "token-api-first"
    assert package["spec"]["repository"] == {"url": ORIGIN, "baseRef": "trunk"}
    assert package["spec"]["verify"]["command"] == ["make", "test"]
    assert len(package["spec"]["subtasks"]) == 1


def test_first_line_leads_an_editor_to_the_schema_beside_the_file(clone: Path, init) -> None:
    init("--no-try")

    first = (clone / "package.yaml").read_text().splitlines()[0]
    name = first.removeprefix("# yaml-language-server: $schema=")
    assert json.loads((clone / name).read_text())["title"] == "WorkPackage"


def test_commands_tried_leave_the_clone_as_it_was_and_run_no_hook(clone: Path, init) -> None:
    (clone / "main.py").write_text("changed")
    (clone / "untracked").write_text("mine")
    hook = clone / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch '{clone}/hooked'\n")
    hook.chmod(0o755)
    git(clone, "config", "core.fsmonitor", str(hook))
    before = digests(clone)

    code, _, _ = init("--yes")

    assert code == 0
    after = digests(clone)
    assert after.keys() - before.keys() == {"package.yaml", "workpackage.schema.json"}
    assert {name: after[name] for name in before} == before


def test_copies_are_removed(clone: Path, init, tmp_path: Path, monkeypatch) -> None:
    places = tmp_path / "temporary"
    places.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(places))

    init("--yes")

    assert list(places.iterdir()) == []


def test_command_that_passes_is_chosen_before_one_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, init
) -> None:
    makefile = "test:\n\t@echo 'no compiler \x1b[31mhere' && exit 3\ncheck:\n\t@true\n"
    clone = repository(tmp_path / "a", {"Makefile": makefile})
    monkeypatch.chdir(clone)

    code, out, err = init("--yes")

    assert (code, "`make check`: It passes on HEAD." in out) == (0, True)
    assert "make test fails with exit code 2 on HEAD." in err
    assert "    no compiler here" in err
    assert written(clone)["spec"]["verify"]["command"] == ["make", "check"]


def test_command_that_does_not_end_is_ended_with_all_that_it_started(clone: Path, init) -> None:
    started = clone.parent / "started"

    code, out, _ = init(
        "--yes", "--try-seconds", "1", "--verify", f"sleep 987 & echo $! > '{started}'; wait"
    )

    assert code == 0
    assert "does not end within 1 seconds on HEAD: fix that first" in out
    assert not is_running(int(started.read_text()))


def is_running(pid: int) -> bool:
    """Whether the process is there and is no zombie that nobody waited for."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return status != "Z"


def test_setup_that_a_lock_file_asks_for_is_written_and_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, init
) -> None:
    files = {"package.json": '{"scripts": {"test": "node t.js"}}', "package-lock.json": "{}"}
    clone = repository(tmp_path / "a", files)
    monkeypatch.chdir(clone)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    (tmp_path / "bin").mkdir()
    npm = tmp_path / "bin" / "npm"
    npm.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path / "calls"}\n')
    npm.chmod(0o755)

    code, _, _ = init("--yes")

    assert code == 0
    assert (tmp_path / "calls").read_text() == "ci\ntest\n"
    assert written(clone)["spec"]["setup"]["command"] == ["npm", "ci"]


def test_without_a_terminal_nothing_is_run_unless_it_is_agreed_to(clone: Path, init) -> None:
    code, out, err = init()

    assert (code, err) == (0, "")
    assert "It comes from target test of Makefile and was not tried." in out


class Terminal(io.StringIO):
    """A person who has typed the text."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("answer", "want"), [("y", "It passes on HEAD."), ("n", "was not tried."), ("", "It passes")]
)
def test_on_a_terminal_a_person_is_asked_before_a_command_is_run(
    clone: Path, init, monkeypatch: pytest.MonkeyPatch, answer: str, want: str
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(f"{answer}\n"))

    code, out, err = init()

    assert (code, want in out) == (0, True)
    assert "Run `make test` in a copy of HEAD that is removed again? [Y/n]: " in err


def test_program_that_is_terminated_ends_the_command_and_removes_the_copy(
    clone: Path, tmp_path: Path
) -> None:
    places, started = tmp_path / "temporary", tmp_path / "started"
    places.mkdir()
    command = f"echo $$ > {started}.part && mv {started}.part {started}; sleep 987"
    program = subprocess.Popen(
        [sys.executable, "-m", "afresh.cli", "init", "--yes", "--verify", command],
        env={**os.environ, "PYTHONPATH": str(CONTROLLER), "TMPDIR": str(places)},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while not started.exists():
        assert program.poll() is None
        time.sleep(0.02)

    program.terminate()

    assert program.wait(60) == 143
    assert not is_running(int(started.read_text()))
    assert list(places.iterdir()) == []
    assert not (clone / "package.yaml").exists()


@pytest.mark.parametrize(
    ("typed", "want"),
    [
        ("make test", ["make", "test"]),
        ("pytest -q 'a b'", ["pytest", "-q", "a b"]),
        ("CI=1 make test", ["sh", "-c", "CI=1 make test"]),
        ("make lint && make test", ["sh", "-c", "make lint && make test"]),
    ],
)
def test_command_given_is_written_word_by_word_or_for_a_shell(
    clone: Path, init, typed: str, want: list[str]
) -> None:
    assert init("--verify", typed, "--no-try")[0] == 0

    assert written(clone)["spec"]["verify"]["command"] == want


def test_file_that_exists_is_kept_unless_force_is_given(clone: Path, init) -> None:
    target = clone / "package.yaml"
    target.write_text("mine")

    code, out, err = init("--yes")

    assert (code, out) == (1, "")
    assert err == (
        "error: There is a package.yaml already: use --force to replace it, or -f FILE.\n"
    )
    assert target.read_text() == "mine"

    assert init("--no-try", "--force")[0] == 0
    assert written(clone)["kind"] == "WorkPackage"


def test_dangling_link_is_not_written_through(clone: Path, init) -> None:
    (clone / "package.yaml").symlink_to(clone.parent / "elsewhere")

    assert init("--no-try")[0] == 1

    assert not (clone.parent / "elsewhere").exists()


@pytest.mark.parametrize(
    ("origin", "want"),
    [
        ("https://me:secret@git.example.com/a.git", "https://git.example.com/a.git"),
        ("ssh://git:secret@git.example.com/a.git", "ssh://git@git.example.com/a.git"),
        ("git@git.example.com:team/a.git", "git@git.example.com:team/a.git"),
        ("/srv/git/a.git", "https://git.example.com/TEAM/REPOSITORY.git"),
        (None, "https://git.example.com/TEAM/REPOSITORY.git"),
    ],
)
def test_address_has_no_credentials_and_is_one_that_a_package_may_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, init, origin: str | None, want: str
) -> None:
    clone = repository(tmp_path / "a", {"a": ""}, origin)
    monkeypatch.chdir(clone)

    assert init("--no-try")[0] == 0

    assert written(clone)["spec"]["repository"]["url"] == want
    assert "secret@" not in (clone / "package.yaml").read_text()


def test_repository_without_a_command_is_told_that_all_work_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, init
) -> None:
    clone = repository(tmp_path / "ä", {"a": ""})
    monkeypatch.chdir(clone)

    code, out, _ = init("--yes")

    assert code == 0
    assert "this one accepts all work: replace it" in out
    assert written(clone)["spec"]["verify"]["command"] == ["true"]


def test_folder_that_is_no_clone_and_clone_without_a_commit_are_bad_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, init
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))

    code, out, err = init()

    assert (code, out) == (2, "")
    assert err == (
        f"error: {tmp_path} is in no clone of a git repository: change to one, or run git init.\n"
    )

    git(tmp_path, "init", "--quiet")
    code, _, err = init()

    assert code == 2
    assert "has no commit yet" in err
    assert not (tmp_path / "package.yaml").exists()


def test_head_that_is_detached_in_a_shallow_worktree_is_copied(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, init
) -> None:
    git(clone, "commit", "--quiet", "--allow-empty", "--message=More")
    shallow, tree = tmp_path / "shallow", tmp_path / "tree"
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{clone}", str(shallow))
    git(shallow, "worktree", "add", "--quiet", "--detach", str(tree))
    monkeypatch.chdir(tree)

    code, out, _ = init("--yes")

    assert (code, "It passes on HEAD." in out) == (0, True)
    assert written(tree)["spec"]["repository"]["baseRef"] == "trunk"


def test_variables_that_git_sets_for_hooks_do_not_lead_elsewhere(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, init
) -> None:
    other = repository(tmp_path / "other", {"go.mod": ""})
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))

    assert init("--yes", "-o", "json")[0] == 0

    assert written(clone)["metadata"]["name"] == "token-api-first"


def test_json_has_what_was_chosen_and_tried(clone: Path, init) -> None:
    _, out, _ = init("--yes", "-o", "json")

    told = json.loads(out)
    assert (told["file"], told["verify"]) == ("package.yaml", ["make", "test"])
    assert told["tried"] == [
        {"command": ["make", "test"], "passed": True, "result": "it passes on HEAD."}
    ]


@pytest.mark.parametrize(
    ("files", "want"),
    [
        pytest.param({"Makefile": "all:\ntest: all\n"}, ["make test"], id="make"),
        pytest.param({"Makefile": "test := 1\ntests=2\n"}, [], id="variables of make"),
        pytest.param(
            {"Makefile": "check::\n", "GNUmakefile": "test:\n"}, ["make test"], id="the first name"
        ),
        pytest.param({"justfile": "test *ARGS:\n  x\n"}, ["just test"], id="just"),
        pytest.param(
            {"package.json": '{"scripts": {"test": "jest"}}', "yarn.lock": ""},
            ["yarn test"],
            id="yarn",
        ),
        pytest.param(
            {"package.json": '{"scripts": {"test": "echo Error: no test specified"}}'},
            [],
            id="npm without tests",
        ),
        pytest.param({"package.json": "[" * 99_999}, [], id="nested JSON"),
        pytest.param({"package.json": '{"scripts": ["test"]}'}, [], id="scripts as a list"),
        pytest.param(
            {"pyproject.toml": "[tool.pytest.ini_options]", "uv.lock": ""},
            ["uv run pytest -q"],
            id="uv",
        ),
        pytest.param(
            {"tests/test_a.py": "import pytest"}, ["python3 -m pytest -q"], id="pytest by import"
        ),
        pytest.param({"tests/test_a.py": ""}, ["python3 -m unittest"], id="unittest"),
        pytest.param({"noxfile.py": "", "tox.ini": ""}, ["nox", "tox"], id="nox and tox"),
        pytest.param({"go.mod": ""}, ["go test ./..."], id="Go"),
        pytest.param({"Cargo.toml": ""}, ["cargo test"], id="Rust"),
        pytest.param(
            {"gradlew": "", "build.gradle": "", "pom.xml": ""},
            ["./gradlew test", "mvn --batch-mode test"],
            id="Gradle's wrapper and Maven",
        ),
        pytest.param({"sub/go.mod": "", "sub/Makefile": "test:"}, [], id="only in a folder"),
    ],
)
def test_candidates_are_those_that_the_files_of_the_root_say(
    files: dict[str, str], want: list[str]
) -> None:
    assert [" ".join(item.command) for item in find_candidates(files, files.get)] == want
