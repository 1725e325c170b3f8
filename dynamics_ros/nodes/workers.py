# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Threads of a node for computations that would delay messages, and requests that wait."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.task import Future
from rclpy.timer import Timer

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.nodes.reporting import steady_timer

Result = TypeVar('Result')


class SupersededError(DynamicsRosError):
    """A function was not run because a newer one with the same subject was submitted."""

    def __init__(self, subject: str) -> None:
        super().__init__(f'a newer request for {subject} came in')


FIRST_INPUT_TIMEOUT = 5.0
"""Time that a request without a time limit waits for the first robot and state [s]."""

CHECK_PERIOD = 0.01
"""Period of the checks of what requests wait for [s]."""

RESUME_AFTER = 1e-4
"""Delay after which a waiting coroutine is resumed [s]."""

MAX_RESUMED = 5
"""Maximum number of requests that continue after one check: a client keeps ten responses."""

MAX_WAITING = 200
"""Maximum number of requests that wait for the first robot or state; more are answered at once."""


class Threads:
    """Worker threads of a process, and coroutines that wait for them or for a condition.

    All methods are called in the executor's thread.

    Attributes:
        searches: computes requests that take long, with kernels that exist.
        builder: compiles kernels for requests and computes with them.
        changes: builds robots, one after another; these do not wait for requests.
    """

    def __init__(self, node: Node) -> None:
        """Start the threads; ``executor`` has to be set before anything is submitted."""
        self.executor: Executor | None = None
        self.searches, self.builder, self.changes, self._preparing = (
            ThreadPoolExecutor(1, name)
            for name in ('searches', 'builder', 'changes', 'preparations')
        )
        self._prepared: list[Any] = []
        self._waiting: list[tuple[Callable[[], bool], float, Future[None]]] = []
        self._timer = steady_timer(node, CHECK_PERIOD, self._check)
        self._timer.cancel()
        # Executors resume coroutines only after an event of the middleware, and the events executor
        # does not support guard conditions. Therefore a timer that fires once resumes them.
        self._resume: Timer = steady_timer(node, RESUME_AFTER, lambda: self._resume.cancel())
        self._resume.cancel()

    def future(self) -> Future[Any]:
        """Return a future whose callbacks run in the executor's thread."""
        assert self.executor is not None, 'the context has been started'
        return Future(executor=self.executor)

    def prepare(self, functions: Iterable[Callable[[], object]]) -> None:
        """Replace the functions that prepare for requests, which do not wait for them.

        Their errors are reported when a request repeats the computation.
        """
        for one in self._prepared:
            one.cancel()
        self._prepared = [self._preparing.submit(function) for function in functions]

    def submit(self, worker: ThreadPoolExecutor, function: Callable[[], Result]) -> Future[Result]:
        """Run a function in the thread of a worker."""
        executor, future = self.executor, self.future()
        assert executor is not None

        def work() -> None:
            value: Any = None
            try:
                value, done = function(), future.set_result
            except Exception as error:
                value, done = error, future.set_exception
            executor.create_task(done, value)
            executor.create_task(self.resume)

        worker.submit(work)
        return future

    def resume(self) -> None:
        """Resume coroutines whose futures are done."""
        self._resume.reset()

    def run(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine as a task of the executor."""
        executor = self.executor
        assert executor is not None, 'the context has been started'
        executor.create_task(coroutine)

    async def until(self, ready: Callable[[], bool], limit: float = 0.0) -> None:
        """Wait until a condition is met, for a time [s] at most; 0: ``FIRST_INPUT_TIMEOUT``.

        Raises:
            Exception: the error of the condition.
        """
        if ready():
            return
        deadline = time.monotonic() + (limit if limit > 0.0 else FIRST_INPUT_TIMEOUT)
        future = self.future()
        self._waiting.append((ready, deadline, future))
        self._timer.reset()
        await future

    async def wait(self, ready: Callable[[], bool], limit: float = 0.0) -> None:
        """Wait like ``until`` for a request, unless ``MAX_WAITING`` requests wait already."""
        if len(self._waiting) < MAX_WAITING:
            await self.until(ready, limit)

    def _check(self) -> None:
        now, waiting = time.monotonic(), self._waiting
        self._waiting, resumed = [], 0
        for request in waiting:
            ready, deadline, future = request
            try:
                if resumed < MAX_RESUMED and (now >= deadline or ready()):
                    resumed += 1
                    future.set_result(None)
                else:
                    self._waiting.append(request)
            except Exception as error:
                future.set_exception(error)
        if not self._waiting:
            self._timer.cancel()
        self.resume()
