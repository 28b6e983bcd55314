"""A Report sent to the operator by hand, with whatever token, whoever answers."""

import http.client

from afresh.kube.certificate import client_context


def post(port: int, body: str, token: str, seconds: float = 120) -> tuple[int, str]:
    """Return the status and the text of the answer; 0 if nobody answers."""
    connection = http.client.HTTPSConnection(
        "127.0.0.1", port, timeout=seconds, context=client_context()
    )
    try:
        connection.request("POST", "/v1/report", body, {"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    except OSError as error:
        return 0, str(error)
    finally:
        connection.close()
