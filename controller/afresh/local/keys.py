"""The keys of a run: those of the models, and those by which each gateway knows its own agent.

Owns where they are kept. The keys of models are in memory, in a folder that only this person can
read, for as long as the run lasts; no object, no command line and no environment has them.
"""

import contextlib
import fcntl
import hmac
import os
import secrets as random
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from afresh.api.agent_class import AgentClass
from afresh.contract import pod_layout as at
from afresh.contract.abilities import ABILITIES
from afresh.contract.order import Order
from afresh.contract.words import AdapterName, CredentialsMode, ModelApiName
from afresh.local.files import write_whole

MODEL_KEY = "api-key"
SEED_FILE = "gateway-seed"
SEED_BYTES = 32
# The environment variables that may hold a key, the first that is set counts.
VARIABLES: Mapping[ModelApiName, tuple[str, ...]] = {
    ModelApiName.ANTHROPIC: ("ANTHROPIC_API_KEY",),
    ModelApiName.GEMINI: ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    ModelApiName.OPENAI: ("OPENAI_API_KEY",),
}
OWN_VARIABLES: Mapping[AdapterName, tuple[str, ...]] = {AdapterName.CODEX: ("CODEX_API_KEY",)}


class KeyMissingError(Exception):
    """The agent has no key for its model; the message is one sentence with the remedy."""


def secrets_for(agent_class: AgentClass, environment: Mapping[str, str]) -> dict[str, str]:
    """Return what the class's Secret holds in a cluster. Raises KeyMissingError."""
    name, spec = agent_class.metadata.name, agent_class.spec
    if spec.credentials is None:
        return {}
    if spec.credentials.mode is CredentialsMode.ENVIRONMENT:
        raise KeyMissingError(
            f"The AgentClass {name} gives the agent its key, which only a cluster can; set"
            " spec.credentials.mode to Gateway."
        )
    apis = ABILITIES[spec.adapter].model_apis
    if not apis:
        return {}
    names = OWN_VARIABLES.get(spec.adapter, ()) + VARIABLES[spec.model_api or apis[0]]
    found = next((environment[name] for name in names if environment.get(name, "").strip()), None)
    if found is None:
        raise KeyMissingError(
            f"The agent {name} needs the key of its model; set the environment variable"
            f" {' or '.join(names)} to it."
        )
    return {MODEL_KEY: found.strip()}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunKeys:
    """What the episodes of one run are given: the folder of the model's key, and a seed.

    `folder` is None if the agent needs no key.
    """

    folder: Path | None
    seed: bytes

    def lay_out(self, pod: Path, order: Order) -> None:
        """Put the keys of an episode where its runner looks for them, below `pod`."""
        if self.folder and order.agent.secret_name:
            place = pod / at.MODEL_SECRET_DIR.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(self.folder)
        _write_private(pod / at.AGENT_KEY_FILE.lstrip("/"), agent_key(self.seed, order))


def agent_key(seed: bytes, order: Order) -> str:
    """Return the key that the gateway of an episode takes: the same in each of its attempts."""
    named = "\n".join((order.package, *(task.id for task in order.tasks)))
    return f"afresh-{hmac.digest(seed, named.encode(), 'sha256').hex()}"


def read_seed(folder: Path) -> bytes:
    """Return the seed that is kept in `folder`; it is made if there is none."""
    path = folder / SEED_FILE
    with contextlib.suppress(FileNotFoundError):
        return path.read_bytes()
    write_whole(path, random.token_bytes(SEED_BYTES))
    return path.read_bytes()


@contextlib.contextmanager
def kept_in_memory(secrets: Mapping[str, str]) -> Iterator[Path | None]:
    """Provide a folder with a file for each of `secrets` until the block ends; None: no secrets.

    Folders that a run has left that was killed are removed.
    """
    if not secrets:
        yield None
        return
    parent = _memory()
    prefix = f"afresh-keys-{os.getuid()}-"
    for old in parent.glob(f"{prefix}*"):
        _remove_left_over(old)
    folder, lock = _new_folder(parent, prefix)
    try:
        for name, value in secrets.items():
            _write_private(folder / name, value)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _memory() -> Path:
    """Return a folder whose files are in memory, or as near to it as this machine has one."""
    own = Path(os.environ.get("XDG_RUNTIME_DIR") or "-")
    if own.is_absolute() and own.is_dir() and own.stat().st_uid == os.getuid():
        return own
    shared = Path("/dev/shm")  # noqa: S108  # the folder in it is private
    return shared if os.access(shared, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())


def _new_folder(parent: Path, prefix: str) -> tuple[Path, int]:
    """Return a folder that only this user can read, and the descriptor that locks it."""
    while True:
        folder = Path(tempfile.mkdtemp(dir=parent, prefix=prefix))
        with contextlib.suppress(FileNotFoundError):  # another run took it for one left over
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if folder.exists():
                return folder, lock
            os.close(lock)


def _remove_left_over(folder: Path) -> None:
    """Remove a folder unless the run that has made it still holds its lock."""
    with contextlib.suppress(OSError):
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder)
        finally:
            os.close(lock)


def _write_private(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
