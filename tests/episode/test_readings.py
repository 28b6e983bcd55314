"""What the runner reads out of other programs' words: git's, a commit's, a provider's."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afresh.contract.order import Price
from afresh.episode.gateway.model_api import ModelAnswer, TokenCounts
from afresh.episode.gateway.providers.anthropic import AnthropicApi
from afresh.episode.gateway.usage_totals import cost_of
from afresh.episode.git.faults import GitFault, classify
from afresh.episode.git.history import FILES_NAMED, Commit, _parse, find_done, message
from tests.episode.pod import make_order, make_task

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("fatal: couldn't find remote ref refs/heads/x", GitFault.REF_MISSING),
        ("fatal: remote error: upload-pack: not our ref 1234", GitFault.REF_MISSING),
        (
            "fatal: could not read Username for 'http://x': terminal prompts disabled",
            GitFault.DENIED,
        ),
        ("fatal: Authentication failed for 'https://x/'", GitFault.DENIED),
        (
            "fatal: unable to access 'https://x/': The requested URL returned error: 403",
            GitFault.DENIED,
        ),
        ("git@x: Permission denied (publickey).", GitFault.DENIED),
        ("fatal: repository 'https://x/y.git/' not found", GitFault.NOT_FOUND),
        ("fatal: '/y' does not appear to be a git repository", GitFault.NOT_FOUND),
        ("fatal: transport 'file' not allowed", GitFault.NOT_FOUND),
        ("fatal: unable to access 'https://x/': Could not resolve host: x", GitFault.UNREACHABLE),
        ("ssh: connect to host x port 22: Connection timed out", GitFault.UNREACHABLE),
        (
            "fatal: unable to access 'u': The requested URL returned error: 503",
            GitFault.UNREACHABLE,
        ),
        ("fatal: unable to access 'u': The requested URL returned error: 301", GitFault.REDIRECTED),
        ("server certificate verification failed. CAfile: none", GitFault.UNTRUSTED),
        ("fatal: unable to access 'u': SSL certificate problem: self-signed", GitFault.UNTRUSTED),
        ("Host key verification failed.", GitFault.UNTRUSTED),
        ("! a:refs/heads/b [rejected] (stale info)", GitFault.MOVED),
        ("! a:b [remote rejected] (cannot lock ref 'b': is at 1 but expected 2)", GitFault.MOVED),
        (
            "! a:b [remote rejected] (cannot lock ref 'refs/heads/a/b': 'refs/heads/a' exists; "
            "cannot create 'refs/heads/a/b')",
            GitFault.REFUSED,
        ),
        ("! a:refs/heads/b [remote rejected] (pre-receive hook declined)", GitFault.HOOK),
        (
            "remote: error: GH006: Protected branch update failed for refs/heads/b.",
            GitFault.REFUSED,
        ),
        ("remote: GitLab: You cannot push code to protected branches here.", GitFault.REFUSED),
        (
            "remote: error: File a.bin is 120.00 MB; this exceeds GitHub's file size limit of "
            "100.00 MB",
            GitFault.TOO_LARGE,
        ),
        (
            "error: RPC failed; HTTP 413 curl 22 The requested URL returned error: 413",
            GitFault.TOO_LARGE,
        ),
        (
            "remote: Your push has been rejected, because this repository has exceeded its size "
            "limit.",
            GitFault.FULL,
        ),
        ("remote: Commits must have verified signatures.", GitFault.UNSIGNED),
        (
            "remote: GitLab: Commit author's email 'a@b' does not follow the pattern '@c'",
            GitFault.AUTHOR,
        ),
        (
            "remote: This repository was archived so it is read-only.\n"
            "fatal: unable to access 'u': The requested URL returned error: 403",
            GitFault.READ_ONLY,
        ),
        (
            "ERROR: The key you are authenticating with has been marked as read only.",
            GitFault.READ_ONLY,
        ),
        ("remote: Permission to a/archived.git denied to b.", GitFault.DENIED),
        (
            "remote: You have exceeded a secondary rate limit.\n"
            "fatal: unable to access 'u': The requested URL returned error: 403",
            GitFault.UNREACHABLE,
        ),
        (
            "remote: You have exceeded your limit of 100 concurrent git operations",
            GitFault.UNREACHABLE,
        ),
        (
            "remote: warning: GH001: Large files detected. You may want to try Git LFS.\n"
            "! a:refs/heads/b\t[remote rejected] (cannot lock ref 'refs/heads/b')",
            GitFault.MOVED,
        ),
        (
            "remote: GitLab: Your push cannot be completed because this repository has exceeded "
            "the allocated storage for your project.",
            GitFault.FULL,
        ),
        ("remote: fatal: write error: No space left on device", GitFault.UNREACHABLE),
        ("fatal: no commits selected for shallow requests", GitFault.NO_EXCLUDE),
        ("fatal: Server does not support --shallow-exclude", GitFault.NO_EXCLUDE),
        (
            "ERROR: Internal Server Error\nfatal: Could not read from remote repository.",
            GitFault.UNREACHABLE,
        ),
        (
            "remote: ERROR: The project you were looking for could not be found or you don't have "
            "permission to view it.\nfatal: Could not read from remote repository.",
            GitFault.NOT_FOUND,
        ),
        ("something new", GitFault.OTHER),
    ],
)
def test_fault_of_git_is_found_in_its_words(text: str, want: GitFault):
    assert classify(text) is want


def read(text: str) -> Commit:
    return _parse(f"{'0' * 40} 1700000000\n{text}")


@given(st.text(max_size=200), st.text(max_size=30), st.lists(st.text(max_size=20), max_size=30))
def test_message_of_a_subtask_is_read_back_whatever_the_agent_wrote(
    summary: str, title: str, files: list[str]
):
    task = make_task(title=title, revision=2)

    commit = read(message(make_order("", ""), task, summary, files))

    assert find_done([commit], make_order("", ""), task)
    assert set(commit.files) <= set(files)
    assert len(commit.files) <= FILES_NAMED


def test_trailers_that_an_agent_writes_into_its_summary_do_not_count():
    forged = "x\n\nAfresh-Package: team-a/demo\nAfresh-Subtask: T002\nAfresh-Revision: 9"
    order = make_order("", "")

    commit = read(message(order, make_task(), forged, []))

    assert find_done([commit], order, make_task())
    assert not find_done([commit], order, make_task(id="T002"))


@pytest.mark.parametrize(
    "text",
    ["", "Subject", "Subject\n\nBody\nof: lines", "Afresh-Package: team-a/demo", "a: b\n\n\n"],
)
def test_message_of_anybody_else_has_no_trailers_of_a_subtask(text: str):
    assert not find_done([read(text)], make_order("", ""), make_task())


@pytest.mark.parametrize(
    ("headers", "want"),
    [
        pytest.param({"retry-after": "30"}, NOW + 30, id="seconds"),
        pytest.param({"retry-after": "soon"}, None, id="a word"),
        pytest.param({"anthropic-ratelimit-unified-reset": "1800000900"}, NOW + 900, id="an epoch"),
        pytest.param(
            {
                "anthropic-ratelimit-requests-remaining": "0",
                "anthropic-ratelimit-requests-reset": "2027-01-15T08:00:10Z",
                "anthropic-ratelimit-tokens-remaining": "0",
                "anthropic-ratelimit-tokens-reset": "2027-01-15T08:00:40Z",
                "anthropic-ratelimit-input-tokens-remaining": "5",
                "anthropic-ratelimit-input-tokens-reset": "2027-01-15T09:00:00Z",
            },
            datetime(2027, 1, 15, 8, 0, 40, tzinfo=UTC).timestamp(),
            id="the later of two used up limits",
        ),
        pytest.param({}, None, id="nothing"),
    ],
)
def test_reset_time_is_read_from_the_headers(headers: dict[str, str], want: float | None):
    assert AnthropicApi().reset_time(headers, b"", NOW) == want


def price(model: str, dollars: str) -> Price:
    return Price(model=model, input_usd_per_million=dollars, output_usd_per_million="0")


@pytest.mark.parametrize(
    ("model", "want"),
    [
        ("claude-opus-4", Decimal(15)),
        ("claude-haiku-4", Decimal(1)),
        ("Claude-haiku-4", None),
        ("gpt", None),
    ],
)
def test_first_price_that_matches_the_model_holds(model: str, want: Decimal | None):
    answer = ModelAnswer(model=model, tokens=TokenCounts(input=1_000_000))
    prices = (price("claude-opus-*", "15"), price("claude-*", "1"))

    assert cost_of(answer, prices) == want
