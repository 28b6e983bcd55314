from pathlib import Path

import pytest

from tools.singlenode import image_recipe
from tools.singlenode.errors import ClusterError
from tools.singlenode.image_recipe import ImageRecipe, copied_sources


@pytest.mark.parametrize(
    ("dockerfile", "want"),
    [
        pytest.param("FROM x\nRUN cp a b", [], id="nothing is copied"),
        pytest.param("COPY a /b", ["a"], id="one file"),
        pytest.param("COPY a b c/ /d/", ["a", "b", "c/"], id="several"),
        pytest.param("copy --chown=1:1 a /b", ["a"], id="small letters and a flag"),
        pytest.param("COPY --from=build /a /b", [], id="from another stage"),
        pytest.param("COPY a \\\n  b \\\n  /c", ["a", "b"], id="over several lines"),
        pytest.param("# COPY a /b\nADD c /d", ["c"], id="a comment, and ADD"),
    ],
)
def test_the_sources_of_a_dockerfile_are_what_it_copies_from_the_repository(
    dockerfile: str, want: list[str]
) -> None:
    assert copied_sources(dockerfile) == want


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(image_recipe, "REPOSITORY", tmp_path)
    monkeypatch.setattr(image_recipe, "IMAGES", tmp_path / "images")
    for name, content in {
        "images/app/Dockerfile": "FROM x\nCOPY source one.txt /app/\n",
        ".dockerignore": "# Nothing of these.\n**/__pycache__\nsource/*/tests\n",
        "source/main.py": "print(1)\n",
        "source/deep/more.py": "print(2)\n",
        "one.txt": "1",
        "other.txt": "2",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    return tmp_path


def _add(repository: Path, name: str) -> None:
    (repository / name).parent.mkdir(parents=True, exist_ok=True)
    (repository / name).touch()


def _rename(repository: Path) -> None:
    (repository / "source/main.py").rename(repository / "source/start.py")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda r: (r / "source/main.py").write_text("print(3)\n"), id="a file"),
        pytest.param(lambda r: (r / "source/deep/more.py").unlink(), id="a file less"),
        pytest.param(lambda r: (r / "source/deep/new.py").touch(), id="an empty file more"),
        pytest.param(lambda r: _add(r, "source/tests/a.py"), id="tests that are not left out"),
        pytest.param(lambda r: _add(r, "source/a/b/tests/a.py"), id="tests that lie deeper"),
        pytest.param(lambda r: (r / "source/main.py").chmod(0o755), id="a mode"),
        pytest.param(_rename, id="a name"),
        pytest.param(lambda r: (r / "images/app/Dockerfile").write_text("FROM y"), id="the recipe"),
    ],
)
def test_what_goes_into_an_image_changes_its_key(repository: Path, change) -> None:
    before = ImageRecipe("app").key("base")

    change(repository)

    assert ImageRecipe("app").key("base") != before


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda r: (r / "other.txt").write_text("3"), id="a file that is not copied"),
        pytest.param(lambda r: _add(r, "source/__pycache__/main.pyc"), id="a cache of Python"),
        pytest.param(lambda r: _add(r, "source/deep/__pycache__/a.pyc"), id="a deep cache"),
        pytest.param(lambda r: _add(r, "source/deep/tests/more/test_a.py"), id="a tool's tests"),
        pytest.param(lambda r: (r / "source/main.py").touch(), id="a time"),
    ],
)
def test_what_goes_into_no_image_leaves_its_key(repository: Path, change) -> None:
    before = ImageRecipe("app").key("base")

    change(repository)

    assert ImageRecipe("app").key("base") == before


def test_another_base_changes_the_key(repository: Path) -> None:
    assert ImageRecipe("app").key("base") != ImageRecipe("app").key("another")


def test_an_unknown_image_is_refused_with_the_known_ones(repository: Path) -> None:
    with pytest.raises(ClusterError, match="no image ap: choose from app"):
        ImageRecipe("ap").key("base")


def test_a_missing_source_is_named(repository: Path) -> None:
    (repository / "one.txt").unlink()

    with pytest.raises(ClusterError, match=r"one\.txt is missing, and the image app copies it"):
        ImageRecipe("app").key("base")
