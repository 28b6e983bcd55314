"""Whether globs may mean the same file, and how the paths of conflicts are kept short."""

import pytest

from afresh.contract.overlap import LONGEST_PATH, MOST_PATHS, bounded, overlap


@pytest.mark.parametrize(
    ("one", "other", "want"),
    [
        pytest.param("a.py", "a.py", True, id="the same file"),
        pytest.param("a.py", "b.py", False, id="two files"),
        pytest.param("a.py", "a.pyc", False, id="a name that only begins like the other"),
        pytest.param("src", "src/a.py", True, id="a folder and a file in it"),
        pytest.param("src/", "src/a.py", True, id="a folder written as one"),
        pytest.param("src/f1", "src/f10", False, id="numbered names"),
        pytest.param("src/*.py", "src/a.md", True, id="a glob is judged by how it begins"),
        pytest.param("src/**", "docs/**", False, id="two folders"),
        pytest.param("**", "docs/a.md", True, id="any file"),
        pytest.param("**/test_*.py", "src/a.py", True, id="a glob that begins with any folder"),
        pytest.param("do*", "docs/a.md", True, id="a glob in the middle of a name"),
        pytest.param("docs/a.md", "docs/a[b].md", True, id="a set of characters"),
    ],
)
def test_globs_overlap_where_they_may_mean_the_same_file(one: str, other: str, want: bool) -> None:
    assert overlap([one], ["other.txt", other]) is want
    assert overlap([other], ["more.txt", one]) is want


@pytest.mark.parametrize(
    "path",
    ["a.py", "x" * 300, "é.md", "src/<b>.md", "a\nb", "a[1].txt", "", '"', "src/**", "a*"],
)
def test_a_path_that_is_kept_means_at_least_the_same_file(path: str) -> None:
    kept = bounded([path])

    assert len(kept) == 1
    assert len(kept[0]) <= LONGEST_PATH
    assert kept[0].isascii()
    assert overlap(kept, [path])
    assert bounded(kept) == kept


def test_many_paths_become_their_folders_and_too_many_become_any() -> None:
    assert bounded(f"src/{n}.py" for n in range(MOST_PATHS + 1)) == ("src/**",)
    assert bounded(f"{n}.py" for n in range(MOST_PATHS + 1)) == ("**",)
    assert bounded([]) == ()
