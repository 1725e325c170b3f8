# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Locks of a process that may fork while its other threads go on.

A forked process has one thread; a lock that another one held would stay locked there for ever, and
LLVM would be left in the middle of what it did.
"""

from __future__ import annotations

import os
import threading
import weakref
from types import TracebackType


class FreshLock:
    """A lock that is open in a forked process, whoever held it in its parent.

    What it guards must be right at any moment for a reader who starts anew.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        _fresh.add(self)

    def renew(self) -> None:
        """Open it, in a process where nobody holds it."""
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class Gate:
    """A reentrant lock that is never held by another thread while a process forks.

    So a fork waits until who is inside has come out, which is at most one call of LLVM.
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
        """Enter unless somebody is inside, this thread included; return whether it was entered."""
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
