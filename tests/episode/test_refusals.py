"""Which faults of a git server every package of the repository would meet, and which one's own."""

import pytest

from afresh.episode.git.faults import Fault, GitError
from afresh.episode.git.refusals import remote_problem
from tests.episode.pod import make_order

FAULTS = [
    (Fault.UNREACHABLE, True),
    (Fault.DENIED, True),
    (Fault.NOT_FOUND, True),
    (Fault.UNTRUSTED, True),
    (Fault.HOOK, False),
    (Fault.REFUSED, False),
    (Fault.TOO_LARGE, False),
]


@pytest.mark.parametrize(("fault", "want"), FAULTS, ids=str)
def test_a_fault_is_the_servers_where_all_packages_would_meet_it(fault: Fault, want: bool) -> None:
    ended = remote_problem(
        make_order("https://git.example.com/x", "true"), GitError("fetch", "So.", fault=fault)
    )

    assert ended.is_servers is want
