"""One thread that compiles while other threads go on with their work."""

from __future__ import annotations

import atexit
import heapq
import itertools
import logging
import os
import threading
from collections.abc import Callable

_log = logging.getLogger('dynamics_ros.kernels')


class _Compiler:
    """Runs jobs one after the other, small ones first; its thread ends when there are none left.

    LLVM must not be at work while the process takes its data apart, so an exiting process waits for
    the job that runs and forgets the others.
    """

    def __init__(self) -> None:
        self.forget()
        atexit.register(self.stop)
        if hasattr(os, 'register_at_fork'):
            os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        # Reentrant, as the garbage collector may submit a job in the middle of another submission.
        self.lock = threading.RLock()
        self.jobs: list[tuple[int, int, Callable[[], None]]] = []
        self.order = itertools.count()
        self.thread: threading.Thread | None = None

    def submit(self, size: int, job: Callable[[], None]) -> None:
        with self.lock:
            heapq.heappush(self.jobs, (size, next(self.order), job))
            if self.thread is None:
                self.thread = threading.Thread(
                    target=self.work, name='dynamics_ros_compile', daemon=True
                )
                self.thread.start()

    def work(self) -> None:
        while True:
            with self.lock:
                if not self.jobs:
                    self.thread = None
                    return
                _, _, job = heapq.heappop(self.jobs)
            try:
                job()
            except Exception:
                _log.exception('a job in the background failed')
            del job

    def stop(self) -> None:
        with self.lock:
            self.jobs.clear()
            thread = self.thread
        if thread is not None:
            thread.join()


_compiler = _Compiler()


def submit(size: int, job: Callable[[], None]) -> None:
    """Run a job in the background.

    Args:
        size: smaller jobs come first, equal ones in the order of submission.
        job: what it raises is logged, and the next job is taken.
    """
    _compiler.submit(size, job)


def is_busy() -> bool:
    """Return whether another thread compiles, so that a call of LLVM here would wait for it."""
    thread = _compiler.thread
    return thread is not None and thread is not threading.current_thread()
