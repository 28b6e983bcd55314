"""The agent program's configuration in a HOME where an agent has been at work before."""

import subprocess
from pathlib import Path

import pytest

from afresh.episode.agent_home import write_home
from tests.episode.privileges import bound_by_permissions

FILES = {".tool/config.toml": "key = 1\n", ".tool.json": "{}\n"}


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder of the runner's own, with a file of each name that is written into HOME."""
    folder = tmp_path / "outside"
    for name in ("config.toml", ".tool/config.toml", ".tool.json"):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("the runner's own")
    return folder


def test_an_empty_home_gets_the_files_and_nobody_else_may_read_them(tmp_path: Path):
    write_home(tmp_path, FILES)

    found = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert found == set(FILES)
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in FILES} == {0o600}


ATTACKS = [
    pytest.param("ln -s {outside} .tool", id="the folder is a link"),
    pytest.param("mkdir .tool; ln -s {outside}/config.toml .tool/config.toml", id="a file is"),
    pytest.param("ln -s {outside}/.tool.json .tool.json", id="a file in HOME itself is"),
    pytest.param("ln {outside}/.tool.json .tool.json", id="a file has a second name outside"),
    pytest.param("ln -s /nowhere .tool; ln -s /nowhere .tool.json", id="links lead nowhere"),
    pytest.param("mkfifo .tool.json; mkdir .tool; mkfifo .tool/config.toml", id="FIFOs are there"),
    pytest.param("echo x > .tool", id="the folder is a file"),
    pytest.param("mkdir -p .tool.json/a; ln -s {outside} .tool.json/b", id="a file is a folder"),
    pytest.param(
        "mkdir .tool; echo x > .tool/config.toml; chmod 0 .tool/config.toml .tool", id="locked"
    ),
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_an_agent_has_planted_is_replaced_and_nothing_outside_is_written(
    tmp_path: Path, outside: Path, attack: str
):
    home = tmp_path / "home"
    home.mkdir()
    subprocess.run(["sh", "-c", attack.format(outside=outside)], cwd=home, check=True, timeout=120)

    with bound_by_permissions():
        write_home(home, FILES)

    assert {name: (home / name).read_text() for name in FILES} == FILES
    assert not any((home / name).is_symlink() for name in (*FILES, ".tool"))
    kept = {path.read_text() for path in outside.rglob("*") if path.is_file()}
    assert kept == {"the runner's own"}
