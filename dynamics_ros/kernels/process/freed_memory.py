# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Release of the memory of replaced robots to the system."""

from __future__ import annotations

import ctypes
from collections.abc import Callable


def give_back() -> None:
    """Return free pages of the allocator to the system; does nothing without glibc.

    A robot and its kernels are created in several threads, and glibc gives each thread a heap of
    its own, of which it returns only the end. Memory freed in the middle stays with the process and
    fragments a little more with each robot. Other threads keep running during the call.
    """
    if _trim is not None:
        _trim(0)


def _malloc_trim() -> Callable[[int], int] | None:
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):
        return None
    trim.argtypes, trim.restype = (ctypes.c_size_t,), ctypes.c_int
    return trim


_trim = _malloc_trim()
