"""The certificate authorities that the programs in the pod trust: the public ones and the class's.

Owns the file that agent and verify find on their control volumes, which they cannot write to. The
gateway reads the class's ConfigMap itself.
"""

import contextlib
from pathlib import Path

from afresh.episode.paths import Paths

PUBLIC = Path("/etc/ssl/certs/ca-certificates.crt")


def share_authorities(paths: Paths, public: Path = PUBLIC) -> None:
    """Write the bundle for agent and verify, where the class names one; else do nothing.

    To be called before the containers greet: their scripts look for the file when they begin.
    """
    if not paths.authorities.is_dir():
        return
    parts = [file for file in sorted(paths.authorities.iterdir()) if file.is_file()]
    if not parts:
        return  # the ConfigMap is missing or empty
    with contextlib.suppress(FileNotFoundError):
        parts.insert(0, public.resolve(strict=True))
    bundle = b"\n".join(file.read_bytes().rstrip() for file in parts) + b"\n"
    for place in (paths.agent_authorities, paths.verify_authorities):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(bundle)
        place.chmod(0o444)
