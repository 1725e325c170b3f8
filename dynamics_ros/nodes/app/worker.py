# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A thread for what takes longer than a message may wait."""

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
    """More work waits than a caller would want to wait for."""


class SupersededError(DynamicsRosError):
    """Work that was not done because newer work about the same was asked for."""


class _Job(NamedTuple):
    """What waits.

    Attributes:
        function: what is run.
        future: of its result.
        executor: in whose thread that is told.
        subject: what it is about; of one subject only the newest is run.
    """

    function: Callable[[], Any]
    future: Future[Any]
    executor: Executor
    subject: str


class Worker:
    """Runs functions one after another, and hands their results back to the executor's thread.

    The thread is a daemon: a process that ends does not wait for it.

    Attributes:
        free_since: when the function before the one that runs, or the last one, had ended, by
            time.monotonic().
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
        """A future of the function's result; done callbacks run in the executor's thread.

        Args:
            executor: whose thread this is.
            function: run in the worker's thread.
            subject: what it is about. What waits and is about the same is dropped, with a
                SupersededError. Without one, all are run.

        Raises:
            BusyError: too many functions without a subject wait already.
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
            job.future.set_exception(SupersededError(f'newer work on {subject} was asked for'))
        return future

    def check_newest(self, subject: str) -> None:
        """Look from within a long function, between its steps, whether it is still wanted.

        Raises:
            SupersededError: newer work on the subject waits.
        """
        with self._changed:
            if any(job.subject == subject for job in self._waiting):
                raise SupersededError(f'newer work on {subject} was asked for')

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting)
                job = self._waiting.popleft()
            try:
                result = job.function()
            except Exception as error:
                _tell(job.executor, job.future.set_exception, error)
                del error
            else:
                _tell(job.executor, job.future.set_result, result)
                del result
            self.free_since = time.monotonic()
            # What is waited for next may be long in coming: nothing of this is kept until then.
            del job


def _tell(executor: Executor, tell: Callable[[Any], None], outcome: Any) -> None:
    try:
        executor.create_task(tell, outcome)
    except Exception:
        # At the end of the process the executor may be gone, and with it whoever waits.
        if rclpy.ok():
            raise
