"""The report endpoint: runners send their Report here as soon as they have it.

Such a Report is a hint that saves seconds; the termination message has the same content later. It
is accepted only with a token for the audience `afresh`, of a pod that belongs to the episode's
Job.
"""

from dataclasses import dataclass

from afresh.contract import codec, report
from afresh.contract.hint_request import REPORT_PATH
from afresh.contract.pod_layout import TOKEN_AUDIENCE
from afresh.contract.report import REPORT_MAX_BYTES
from afresh.kube.cache import Cache, package_of
from afresh.kube.client import Kube
from afresh.kube.errors import KubeError
from afresh.kube.http_message import Answer, Request, message
from afresh.kube.listener import Limits, Route
from afresh.kube.queue import KeyQueue
from afresh.kube.resources import JOBS, PODS, TOKEN_REVIEWS, Manifest
from afresh.logs import get_logger
from afresh.metrics import registry

log = get_logger()
NOT_OF_THIS_POD = "the token does not belong to this episode's pod"
POD_NAME = "authentication.kubernetes.io/pod-name"
POD_UID = "authentication.kubernetes.io/pod-uid"
LIMITS = Limits(body=REPORT_MAX_BYTES)


@dataclass
class ReportServer:
    """Checks who reports, keeps the hint, and wakes the loop."""

    kube: Kube
    cache: Cache
    queue: KeyQueue

    def routes(self) -> dict[str, dict[str, Route]]:
        """Return the one route `POST /v1/report`."""
        return {REPORT_PATH: {"POST": self._receive}}

    async def _receive(self, request: Request) -> Answer:
        kind, _, token = request.fields.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not token:
            return _answer(401, "a bearer token is needed")
        try:
            hint = report.parse(request.body.decode())
        except (codec.ContractError, UnicodeDecodeError) as error:
            return _answer(400, str(error))
        # Agents do not know the name of their episode, so they cannot make the API server review
        # forged tokens.
        if not self.cache.has_job(hint.episode):
            return _answer(401, NOT_OF_THIS_POD)
        try:
            pod = await self._reporter(token.strip())
        except KubeError as error:
            log.warning("token_not_reviewed", error=str(error))
            return _answer(503, "the token cannot be reviewed now")
        job = self._job_of(pod) if pod else None
        if pod is None or job is None or job["metadata"]["name"] != hint.episode:
            return _answer(401, NOT_OF_THIS_POD)
        self.cache.keep_hint(job["metadata"]["uid"], pod["metadata"]["uid"], hint)
        package = package_of(job)
        if package:
            self.queue.add(package)
        return _answer(202, "noted")

    async def _reporter(self, token: str) -> Manifest | None:
        """Return the pod that the token belongs to, or None if it is invalid."""
        review = await self.kube.create(
            TOKEN_REVIEWS,
            None,
            {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenReview",
                "spec": {"token": token, "audiences": [TOKEN_AUDIENCE]},
            },
        )
        status = review.get("status", {})
        if not status.get("authenticated") or TOKEN_AUDIENCE not in status.get("audiences", []):
            return None
        user = status.get("user", {})
        extra = {key: values[0] for key, values in user.get("extra", {}).items() if values}
        namespace = user.get("username", "").split(":")[2:3]
        if POD_NAME not in extra or not namespace:
            return None
        pod = self.cache.get(PODS, namespace[0], extra[POD_NAME])
        if pod is None:
            pod = await self.kube.get(PODS, namespace[0], extra[POD_NAME])
        is_reporter = pod["metadata"]["uid"] == extra.get(POD_UID)
        return pod if is_reporter and not self.cache.is_strange(PODS, pod) else None

    def _job_of(self, pod: Manifest) -> Manifest | None:
        """Return the Job that the operator created and that controls the pod, or None."""
        owners = pod["metadata"].get("ownerReferences", [])
        uid = next((owner["uid"] for owner in owners if owner.get("controller")), None)
        package = package_of(pod)
        if uid is None or package is None:
            return None
        jobs = self.cache.children(JOBS, package)
        job = next((job for job in jobs if job["metadata"]["uid"] == uid), None)
        return None if job is None or self.cache.is_strange(JOBS, job) else job


def _answer(status: int, text: str) -> Answer:
    registry.HINTS.labels(result=str(status)).inc()
    return message(status, text)
