"""Writes the shell scripts that the other containers run.

Owns the environment of an agent and of an acceptance command, apart from the variables that the pod
itself sets. Pure.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from afresh.episode.paths import ContainerPaths

# Variables that the kubelet sets in every container, and that the pod sets for the shim. The agent
# needs none of them, and some differ between clusters.
HIDDEN = (
    "KUBERNETES_SERVICE_HOST",
    "KUBERNETES_SERVICE_PORT",
    "KUBERNETES_SERVICE_PORT_HTTPS",
    "KUBERNETES_PORT",
    "KUBERNETES_PORT_443_TCP",
    "KUBERNETES_PORT_443_TCP_PROTO",
    "KUBERNETES_PORT_443_TCP_PORT",
    "KUBERNETES_PORT_443_TCP_ADDR",
    "AFRESH_CONTROL",
    "AFRESH_PIDS_LIMIT",
    "OLDPWD",
)
# The variables from which OpenSSL, Go and Rust, Node.js and Bun, Python's requests, curl and git
# take their certificate authorities.
TRUST = (
    "SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A program with its arguments and environment, to run in the container's working tree.

    `is_emptied`: HOME, /tmp and /dev/shm are emptied before it starts.
    """

    argv: Sequence[str]
    paths: ContainerPaths
    environment: Mapping[str, str] = field(default_factory=dict)
    is_emptied: bool = False

    def text(self) -> str:
        """Return the script for a POSIX shell, which executes the program in its own place."""
        variables = {
            "HOME": str(self.paths.home),
            # git distrusts a folder of another user: the volume's root belongs to the node's root.
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": str(self.paths.tree),
            **self.environment,
        }
        lines = [
            f"cd {shlex.quote(str(self.paths.tree))} || exit 126",
            f"unset {' '.join(HIDDEN)}",
            *(self._emptying() if self.is_emptied else ()),
            *self._trust(),
            *(f"export {name}={shlex.quote(value)}" for name, value in variables.items()),
            f"exec {shlex.join(self.argv)}",
        ]
        return "\n".join(lines) + "\n"

    def _trust(self) -> Iterator[str]:
        """Yield lines that set the class's authorities, if any; variables of its `env` win."""
        file = shlex.quote(str(self.paths.authorities))
        yield f"if [ -f {file} ]; then"
        for name in TRUST:
            yield f'export {name}="${{{name}-}}"; [ -n "${name}" ] || {name}={file}'
        yield "fi"

    def _emptying(self) -> Iterator[str]:
        """Yield lines that remove everything, and end the script if that fails."""
        for path in (self.paths.home, self.paths.tmp, self.paths.memory):
            folder = shlex.quote(str(path))
            everything = f"{folder}/* {folder}/.[!.]* {folder}/..?*"
            yield f"chmod -R u+rwX {everything} 2>/dev/null"
            yield f"rm -rf -- {everything}"
            yield f'[ ! -d {folder} ] || [ -z "$(ls -A {folder})" ] || exit 126'
