"""What a hostile agent tries from within its container; it writes down how far it came.

Runs in the agent's image, and is sent there as text: it needs nothing but Python's own library.
Writes one JSON object; each entry is what was gained, or nothing.
"""

import contextlib
import json
import os
import ssl
import sys
import urllib.error
import urllib.request
from pathlib import Path

RUNNERS = ("/afresh/git", "/afresh/secrets", "/afresh/token", "/afresh/podinfo", "/afresh/ca")
ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


def writable_mounts() -> list[str]:
    """Where a file can be made, of all places where something is mounted, and the root."""
    mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    places = {"/", "/etc", "/usr/bin", "/afresh", *(m for m in mounts if not m.startswith("/proc"))}
    return sorted(place for place in places if is_writable(Path(place)))


def is_writable(place: Path) -> bool:
    """Make a file there, or write to the file that it is."""
    if place.is_dir():
        mine = place / "planted"
        try:
            mine.write_text("planted")
        except OSError:
            return False
        mine.unlink()
        return True
    try:
        with place.open("a"):
            return True
    except OSError:
        return False


def readable_files(*folders: str) -> list[str]:
    """Files of the runner that can be read."""
    found = [str(path) for folder in folders for path in Path(folder).rglob("*")]
    return [path for path in found if os.access(path, os.R_OK)]


def others_processes() -> list[str]:
    """Processes that are not in this container: their command names the runner."""
    commands = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            commands.append((folder / "cmdline").read_text())
    return [line for line in commands if "afresh.episode" in line]


def replaced_fifos() -> list[str]:
    """Names in the control volume that could be replaced by a link."""
    done = []
    for name in ("go", "done", "out", "err", "closed", "agent.sh"):
        place = Path("/afresh/control") / name
        with contextlib.suppress(OSError):
            place.unlink(missing_ok=True)
            place.symlink_to("/workspace/mine")
            done.append(name)
    return done


def answer(url: str, text: str, **headers: str) -> int | str:
    """The HTTP status of a POST, or why there was none."""
    trusting = ssl._create_unverified_context()  # it attacks: it trusts anybody
    request = urllib.request.Request(url, text.encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=10, context=trusting) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError as error:
        return str(error)


def main(reports: str, forged: str, api: str) -> None:
    """Try everything."""
    tried = {
        "runner's files": readable_files(*RUNNERS),
        "account": readable_files(ACCOUNT),
        "writable": writable_mounts(),
        "other containers' processes": others_processes(),
        "replaced": replaced_fifos(),
        "secrets in the environment": [
            name for name in os.environ if any(w in name for w in ("API_KEY", "TOKEN", "SECRET"))
        ],
        "report without a token": answer(reports, forged),
        "report with a forged token": answer(
            reports, forged, Authorization="Bearer eyJhbGciOiJub25lIn0.e30."
        ),
        "API server": answer(api, forged),
    }
    json.dump(tried, sys.stdout, indent=1, sort_keys=True)


main(*sys.argv[1:])
