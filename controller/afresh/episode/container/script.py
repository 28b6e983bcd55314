"""Writes the shell scripts that the other containers run.

What an agent or an acceptance command can see in its environment, beyond what the pod's builder put
there, is decided here and nowhere else. Pure.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from afresh.episode.paths import Seen

# Set by the kubelet in every container, and by the pod's builder for the shim. None is the
# agent's business, and some of them differ between clusters.
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
# By which OpenSSL, Go and Rust, Node.js and Bun, Python's requests, curl and git find authorities.
TRUST = (
    "SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A program with its arguments and environment, to run in a container's own tree.

    `is_emptied`: nothing that ran there before leaves it anything in HOME, /tmp and /dev/shm.
    """

    argv: Sequence[str]
    seen: Seen
    environment: Mapping[str, str] = field(default_factory=dict)
    is_emptied: bool = False

    def text(self) -> str:
        """Return it for a POSIX shell, which becomes the program."""
        variables = {
            "HOME": str(self.seen.home),
            # The root of a volume belongs to the node's root, which git would not trust.
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": str(self.seen.tree),
            **self.environment,
        }
        lines = [
            f"cd {shlex.quote(str(self.seen.tree))} || exit 126",
            f"unset {' '.join(HIDDEN)}",
            *(self._emptying() if self.is_emptied else ()),
            *self._trust(),
            *(f"export {name}={shlex.quote(value)}" for name, value in variables.items()),
            f"exec {shlex.join(self.argv)}",
        ]
        return "\n".join(lines) + "\n"

    def _trust(self) -> Iterator[str]:
        """Lines that name the class's authorities, where it has any; its `env` comes first."""
        file = shlex.quote(str(self.seen.authorities))
        yield f"if [ -f {file} ]; then"
        for name in TRUST:
            yield f'export {name}="${{{name}-}}"; [ -n "${name}" ] || {name}={file}'
        yield "fi"

    def _emptying(self) -> Iterator[str]:
        """Lines that remove everything, and end the script where that cannot be done."""
        for path in (self.seen.home, self.seen.tmp, self.seen.memory):
            folder = shlex.quote(str(path))
            everything = f"{folder}/* {folder}/.[!.]* {folder}/..?*"
            yield f"chmod -R u+rwX {everything} 2>/dev/null"
            yield f"rm -rf -- {everything}"
            yield f'[ ! -d {folder} ] || [ -z "$(ls -A {folder})" ] || exit 126'
