"""The volumes of an episode's pod: how much fits into each, and who mounts it."""

import pytest

from tests.manifests.jobs import REPOSITORY, make_job, mounted, pod_of


def test_every_container_has_a_disk_limit_and_every_empty_volume_a_size() -> None:
    pod = pod_of(make_job())

    assert all("ephemeral-storage" in c["resources"]["limits"] for c in pod["containers"])
    assert all(v["emptyDir"]["sizeLimit"] for v in pod["volumes"] if "emptyDir" in v)


@pytest.mark.parametrize(
    ("limit", "want_work", "want_scratch"),
    [
        pytest.param("200Gi", 200, 200, id="more than a volume has anyway"),
        pytest.param("2Gi", 10, 2, id="more than a small one has"),
        pytest.param("64Mi", 10, 1, id="less than any has"),
    ],
)
def test_so_much_disk_as_an_agent_may_use_fits_into_each_volume_that_it_writes_to(
    limit: str, want_work: int, want_scratch: int
) -> None:
    limits = {"limits": {"ephemeral-storage": limit}}
    pod = pod_of(make_job(agent_class={"resources": limits}))

    sizes = {v["name"]: v["emptyDir"].get("sizeLimit") for v in pod["volumes"] if "emptyDir" in v}
    assert {sizes[name] for name in ("git", "worktree", "checkout")} == {str(want_work * 2**30)}
    written = ("home", "agent-tmp", "verify-home", "verify-tmp")
    assert {sizes[name] for name in written} == {str(want_scratch * 2**30)}


def test_agent_and_verify_have_a_shared_memory_of_their_own_each() -> None:
    job = make_job()

    volumes = [mounted(job, name)["/dev/shm"]["name"] for name in ("agent", "verify")]
    assert len(set(volumes)) == 2
    found = {item["name"]: item for item in pod_of(job)["volumes"]}
    assert all(found[name]["emptyDir"]["medium"] == "Memory" for name in volumes)


def test_the_mirror_is_on_the_packages_claim_and_in_the_runner_alone() -> None:
    job = make_job(repository=REPOSITORY | {"cacheClaimName": "mirrors"})

    claims = [item for item in pod_of(job)["volumes"] if "persistentVolumeClaim" in item]
    assert claims == [{"name": "git-cache", "persistentVolumeClaim": {"claimName": "mirrors"}}]
    mounts = {
        name: [path for path, item in mounted(job, name).items() if item["name"] == "git-cache"]
        for name in ("runner", "agent", "verify")
    }
    assert mounts == {"runner": ["/afresh/cache"], "agent": [], "verify": []}
