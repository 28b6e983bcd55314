"""What a program does with the packages of one clone: apply, run, read.

The door of this room: commands use this and need not know the rest.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from afresh.api.agent_class import AgentClass
from afresh.api.work_package import WorkPackage
from afresh.core.decision import Decision
from afresh.core.observed import Observed
from afresh.local.changed_store import NO_CHANGES, ChangedStore, RunChanges
from afresh.local.classes import class_for
from afresh.local.clone import Clone
from afresh.local.episodes import Episodes
from afresh.local.keys import RunKeys, kept_in_memory, read_seed
from afresh.local.loop import LocalLoop
from afresh.local.run import Interrupts, run
from afresh.local.sandbox.probe import require_bubblewrap
from afresh.local.state import StateFolder
from afresh.local.store import PackageStore
from afresh.manifests.environment import agent_environment

Show = Callable[[Observed, Decision], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """How a run ended: the package as it is now, and how often somebody interrupted."""

    package: WorkPackage
    interrupts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A clone and the state of its packages."""

    clone: Clone
    state: StateFolder

    @classmethod
    def around(cls, folder: Path) -> "Session":
        """Return the session of the clone that `folder` is in. Raises CloneError, StateError."""
        clone = Clone.around(folder)
        return cls(clone=clone, state=StateFolder.of(clone))

    def apply(self, package: dict[str, Any], agent_class: dict[str, Any] | None = None) -> str:
        """Take in a package and its class, and return its name. Raises ValueError, CloneError.

        Without a class, the name of the package's class is one of this machine's programs.
        """
        parsed = WorkPackage.model_validate(package)
        self.require_branch(parsed)
        name = parsed.metadata.name
        store = self.state.package(name)
        wanted = AgentClass.model_validate(agent_class) if agent_class else None
        wanted = wanted or class_for(parsed.spec.agent_class_name)
        if wanted:
            store.put_class(wanted.to_manifest())
        store.apply(package)
        return name

    def use_class(self, name: str, agent_class: AgentClass) -> None:
        """Have a package's work done by this class from now on."""
        store, wanted = self.state.package(name), agent_class.metadata.name
        store.put_class(agent_class.to_manifest())
        if store.package().spec.agent_class_name != wanted:
            store.patch([{"op": "add", "path": "/spec/agentClassName", "value": wanted}])

    def require_branch(self, package: WorkPackage) -> None:
        """Raise CloneError if the package's work cannot be put on its branch."""
        self.clone.check(package.branch, package.spec.repository.base_ref)

    def require_sandbox(self) -> None:
        """Raise SandboxError if no agent can be held on this machine."""
        require_bubblewrap()

    def store(self, name: str) -> PackageStore:
        """Return a package's objects."""
        return self.state.package(name)

    def run(
        self, name: str, show: Show, secrets: Mapping[str, str], changes: RunChanges = NO_CHANGES
    ) -> RunEnd:
        """Run a package until nothing goes on by itself. Raises StateError.

        `secrets` are those of the model, by their names in the class's Secret. `changes` are for
        this run only. An interrupt lets what runs end, a second one ends it.
        """
        store, interrupts = self.state.package(name), Interrupts()
        with self.state.running(name), kept_in_memory(secrets) as folder:
            keys = RunKeys(folder=folder, seed=read_seed(self.state.path))
            episodes = Episodes(
                store.folder / "episodes", self.clone, keys, _environment(store.agent_class())
            )
            loop = LocalLoop(ChangedStore(store.folder, changes), episodes)
            count = run(loop, interrupts, show)
        return RunEnd(package=store.package(), interrupts=count)


def _environment(agent_class: AgentClass | None) -> dict[str, str]:
    found = agent_environment(agent_class.spec) if agent_class else []
    return {item["name"]: item["value"] for item in found}
