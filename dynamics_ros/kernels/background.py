"""One thread that compiles while other threads go on with their work."""

from __future__ import annotations

import atexit
import os
import threading
from collections import deque
from collections.abc import Callable


class _Compiler:
    """Runs jobs one after the other; its thread ends when there are none left.

    LLVM must not be at work while the process takes its data apart, so an exiting process waits for
    the job that runs and forgets the others.
    """

    def __init__(self) -> None:
        self.forget()
        atexit.register(self.stop)
        if hasattr(os, 'register_at_fork'):
            os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        self.lock = threading.Lock()
        self.jobs: deque[Callable[[], None]] = deque()
        self.thread: threading.Thread | None = None

    def submit(self, job: Callable[[], None]) -> None:
        with self.lock:
            self.jobs.append(job)
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
                job = self.jobs.popleft()
            job()

    def stop(self) -> None:
        with self.lock:
            self.jobs.clear()
            thread = self.thread
        if thread is not None:
            thread.join()


_compiler = _Compiler()


def submit(job: Callable[[], None]) -> None:
    """Run a job in the background, after those that were submitted before it.

    Args:
        job: must not raise.
    """
    _compiler.submit(job)
