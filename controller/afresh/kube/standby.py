"""What an operator does that does not lead: it passes Reports on to the one that does.

The Service of the operators knows nothing of a leader. Must not judge a Report, nor keep one.
"""

from dataclasses import dataclass

import aiohttp
from aiohttp import web

from afresh.contract.report import REPORT_MAX_BYTES
from afresh.kube.lease import Lease

# Less than the runner waits for its answer.
SECONDS = 1.5
PASSED_ON = "Afresh-Passed-On"


@dataclass
class Standby:
    """The report endpoint of an operator that waits for its turn."""

    lease: Lease

    def application(self) -> web.Application:
        """Return the web application with the one route `POST /v1/report`."""
        app = web.Application(client_max_size=4 * REPORT_MAX_BYTES)
        app.router.add_post("/v1/report", self._pass_on)
        return app

    async def _pass_on(self, request: web.Request) -> web.Response:
        token = request.headers.get("Authorization", "")
        if not token:
            return _answer("a bearer token is needed", 401)
        address = self.lease.leader_address
        # A Report is passed on once: what is known of the leader may be old.
        if address is None or PASSED_ON in request.headers:
            return _answer("no operator leads now")
        headers = {"Authorization": token, PASSED_ON: "1"}
        body = await request.read()
        limit = aiohttp.ClientTimeout(total=SECONDS)
        try:
            async with (
                aiohttp.ClientSession(timeout=limit) as session,
                session.post(f"{address}/v1/report", data=body, headers=headers) as answer,
            ):
                return web.Response(
                    status=answer.status, body=await answer.read(), content_type="application/json"
                )
        except (TimeoutError, aiohttp.ClientError, OSError):
            return _answer("the operator that leads does not answer")


def _answer(text: str, status: int = 503) -> web.Response:
    return web.json_response({"message": text}, status=status)
