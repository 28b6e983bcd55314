"""The project as the tests of a release have it: here, or a copy that may be changed."""

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
_COPIED = (
    "pyproject.toml", "README.md", "LICENSE", "NOTICE", "CHANGELOG.md", "changes", "charts", "crds",
    "deploy/manifests",
)  # fmt: skip


def copy_of_the_project(directory: Path) -> Path:
    """Copy what a version is written in, and what is released besides the images."""
    target = directory / "project"
    target.mkdir()
    for name in _COPIED:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target / name)
        else:
            shutil.copy(ROOT / name, target / name)
    sources = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "controller", target / "controller", ignore=sources)
    return target
