"""What holds for the charts' tests: Helm is built along with the API server."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave them out where nothing can be built."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.apiserver)
