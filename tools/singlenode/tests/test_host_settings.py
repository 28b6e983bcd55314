import configparser
from pathlib import Path

import pytest

from tools.singlenode.host_settings import (
    find_ca_bundle,
    render_npm_config,
    render_pip_config,
    write_secrets,
)

_CA = Path("/etc/some/ca.crt")


def test_pip_is_told_what_it_is_told_here() -> None:
    environment = {
        "PIP_INDEX_URL": "https://index.example/simple?a=100%",
        "PIP_TRUSTED_HOST": "index.example",
        "PIP_CERT": str(_CA),
        "PIP_FIND_LINKS": "/a/directory/of/this/machine",
    }

    config = configparser.RawConfigParser()
    config.read_string(render_pip_config(environment, _CA))

    assert dict(config["global"]) == {
        "index-url": "https://index.example/simple?a=100%",
        "trusted-host": "index.example",
        "cert": "/run/secrets/ca.crt",
    }


@pytest.mark.parametrize(
    ("environment", "ca", "want"),
    [
        pytest.param({}, None, "", id="nothing is set"),
        pytest.param({"NPM_CONFIG_REGISTRY": "https://a"}, None, "registry=https://a\n", id="set"),
        pytest.param(
            {"npm_config_registry": "https://a"}, None, "registry=https://a\n", id="small"
        ),
        pytest.param({}, _CA, "cafile=/run/secrets/ca.crt\n", id="an authority"),
    ],
)
def test_npm_is_told_what_it_is_told_here(
    environment: dict[str, str], ca: Path | None, want: str
) -> None:
    assert render_npm_config(environment, ca) == want


def test_an_authority_that_is_no_file_is_passed_over(tmp_path: Path) -> None:
    bundle = tmp_path / "ca.crt"
    bundle.touch()
    environment = {"PIP_CERT": str(tmp_path / "gone"), "SSL_CERT_FILE": str(bundle)}

    assert find_ca_bundle(environment) == bundle


def test_without_an_authority_a_build_gets_none(tmp_path: Path) -> None:
    arguments = write_secrets(tmp_path, {})

    assert [argument.split(",")[0] for argument in arguments] == [
        "--secret=id=pip.conf",
        "--secret=id=npmrc",
    ]


def test_a_build_gets_secrets_by_file_never_by_argument(tmp_path: Path) -> None:
    arguments = write_secrets(tmp_path, {"PIP_INDEX_URL": "https://me:pass@index.example"})

    assert "pass" not in " ".join(arguments)
    assert "pass" in (tmp_path / "pip.conf").read_text()


def test_a_configuration_file_of_the_client_takes_the_place_of_its_variables(
    tmp_path: Path,
) -> None:
    mine = tmp_path / "mine.conf"
    mine.write_text("[global]\n")
    environment = {
        "PIP_CONFIG_FILE": str(mine),
        "PIP_INDEX_URL": "https://index.example/simple",
        "NPM_CONFIG_USERCONFIG": "/dev/null",
    }

    pip, npm = write_secrets(tmp_path, environment)

    assert pip == f"--secret=id=pip.conf,src={mine}"
    assert npm == f"--secret=id=npmrc,src={tmp_path / 'npmrc'}"
