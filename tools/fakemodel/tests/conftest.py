"""The model server as a fixture: one for all tests."""

from collections.abc import Iterator

import pytest

from tests.server_process import Server, running
from tools.fakemodel.tests.model_client import KEY


@pytest.fixture(scope="session")
def model_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A model server without delay, whose key is `KEY`."""
    key_file = tmp_path_factory.mktemp("model") / "api-key"
    key_file.write_text(f"{KEY}\n")
    with running(
        "tools.fakemodel.model_server", "--api-key-file", str(key_file), "--delay", "0"
    ) as server:
        yield server
