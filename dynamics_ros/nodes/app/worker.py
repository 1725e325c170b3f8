# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Worker thread for computations that would delay messages in the executor's thread."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import rclpy
from rclpy.executors import Executor
from rclpy.task import Future

from dynamics_ros.errors import DynamicsRosError

Result = TypeVar('Result')


class BusyError(DynamicsRosError):
    """Too many functions wait in the queue of a worker."""


class SupersededError(DynamicsRosError):
    """A function was dropped because a newer one with the same subject was submitted."""


class _Job(NamedTuple):
    """Function in the queue of a worker; of each ``subject`` but '' only the newest waits."""

    function: Callable[[], Any]
    future: Future[Any]
    executor: Executor
    subject: str


class Worker:
    """Thread that runs functions in order and delivers results in the executor's thread.

    It is a daemon thread, so the process can end while a function runs.

    Attributes:
        free_since: time.monotonic() at the end of the previous function [s].
    """

    def __init__(self, name: str, limit: int = 64) -> None:
        self._waiting: deque[_Job] = deque()
        self._changed = threading.Condition()
        self._limit = limit
        self.free_since = 0.0
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def submit(
        self, executor: Executor, function: Callable[[], Result], subject: str = ''
    ) -> Future[Result]:
        """Queue a function; return a future whose callbacks run in the executor's thread.

        Args:
            executor: executor that completes the future.
            function: run in the thread of the worker.
            subject: if given, waiting functions with the same subject are dropped, and their
                futures get a SupersededError.

        Raises:
            BusyError: the queue is full; only for functions without a subject.
        """
        future: Future[Result] = Future(executor=executor)
        with self._changed:
            dropped = [job for job in self._waiting if subject and job.subject == subject]
            if not subject and len(self._waiting) >= self._limit:
                raise BusyError('too many requests are waiting; try again later')
            for job in dropped:
                self._waiting.remove(job)
            self._waiting.append(_Job(function, future, executor, subject))
            self._changed.notify()
        for job in dropped:
            job.future.set_exception(SupersededError(f'a newer request for {subject} came in'))
        return future

    def check_newest(self, subject: str) -> None:
        """Check in a long function, between its steps, that its result is still needed.

        Raises:
            SupersededError: a newer function with the subject waits.
        """
        with self._changed:
            if any(job.subject == subject for job in self._waiting):
                raise SupersededError(f'a newer request for {subject} came in')

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting)
                job = self._waiting.popleft()
            try:
                result = job.function()
            except Exception as error:
                _complete(job.executor, job.future.set_exception, error)
                del error
            else:
                _complete(job.executor, job.future.set_result, result)
                del result
            self.free_since = time.monotonic()
            # The next function may come much later; do not keep this one alive until then.
            del job


def _complete(executor: Executor, complete: Callable[[Any], None], outcome: Any) -> None:
    try:
        executor.create_task(complete, outcome)
    except Exception:
        # While the process ends, the executor may already be destroyed, and nobody waits.
        if rclpy.ok():
            raise
