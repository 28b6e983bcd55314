"""The change log: what waits parses, and what is collected is not lost."""

from pathlib import Path

import pytest

from tools.release.changelog import (
    KINDS,
    ChangelogError,
    Fragment,
    collect,
    fragments,
    has_section,
    main,
    notes,
    section,
)
from tools.release.tests.project import ROOT, copy_of_the_project

PAGE = "# Changes\n\n<!-- newest first -->\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / "README.md").write_text("How to write one\n")
    (tmp_path / "CHANGELOG.md").write_text(PAGE)
    return tmp_path


def write(repository: Path, **texts: str) -> None:
    for name, text in texts.items():
        (repository / "changes" / f"{name.replace('__', '.')}.md").write_text(text)


def test_every_fragment_of_the_project_parses() -> None:
    waiting = fragments(ROOT)

    assert {item.kind for item in waiting} <= set(KINDS)


def test_the_page_on_fragments_names_every_kind() -> None:
    page = (ROOT / "changes" / "README.md").read_text()

    assert [kind for kind in KINDS if f"| `{kind}` |" in page] == list(KINDS)


def test_a_fragment_over_several_lines_is_one_sentence(repository: Path) -> None:
    write(repository, gates__added="A gate for\neach key.\n")

    assert fragments(repository) == (Fragment("gates", "added", "A gate for each key."),)


@pytest.mark.parametrize(
    ("name", "text", "want"),
    [
        pytest.param("gates.md", "A gate.", "changes/gates.md names no kind", id="no kind"),
        pytest.param("gates.new.md", "A gate.", "with a kind of added, changed", id="other kind"),
        pytest.param("gates.added.txt", "A gate.", "names no kind", id="not Markdown"),
        pytest.param(".added.md", "A gate.", "names no kind", id="no slug"),
        pytest.param("gates.added.md", "A gate", "is not a sentence", id="no full stop"),
        pytest.param("gates.added.md", "", "is not a sentence", id="empty"),
        pytest.param("gates.added.md", "- A gate.", "is not a sentence", id="a list"),
        pytest.param("gates.added.md", "a" * 300 + ".", "over 300 characters", id="too long"),
    ],
)
def test_a_fragment_that_does_not_parse_is_named_with_the_remedy(
    repository: Path, name: str, text: str, want: str
) -> None:
    (repository / "changes" / name).write_text(text)

    with pytest.raises(ChangelogError, match=want):
        fragments(repository)


def test_a_section_has_the_kinds_that_occur_in_their_order() -> None:
    waiting = (
        Fragment("a", "security", "Closed."),
        Fragment("b", "added", "One."),
        Fragment("c", "added", "Two."),
    )

    text = section("1.2.3", "2026-01-31", waiting)

    assert text == (
        "## 1.2.3 (2026-01-31)\n\n### Added\n\n- One.\n- Two.\n\n### Security\n\n- Closed.\n"
    )


def test_the_newest_section_stands_first_and_each_can_be_read_alone(repository: Path) -> None:
    write(repository, one__added="One.")
    collect(repository, "1.0.0", "2026-01-01")
    write(repository, two__fixed="Two.")

    assert collect(repository, "1.1.0", "2026-02-01") == 1

    assert notes(repository, "1.0.0") == "## 1.0.0 (2026-01-01)\n\n### Added\n\n- One.\n"
    assert (repository / "CHANGELOG.md").read_text() == (
        f"{PAGE}\n{notes(repository, '1.1.0')}\n{notes(repository, '1.0.0')}"
    )
    assert [path.name for path in (repository / "changes").iterdir()] == ["README.md"]


def test_a_version_that_begins_like_another_is_not_taken_for_it(repository: Path) -> None:
    write(repository, one__added="One.")
    collect(repository, "1.0.10", "2026-01-01")

    assert not has_section(repository, "1.0.1")
    with pytest.raises(ChangelogError, match=r"has no section 1\.0\.1: run `make changelog"):
        notes(repository, "1.0.1")


def test_a_release_without_a_change_is_refused(repository: Path) -> None:
    with pytest.raises(ChangelogError, match="has no fragments"):
        collect(repository, "1.0.0", "2026-01-01")


def test_a_version_that_has_a_section_is_refused_and_nothing_is_moved(repository: Path) -> None:
    write(repository, one__added="One.")
    collect(repository, "1.0.0", "2026-01-01")
    write(repository, two__added="Two.")

    with pytest.raises(ChangelogError, match=r"has a section 1\.0\.0 already"):
        collect(repository, "1.0.0", "2026-01-01")

    assert len(fragments(repository)) == 1


@pytest.mark.apiserver
def test_one_command_collects_and_sets_the_version_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = copy_of_the_project(tmp_path)
    (project / "changes" / "news.added.md").write_text("News.\n")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1790000000")

    assert main(["7.8.9"], project) == 0

    assert "- News.\n" in notes(project, "7.8.9")
    assert notes(project, "7.8.9").startswith("## 7.8.9 (2026-09-21)\n")
    assert 'version = "7.8.9"\n' in (project / "pyproject.toml").read_text()
    assert "The version is 7.8.9 in every file" in capsys.readouterr().out


@pytest.mark.parametrize("version", ["1.2", "v1.2.3", "1.2.3-rc1", "01.2.3", "1.2.3\n"])
def test_what_is_no_version_is_refused_with_one_sentence(
    version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([version], tmp_path) == 1

    assert capsys.readouterr().err.endswith("write three numbers, such as VERSION=1.2.3.\n")
