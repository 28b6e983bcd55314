"""When a release may be made: a clean tree, one version, a section in the change log."""

import os
import subprocess
from pathlib import Path

import pytest

from tools.release import build, changelog, versions
from tools.release.tests.project import copy_of_the_project

VERSION = "7.8.9"


def git(repository: Path, *words: str) -> None:
    author = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com"}
    committer = {key.replace("AUTHOR", "COMMITTER"): value for key, value in author.items()}
    dates = {"GIT_AUTHOR_DATE": "1790000000 +0000", "GIT_COMMITTER_DATE": "1790000000 +0000"}
    environment = {**os.environ, **author, **committer, **dates}
    subprocess.run(["git", *words], cwd=repository, env=environment, check=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A commit from which version 7.8.9 can be released."""
    project = copy_of_the_project(tmp_path)
    (project / "changes" / "news.added.md").write_text("News.\n")
    (project / ".gitignore").write_text("/dist/\n")
    changelog.collect(project, VERSION, "2026-01-31")
    versions.write(project, VERSION)
    git(project, "init", "--quiet")
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message", "Release")
    return project


def test_a_commit_with_everything_can_be_released_with_its_own_time(repository: Path) -> None:
    (repository / "dist").mkdir()
    (repository / "dist" / "old").touch()

    build.require_ready(repository, VERSION)

    release = build.release_of(repository, VERSION)
    assert (release.seconds, release.target) == (1_790_000_000, repository / "dist")


@pytest.mark.parametrize(
    ("path", "want"),
    [
        pytest.param("README.md", "the tree has changes, such as README.md: commit", id="changed"),
        pytest.param("new.py", "the tree has changes, such as new.py: commit", id="untracked"),
    ],
)
def test_a_tree_with_changes_is_refused(repository: Path, path: str, want: str) -> None:
    with (repository / path).open("a") as file:
        file.write("more\n")

    with pytest.raises(build.TreeError, match=want):
        build.require_ready(repository, VERSION)


def test_another_version_than_the_projects_is_refused(repository: Path) -> None:
    with pytest.raises(versions.VersionError, match=r"has 7\.8\.9, not 8\.0\.0: run `make change"):
        build.require_ready(repository, "8.0.0")


def test_a_version_without_a_section_is_refused(repository: Path) -> None:
    (repository / "CHANGELOG.md").write_text("# Changes\n")
    git(repository, "commit", "--quiet", "--all", "--message", "Forget")

    with pytest.raises(changelog.ChangelogError, match=r"has no section 7\.8\.9"):
        build.require_ready(repository, VERSION)


def test_manifests_that_are_not_current_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "operator" / "operator.yaml"
    path.parent.mkdir()
    path.write_text("image: afresh/operator:1.0.0\n")

    build.require_current({path: "image: afresh/operator:1.0.0\n"})
    with pytest.raises(build.TreeError, match=r"operator/operator\.yaml differs from the charts"):
        build.require_current({path: "image: afresh/operator:1.1.0\n"})


def test_a_directory_that_is_no_repository_is_refused(tmp_path: Path) -> None:
    with pytest.raises(build.TreeError, match="git status failed: fatal: not a git repository"):
        build.require_ready(tmp_path, VERSION)


def test_the_sums_name_every_file_and_hold(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "one").write_bytes(b"1" * 100_000)
    (tmp_path / "two").write_bytes(b"2")

    build.write_sums(tmp_path)
    build.write_sums(tmp_path)

    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "images/one: OK\ntwo: OK\n"
