"""Runs buildah with a store of its own, and builds the base image from Debian's packages.

Must not know which images there are.
"""

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.singlenode import packages, progress
from tools.singlenode.errors import ClusterError
from tools.singlenode.host_settings import write_secrets
from tools.singlenode.paths import REPOSITORY, cache_home

BASE_IMAGE = "docker.io/library/debian:trixie-slim"

# The public image of this name leaves these out as well.
_LEFT_OUT = ("doc/*", "man/*", "info/*", "locale/*", "groff/*", "lintian/*", "linda/*")
_BASE_ARGUMENTS = (
    "--variant=minbase",
    "--dpkgopt=force-unsafe-io",
    *(f"--dpkgopt=path-exclude=/usr/share/{pattern}" for pattern in _LEFT_OUT),
    "--dpkgopt=path-include=/usr/share/doc/*/copyright",
    # Without this, these two would be copies of this machine's files.
    '--customize-hook=rm -f "$1/etc/hostname" "$1/etc/resolv.conf"',
    "trixie",
)
_BASE_DOCKERFILE = 'FROM scratch\nADD base.tar /\nCMD ["bash"]\n'
BASE_RECIPE = " ".join((*_BASE_ARGUMENTS, _BASE_DOCKERFILE))

# Steps run as root in a chroot, on this machine's network: without a daemon or a bridge.
_BUILD = ("bud", "--isolation", "chroot", "--network", "host", "--layers", "--pull-never")


def home() -> Path:
    """The directory of the store and the archives."""
    return cache_home() / "images"


def ensure_base() -> None:
    """Build the base image unless it is in the store."""
    home().mkdir(parents=True, exist_ok=True)
    # Removes what interrupted builds left; the caller ensures that no build runs now.
    _buildah("rm", "--all", log="base")
    if _buildah("inspect", "--type", "image", BASE_IMAGE, log="base") == 0:
        return
    with (
        progress.long_step(f"making {BASE_IMAGE} from Debian's packages"),
        tempfile.TemporaryDirectory(prefix=".base-", dir=home()) as scratch,
    ):
        mmdebstrap = str(packages.find_program("mmdebstrap"))
        archive = f"{scratch}/base.tar"
        _checked(_run([mmdebstrap, *_BASE_ARGUMENTS, archive], log="base"), BASE_IMAGE, log="base")
        (Path(scratch) / "Dockerfile").write_text(_BASE_DOCKERFILE)
        _checked(
            _buildah(*_BUILD, "--tag", BASE_IMAGE, scratch, log="base"), BASE_IMAGE, log="base"
        )


def build(dockerfile: Path, reference: str) -> None:
    """Build an image, with the repository as its context, and put it into the store."""
    log = f"image-{dockerfile.parent.name}"
    with tempfile.TemporaryDirectory(prefix=".secrets-", dir=home()) as scratch:
        secrets = write_secrets(Path(scratch), os.environ)
        options = [*secrets, "--tag", reference, "--file", str(dockerfile)]
        _checked(_buildah(*_BUILD, *options, str(REPOSITORY), log=log), reference, log=log)


def export(reference: str, archive: Path) -> None:
    """Write an image of the store as an OCI archive; an interrupt leaves no partial archive."""
    part = archive.with_suffix(".part")
    part.unlink(missing_ok=True)
    compression = ("--compression-format", "zstd", "--compression-level", "1")
    target = f"oci-archive:{part}:{reference}"
    code = _buildah("push", *compression, reference, target, log="export")
    _checked(code, reference, log="export")
    part.rename(archive)


def _buildah(*arguments: str, log: str) -> int:
    program = str(packages.find_program("buildah"))
    store = ["--root", f"{home()}/store", "--runroot", f"{home()}/run"]
    # In a mount namespace of its own: an interrupted build leaves no mounts.
    command = ["unshare", "--mount", "--", program, *store, "--storage-driver", "overlay"]
    return _run([*command, *arguments], log=log)


def _run(command: Sequence[str], *, log: str) -> int:
    path = _log_file(log)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as sink:
        result = subprocess.run(
            command,
            env={**os.environ, "CONTAINERS_CONF": str(_containers_conf())},
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            check=False,
        )
    return result.returncode


def _containers_conf() -> Path:
    # Without this, buildah would create a directory in /etc.
    path = home() / "containers.conf"
    path.write_text(f'[network]\nnetwork_config_dir = "{home()}/networks"\n')
    return path


def _checked(code: int, what: str, *, log: str) -> None:
    if code != 0:
        raise ClusterError(f"building {what} failed: see {_log_file(log)}")


def _log_file(name: str) -> Path:
    return cache_home() / "logs" / f"{name}.log"
