"""The certificate authorities that the programs in the pod trust.

These are the public ones and those of the AgentClass. Owns the bundle file that agent and verify
find on their control volumes, which they cannot write to. The gateway reads the class's ConfigMap
itself.
"""

import contextlib
from pathlib import Path

from afresh.episode.paths import Paths

PUBLIC = Path("/etc/ssl/certs/ca-certificates.crt")


def share_authorities(paths: Paths, public: Path = PUBLIC) -> None:
    """Write the bundle for agent and verify if the class names a ConfigMap; else do nothing.

    Call it before the first command runs in a container: each script looks for the file when it
    starts.
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
