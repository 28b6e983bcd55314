"""What one run does otherwise than its package says.

The stored package stays as it is: the next run does what it says. What a run did is recorded with
each attempt.
"""

from dataclasses import dataclass

from afresh.api.work_package import WorkPackage
from afresh.contract.words import ContextMode
from afresh.local.store import PackageStore


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChanges:
    """What holds in one run in place of what the package says; None: what it says."""

    mode: ContextMode | None = None
    parallelism: int | None = None

    def made_in(self, package: WorkPackage) -> WorkPackage:
        """Return the package as the run sees it."""
        spec = package.spec
        if self.mode:
            context = spec.context.model_copy(update={"mode": self.mode})
            spec = spec.model_copy(update={"context": context})
        if self.parallelism:
            spec = spec.model_copy(update={"parallelism": self.parallelism})
        return package.model_copy(update={"spec": spec})


NO_CHANGES = RunChanges()


@dataclass(frozen=True, slots=True)
class ChangedStore(PackageStore):
    """The objects of a package as one run sees them."""

    changes: RunChanges = NO_CHANGES

    def package(self) -> WorkPackage:
        """Return the package with the run's changes. Raises ValueError if its file is not one."""
        return self.changes.made_in(PackageStore.package(self))
