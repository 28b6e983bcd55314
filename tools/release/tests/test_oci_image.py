"""What is in an image: the layers as a container sees them, whatever they are packed with."""

from pathlib import Path

import pytest

from tools.release.oci_image import Image, ImageError, LayerShelf, read
from tools.release.tests import archives
from tools.release.tests.archives import layer


def shelf() -> LayerShelf:
    return LayerShelf(lambda path: path.endswith(".txt"))


def image(tmp_path: Path, *layers: bytes, packing: str = "+zstd") -> Image:
    archive = tmp_path / "image.tar"
    archives.write(archive, layers, packing=packing)
    return read(archive, shelf())


@pytest.mark.parametrize("packing", sorted(archives.PACKERS))
def test_an_image_is_read_whatever_its_layers_are_packed_with(tmp_path: Path, packing: str) -> None:
    found = image(
        tmp_path, layer({"etc/": b"", "etc/a.txt": b"one", "bin": b"12"}), packing=packing
    )

    assert sorted(found.entries) == ["bin", "etc", "etc/a.txt"]
    assert found.entries["etc/a.txt"].content == b"one"
    assert found.entries["bin"].content is None
    assert found.config == {"User": "65532:65532"}


@pytest.mark.parametrize(
    ("upper", "want"),
    [
        pytest.param({"a/x.txt": b"new"}, {"a", "a/x.txt", "a/y"}, id="a file that is replaced"),
        pytest.param({"a/.wh.y": b""}, {"a", "a/x.txt"}, id="a file that is removed"),
        pytest.param({".wh.a": b""}, set(), id="a directory that is removed"),
        pytest.param({"a/.wh..wh..opq": b""}, {"a"}, id="a directory that is emptied"),
        pytest.param(
            {"a/z": b"", "a/.wh..wh..opq": b""}, {"a", "a/z"}, id="emptied and filled again"
        ),
        pytest.param({"./a/b/": b""}, {"a", "a/x.txt", "a/y", "a/b"}, id="a name with a dot"),
    ],
)
def test_a_layer_hides_what_is_below(tmp_path: Path, upper: dict[str, bytes], want: set) -> None:
    lower = layer({"a/": b"", "a/x.txt": b"old", "a/y": b"12345"})

    found = image(tmp_path, lower, layer(upper))

    assert set(found.entries) == want


def test_a_file_that_is_removed_counts_in_the_size_all_the_same(tmp_path: Path) -> None:
    found = image(tmp_path, layer({"big": b"0" * 1000}), layer({".wh.big": b"", "x": b"12"}))

    assert set(found.entries) == {"x"}
    assert found.unpacked_bytes == 1002


def test_a_layer_of_two_images_is_read_once(tmp_path: Path) -> None:
    shared = layer({"a.txt": b"one"})
    shelved = shelf()
    for name in ("one", "two"):
        archives.write(tmp_path / name, [shared, layer({name: b""})])

    first = read(tmp_path / "one", shelved)
    second = read(tmp_path / "two", shelved)

    assert first.layers[0] is second.layers[0]
    assert len(shelved.layers) == 3


def test_an_archive_of_something_else_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "other.tar"
    archive.write_bytes(layer({"a": b""}))

    with pytest.raises(ImageError, match=r"other\.tar is not an OCI archive: .* no index\.json"):
        read(archive, shelf())


def test_an_archive_of_several_images_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "two.tar"
    archive.write_bytes(layer({"index.json": b'{"manifests": [{}, {}]}'}))

    with pytest.raises(ImageError, match=r"two\.tar has 2 images instead of one"):
        read(archive, shelf())
