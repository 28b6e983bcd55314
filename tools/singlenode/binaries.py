"""Builds programs from Go modules, and keeps them in the cache.

Owns the pinned modules under modules/ and the cache key. Must not know what the programs are for.
"""

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tools.singlenode import progress
from tools.singlenode.errors import ClusterError
from tools.singlenode.lock import exclusive
from tools.singlenode.paths import IMAGES, MODULES, cache_home

_GO_FLAGS = "-mod=readonly -trimpath -buildvcs=false"
_LONGEST_BUILD_SECONDS = 3600
# A build uses all cores; a second one uses them while the first one links or downloads.
_BUILDS_AT_ONCE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class GoModule:
    """A directory with go.mod and go.sum, and the programs that are built in it."""

    directory: Path
    # The dependency whose version is shown and stamped into the programs.
    subject: str
    # Program name -> package path.
    programs: Mapping[str, str]
    # Variables of the linker that are set to the version.
    stamps: tuple[str, ...] = ()

    def version(self) -> str:
        """The pinned version of the subject, as in v1.34.4; empty if it is this module itself."""
        pinned = re.search(rf"\b{re.escape(self.subject)} (v\S+)", self._text("go.mod"))
        return pinned.group(1) if pinned else ""

    def go_version(self) -> tuple[int, ...]:
        """The oldest Go that can build it."""
        line = re.search(r"^go (\S+)$", self._text("go.mod"), re.MULTILINE)
        return _numbers(line.group(1)) if line else ()

    def fingerprint(self) -> bytes:
        """The content that determines the programs, apart from the compiler."""
        files = sorted(path for path in self.directory.iterdir() if path.suffix in _GO_SUFFIXES)
        return b"\0".join(
            part for path in files for part in (path.name.encode(), path.read_bytes())
        )

    def source(self) -> Path:
        """The directory of the subject's source; downloads it if it is missing."""
        answer = subprocess.run(
            ["go", "mod", "download", "-json", self.subject],
            cwd=self.directory,
            env=_go_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if answer.returncode != 0:
            raise ClusterError(f"cannot fetch {self.subject}: {answer.stderr.strip()}")
        return Path(json.loads(answer.stdout)["Dir"])

    def _text(self, name: str) -> str:
        return (self.directory / name).read_text()


_GO_SUFFIXES = (".mod", ".sum", ".go")
_KUBERNETES_PROGRAMS = (
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
    "kube-proxy",
    "kubectl",
)
_MODULES = (
    GoModule(
        directory=MODULES / "kubernetes",
        subject="k8s.io/kubernetes",
        programs={name: f"k8s.io/kubernetes/cmd/{name}" for name in _KUBERNETES_PROGRAMS},
        stamps=(
            "k8s.io/component-base/version.gitVersion",
            "k8s.io/client-go/pkg/version.gitVersion",
        ),
    ),
    GoModule(
        directory=MODULES / "etcd",
        subject="go.etcd.io/etcd/server/v3",
        programs={"etcd": "go.etcd.io/etcd/server/v3"},
    ),
    GoModule(directory=IMAGES / "pause", subject="pause", programs={"pause": "."}),
    GoModule(
        directory=MODULES / "helm",
        subject="helm.sh/helm/v4",
        programs={"helm": "helm.sh/helm/v4/cmd/helm"},
        stamps=("helm.sh/helm/v4/internal/version.version",),
    ),
)

# Takes long, so it is built only on request, and separately from what every cluster needs.
KUEUE_MODULE = GoModule(
    directory=MODULES / "kueue",
    subject="sigs.k8s.io/kueue",
    programs={"kueue": "sigs.k8s.io/kueue/cmd/kueue"},
    stamps=("sigs.k8s.io/kueue/pkg/version.GitVersion",),
)
_EVERY_MODULE = (*_MODULES, KUEUE_MODULE)

CONTROL_PLANE = ("etcd", "kube-apiserver", "kubectl")
KUEUE = ("kueue",)
ALL = tuple(program for module in _MODULES for program in module.programs)


def pinned_versions() -> dict[str, str]:
    """The pinned versions of all modules, by name."""
    return {module.subject: module.version() for module in _EVERY_MODULE if module.version()}


def directory() -> Path:
    """The directory of the programs of the pinned versions, whether they are built or not."""
    return _directory_of(_MODULES)


def path(program: str) -> Path:
    """The path of `program` of the pinned version, whether it is built or not."""
    return _home(next(module for module in _EVERY_MODULE if program in module.programs)) / program


def missing(programs: Iterable[str]) -> list[str]:
    """Those of `programs` that have not been built."""
    return [name for name in programs if not path(name).exists()]


def require(programs: Iterable[str]) -> Path:
    """Return the directory with `programs`; raise ClusterError if one has not been built."""
    if absent := missing(programs):
        raise ClusterError(f"{absent[0]} is not built: run `python3 tools/singlenode install`")
    return directory()


def build(programs: Iterable[str]) -> None:
    """Build the programs that are missing. An interrupted build leaves no incomplete program."""
    wanted = set(programs)
    modules = [module for module in _EVERY_MODULE if missing(wanted & set(module.programs))]
    if not modules:
        return
    lock = _home(modules[0]).with_suffix(".lock")
    busy = "another build of the same programs is still running"
    with (
        exclusive(lock, wait_seconds=_LONGEST_BUILD_SECONDS, busy=busy),
        ThreadPoolExecutor(_BUILDS_AT_ONCE) as pool,
    ):
        for _ in pool.map(lambda module: _build_module(module, wanted), modules):
            pass


def problem_with_go() -> str | None:
    """Return what is wrong with the installed Go; None if nothing is."""
    needed = max(module.go_version() for module in _EVERY_MODULE)
    readable = ".".join(str(number) for number in needed[:2])
    if shutil.which("go") is None:
        return f"install Go {readable} or newer"
    found = subprocess.run(
        ["go", "env", "GOVERSION"],
        env={**os.environ, "GOTOOLCHAIN": "local"},
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    if _numbers(found) < needed:
        return f"install Go {readable} or newer in place of {found or 'a broken one'}"
    return None


def _home(module: GoModule) -> Path:
    return directory() if module in _MODULES else _directory_of((module,))


def _directory_of(modules: Iterable[GoModule]) -> Path:
    digest = hashlib.sha256(f"{platform.machine()} {_GO_FLAGS}".encode())
    for module in modules:
        digest.update(module.fingerprint())
    return cache_home() / "bin" / digest.hexdigest()[:16]


def _build_module(module: GoModule, wanted: set[str]) -> None:
    # Checked again: another build may have finished while this one waited for it.
    names = missing(name for name in module.programs if name in wanted)
    if not names:
        return
    home = _home(module)
    what = f"building {', '.join(names)} {module.version()}".rstrip()
    home.mkdir(parents=True, exist_ok=True)
    with (
        progress.long_step(what),
        tempfile.TemporaryDirectory(prefix=".building-", dir=home) as scratch,
    ):
        _go_build(module, names, Path(scratch))
        for name in names:
            (Path(scratch) / name).rename(home / name)


def _go_build(module: GoModule, names: list[str], output: Path) -> None:
    stamps = [f"-X {variable}={module.version()}" for variable in module.stamps]
    # The names of package and program differ only in modules with a single program.
    target = str(output / names[0]) if len(names) == 1 else f"{output}/"
    packages = [module.programs[name] for name in names]
    log = cache_home() / "logs" / f"build-{module.directory.name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as sink:
        result = subprocess.run(
            ["go", "build", "-ldflags", " ".join(["-s -w", *stamps]), "-o", target, *packages],
            cwd=module.directory,
            env=_go_environment(),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if result.returncode != 0:
        raise ClusterError(f"building {', '.join(names)} failed: see {log}")


def _go_environment() -> dict[str, str]:
    settings = {"CGO_ENABLED": "0", "GOFLAGS": _GO_FLAGS, "GOWORK": "off", "GOTOOLCHAIN": "local"}
    return {**os.environ, **settings}


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))
