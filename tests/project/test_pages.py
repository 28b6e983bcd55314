"""The pages for contributors: links that lead somewhere, a licence that is whole, no inventions."""

import hashlib
import re
import tomllib

import pytest
import yaml

from tests.project.makefile import ROOT, TARGETS, called

PAGES = ["CONTRIBUTING.md", "STYLE.md", "SECURITY.md", "CHANGELOG.md", "changes/README.md"]
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)\)")
# Of the text that the foundation publishes, with its appendix.
LICENSE_DIGEST = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"


@pytest.mark.parametrize("page", PAGES)
def test_a_link_leads_to_a_file(page: str) -> None:
    source = ROOT / page

    for link in LINK.findall(source.read_text()):
        assert (source.parent / link).exists(), link


def test_every_path_that_the_pages_name_exists() -> None:
    text = "".join((ROOT / page).read_text() for page in PAGES)
    named = set(
        re.findall(r"`((?:controller|deploy|docs|tests|tools|charts|\.github)/[\w./-]*\w)`", text)
    )

    named = {path.replace("NAME", "claude") for path in named}  # one of several
    assert len(named) > 5
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_the_licence_is_the_whole_text_and_its_owner_is_said_in_one_way() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert hashlib.sha256((ROOT / "LICENSE").read_bytes()).hexdigest() == LICENSE_DIGEST
    assert project["license"] == "Apache-2.0"
    assert project["authors"] == [{"name": "The Afresh authors"}]
    assert (ROOT / "NOTICE").read_text() == "Afresh\nCopyright The Afresh authors\n"


def test_what_runs_before_a_commit_is_this_projects_own_targets() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]

    assert [repo["repo"] for repo in hooks] == ["local"]
    for hook in hooks[0]["hooks"]:
        assert hook["language"] == "system"
        assert called(hook["entry"]) <= TARGETS
        assert hook["entry"].startswith("make ")
