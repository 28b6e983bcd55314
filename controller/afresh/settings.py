"""The operator's settings, read once from its environment."""

from collections.abc import Mapping
from dataclasses import dataclass

LOG_LEVELS = ("INFO", "DEBUG", "WARNING", "ERROR")
LOG_FORMATS = ("json", "console")
LAST_PORT = 65535
MOST_WORKERS = 1000
SWITCH = ("true", "false")
POD_USERS = ("derived", "namespace")


class SettingsError(ValueError):
    """A setting is missing or malformed; the message names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the operator is told at its start. No namespaces means all of them.

    `pod_users` says who chooses an episode's user: Afresh, or the namespace as on OpenShift.
    `lease_name` is the Lease by which one of several operators leads; None: this one is alone.
    `pod_ip` is where the others find its report endpoint. `report_secret` is the Secret with the
    key of that endpoint, which all operators share; None: a key of this process alone.
    `checks_episodes`: a Job or a pod counts only with the seal that it was made with.
    """

    runner_image: str
    report_url: str | None
    namespaces: tuple[str, ...] = ()
    report_port: int = 8080
    metrics_port: int = 8081
    workers: int = 8
    pod_users: str = "derived"
    lease_name: str | None = None
    report_secret: str | None = None
    pod_ip: str = ""
    checks_episodes: bool = True
    log_level: str = "INFO"
    log_format: str = "json"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Settings":
        """Read AFRESH_* variables. Raises SettingsError."""
        image = environment.get("AFRESH_RUNNER_IMAGE")
        if not image:
            raise SettingsError("AFRESH_RUNNER_IMAGE is not set: name the runner's image")
        names = environment.get("AFRESH_NAMESPACES", "")
        lease, address = environment.get("AFRESH_LEASE_NAME"), environment.get("AFRESH_POD_IP")
        if lease and not address:
            raise SettingsError(
                "AFRESH_POD_IP is not set: with AFRESH_LEASE_NAME, give the pod's own address"
            )
        return cls(
            runner_image=image,
            report_url=_report_url(environment),
            namespaces=tuple(name.strip() for name in names.split(",") if name.strip()),
            report_port=_integer(environment, "AFRESH_REPORT_PORT", 8080, most=LAST_PORT),
            metrics_port=_integer(environment, "AFRESH_METRICS_PORT", 8081, most=LAST_PORT),
            workers=_integer(environment, "AFRESH_WORKERS", 8, most=MOST_WORKERS),
            pod_users=_one_of(environment, "AFRESH_POD_USERS", POD_USERS),
            lease_name=lease or None,
            report_secret=environment.get("AFRESH_REPORT_SECRET") or None,
            pod_ip=address or "",
            checks_episodes=_one_of(environment, "AFRESH_CHECK_EPISODES", SWITCH) == "true",
            log_level=_one_of(environment, "AFRESH_LOG_LEVEL", LOG_LEVELS),
            log_format=_one_of(environment, "AFRESH_LOG_FORMAT", LOG_FORMATS),
        )


def _report_url(environment: Mapping[str, str]) -> str | None:
    """The kubelet writes a Service's IPv6 address without the brackets that a URL needs."""
    scheme, mark, rest = environment.get("AFRESH_REPORT_URL", "").partition("://")
    place, slash, path = rest.partition("/")
    host, colon, port = place.rpartition(":")
    if ":" in host and not host.startswith("["):
        place = f"[{host}]{colon}{port}"
    return f"{scheme}{mark}{place}{slash}{path}" or None


def _one_of(environment: Mapping[str, str], name: str, known: tuple[str, ...]) -> str:
    """The first of the known values is the default."""
    text = environment.get(name) or known[0]
    if text not in known:
        raise SettingsError(f"{name} must be one of {', '.join(known)}, not {text!r}")
    return text


def _integer(environment: Mapping[str, str], name: str, default: int, *, most: int) -> int:
    text = environment.get(name, "")
    if not text:
        return default
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise SettingsError(f"{name} must be a whole number from 1 to {most}, not {text!r}")
    return int(text)
