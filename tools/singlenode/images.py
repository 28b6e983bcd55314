"""Decides which images are built, kept in the cache, and loaded into a cluster.

Owns the archives in the cache. Must not know how an image is built.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from tools.singlenode import builder, packages, progress, runtime_store
from tools.singlenode.containerd_client import ContainerdClient
from tools.singlenode.errors import ClusterError
from tools.singlenode.image_recipe import ImageRecipe, all_images, reference
from tools.singlenode.lock import exclusive
from tools.singlenode.paths import ClusterPaths

DEFAULT_TAG = "dev"
_LONGEST_BUILD_SECONDS = 1800


def build(names: Sequence[str], tag: str) -> None:
    """Build those of the named images (all, if none is named) that have changed."""
    recipes = _recipes(names)
    packages.install()
    lock = builder.home() / "lock"
    busy = "another build of images is still running"
    with exclusive(lock, wait_seconds=_LONGEST_BUILD_SECONDS, busy=busy):
        if changed := [recipe for recipe in recipes if not _archive(recipe, tag).exists()]:
            builder.ensure_base()
        for recipe in changed:
            _build(recipe, tag)
        _prepare_store()


def load(paths: ClusterPaths, names: Sequence[str]) -> None:
    """Load the named images (all, if none is named) into the cluster's containerd."""
    archives = {recipe.image: _archive(recipe, DEFAULT_TAG) for recipe in _recipes(names)}
    if absent := [image for image, archive in archives.items() if not archive.exists()]:
        wanted = " ".join(absent)
        raise ClusterError(
            f"not built, or outdated: {wanted}; run `python3 tools/singlenode images {wanted}`"
        )
    client = ContainerdClient(paths.containerd_socket)
    for image, archive in archives.items():
        began = progress.elapsed()
        is_new = client.ensure_image(archive)
        what = f"loaded in {progress.elapsed() - began:.1f} s" if is_new else "was there already"
        progress.say(f"{reference(image, DEFAULT_TAG)} {what}")


def archive_of(name: str, tag: str) -> Path:
    """Return the path of an image's archive, which exists once it is built. Raises ClusterError."""
    return _archive(ImageRecipe(name), tag)


def clone_store(paths: ClusterPaths) -> None:
    """Give a new cluster all images that have been built, if their store can be cloned."""
    paths.containerd_root.parent.mkdir()
    runtime_store.clone(_store(), paths.containerd_root)


def _recipes(names: Sequence[str]) -> list[ImageRecipe]:
    return [ImageRecipe(name) for name in names or all_images()]


def _build(recipe: ImageRecipe, tag: str) -> None:
    # Computed before the build: if a file changes meanwhile, the archive counts as outdated.
    archive = _archive(recipe, tag)
    full_name = reference(recipe.image, tag)
    with progress.long_step(f"building image {full_name}"):
        builder.build(recipe.dockerfile, full_name)
        builder.export(full_name, archive)
    _remove_others(archive, archive.parent.glob(f"{_prefix(recipe, tag)}*.tar"))


def _prepare_store() -> None:
    archives = [_latest(image) for image in all_images()]
    built = [archive for archive in archives if archive]
    if not runtime_store.is_prepared(_store(), built):
        with progress.step("unpacking images for new clusters"):
            runtime_store.prepare(_store(), built)


def _latest(image: str) -> Path | None:
    # Its sources may have changed since; most of its layers can still be used.
    return next(iter(builder.home().glob(f"{image}_{DEFAULT_TAG}_*.tar")), None)


def _store() -> Path:
    return builder.home() / "containerd"


def _archive(recipe: ImageRecipe, tag: str) -> Path:
    return builder.home() / f"{_prefix(recipe, tag)}{recipe.key(builder.BASE_RECIPE)}.tar"


def _prefix(recipe: ImageRecipe, tag: str) -> str:
    return f"{recipe.image}_{tag}_"


def _remove_others(kept: Path, archives: Iterable[Path]) -> None:
    for archive in archives:
        if archive != kept:
            archive.unlink()
