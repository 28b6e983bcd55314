"""What `status` shows: one package with its subtasks, or many packages in a table. Pure.

Owns which objects each needs. Knows no connection.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeVar

from rich.text import Text

from afresh.api.meta import KubernetesObject
from afresh.api.subtask import SubtaskObject
from afresh.api.work_package import WorkPackage
from afresh.cli.look.collection import Collection
from afresh.cli.look.package_view import PackageView, unreadable_view, view_of
from afresh.cli.look.status_table import table
from afresh.cli.look.status_tree import tree
from afresh.cli.look.terminal import Size, line
from afresh.cli.looks import StatusForm, StatusLook
from afresh.cli.session import no_such_package
from afresh.core.reasons import Reason
from afresh.kube.errors import UnreadableError
from afresh.kube.models import parse
from afresh.kube.resources import AGENT_CLASSES, SUBTASKS, WORK_PACKAGES, Manifest

if TYPE_CHECKING:
    from afresh.api.agent_class import AgentClass

K = TypeVar("K", bound=KubernetesObject)
Objects = Callable[[Collection], Sequence[Manifest]]
CLASSES = Collection(AGENT_CLASSES, None)


class Picture(Protocol):
    """What is shown: what is read for it, and how it is drawn."""

    @property
    def collections(self) -> Sequence[Collection]:
        """What is read in any case."""

    def needs_classes(self, objects: Objects, /) -> bool:
        """Return whether the agent classes are to be read too, where the person may."""

    def views(
        self, objects: Objects, classes: Sequence[Manifest], now: datetime
    ) -> list[PackageView]:
        """Return the packages as they are now."""

    def lines(self, views: Sequence[PackageView], size: Size) -> list[Text]:
        """Return them as lines."""

    def over(self, views: Sequence[PackageView], /) -> bool:
        """Return whether nothing changes until a person does something."""


class _Models:
    """Parses each version of an object once: a watch of 200 subtasks looks at them every second."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, KubernetesObject]] = {}

    def parse(self, kind: type[K], raw: Manifest) -> K:
        """Return the object. Raises UnreadableError."""
        meta = raw["metadata"]
        version, found = self._known.get(meta["uid"], ("", None))
        if version != meta["resourceVersion"] or not isinstance(found, kind):
            found = parse(kind, raw)
            self._known[meta["uid"]] = (meta["resourceVersion"], found)
        return found


class OnePackage:
    """A package with all of its subtasks."""

    def __init__(self, namespace: str, name: str) -> None:
        self._namespace, self._name = namespace, name
        self._models = _Models()
        self._package = Collection(WORK_PACKAGES, namespace, f"metadata.name={name}")
        self._subtasks = Collection(SUBTASKS, namespace, f"spec.workPackageName={name}")
        self.collections = (self._package, self._subtasks)
        self._seen = False

    def needs_classes(self, objects: Objects) -> bool:
        """Return whether the package waits at a gate, which a class's status describes."""
        found = objects(self._package)
        return any(self._parsed(raw).status.reason == Reason.GATE_CLOSED for raw in found)

    def views(
        self, objects: Objects, classes: Sequence[Manifest], now: datetime
    ) -> list[PackageView]:
        """Return the package, or nothing once it is gone. Raises CommandError if it never was."""
        found = objects(self._package)
        if not found and not self._seen:
            raise no_such_package(self._name, self._namespace)
        self._seen = True
        children = [self._models.parse(SubtaskObject, raw) for raw in objects(self._subtasks)]
        gates = self._gates(classes)
        return [view_of(self._parsed(raw), now, children, gates) for raw in found]

    def _parsed(self, raw: Manifest) -> WorkPackage:
        return self._models.parse(WorkPackage, raw)

    def _gates(self, classes: Sequence[Manifest]) -> "list[AgentClass]":
        if not classes:
            return []
        from afresh.api.agent_class import AgentClass  # noqa: PLC0415  # seldom needed

        return [self._models.parse(AgentClass, raw) for raw in classes]

    def lines(self, views: Sequence[PackageView], size: Size) -> list[Text]:
        """Return the tree."""
        if not views:
            return [line(f"{self._namespace}/{self._name} was deleted.")]
        return tree(views[0], *size)

    def over(self, views: Sequence[PackageView]) -> bool:
        """Return whether the package needs a person, or nothing more."""
        return all(view.over for view in views)


class AllPackages:
    """A row for each package of a namespace, or of all (None), that a label selector matches."""

    def __init__(self, namespace: str | None, labels: str = "", *, wide: bool = False) -> None:
        self._namespace, self._labels, self._wide = namespace, labels, wide
        self._models = _Models()
        self._packages = Collection(WORK_PACKAGES, namespace, labels=labels)
        self.collections = (self._packages,)

    def needs_classes(self, _objects: Objects) -> bool:
        """Return False: the table does not show gates."""
        return False

    def views(
        self, objects: Objects, _classes: Sequence[Manifest], now: datetime
    ) -> list[PackageView]:
        """Return all of them, in the order of their names."""
        return [self._view(raw, now) for raw in objects(self._packages)]

    def _view(self, raw: Manifest, now: datetime) -> PackageView:
        try:
            return view_of(self._models.parse(WorkPackage, raw), now)
        except UnreadableError as error:
            meta = raw["metadata"]
            return unreadable_view(meta["namespace"], meta["name"], str(error))

    def lines(self, views: Sequence[PackageView], size: Size) -> list[Text]:
        """Return the table."""
        if not views:
            where = f"in the namespace {self._namespace}" if self._namespace else "in this cluster"
            labels = f" with the labels {self._labels}" if self._labels else ""
            return [line(f"There is no WorkPackage{labels} {where}.")]
        return table(views, size, namespaces=self._namespace is None, wide=self._wide)

    def over(self, _views: Sequence[PackageView]) -> bool:
        """Return False: another package may come."""
        return False


def picture_of(look: StatusLook, namespace: str) -> Picture:
    """Return what `afresh status` is to show."""
    if look.package:
        return OnePackage(namespace, look.package)
    where = None if look.everywhere else namespace
    return AllPackages(where, look.selector, wide=look.form is StatusForm.WIDE)
