"""The paths of the pod, as the runner and as the other containers see them.

Decides nothing: the paths themselves come from `contract.pod_layout`.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from afresh.contract import pod_layout as at

TERMINATION_LOG = "/dev/termination-log"
MESSAGE_QUEUES = "/dev/mqueue"
SYSTEM_V = "/proc/sysvipc"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerPaths:
    """The paths inside a container of what the runner shares with it.

    `authorities` is a file that exists only if the AgentClass has a caBundle.
    """

    tree: Path
    home: Path
    authorities: Path = Path(at.CONTROL, at.AUTHORITIES_NAME)
    tmp: Path = Path("/tmp")  # noqa: S108  # a volume of the container's own
    memory: Path = Path("/dev/shm")  # noqa: S108  # likewise


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """Every path that the runner uses. The defaults are those of the pod.

    `stay_seconds`: how long the runner stays after its last Report when it is told to end.
    """

    order: Path = Path(at.ORDER_FILE)
    git_dir: Path = Path(at.GIT_DIR)
    git_secret: Path = Path(at.GIT_SECRET_DIR)
    signing_secret: Path = Path(at.SIGNING_SECRET_DIR)
    model_secret: Path = Path(at.MODEL_SECRET_DIR)
    agent_key: Path | None = None
    """The file with the only key that the gateway takes; None: it takes any."""
    authorities: Path = Path(at.CA_DIR)
    cache: Path = Path(at.CACHE_DIR)
    token: Path = Path(at.TOKEN_FILE)
    worktree: Path = Path(at.WORKTREE)
    home: Path = Path(at.AGENT_HOME)
    checkout: Path = Path(at.CHECKOUT)
    agent_control: Path = Path(at.AGENT_CONTROL)
    verify_control: Path = Path(at.VERIFY_CONTROL)
    termination_log: Path = Path(TERMINATION_LOG)
    message_queues: Path = Path(MESSAGE_QUEUES)
    system_v: Path = Path(SYSTEM_V)
    agent_paths: ContainerPaths = ContainerPaths(tree=Path(at.WORKTREE), home=Path(at.AGENT_HOME))
    verify_paths: ContainerPaths = ContainerPaths(tree=Path(at.WORKTREE), home=Path(at.AGENT_HOME))
    gateway_port: int = at.GATEWAY_PORT
    stay_seconds: float = 2.5  # the kubelet loses the message of a container that ends at once

    @property
    def agent_authorities(self) -> Path:
        """The runner's path of the agent's file of certificate authorities."""
        return self.agent_control / at.AUTHORITIES_NAME

    @property
    def verify_authorities(self) -> Path:
        """The runner's path of verify's file of certificate authorities."""
        return self.verify_control / at.AUTHORITIES_NAME

    @classmethod
    def sandboxed(cls, root: Path) -> "Paths":
        """Return the same paths below `root`; agent and verify see it where a pod has it."""
        pod = cls()
        return replace(
            cls.under(root),
            agent_key=root / at.AGENT_KEY_FILE.lstrip("/"),
            agent_paths=pod.agent_paths,
            verify_paths=pod.verify_paths,
            stay_seconds=0.0,
        )

    @classmethod
    def under(cls, root: Path) -> "Paths":
        """Return the same paths below `root`, with any free port for the gateway.

        All containers use these paths: there is no mount between them.
        """

        def below(path: str) -> Path:
            return root / path.lstrip("/")

        return cls(
            order=below(at.ORDER_FILE),
            git_dir=below(at.GIT_DIR),
            git_secret=below(at.GIT_SECRET_DIR),
            signing_secret=below(at.SIGNING_SECRET_DIR),
            model_secret=below(at.MODEL_SECRET_DIR),
            authorities=below(at.CA_DIR),
            cache=below(at.CACHE_DIR),
            token=below(at.TOKEN_FILE),
            worktree=below(at.WORKTREE),
            home=below(at.AGENT_HOME),
            checkout=below(at.CHECKOUT),
            agent_control=below(at.AGENT_CONTROL),
            verify_control=below(at.VERIFY_CONTROL),
            termination_log=below(TERMINATION_LOG),
            message_queues=below(MESSAGE_QUEUES),
            system_v=below(SYSTEM_V),
            agent_paths=ContainerPaths(
                tree=below(at.WORKTREE),
                home=below(at.AGENT_HOME),
                authorities=below(at.AGENT_CONTROL) / at.AUTHORITIES_NAME,
            ),
            verify_paths=ContainerPaths(
                tree=below(at.CHECKOUT),
                home=below("/home/verify"),
                tmp=below("/verify-tmp"),
                memory=below("/verify-shm"),
                authorities=below(at.VERIFY_CONTROL) / at.AUTHORITIES_NAME,
            ),
            gateway_port=0,
        )
