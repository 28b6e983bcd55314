"""The acceptance commands that a repository seems to have, the likeliest first. Pure."""

import json
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

Read = Callable[[str], str | None]

_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_TARGETS = ("test", "tests", "check")
# What `npm init` writes.
_NO_TEST = "no test specified"
_TEST_FILES = ("test_*.py", "*_test.py", "tests/test_*.py", "tests/*_test.py", "tests/*/test_*.py")
# The lock file, the program and how it installs what is locked.
_NODE = (
    ("pnpm-lock.yaml", "pnpm", ("pnpm", "install", "--frozen-lockfile")),
    ("yarn.lock", "yarn", ("yarn", "install", "--frozen-lockfile")),
    ("package-lock.json", "npm", ("npm", "ci")),
)
# A file of the root, and the command that goes with it.
_BY_FILE = (
    ("go.mod", ("go", "test", "./...")),
    ("Cargo.toml", ("cargo", "test")),
    ("gradlew", ("./gradlew", "test")),
    ("build.gradle", ("gradle", "test")),
    ("build.gradle.kts", ("gradle", "test")),
    ("mvnw", ("./mvnw", "--batch-mode", "test")),
    ("pom.xml", ("mvn", "--batch-mode", "test")),
    ("mix.exs", ("mix", "test")),
    (".rspec", ("bundle", "exec", "rspec")),
    ("*.sln", ("dotnet", "test")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyCandidate:
    """A command that may accept work, and where it was found."""

    command: tuple[str, ...]
    source: str
    setup: tuple[str, ...] | None = None
    """What must run before it in a clean checkout."""


def find_candidates(files: Collection[str], read: Read) -> list[VerifyCandidate]:
    """Return the candidates of a repository with these files, each command once."""
    found = [*_of_make(files, read), *_of_node(files, read), *_of_python(files, read)]
    root = [path for path in files if "/" not in path]
    programs = set()
    for pattern, command in _BY_FILE:
        name = next((path for path in root if fnmatchcase(path, pattern)), None)
        # A wrapper in the repository stands for the program of the same name.
        program = command[0].removeprefix("./").removesuffix("w")
        if name and program not in programs:
            programs.add(program)
            found.append(VerifyCandidate(command=command, source=name))
    return found


def _of_make(files: Collection[str], read: Read) -> Iterator[VerifyCandidate]:
    # make takes the first of these names that there is.
    name = next((name for name in _MAKEFILES if name in files), None)
    text = read(name) if name else None
    for target in _TARGETS:
        if name and re.search(rf"^{target}[ \t]*::?(?!=)", text or "", re.MULTILINE):
            yield VerifyCandidate(command=("make", target), source=f"target {target} of {name}")
    text = read("justfile")
    if re.search(r"^test\b[^\n]*:(?!=)", text or "", re.MULTILINE):
        yield VerifyCandidate(command=("just", "test"), source="recipe test of justfile")


def _of_node(files: Collection[str], read: Read) -> Iterator[VerifyCandidate]:
    try:
        package = json.loads(read("package.json") or "{}")
    except (ValueError, RecursionError):
        return
    scripts = package.get("scripts") if isinstance(package, dict) else None
    script = scripts.get("test") if isinstance(scripts, dict) else None
    if not isinstance(script, str) or _NO_TEST in script:
        return
    program, setup = next(
        ((program, setup) for lock, program, setup in _NODE if lock in files), ("npm", None)
    )
    yield VerifyCandidate(
        command=(program, "test"), source="script test of package.json", setup=setup
    )


def _of_python(files: Collection[str], read: Read) -> Iterator[VerifyCandidate]:
    for name, command in (("noxfile.py", ("nox",)), ("tox.ini", ("tox",))):
        if name in files:
            yield VerifyCandidate(command=command, source=name)
    project = read("pyproject.toml") or ""
    tests = next((path for path in files if any(fnmatchcase(path, p) for p in _TEST_FILES)), None)
    if "pytest" in project or "pytest.ini" in files or "conftest.py" in files:
        source = "pyproject.toml" if "pytest" in project else "pytest.ini or conftest.py"
    elif tests and "pytest" in (read(tests) or ""):
        source = tests
    elif tests:
        yield VerifyCandidate(command=("python3", "-m", "unittest"), source=tests)
        return
    else:
        return
    prefix = ("uv", "run") if "uv.lock" in files else ("python3", "-m")
    yield VerifyCandidate(command=(*prefix, "pytest", "-q"), source=source)
