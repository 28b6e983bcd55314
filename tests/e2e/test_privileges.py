"""What the operator asked the API server for in all stories, as the audit log has it.

Runs last. That every right is used is shown by `tests/apiserver/test_privileges.py`.
"""

from pathlib import Path

import pytest

from tests.apiserver.account import rendered
from tests.apiserver.audit import entries_of
from tests.apiserver.test_privileges import uses_of
from tests.e2e.cluster import Cluster
from tests.e2e.conftest import DemoRun

pytestmark = pytest.mark.cluster


def test_in_all_stories_the_operator_asked_for_what_it_may_and_changed_what_is_its_own(
    cluster: Cluster, demo: DemoRun
) -> None:
    kubeconfig = Path(cluster.run("printenv", "KUBECONFIG").stdout.strip())
    helm = Path(cluster.run("sh", "-c", "command -v helm").stdout.strip())

    entries = entries_of(kubeconfig.parent / "audit.log")

    allowed = uses_of(rendered(helm, "replicas=2"))
    refused = [entry for entry in entries if any("failure" in key for key in entry.annotations)]
    assert entries
    assert {entry.use for entry in entries} - allowed == set()
    assert {(entry.use, entry.name) for entry in entries if entry.is_denied} == set()
    assert refused == []
