"""Takes from this thread, for a while, the right of root to pass over the permissions of files."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

VERSION_3 = 0x20080522
DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER = 1, 2, 3
_LIBC = ctypes.CDLL(None, use_errno=True)


class _Sets(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in ("effective", "permitted", "inheritable")]


@contextmanager
def bound_by_permissions() -> Iterator[None]:
    """Be held to the permissions of files, as the runner is in its pod."""
    header, sets = (ctypes.c_uint32 * 2)(VERSION_3, 0), (_Sets * 2)()
    _call("capget", header, sets)
    before = sets[0].effective
    sets[0].effective = before & ~(1 << DAC_OVERRIDE | 1 << DAC_READ_SEARCH | 1 << FOWNER)
    _call("capset", header, sets)
    try:
        yield
    finally:
        sets[0].effective = before
        _call("capset", header, sets)


def _call(name: str, header: object, sets: object) -> None:
    if getattr(_LIBC, name)(header, sets):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
