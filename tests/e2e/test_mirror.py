"""A repository's mirror on a volume of the team's, filled by one episode and used by the next."""

import tempfile
from pathlib import Path

import pytest

from tests.e2e.team import Team

pytestmark = [pytest.mark.cluster, pytest.mark.story]

CLAIM = "mirror"
SIZE = {"storage": "1Gi"}
MODES = ["ReadWriteMany"]


def volume(name: str, folder: Path) -> dict[str, object]:
    """A volume that is a folder of the node, for one claim."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": SIZE,
            "accessModes": MODES,
            "storageClassName": "",
            "persistentVolumeReclaimPolicy": "Delete",
            "claimRef": {"namespace": name, "name": CLAIM},
            "hostPath": {"path": str(folder)},
        },
    }


def claim(namespace: str) -> dict[str, object]:
    """A claim for that volume."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": CLAIM, "namespace": namespace},
        "spec": {"accessModes": MODES, "storageClassName": "", "resources": {"requests": SIZE}},
    }


def test_the_first_episode_fills_the_mirror_and_the_next_ones_borrow_from_it(team: Team) -> None:
    looks = "do: ls /afresh/cache >seen.txt 2>&1 || true; stamp"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)  # each subtask has a user of its own
        team.apply(volume(team.namespace, folder), claim(team.namespace))
        team.apply(team.package("p", looks, looks, repository={"cacheClaimName": CLAIM}))
        status = team.wait_for("Succeeded")
        (mirror,) = folder.iterdir()
        found = [(mirror / "current" / path).exists() for path in ("HEAD", "objects/pack")]

    assert found == [True, True]
    assert status["usage"]["episodes"] == 2
    assert "No such file" in team.branch().read("seen.txt")
