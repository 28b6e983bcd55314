"""Passes this machine's settings for package clients to a build, but not into the image.

Pure except for the files that a build is given. Must not know what is built.
"""

from collections.abc import Mapping
from pathlib import Path

# Where --mount=type=secret,id=ca.crt mounts the file in a build.
_CA_IN_BUILD = "/run/secrets/ca.crt"
_CA_VARIABLES = ("PIP_CERT", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "CURL_CA_BUNDLE")
_PIP_OPTIONS = ("index-url", "extra-index-url", "trusted-host")
_NPM_VARIABLES = ("NPM_CONFIG_REGISTRY", "npm_config_registry")
# A file of the client's own takes the place of what its other variables say.
_OWN_FILES = {"pip.conf": "PIP_CONFIG_FILE", "npmrc": "NPM_CONFIG_USERCONFIG"}


def write_secrets(directory: Path, environment: Mapping[str, str]) -> list[str]:
    """Write the settings into `directory`; return the builder's arguments that pass them."""
    ca = find_ca_bundle(environment)
    secrets = {
        "pip.conf": directory / "pip.conf",
        "npmrc": directory / "npmrc",
    }
    secrets["pip.conf"].write_text(render_pip_config(environment, ca))
    secrets["npmrc"].write_text(render_npm_config(environment, ca))
    for name, variable in _OWN_FILES.items():
        if (value := environment.get(variable)) and Path(value).is_file():
            secrets[name] = Path(value).absolute()
    if ca:
        secrets["ca.crt"] = ca
    return [f"--secret=id={name},src={path}" for name, path in secrets.items()]


def find_ca_bundle(environment: Mapping[str, str]) -> Path | None:
    """The file of certificates that this machine's clients are configured to trust, if any."""
    for name in _CA_VARIABLES:
        if (value := environment.get(name)) and Path(value).is_file():
            return Path(value)
    return None


def render_pip_config(environment: Mapping[str, str], ca: Path | None) -> str:
    """pip's configuration for the build, from pip's variables on this machine."""
    variables = {option: f"PIP_{option.upper().replace('-', '_')}" for option in _PIP_OPTIONS}
    chosen = {option: environment.get(name) for option, name in variables.items()}
    lines = ["[global]", *(f"{option} = {value}" for option, value in chosen.items() if value)]
    if ca:
        lines.append(f"cert = {_CA_IN_BUILD}")
    return "\n".join(lines) + "\n"


def render_npm_config(environment: Mapping[str, str], ca: Path | None) -> str:
    """npm's configuration for the build, from npm's variables on this machine."""
    values = [environment[name] for name in _NPM_VARIABLES if environment.get(name)]
    lines = [f"registry={value}" for value in values[:1]]
    if ca:
        lines.append(f"cafile={_CA_IN_BUILD}")
    return "".join(f"{line}\n" for line in lines)
