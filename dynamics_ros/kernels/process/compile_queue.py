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


class _Compiler:
    """Queue that runs jobs one by one, small ones first; its thread ends when the queue is empty.

    LLVM must not run while the process tears down its data, so an exiting process waits for the
    running job and drops the others. A forked process has the jobs but no thread; it starts one
    when somebody asks for a result.
    """

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.running: Job | None = None
        self.order = itertools.count()
        self.thread: threading.Thread | None = None
        atexit.register(self.stop)
        if hasattr(os, 'register_at_fork'):
            os.register_at_fork(
                before=self.pause, after_in_parent=self.go_on, after_in_child=self.begin_anew
            )

    def pause(self) -> None:
        llvm.acquire()
        changed.acquire()

    def go_on(self) -> None:
        changed.release()
        llvm.release()

    def begin_anew(self) -> None:
        self.thread = None
        if self.running is not None:
            heapq.heappush(self.jobs, self.running)
            self.running = None
        self.go_on()

    def submit(self, size: int, job: Callable[[], None]) -> None:
        with changed:
            heapq.heappush(self.jobs, (size, next(self.order), job))
            self.resume()

    def resume(self) -> None:
        with changed:
            if self.jobs and self.thread is None:
                self.thread = threading.Thread(
                    target=self.work, name='dynamics_ros_compile', daemon=True
                )
                self.thread.start()

    def work(self) -> None:
        while True:
            with changed:
                self.running = None
                if not self.jobs:
                    self.thread = None
                    return
                self.running = heapq.heappop(self.jobs)
                job = self.running[2]
            try:
                job()
            except Exception:
                _log.exception('a job in the background failed')
            del job

    def stop(self) -> None:
        with changed:
            self.jobs.clear()
            thread = self.thread
        if thread is not None:
            thread.join()


_compiler = _Compiler()


def submit(size: int, job: Callable[[], None]) -> None:
    """Run a job in the background.

    Args:
        size: smaller jobs run first, equal ones in order of submission.
        job: its exceptions are logged. If a process forks while the job runs, the child runs it
            again.
    """
    _compiler.submit(size, job)


def resume() -> None:
    """Ensure that submitted jobs are running, also in a forked process."""
    if _compiler.jobs and _compiler.thread is None:
        _compiler.resume()


def is_busy() -> bool:
    """Return whether another thread compiles, so that a call of LLVM here would wait."""
    thread = _compiler.thread
    return thread is not None and thread is not threading.current_thread()


def discard(end: Callable[[], None]) -> None:
    """Free an LLVM object without waiting for LLVM.

    Args:
        end: frees the object; a second call does nothing.
    """
    if not is_busy() and llvm.acquire(blocking=False):
        try:
            end()
        finally:
            llvm.release()
    else:
        submit(0, lambda: _inside(end))


def _inside(end: Callable[[], None]) -> None:
    with llvm:
        end()
