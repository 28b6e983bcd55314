import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from tools.singlenode import oci_archive
from tools.singlenode.containerd_client import archive_identity


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF...")
    target = tmp_path / "image.tar"
    oci_archive.write(target, program=program, image="localhost/x:1")
    return target


def _members(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as tar:
        files = {member.name: tar.extractfile(member) for member in tar}
        return {name: file.read() for name, file in files.items() if file}


def test_every_blob_lies_under_its_digest(archive: Path) -> None:
    blobs = {name: blob for name, blob in _members(archive).items() if name.startswith("blobs/")}

    assert len(blobs) == 3
    for name, blob in blobs.items():
        assert name == f"blobs/sha256/{hashlib.sha256(blob).hexdigest()}"


def test_the_image_runs_the_program_as_nobody(archive: Path) -> None:
    members = _members(archive)
    manifest = _blob(members, json.loads(members["index.json"])["manifests"][0])
    config = _blob(members, json.loads(manifest)["config"])
    layer = _blob(members, json.loads(manifest)["layers"][0])

    assert json.loads(config)["config"] == {"User": "65532:65532", "Entrypoint": ["/program"]}
    with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
        assert [(member.name, member.mode) for member in tar] == [("program", 0o755)]


def test_the_same_program_gives_the_same_archive(archive: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.tar"
    oci_archive.write(again, program=tmp_path / "program", image="localhost/x:1")

    assert again.read_bytes() == archive.read_bytes()


def test_an_archive_is_identified_by_name_and_digest(archive: Path) -> None:
    name, digest = archive_identity(archive).split()

    assert name == "localhost/x:1"
    assert digest == json.loads(_members(archive)["index.json"])["manifests"][0]["digest"]


def _blob(members: dict[str, bytes], descriptor: dict[str, object]) -> bytes:
    blob = members["blobs/" + str(descriptor["digest"]).replace(":", "/")]
    assert len(blob) == descriptor["size"]
    return blob
