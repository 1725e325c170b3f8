# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Locks for a process that may fork while its other threads run.

A forked process has one thread: a lock held by another thread would stay locked forever, and LLVM
would stay in the middle of an operation.
"""

from __future__ import annotations

import os
import threading
import weakref
from types import TracebackType


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


class Gate:
    """Reentrant lock that no other thread holds while a process forks.

    A fork waits until the holder releases the lock, which takes at most one call of LLVM.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner = 0
        self._depth = 0

    def __enter__(self) -> None:
        if self._owner != threading.get_ident():
            self._lock.acquire()
            self._owner = threading.get_ident()
        self._depth += 1

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._owner = 0
            self._lock.release()

    def enter_if_free(self) -> bool:
        """Enter unless any thread is inside, this one included; return whether it was entered."""
        if self._owner == threading.get_ident() or not self._lock.acquire(blocking=False):
            return False
        self._owner = threading.get_ident()
        self._depth = 1
        return True


_fresh: weakref.WeakSet[FreshLock] = weakref.WeakSet()


def _renew() -> None:
    for lock in list(_fresh):
        lock.renew()


if hasattr(os, 'register_at_fork'):
    os.register_at_fork(after_in_child=_renew)
