"""Packages on one branch: who may have it, in the index and in the whole loop (S1-11)."""

from typing import Any

import pytest

from afresh.kube.branches import Branches
from afresh.kube.resources import AGENT_CLASSES, WORK_PACKAGES, Manifest
from tests.kube.api_server import ApiServer
from tests.kube.journeys import by_subtask, entries
from tests.kube.node import Node
from tests.kube.world import KEY, World, check_rest
from tests.make import make_class, make_package, make_record

URL, OTHER_URL = "https://git.example.com/team/api.git", "git@git.example.com:team/web"
EARLY, LATE = "2030-01-01T00:00:00Z", "2030-01-02T00:00:00Z"


def package(
    name: str,
    *,
    namespace: str = KEY.namespace,
    created: str = EARLY,
    url: str = URL,
    secret: str | None = None,
    status: Any = None,
    **fields: Any,
) -> Manifest:
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-of-{name}"}
    metadata |= {"creationTimestamp": created, **fields.pop("metadata", {})}
    repository: dict[str, Any] = {"url": url, "branch": "afresh/shared"}
    if secret:
        repository["secretName"] = secret
    spec = {"repository": repository, "subtasks": entries("AB"), **fields}
    made = make_package(status=status, **{"metadata": metadata, **spec}).to_manifest()
    return made if status else {key: made[key] for key in made if key != "status"}


def in_phase(phase: str, /, **record: Any) -> Any:
    return {"phase": phase, "subtasks": [make_record("A", **record)]}


def index_of(*packages: Manifest) -> Branches:
    branches = Branches()
    for item in packages:
        branches.put(item)
    return branches


@pytest.mark.parametrize(
    "url",
    [
        "git@git.example.com:team/api",
        "ssh://me@GIT.example.com:22/team/api/",
        "http://git.example.com:80/Team/api",
    ],
)
def test_the_older_package_has_the_branch_however_the_repository_is_written(url: str) -> None:
    older, younger = package("z", url=url, secret="other"), package("a", created=LATE)

    branches = index_of(younger, older)

    assert branches.rival(KEY.namespace, "a") == "z"
    assert branches.rival(KEY.namespace, "z") is None
    assert branches.sharing(older) == ["a"]


def test_of_packages_of_one_second_the_one_with_the_first_uid_comes_first() -> None:
    branches = index_of(
        package("a", metadata={"uid": "2"}), package("b", metadata={"uid": "1"})
    )  # fmt: skip

    assert [branches.rival(KEY.namespace, name) for name in "ab"] == ["b", None]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"namespace": "team-b"}, id="it is in another namespace"),
        pytest.param({"url": OTHER_URL}, id="it has another repository"),
        pytest.param({"repository": {"url": URL, "branch": "b"}}, id="it has another branch"),
        pytest.param({"suspend": True}, id="it is suspended and never started"),
        pytest.param({"status": in_phase("Succeeded", attempts=1)}, id="it has succeeded"),
        pytest.param({"status": in_phase("NeedsReview", attempts=1)}, id="it waits for a person"),
        pytest.param({"status": in_phase("Failed", attempts=1)}, id="it has failed"),
        pytest.param(
            {"metadata": {"deletionTimestamp": LATE}, "status": in_phase("Pending", attempts=1)},
            id="it is being deleted and nothing of it runs",
        ),
    ],
)
def test_an_older_package_claims_nothing_when(other: dict[str, Any]) -> None:
    branches = index_of(package("older", **other), package("younger", created=LATE))

    assert branches.rival(KEY.namespace, "younger") is None


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"status": in_phase("Stalled")}, id="it is stalled and never started"),
        pytest.param(
            {"suspend": True, "status": in_phase("Suspended", attempts=1)},
            id="it is suspended and has started",
        ),
        pytest.param(
            {
                "metadata": {"deletionTimestamp": LATE},
                "status": in_phase("Running", phase="Running", attempts=1),
            },
            id="it is being deleted and its episode runs",
        ),
    ],
)
def test_an_older_package_keeps_the_branch_when(other: dict[str, Any]) -> None:
    branches = index_of(package("older", **other), package("younger", created=LATE))

    assert branches.rival(KEY.namespace, "younger") == "older"


def test_an_older_package_that_begins_again_waits_for_the_episode_that_runs() -> None:
    at_work = in_phase("Running", phase="Running", attempts=1)
    younger = package("younger", created=LATE, status=at_work)
    branches = index_of(package("older"), younger)
    assert branches.rival(KEY.namespace, "older") == "younger"

    branches.put(package("younger", created=LATE, status=in_phase("Pending", attempts=1)))

    assert branches.rival(KEY.namespace, "older") is None
    assert branches.rival(KEY.namespace, "younger") == "older"


def test_a_package_that_is_gone_leaves_nothing_behind() -> None:
    older, younger = package("older"), package("younger", created=LATE)
    branches = index_of(older, younger)

    branches.drop(older)
    assert branches.rival(KEY.namespace, "younger") is None
    branches.drop(younger)

    assert branches.sharing(older) == []


def make_shared(*packages: Manifest) -> World:
    api = ApiServer()
    api.put_new(AGENT_CLASSES, make_class().to_manifest())
    for item in packages:
        api.put_new(WORK_PACKAGES, item)
    return World(api, Node(api, by_subtask()))


async def test_two_packages_of_a_namespace_use_their_branch_one_after_the_other() -> None:
    world = make_shared(package("a", created=LATE, secret="own"), package("z"))

    await world.drive()

    assert [world.status(name)["phase"] for name in "az"] == ["Succeeded", "Succeeded"]
    assert [name[0] for name in world.node.ran] == ["z", "z", "a", "a"]
    await check_rest(world)


async def test_a_package_that_waits_for_the_branch_goes_on_when_the_other_is_suspended() -> None:
    world = make_shared(package("a", created=LATE), package("z", agentClassName="missing"))
    world.script = (
        (
            lambda world: world.status("a").get("reason") == "BranchInUse",
            lambda world: world.edit("z", suspend=True),
        ),
    )

    await world.drive()

    assert [world.status(name)["phase"] for name in "az"] == ["Succeeded", "Stalled"]
