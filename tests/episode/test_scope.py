"""Which files a subtask may change."""

import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afresh.episode.git.scope import (
    EMBEDDED,
    OUTSIDE,
    TOO_MANY,
    FileChange,
    allowed,
    literal_names,
    scope_problem,
)
from tests.episode.pod import CONTROLLER, make_task


@pytest.mark.parametrize(
    ("glob", "path", "want"),
    [
        ("api/tokens.py", "api/tokens.py", True),
        ("api/tokens.py", "api/tokens.pyc", False),
        ("api/tokens.py", "xapi/tokens.py", False),
        ("api.py", "apixpy", False),
        ("*.py", "a.py", True),
        ("*.py", "api/a.py", False),
        ("api/*.py", "api/a.py", True),
        ("api/*.py", "api/v1/a.py", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "api/v1/a.py", True),
        ("api/**", "api", False),
        ("api/**/a.py", "api/a.py", True),
        ("api/**/a.py", "api/v1/v2/a.py", True),
        ("api/**/a.py", "api/v1/ba.py", False),
        ("api", "api/v1/a.py", False),
        ("README.md", "README.md/conftest.py", False),
        ("api/*", "api/v1/a.py", False),
        ("api/*/", "api/v1/a.py", True),
        ("api/*/", "api/v1", False),
        ("api/v?", "api/v1/a.py", False),
        ("api/**", "api/v1/a.py", True),
        ("api/", "api/v1/a.py", True),
        ("api/", "apis/a.py", False),
        ("?.py", "a.py", True),
        ("?.py", "ab.py", False),
        ("a?b", "a/b", False),
        ("[ab].py", "b.py", True),
        ("[!ab].py", "b.py", False),
        ("[!ab].py", "c.py", True),
        ("a[!x]b", "a/b", False),
        ("[a-c].py", "b.py", True),
        ("[]a].py", "].py", True),
        ("[^a].py", "^.py", True),
        ("[[].py", "[.py", True),
        ("app/[[]slug]/page.tsx", "app/[slug]/page.tsx", True),
        ("app/[user-id]/page.tsx", "app/[user-id]/page.tsx", True),
        ("app/[user-id]/page.tsx", "app/u/page.tsx", False),
        ("[a--b].py", "[a--b].py", True),
        ("[--a&&~~||].py", "|.py", True),
        ("[a-].py", "-.py", True),
        ("[a", "[a", True),
        ("a[]b", "a[]b", True),
        ("a[!]b", "a[!]b", True),
        ("a+b(c).{py}", "a+b(c).{py}", True),
        ("a\\b", "a\\b", True),
        ("*", "line\nend", True),
        ("docs/**/*.md", "docs/über/ä.md", True),
    ],
)
def test_glob_matches_as_it_is_documented(glob: str, path: str, want: bool):
    assert allowed((glob,), path) is want


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        pytest.param("*a*a*a*a*a*b", "a" * 250, id="wildcards in a name"),
        pytest.param("**/**/**/**/**/**/*.py", "a/" * 2000, id="folders of folders"),
        pytest.param("**/a/**/a/**/a/**/a/**/b", "a/" * 2000, id="folders among folders"),
        pytest.param("**a**a**a**a**b", "a" * 4000, id="wildcards over folders"),
        pytest.param("**a*a**a*a**a*a**b", "a" * 4000, id="wildcards of both kinds"),
        pytest.param("a**/a**/a**/a**/a**/a**/b", "a/" * 2000, id="folders after letters"),
    ],
)
def test_glob_that_does_not_match_takes_no_more_than_a_few_passes_over_a_path(glob: str, path: str):
    # The kernel ends what takes far longer: the number of ways to share the path out is huge.
    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_CPU, (20, 20)); "
        "from afresh.episode.git.scope import allowed; "
        "print(allowed((sys.argv[1],), sys.argv[2]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, glob, path],
        env={"PYTHONPATH": str(CONTROLLER)},
        check=False,
        timeout=300,
        capture_output=True,
        text=True,
    )

    assert (done.stdout, done.returncode) == ("False\n", 0), done.stderr


# What each wildcard may stand for, told as plainly as can be.
STANDS_FOR = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]", "[ab]": "[ab]"}


@given(
    st.lists(st.sampled_from([*STANDS_FOR, "/**/", "a", "b", "/", "a/"]), min_size=1, max_size=8),
    st.text("ab/", min_size=1, max_size=14),
)
def test_glob_of_any_wildcards_matches_what_they_stand_for(pieces: list[str], path: str):
    glob = "".join(pieces).rstrip("/")
    tokens = re.findall(r"\*\*/|\*\*|\*|\?|\[ab\]|.", glob)
    want = "".join(STANDS_FOR.get(token, token) for token in tokens)

    assert allowed((glob,), path) is bool(re.fullmatch(want, path))
    assert allowed((f"{glob}/",), path) is bool(re.fullmatch(f"{want}/.*", path))


@pytest.mark.parametrize(
    ("glob", "want"),
    [
        pytest.param("api/v1", "api/v1", id="a name"),
        pytest.param("app/[[]slug]", "app/[slug]", id="a name with a bracket"),
        pytest.param("app/[user-id]", "app/[user-id]", id="a bracket that begins no set"),
        pytest.param("app/[ab]", None, id="a set"),
        pytest.param("app/*", None, id="a wildcard"),
        pytest.param("ap?", None, id="a wildcard for one"),
    ],
)
def test_name_without_wildcards_means_what_is_in_it_where_it_is_a_folder(
    glob: str, want: str | None
):
    assert literal_names((glob,)) == ({glob: want} if want else {})
    if want:
        assert allowed((glob,), f"{want}/a.py", {glob})
        assert not allowed((glob,), f"{want}x/a.py", {glob})


def test_no_globs_allow_everything():
    assert allowed((), "any/thing")


@pytest.mark.parametrize(
    ("change", "want"),
    [
        pytest.param(FileChange(path="a", status="A", mode="100644"), None, id="a file is added"),
        pytest.param(FileChange(path="b", status="D", mode="000000"), None, id="a file is deleted"),
        pytest.param(
            FileChange(path="c", status="M", mode="100644"),
            f"{OUTSIDE} Details: c",
            id="another file is changed",
        ),
        pytest.param(
            FileChange(path="a", status="A", mode="160000"),
            f"{EMBEDDED} Details: a",
            id="a link to a commit is added",
        ),
        pytest.param(
            FileChange(path="a", status="D", mode="160000"),
            None,
            id="a link to a commit is removed",
        ),
    ],
)
def test_change_is_in_scope_or_named(change: FileChange, want: str | None):
    assert scope_problem(make_task(files=("a", "b")), [change]) == want


def test_new_files_are_counted_and_changed_ones_are_not():
    changes = [FileChange(path=f"f{n}", status="A", mode="100644") for n in range(6)]
    changes += [FileChange(path="g", status="M", mode="100644")]

    assert scope_problem(make_task(max_new_files=6), changes) is None
    assert scope_problem(make_task(max_new_files=5), changes) == (
        f"{TOO_MANY} Details: f0, f1, f2, f3, f4 and others"
    )
