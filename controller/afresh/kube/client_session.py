"""A session by the Kubernetes client, which knows every form of a kubeconfig."""

import asyncio

from afresh import clock
from afresh.kube.api_request import ApiRequest
from afresh.kube.api_session import ApiSession
from afresh.kube.client import Kube
from afresh.kube.resources import Manifest


class ClientSession(ApiSession):
    """Runs the Kubernetes client for one request at a time."""

    def __init__(self, kubeconfig: str | None, context: str | None, seconds: float) -> None:
        self._end = clock.elapsed() + seconds
        self._runner = asyncio.Runner()
        try:
            self._kube = self._runner.run(
                asyncio.wait_for(Kube.connect(kubeconfig, context), seconds)
            )
        except BaseException:
            self._runner.close()
            raise
        self.namespace = self._kube.namespace

    def ask(self, request: ApiRequest) -> Manifest:
        """Return the answer. Raises KubeError and TimeoutError."""
        left = max(0, self._end - clock.elapsed())
        return self._runner.run(asyncio.wait_for(self._kube.ask(request), left))

    def close(self) -> None:
        """Close the connection and the event loop."""
        try:
            self._runner.run(self._kube.close())
        finally:
            self._runner.close()
