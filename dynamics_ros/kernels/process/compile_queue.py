# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Background compiler thread and its job queue."""

from __future__ import annotations

import atexit
import heapq
import itertools
import logging
import os
import threading
from collections.abc import Callable

_log = logging.getLogger('dynamics_ros.kernels')

Job = tuple[int, int, Callable[[], None]]

llvm = threading.RLock()
"""Held by every thread that calls LLVM; a fork waits until it is free, at most one call of LLVM."""

changed = threading.Condition()
"""Guards the jobs and their completion state; notified when one finishes.

Reentrant, because the garbage collector may submit a job during another submission.
"""


_jobs: list[Job] = []
_running: Job | None = None
_order = itertools.count()
_thread: threading.Thread | None = None


def submit(size: int, job: Callable[[], None]) -> None:
    """Run a job in the background, one at a time; the thread ends when there is none left.

    Args:
        size: smaller jobs run first, equal ones in order of submission.
        job: its exceptions are logged. If a process forks while the job runs, the child runs it
            again.
    """
    with changed:
        heapq.heappush(_jobs, (size, next(_order), job))
        resume()


def resume() -> None:
    """Ensure that submitted jobs are running, also in a forked process, which has no thread."""
    global _thread
    if _jobs and _thread is None:
        with changed:
            if _jobs and _thread is None:
                _thread = threading.Thread(target=_work, name='dynamics_ros_compile', daemon=True)
                _thread.start()


def is_busy() -> bool:
    """Return whether another thread compiles, so that a call of LLVM here would wait."""
    thread = _thread
    return thread is not None and thread is not threading.current_thread()


def discard(end: Callable[[], None]) -> None:
    """Free an LLVM object without waiting for LLVM.

    Args:
        end: frees the object; a second call does nothing.
    """

    def inside() -> None:
        with llvm:
            end()

    if not is_busy() and llvm.acquire(blocking=False):
        try:
            end()
        finally:
            llvm.release()
    else:
        submit(0, inside)


def _work() -> None:
    global _running, _thread
    while True:
        with changed:
            _running = heapq.heappop(_jobs) if _jobs else None
            if _running is None:
                _thread = None
                return
            job = _running[2]
        try:
            job()
        except Exception:
            _log.exception('a job in the background failed')
        del job


def _stop() -> None:
    """Wait for the running job: LLVM must not run while the process tears down its data."""
    with changed:
        _jobs.clear()
        thread = _thread
    if thread is not None:
        thread.join()


def _pause() -> None:
    llvm.acquire()
    changed.acquire()


def _go_on() -> None:
    changed.release()
    llvm.release()


def _begin_anew() -> None:
    """Continue in a forked process: it has the jobs, and starts a thread when it needs a result."""
    global _running, _thread
    _thread = None
    if _running is not None:
        heapq.heappush(_jobs, _running)
        _running = None
    _go_on()


atexit.register(_stop)
if hasattr(os, 'register_at_fork'):
    os.register_at_fork(before=_pause, after_in_parent=_go_on, after_in_child=_begin_anew)
