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


def test_the_first_episode_fills_the_mirror_and_the_next_ones_borrow_from_it(team: Team) -> None:
    with tempfile.TemporaryDirectory() as folder:
        fill(team, Path(folder))


def fill(team: Team, folder: Path) -> None:
    folder.chmod(0o777)  # each subtask has a user of its own
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": CLAIM, "namespace": team.namespace},
        "spec": {"accessModes": MODES, "storageClassName": "", "resources": {"requests": SIZE}},
    }
    team.apply(volume(team.namespace, folder), claim)
    looks = "do: ls /afresh/cache >seen.txt 2>&1 || true; stamp"

    team.apply(team.package("p", looks, looks, repository={"cacheClaimName": CLAIM}))
    status = team.wait_for("Succeeded")

    (mirror,) = folder.iterdir()
    assert (mirror / "current" / "HEAD").is_file()
    assert (mirror / "current" / "objects" / "pack").is_dir()
    assert status["usage"]["episodes"] == 2
    assert "No such file" in team.branch().read("seen.txt")
