"""Which faults of a git server every package of the repository would meet, and which one's own."""

import pytest

from afresh.episode.git.faults import GitError, GitFault
from afresh.episode.git.refusals import remote_problem
from tests.episode.pod import make_order

FAULTS = [
    (GitFault.UNREACHABLE, True),
    (GitFault.DENIED, True),
    (GitFault.NOT_FOUND, True),
    (GitFault.UNTRUSTED, True),
    (GitFault.HOOK, False),
    (GitFault.REFUSED, False),
    (GitFault.TOO_LARGE, False),
]


@pytest.mark.parametrize(("fault", "want"), FAULTS, ids=str)
def test_a_fault_is_the_servers_where_all_packages_would_meet_it(
    fault: GitFault, want: bool
) -> None:
    ended = remote_problem(
        make_order("https://git.example.com/x", "true"), GitError("fetch", "So.", fault=fault)
    )

    assert ended.is_servers is want
