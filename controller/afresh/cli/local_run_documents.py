"""Takes the package and its class from a checked file. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from afresh.cli.manifest.checked_file import CheckedFile, ManifestObject


class BadDocumentsError(Exception):
    """The file is not one that can be run; `findings` has a line for everything that is wrong."""

    def __init__(self, findings: list[str]) -> None:
        super().__init__("; ".join(findings))
        self.findings = findings


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageDocuments:
    """A package and its class, as they were written, and valid; None: no class was given."""

    package: dict[str, Any]
    agent_class: dict[str, Any] | None = None


def documents_of(file: CheckedFile) -> PackageDocuments:
    """Return the package of a file and its class. Raises BadDocumentsError.

    Classes of other names, and objects that are not of Afresh, are for a cluster.
    """
    findings = [fault.as_text() for fault in file.faults]
    ours = [item for item in file.objects if item.is_ours]
    packages = [item for item in ours if item.kind == "WorkPackage"]
    findings += [] if findings else list(_not_one(packages, file.name))
    if findings:
        raise BadDocumentsError(findings)
    (package,) = packages
    wanted = package.manifest["spec"]["agentClassName"]
    classes: Mapping[str, ManifestObject] = {
        item.name: item for item in ours if item.kind == "AgentClass"
    }
    agent_class = classes.get(wanted)
    return PackageDocuments(
        package=package.manifest, agent_class=agent_class.manifest if agent_class else None
    )


def _not_one(packages: list[ManifestObject], name: str) -> Iterator[str]:
    if not packages:
        yield f"{name}: there is no WorkPackage in the file: add one"
    if len(packages) > 1:
        yield f"{name}: there are several WorkPackages in the file: run one file for each"
