"""Writes an image with a single program, without a builder.

Must not know which program.
"""

import hashlib
import io
import json
import platform
import tarfile
from pathlib import Path

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_USER = "65532:65532"


def write(archive: Path, *, program: Path, image: str) -> None:
    """Write an OCI archive of an image named `image` that has and runs only `program`."""
    layer = _tar({program.name: program.read_bytes()}, mode=0o755)
    config = _json_bytes(
        {
            "architecture": _ARCHITECTURES.get(platform.machine(), platform.machine()),
            "os": "linux",
            "config": {"User": _USER, "Entrypoint": [f"/{program.name}"]},
            "rootfs": {"type": "layers", "diff_ids": [_digest(layer)]},
        }
    )
    manifest = _json_bytes(
        {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": _descriptor("application/vnd.oci.image.config.v1+json", config),
            "layers": [_descriptor("application/vnd.oci.image.layer.v1.tar", layer)],
        }
    )
    entry = _descriptor("application/vnd.oci.image.manifest.v1+json", manifest)
    index = {**entry, "annotations": {"io.containerd.image.name": image}}
    blobs = {f"blobs/sha256/{_sha256(blob)}": blob for blob in (layer, config, manifest)}
    head = {
        "oci-layout": _json_bytes({"imageLayoutVersion": "1.0.0"}),
        "index.json": _json_bytes({"schemaVersion": 2, "manifests": [index]}),
    }
    archive.write_bytes(_tar({**head, **blobs}, mode=0o644))


def _descriptor(media_type: str, blob: bytes) -> dict[str, object]:
    return {"mediaType": media_type, "digest": _digest(blob), "size": len(blob)}


def _tar(files: dict[str, bytes], *, mode: int) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            entry.mode = mode
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def _digest(blob: bytes) -> str:
    return f"sha256:{_sha256(blob)}"


def _sha256(blob: bytes) -> str:
    return hashlib.sha256(blob).hexdigest()


def _json_bytes(value: object) -> bytes:
    return json.dumps(value).encode()
