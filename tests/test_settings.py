"""The operator's settings: defaults, and one clear sentence for what is wrong."""

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from afresh.settings import Settings, SettingsError

GOOD = {"AFRESH_RUNNER_IMAGE": "example.com/runner:1"}


def test_only_the_runners_image_is_required() -> None:
    settings = Settings.from_environment(GOOD)

    assert (settings.runner_image, settings.namespaces) == ("example.com/runner:1", ())
    assert (settings.log_level, settings.log_format) == ("INFO", "json")


def test_namespaces_are_a_comma_separated_list() -> None:
    settings = Settings.from_environment({**GOOD, "AFRESH_NAMESPACES": "team-a, team-b,"})

    assert settings.namespaces == ("team-a", "team-b")


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param("", None, id="none"),
        pytest.param("http://10.0.0.1:8080/v1/report", "http://10.0.0.1:8080/v1/report", id="IPv4"),
        pytest.param(
            "http://fd00:10:96::1f:8080/v1/report", "http://[fd00:10:96::1f]:8080/v1/report",
            id="IPv6 as the kubelet writes it",
        ),
        pytest.param(
            "http://[fd00::1]:8080/v1/report", "http://[fd00::1]:8080/v1/report",
            id="IPv6 in brackets",
        ),
        pytest.param("https://reports.example.com/v1", "https://reports.example.com/v1", id="name"),
    ],
)  # fmt: skip
def test_the_report_url_is_one_that_a_runner_can_post_to(given: str, want: str | None) -> None:
    settings = Settings.from_environment({**GOOD, "AFRESH_REPORT_URL": given})

    assert settings.report_url == want
    assert want is None or urlsplit(want).port in (8080, None)


def test_episodes_are_checked_unless_that_is_switched_off() -> None:
    unchecked = Settings.from_environment({**GOOD, "AFRESH_CHECK_EPISODES": "false"})

    assert Settings.from_environment(GOOD).checks_episodes
    assert not unchecked.checks_episodes


BAD = [
    pytest.param({}, "AFRESH_RUNNER_IMAGE is not set", id="no image"),
    pytest.param({**GOOD, "AFRESH_WORKERS": "many"}, "AFRESH_WORKERS must be", id="not a number"),
    pytest.param({**GOOD, "AFRESH_WORKERS": "0"}, "AFRESH_WORKERS must be", id="zero"),
    pytest.param(
        {**GOOD, "AFRESH_METRICS_PORT": "70000"}, "AFRESH_METRICS_PORT must be a whole number from"
        " 1 to 65535, not '70000'", id="no port",
    ),
    pytest.param({**GOOD, "AFRESH_LOG_LEVEL": "loud"}, "one of INFO, DEBUG", id="log level"),
    pytest.param({**GOOD, "AFRESH_LOG_FORMAT": "xml"}, "one of json, console", id="log format"),
]  # fmt: skip


@pytest.mark.parametrize(("environment", "want"), BAD)
def test_a_wrong_setting_is_named_with_the_remedy(environment: dict[str, str], want: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.from_environment(environment)

    assert want in str(caught.value)


@pytest.mark.parametrize(
    ("environment", "want"),
    [
        pytest.param({}, "afresh: AFRESH_RUNNER_IMAGE is not set", id="no image"),
        pytest.param(
            {**GOOD, "KUBECONFIG": "/nowhere/config"},
            "There is no kubeconfig at /nowhere/config: name one",
            id="no cluster",
        ),
    ],
)
def test_an_operator_that_cannot_start_says_why_in_its_last_line(
    environment: dict[str, str], want: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "afresh.kube"],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": "controller", **environment},
        cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip

    assert done.returncode == 2
    assert want in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
