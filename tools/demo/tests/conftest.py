"""The demo's model server, as the tests of its package use it."""

from tools.fakemodel.tests.conftest import model_server  # noqa: F401  # a fixture
