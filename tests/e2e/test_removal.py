"""What the demo put on somebody's cluster goes again. The last story: nothing runs after it."""

import pytest

from tests.e2e.cluster import ROOT, Cluster
from tests.e2e.conftest import DemoRun

pytestmark = pytest.mark.cluster


def test_removing_the_demo_leaves_nothing_of_it_but_the_crds(
    cluster: Cluster, demo: DemoRun
) -> None:
    done = cluster.run("make", "-C", str(ROOT), "demo-down", "CLUSTER=current", timeout=300)

    assert done.returncode == 0, done.stderr
    names = cluster.kubectl("get", "namespaces,clusterroles,clusterrolebindings", "-o", "name")
    assert not [name for name in names.split() if "afresh" in name]
    assert "demo-claude" not in cluster.kubectl("get", "agentclasses", "-o", "name")
    assert "workpackages.afresh.dev" in cluster.kubectl("get", "crds", "-o", "name")
