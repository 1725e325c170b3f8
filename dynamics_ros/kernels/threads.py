# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Thread count for batches, and the thread pool.

The default is one thread: on a robot the other processors serve other nodes, and a controller needs
a constant time per call more than the shortest time for a large batch. The environment variable
``DYNAMICS_ROS_THREADS`` or `set_thread_count` allows more.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from dynamics_ros.errors import InvalidArgumentError

VARIABLE = 'DYNAMICS_ROS_THREADS'

OPERATIONS_PER_THREAD = 8_000_000
"""Scalar operations per additional thread: waking a thread takes up to 0.1 ms, and vector code
computes
this many in about 0.3 ms.
"""

_log = logging.getLogger('dynamics_ros.kernels')


class _Pool:
    """Thread pool, created when first needed and again in a forked process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.count = _count_of_environment()
        self.executor: ThreadPoolExecutor | None = None
        if hasattr(os, 'register_at_fork'):
            os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        self.lock = threading.Lock()
        self.executor = None

    def resize(self, count: int) -> None:
        with self.lock:
            self.count = count
            if self.executor is not None:
                self.executor.shutdown(wait=False)
                self.executor = None

    def run(self, jobs: Sequence[Callable[[], int]]) -> list[int]:
        with self.lock:
            if self.executor is None:
                self.executor = ThreadPoolExecutor(
                    max(1, self.count - 1), thread_name_prefix='dynamics_ros_batch'
                )
            futures = [self.executor.submit(job) for job in jobs[1:]]
        return [jobs[0](), *[x.result() for x in futures]]


def _count_of_environment() -> int:
    text = os.environ.get(VARIABLE, '1')
    if text.isdecimal() and int(text) > 0:
        return int(text)
    _log.warning('%s=%s is no number of threads; a batch is computed by one', VARIABLE, text)
    return 1


_pool = _Pool()


def set_thread_count(count: int) -> None:
    """Set how many threads may compute one batch, for the whole process.

    Args:
        count: 1 or more, including the calling thread.

    Raises:
        InvalidArgumentError: the count is not a positive integer.
    """
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise InvalidArgumentError('count', repr(count), 'a whole number, 1 or more')
    _pool.resize(count)


def thread_count() -> int:
    """Return how many threads may compute one batch."""
    return _pool.count


def useful_threads(operations: int) -> int:
    """Return the number of threads that pay off for a total number of scalar operations."""
    return max(1, min(_pool.count, operations // OPERATIONS_PER_THREAD))


def run(jobs: Sequence[Callable[[], int]]) -> list[int]:
    """Run jobs in parallel, the first one in this thread; return their results."""
    return _pool.run(jobs) if len(jobs) > 1 else [jobs[0]()]
