"""OCI archives of a few files, written for the tests of what reads them."""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from backports import zstd

PACKERS = {
    "": lambda plain: plain,
    "+gzip": gzip.compress,
    "+zstd": zstd.compress,
}
SETTINGS = {"User": "65532:65532"}
MEDIA_TYPE = "application/vnd.oci.image.layer.v1.tar"


def layer(files: Mapping[str, bytes], *, mode: int = 0o644) -> bytes:
    """A layer with these files; a name that ends with a slash is a directory."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name.rstrip("/"))
            entry.type = tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE
            entry.size = len(content)
            entry.mode = mode
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def write(
    archive: Path, layers: Sequence[bytes], *, packing: str = "+zstd", processor: str = "amd64"
) -> None:
    """Write an archive of one image with these layers, from the lowest to the highest."""
    blobs: dict[str, bytes] = {}

    def stored(blob: bytes, media_type: str = "application/json") -> dict[str, object]:
        digest = hashlib.sha256(blob).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = blob
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(blob)}

    packed = [stored(PACKERS[packing](item), MEDIA_TYPE + packing) for item in layers]
    config = stored(json.dumps({"architecture": processor, "config": SETTINGS}).encode())
    manifest = stored(json.dumps({"config": config, "layers": packed}).encode())
    blobs["index.json"] = json.dumps({"manifests": [manifest]}).encode()
    archive.write_bytes(layer(blobs))
