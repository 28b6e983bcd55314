"""The command line: turns arguments into calls, and errors into one sentence. Has no logic.

Progress goes to standard error, results to standard output.
"""

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager

from tools.singlenode import (
    binaries,
    bringup,
    client,
    images,
    kueue,
    packages,
    prerequisites,
    progress,
)
from tools.singlenode.errors import ClusterError
from tools.singlenode.lock import exclusive
from tools.singlenode.paths import ClusterPaths, checked_name, clusters_home
from tools.singlenode.teardown import take_down

_PATIENCE_SECONDS = 300
_INTERRUPTED = 130

_PARTS = {"control-plane": binaries.CONTROL_PLANE, "kueue": binaries.KUEUE}

_Options = argparse.Namespace


def main(arguments: Sequence[str]) -> int:
    """Run one command; return the exit code: 0, 1 for an error, 2 for a usage error."""
    # SIGTERM acts like an interrupt: unfinished work is undone.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = _parse(arguments)
    try:
        code: int = options.run(options)
    except ClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return _INTERRUPTED
    return code


def _check(_: _Options) -> int:
    prerequisites.check()
    return 0


def _install(options: _Options) -> int:
    if options.only:
        prerequisites.check_control_plane()
        binaries.build(_PARTS[options.only])
        return 0
    prerequisites.check()
    with ThreadPoolExecutor(1) as pool:
        installation = pool.submit(packages.install)
        binaries.build(binaries.ALL)
        installation.result()
    return 0


def _images(options: _Options) -> int:
    prerequisites.check_root()
    images.build(options.images, options.tag)
    return 0


def _load(options: _Options) -> int:
    paths = _running(options.name)
    images.load(paths, options.images)
    return 0


def _kueue(options: _Options) -> int:
    prerequisites.check_root()
    paths = _running(options.name)
    with _alone(paths):
        kueue.install(paths)
    return 0


def _up(options: _Options) -> int:
    paths = ClusterPaths(options.name)
    kind = bringup.CONTROL_PLANE if options.control_plane else bringup.NODE
    with _alone(paths):
        is_new = bringup.ensure_up(paths, kind)
    progress.say(f"{paths.name} {'is ready' if is_new else 'was already running'}")
    if options.control_plane:
        print(paths.admin_kubeconfig)
    else:
        print(f"{paths.root / 'kubectl'} get nodes")
    return 0


def _down(options: _Options) -> int:
    paths = ClusterPaths(options.name)
    with _alone(paths):
        was_there = paths.root.exists()
        take_down(paths)
    progress.say(f"{paths.name} {'is removed' if was_there else 'did not exist'}")
    return 0


def _list(_: _Options) -> int:
    roots = sorted(entry for entry in clusters_home().glob("*") if entry.is_dir())
    for paths in (ClusterPaths(root.name) for root in roots):
        state = "up" if bringup.is_up(paths) else "incomplete"
        print(f"{paths.name:<20} {bringup.kind_of(paths):<14} {state}")
    return 0


def _run(options: _Options) -> int:
    client.become(_running(options.name), options.command)


def _running(name: str) -> ClusterPaths:
    paths = ClusterPaths(name)
    if not bringup.is_up(paths):
        raise ClusterError(f"{name} is not running: run `python3 tools/singlenode up {name}`")
    return paths


def _alone(paths: ClusterPaths) -> AbstractContextManager[None]:
    return exclusive(
        clusters_home() / f"{paths.name}.lock",
        wait_seconds=_PATIENCE_SECONDS,
        busy=f"another command is still working on {paths.name}: try again when it has finished",
    )


def _parse(arguments: Sequence[str]) -> _Options:
    """Parse the command line. argparse would drop every "--", even those of the command to run."""
    parser = _parser()
    is_run = "--" in arguments and arguments[0] == "run"
    cut = arguments.index("--") if is_run else len(arguments)
    options = parser.parse_args(arguments[:cut])
    if options.run is _run:
        options.command += arguments[cut + 1 :]
        if not options.command:
            parser.error("name the command to run, after --")
    return options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python3 tools/singlenode",
        description="A real single-node Kubernetes from plain processes, and images without a "
        "registry.",
        epilog="example: python3 tools/singlenode install && python3 tools/singlenode up demo",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add(commands, _check, "check", "report what this machine lacks; change nothing")
    install = _add(commands, _install, "install", "install and build what a cluster needs")
    install.add_argument(
        "--only",
        choices=[*_PARTS],
        help="only etcd, kube-apiserver and kubectl, or only Kueue's controller (10 minutes)",
    )
    up = _add(commands, _up, "up demo", "start a cluster, unless it is running")
    up.add_argument("name", type=_name, metavar="NAME")
    up.add_argument(
        "--control-plane", action="store_true", help="only etcd and kube-apiserver, on loopback"
    )
    down = _add(commands, _down, "down demo", "remove a cluster and everything that belongs to it")
    down.add_argument("name", type=_name, metavar="NAME")
    _add(commands, _list, "list", "print the clusters and their state")
    run = _add(
        commands, _run, "run demo -- kubectl get pods", "run a command in a cluster's network"
    )
    run.add_argument("name", type=_name, metavar="NAME")
    run.add_argument("command", nargs="*", metavar="CMD")
    build = _add(commands, _images, "images runner demo", "build images that have changed")
    build.add_argument("images", nargs="*", metavar="IMAGE", help="default: all")
    build.add_argument("--tag", default=images.DEFAULT_TAG, help="default: %(default)s")
    load = _add(commands, _load, "load demo", "load built images into a cluster")
    load.add_argument("name", type=_name, metavar="NAME")
    load.add_argument("images", nargs="*", metavar="IMAGE", help="default: all")
    queues = _add(commands, _kueue, "kueue demo", "install Kueue into a cluster")
    queues.add_argument("name", type=_name, metavar="NAME")
    return parser


def _add(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    run: Callable[[_Options], int],
    example: str,
    what: str,
) -> argparse.ArgumentParser:
    command = commands.add_parser(
        example.split(maxsplit=1)[0],
        help=what,
        description=f"{what[0].upper()}{what[1:]}.",
        epilog=f"example: python3 tools/singlenode {example}",
    )
    command.set_defaults(run=run)
    return command


def _name(text: str) -> str:
    try:
        return checked_name(text)
    except ClusterError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
