"""Reads the mounted Secrets, reports what they lack, and writes the credentials that git reads.

Owns every message about a Secret that lacks something. Values leave this file only for the private
files that git reads, for the gateway, and for the redactor.
"""

import base64
import shlex
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from afresh.contract.order import Order, Repository
from afresh.contract.words import Outcome
from afresh.episode.git.refusals import public_url
from afresh.episode.paths import Paths
from afresh.episode.stopped import SubtaskStopped

API_KEY = "api-key"
SSH_KEY = "ssh-privatekey"
PUBLIC = frozenset({"username", "known_hosts", "ca.crt"})
MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretMount:
    """A Secret, mounted as a directory of files.

    Mounts are optional, so the directory of a missing Secret is empty.
    """

    name: str
    namespace: str
    field: str
    directory: Path

    def find(self, key: str) -> str | None:
        """Return the value under `key` without surrounding white space; None if it has none."""
        path = self.directory / key
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            return None
        return path.read_text(encoding="utf-8", errors="replace").strip() or None

    def require_any(self) -> None:
        """Raise SubtaskStopped, with what to correct, if the Secret has no key at all."""
        if not any(path.is_file() for path in _listed(self.directory)):
            raise SubtaskStopped(
                Outcome.CONFIG,
                f'Secret "{self.name}" in namespace "{self.namespace}" is missing or has no key; '
                f"create it or correct {self.field}.",
            )

    def require(self, key: str) -> str:
        """Return the value under `key`. Raises SubtaskStopped, with what to correct."""
        value = self.find(key)
        if value is None:
            lacks = (
                "has" if any(map(Path.is_file, _listed(self.directory))) else "is missing or has"
            )
            raise SubtaskStopped(
                Outcome.CONFIG,
                f'Secret "{self.name}" in namespace "{self.namespace}" {lacks} no key "{key}"; '
                f"create it or correct {self.field}.",
            )
        return value


def model_key(order: Order, paths: Paths) -> str:
    """Return the key that the gateway adds to requests. Raises SubtaskStopped if it is missing."""
    name = order.agent.secret_name
    if name is None:
        raise SubtaskStopped(
            Outcome.CONFIG,
            "The AgentClass names no Secret for its model; set spec.credentials.secretName.",
        )
    return _model_secret(order, paths, name).require(API_KEY)


def require_variables(order: Order, paths: Paths) -> None:
    """Raise SubtaskStopped if the agent's container did not get the variables of its Secret.

    The kubelet silently leaves out the variables of a missing Secret. The runner has the same
    Secret mounted as files, and checks those.
    """
    if order.agent.secret_name:
        _model_secret(order, paths, order.agent.secret_name).require_any()


def known_secrets(paths: Paths) -> list[str]:
    """Return every secret value that is mounted in the runner, for the redactor."""
    values = [
        path.read_text(encoding="utf-8", errors="replace")
        for directory in (
            paths.git_secret,
            paths.signing_secret,
            paths.model_secret,
            paths.token.parent,
        )
        for path in _listed(directory)
        if path.is_file() and not (directory != paths.model_secret and path.name in PUBLIC)
    ]
    username = paths.git_secret / "username"
    if username.is_file():
        user = username.read_text(encoding="utf-8", errors="replace").strip()
        values += [f"{user}:{value.strip()}" for value in values]
    return values + ([paths.agent_key.read_text()] if paths.agent_key else [])


def _listed(directory: Path) -> list[Path]:
    return list(directory.iterdir()) if directory.is_dir() else []


def write_git_credentials(order: Order, paths: Paths) -> None:
    """Write the private files that git and ssh read.

    Raises SubtaskStopped if the Secret lacks a key.
    """
    paths.git_dir.mkdir(parents=True, exist_ok=True)
    secret = _git_secret(order, paths)
    if is_ssh(order.repository.url):
        config = _ssh(secret, order.repository, paths.git_dir)
    elif order.repository.url.startswith("file://"):
        config = _clone(order.repository.url)
    else:
        config = _http(secret, order.repository) if secret else ""
    private(paths.git_dir / "credentials", config)


def private(path: Path, content: str) -> None:
    """Write a file that only this user can read."""
    path.touch(mode=0o600)
    path.chmod(0o600)
    path.write_text(content)


def _http(secret: SecretMount, repository: Repository) -> str:
    site = urlsplit(repository.url)
    # Sent with the first request: otherwise git first asks without it, and is refused each time.
    config = (
        f'[http "{site.scheme}://{site.netloc}/"]\n'
        f"\textraHeader = Authorization: Basic {_basic(secret)}\n"
    )
    return config + _authority(secret)


def _clone(url: str) -> str:
    """A clone of this machine: none of its hooks runs, and it may be another user's."""
    return (
        '[protocol "file"]\n\tallow = always\n'
        f'[remote "{url}"]\n'
        "\tuploadpack = git -c safe.directory=* upload-pack\n"
        "\treceivepack = git -c safe.directory=* -c core.hooksPath=/dev/null"
        " -c receive.denyCurrentBranch=refuse -c receive.autogc=false"
        " -c gc.auto=0 -c maintenance.auto=false receive-pack\n"
    )


def _authority(secret: SecretMount) -> str:
    if not secret.find("ca.crt"):
        return ""
    return f"[http]\n\tsslCAInfo = {secret.directory / 'ca.crt'}\n"


def no_ssh_key(repository: Repository) -> SubtaskStopped:
    """Return the end of an episode whose repository is reached by SSH and that has no Secret."""
    return SubtaskStopped(
        Outcome.CONFIG,
        f"The repository {public_url(repository.url)} needs an SSH key; "
        "name a Secret in spec.repository.secretName of the WorkPackage.",
    )


def _ssh(secret: SecretMount | None, repository: Repository, git_dir: Path) -> str:
    if secret is None:
        raise no_ssh_key(repository)
    # A copy: ssh refuses a key that a group may read, and mounted Secrets are group-readable.
    private(git_dir / "ssh-key", secret.require(SSH_KEY) + "\n")
    private(git_dir / "known-hosts", secret.require("known_hosts") + "\n")
    options = {
        "IdentityFile": git_dir / "ssh-key",
        "IdentitiesOnly": "yes",
        "UserKnownHostsFile": git_dir / "known-hosts",
        "GlobalKnownHostsFile": "/dev/null",
        "StrictHostKeyChecking": "yes",
        "BatchMode": "yes",
        "ConnectTimeout": "30",
    }
    words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    command = shlex.join(["ssh", "-F", "/dev/null", *words])
    return f"[core]\n\tsshCommand = {command}\n{_authority(secret)}"


def is_ssh(url: str) -> bool:
    """Whether git reaches `url` by SSH. scp's short form, user@host:path, has no scheme."""
    return url.startswith("ssh://") or "://" not in url


def _basic(secret: SecretMount) -> str:
    pair = f"{secret.require('username')}:{secret.require('password')}"
    return base64.b64encode(pair.encode()).decode()


def _git_secret(order: Order, paths: Paths) -> SecretMount | None:
    name = order.repository.secret_name
    if name is None:
        return None
    return SecretMount(
        name=name,
        namespace=_namespace(order),
        field="spec.repository.secretName of the WorkPackage",
        directory=paths.git_secret,
    )


def _model_secret(order: Order, paths: Paths, name: str) -> SecretMount:
    return SecretMount(
        name=name,
        namespace=_namespace(order),
        field="spec.credentials.secretName of the AgentClass",
        directory=paths.model_secret,
    )


def _namespace(order: Order) -> str:
    return order.package.partition("/")[0]
