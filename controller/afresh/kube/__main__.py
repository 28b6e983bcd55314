"""`python -m afresh.kube`: the operator's process."""

import asyncio
import os
import sys

from afresh import logs
from afresh.kube.errors import ConfigurationError
from afresh.kube.operator import run
from afresh.settings import Settings, SettingsError


def main() -> int:
    """Run the operator; return its exit status."""
    try:
        settings = Settings.from_environment(os.environ)
    except SettingsError as error:
        print(f"afresh: {error}", file=sys.stderr)  # noqa: T201  # there is no log yet
        return 2
    logs.configure(level=settings.log_level, form=settings.log_format)
    try:
        return asyncio.run(run(settings))
    except ConfigurationError as error:
        logs.get_logger().error("not_started", error=str(error))
        return 2


if __name__ == "__main__":
    sys.exit(main())
