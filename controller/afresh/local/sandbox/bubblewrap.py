"""The command line of bubblewrap for one container of an episode.

The root is empty but for what is named here: an agent sees the machine's programs and libraries
read-only, and of the person's files none but its worktree. The first process is the shim.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from afresh.contract import pod_layout as at

PROGRAM = "bwrap"
# Programs and libraries. Whatever else a machine has at its top may hold anything.
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix")
# A file that root could read, and that holds secrets of the machine's.
SECRETS = ("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers")
SECRET_FOLDERS = ("/etc/ssh", "/etc/ssl/private", "/etc/kubernetes", "/etc/wireguard")
SHARED_MEMORY_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """One container: its folders on the machine, and its environment.

    `mounts` are further paths that are seen read-only, at the same place.
    """

    tree: Path
    home: Path
    control: Path
    tmp: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[Path, ...] = ()
    has_network: bool = True


def command_of(container: Container, program: tuple[str, ...]) -> list[str]:
    """Return the command that runs `program` as the first process of the container."""
    return [PROGRAM, *_isolation(container), *_root(container), *_work(container), "--", *program]


def _isolation(container: Container) -> Iterator[str]:
    yield from ("--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL")
    yield from ("--as-pid-1", "--die-with-parent", "--new-session", "--clearenv")
    yield from ("--hostname", "episode")
    if container.has_network:
        yield "--share-net"
    for name, value in container.environment.items():
        yield from ("--setenv", name, value)


def _root(container: Container) -> Iterator[str]:
    yield from ("--tmpfs", "/")
    for name in SYSTEM:
        path = Path(name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), name)
        elif path.is_dir():
            yield from ("--ro-bind", name, name)
    for name in SECRETS:
        if Path(name).exists():
            yield from ("--ro-bind", "/dev/null", name)
    for name in SECRET_FOLDERS:
        if Path(name).is_dir():
            yield from ("--tmpfs", name)
    # The kernel's settings are root's by its user id, whatever capabilities it has.
    yield from ("--dev", "/dev", "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys")
    yield from ("--size", str(SHARED_MEMORY_BYTES), "--tmpfs", "/dev/shm")  # noqa: S108
    yield from ("--dir", "/run", "--dir", "/var/tmp")  # noqa: S108
    resolver = Path("/etc/resolv.conf")
    if container.has_network and resolver.is_symlink() and resolver.exists():
        target = str(resolver.resolve())
        yield from ("--ro-bind", target, target)
    for mount in container.mounts:
        yield from ("--ro-bind", str(mount), str(mount))


def _work(container: Container) -> Iterator[str]:
    yield from ("--bind", str(container.tree), at.WORKTREE)
    yield from ("--bind", str(container.home), at.AGENT_HOME)
    yield from ("--bind", str(container.tmp), "/tmp")  # noqa: S108
    yield from ("--ro-bind", str(container.control), at.CONTROL)
    yield from ("--remount-ro", "/", "--chdir", at.WORKTREE)
