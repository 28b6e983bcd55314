"""The demo's git server with Git LFS: objects lie below each repository, in `large/`.

Run as a program, with the git server's own arguments. A repository's file `lfs-status` makes every
batch request fail with that HTTP status, `lfs-put-status` every upload, and `lfs-redirect` sends
downloads elsewhere. The real client `git lfs` is tried against it too.
"""

import json
import re
from pathlib import Path
from typing import Any

from tools.gitserver import git_server
from tools.http_wire import body_pieces

AWAY = re.compile(r"/(?P<name>[\w.-]+\.git)/away/(?P<rest>\w+)")
CALL = re.compile(r"/(?P<name>[\w.-]+\.git)/info/lfs/(?P<rest>[\w/]+)")
JSON = {"content-type": "application/vnd.git-lfs+json"}


class LfsHandler(git_server._GitHandler):
    def do_GET(self) -> None:  # noqa: N802  # the inherited name
        call = CALL.fullmatch(self.path)
        away = AWAY.fullmatch(self.path)
        if away and "authorization" in self.headers:  # a store refuses what it did not sign
            return self.answer(400, b"{}", JSON)
        if call is None and away is None:
            return super().do_GET()
        if call and self._is_refused():
            return None
        file = self._file(call or away)
        if not file.exists():
            return self.answer(404, b"{}", JSON)
        if call and (self.server.root / call["name"] / "lfs-redirect").exists():
            return self.answer(302, b"", {"location": f"/{call['name']}/away/{file.name}"})
        return self.answer(200, file.read_bytes(), {"content-type": "application/octet-stream"})

    def do_PUT(self) -> None:  # noqa: N802  # the inherited name
        call = CALL.fullmatch(self.path)
        if call is None or self._is_refused():
            return None
        status = self.server.root / call["name"] / "lfs-put-status"
        content = b"".join(body_pieces(self.headers, self.rfile))
        if status.exists():
            return self.answer(int(status.read_text()), b"{}", JSON)
        file = self._file(call)
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(content)
        return self.answer(200, b"", {})

    def do_POST(self) -> None:  # noqa: N802  # the inherited name
        call = CALL.fullmatch(self.path)
        if call is None:
            return super().do_POST()
        body = b"".join(body_pieces(self.headers, self.rfile))
        if self._is_refused():
            return None
        if call["rest"] != "objects/batch":  # locks
            return self.answer(404, b"{}", JSON)
        status = self.server.root / call["name"] / "lfs-status"
        if status.exists():
            return self.answer(int(status.read_text()), b"{}", JSON)
        asked = json.loads(body)
        found = [self._object(call["name"], asked["operation"], item) for item in asked["objects"]]
        return self.answer(200, json.dumps({"transfer": "basic", "objects": found}).encode(), JSON)

    def _object(self, name: str, operation: str, item: dict[str, Any]) -> dict[str, Any]:
        is_here = (self.server.root / name / "large" / item["oid"]).exists()
        if operation == "download" and not is_here:
            return {**item, "error": {"code": 404, "message": "Object does not exist"}}
        if operation == "upload" and is_here:
            return item
        address = f"http://{self.headers['host']}/{name}/info/lfs/objects/{item['oid']}"
        action: dict[str, Any] = {"href": address}
        if operation == "upload":  # as GitLab asks for it
            action["header"] = {
                "Content-Type": "application/octet-stream",
                "Transfer-Encoding": "chunked",
            }
        return {**item, "actions": {operation: action}}

    def _file(self, call: re.Match[str]) -> Path:
        return self.server.root / call["name"] / "large" / call["rest"].rpartition("/")[2]

    def _is_refused(self) -> bool:
        if self._is_authenticated():
            return False
        self.answer(401, b"{}", {**JSON, "www-authenticate": 'Basic realm="git"'})
        return True


if __name__ == "__main__":
    git_server._GitHandler = LfsHandler
    raise SystemExit(git_server.main())
