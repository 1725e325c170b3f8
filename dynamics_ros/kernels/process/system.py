# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a process may do and keep: locks while it forks, machine code, and freed memory.

A forked process has one thread: a lock held by another thread would stay locked forever, and LLVM
would stay in the middle of an operation.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import threading
import weakref
from collections.abc import Callable
from functools import lru_cache


class FreshLock:
    """Lock that is released in a forked process, whoever held it in the parent.

    The data that it guards must be consistent at any moment for a reader that starts anew.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        _fresh.add(self)

    def renew(self) -> None:
        """Release the lock, in a process where nobody holds it."""
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


_fresh: weakref.WeakSet[FreshLock] = weakref.WeakSet()


def _renew() -> None:
    for lock in list(_fresh):
        lock.renew()


if hasattr(os, 'register_at_fork'):
    os.register_at_fork(after_in_child=_renew)


READ_EXECUTE = 1 | 4
"""PROT_READ, PROT_EXEC."""


@lru_cache(maxsize=1)
def why_forbidden() -> str:
    """Return why machine code made in this process would not run; '' if it would."""
    if not sys.platform.startswith('linux'):
        return ''
    mprotect = ctypes.CDLL(None, use_errno=True).mprotect
    mprotect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    with mmap.mmap(-1, mmap.PAGESIZE) as page:
        # Same order as LLVM: pages are written first and made executable then.
        start = ctypes.c_char.from_buffer(page)
        refused = mprotect(ctypes.addressof(start), mmap.PAGESIZE, READ_EXECUTE)
        reason = os.strerror(ctypes.get_errno()) if refused else ''
        del start  # else the page cannot be closed
    if not refused:
        return ''
    return (
        f'this process may not run memory that it has written ({reason}): allow that, such as by '
        'MemoryDenyWriteExecute=no for a service of systemd'
    )


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
