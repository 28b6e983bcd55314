"""An admission webhook: admits everything, and adds to pods what it is given.

    python3 injector.py PORT KEY ADDITIONS

Runs in the cluster's network. KEY is a file with the private key and its certificate; ADDITIONS
is a file with `labels`, and with lists: `containers`, `initContainers` and `volumes` of the pod,
`env` and `volumeMounts` of each container. Writes down its port when it listens; 0 is any.
"""

import base64
import json
import ssl
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

OF_POD = ("containers", "initContainers", "volumes")
OF_CONTAINER = ("env", "volumeMounts")
Json = dict[str, Any]


def patch_of(pod: Json, additions: Json) -> list[Json]:
    """Return the JSON patch that adds what is to be added."""
    spec = pod["spec"]
    labels = {**pod["metadata"].get("labels", {}), **additions.get("labels", {})}
    containers = [
        {**item, **{key: [*item.get(key, []), *additions.get(key, [])] for key in OF_CONTAINER}}
        for item in spec["containers"]
    ]
    changed = {**spec, "containers": containers}
    changed |= {key: [*changed.get(key, []), *additions.get(key, [])] for key in OF_POD}
    return [
        {"op": "add", "path": "/metadata/labels", "value": labels},
        {"op": "replace", "path": "/spec", "value": changed},
    ]


def answer_to(review: Json, additions: Json) -> Json:
    """Return the answer to one review."""
    request = review["request"]
    response = {"uid": request["uid"], "allowed": True}
    if additions and request["kind"]["kind"] == "Pod":
        patch = json.dumps(patch_of(request["object"], additions)).encode()
        response |= {"patchType": "JSONPatch", "patch": base64.b64encode(patch).decode()}
    return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}


def main(port: str, key: str, additions: str) -> None:
    """Serve until the process is ended."""
    to_add = json.loads(Path(additions).read_text(encoding="utf-8"))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps(answer_to(review, to_add)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(key)
    with ThreadingHTTPServer(("127.0.0.1", int(port)), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        sys.stdout.write(f"{server.server_address[1]}\n")
        sys.stdout.flush()
        server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
