# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Threads of a node for computations that would delay messages, and requests that wait."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, NamedTuple, TypeVar

import rclpy
from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.task import Future
from rclpy.timer import Timer

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.nodes.reporting import steady_timer

Result = TypeVar('Result')


class BusyError(DynamicsRosError):
    """Too many functions wait in the queue of a worker."""


class SupersededError(DynamicsRosError):
    """A function was dropped because a newer one with the same subject was submitted."""

    def __init__(self, subject: str) -> None:
        super().__init__(f'a newer request for {subject} came in')


class _Job(NamedTuple):
    """Function in the queue of a worker; ``end`` gets its result and its error, one of them."""

    function: Callable[[], Any]
    end: Callable[[Any, Exception | None], None]
    subject: str


class Worker:
    """Thread that runs functions in order, and prepares for later ones while it has none.

    It is a daemon thread, so the process can end while a function runs.

    Attributes:
        free_since: time.monotonic() at the end of the previous function [s].
    """

    def __init__(self, name: str, limit: int = 64) -> None:
        self._waiting: deque[_Job] = deque()
        self._preparations: deque[Callable[[], object]] = deque()
        self._holds = 0
        self._changed = threading.Condition()
        self._limit = limit
        self.free_since = 0.0
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def put(self, job: _Job) -> None:
        """Queue a job; of jobs with the same subject, unless that is '', only the newest waits.

        Raises:
            BusyError: the queue is full; only for jobs without a subject.
        """
        with self._changed:
            dropped = [old for old in self._waiting if job.subject and old.subject == job.subject]
            if not job.subject and len(self._waiting) >= self._limit:
                raise BusyError('too many requests are waiting; try again later')
            for old in dropped:
                self._waiting.remove(old)
            self._waiting.append(job)
            self._changed.notify()
        for old in dropped:
            old.end(None, SupersededError(old.subject))

    def check_newest(self, subject: str) -> None:
        """Check in a long function, between its steps, that its result is still needed.

        Raises:
            SupersededError: a newer function with the subject waits.
        """
        with self._changed:
            if any(job.subject == subject for job in self._waiting):
                raise SupersededError(subject)

    def prepare(self, functions: Iterable[Callable[[], object]]) -> None:
        """Replace the functions that run one by one while no other waits, and no ``hold`` is on.

        Their errors are reported when a request repeats the computation.
        """
        with self._changed:
            self._preparations = deque(functions)
            self._changed.notify()

    def hold(self, change: int) -> None:
        """Add to the number of reasons for which no preparation may start.

        Python threads share one interpreter, so a request beside a compilation in another thread
        would take several times as long.
        """
        with self._changed:
            self._holds += change
            self._changed.notify()

    def _next(self) -> _Job:
        def ready() -> bool:
            return bool(self._waiting or (self._preparations and not self._holds))

        with self._changed:
            self._changed.wait_for(ready)
            if self._waiting:
                return self._waiting.popleft()
            return _Job(self._preparations.popleft(), lambda *_: None, '')

    def _work(self) -> None:
        while True:
            job = self._next()
            try:
                result, error = job.function(), None
            except Exception as raised:
                result, error = None, raised
            self.free_since = time.monotonic()
            job.end(result, error)
            # The next function may come much later; do not keep this one alive until then.
            del job, result, error


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
        searches: runs long searches.
        builder: compiles kernels of requests, and prepares for requests meanwhile.
        changes: builds robots; a payload that has to be undone does not wait for kernels.
    """

    def __init__(self, node: Node) -> None:
        """Start the threads; ``executor`` has to be set before anything is submitted."""
        self._node = node
        self.executor: Executor | None = None
        self.searches, self.builder = Worker('searches'), Worker('builder')
        self.changes = Worker('changes')
        self._requests: list[tuple[Callable[[], bool], float, Future[None]]] = []
        self._timer = steady_timer(node, CHECK_PERIOD, self._check)
        self._timer.cancel()
        # Executors resume coroutines only after an event of the middleware, and the events executor
        # does not support guard conditions. Therefore a timer that fires once resumes them.
        self._resume: Timer = steady_timer(node, RESUME_AFTER, lambda: self._resume.cancel())
        self._resume.cancel()

    @property
    def crowded(self) -> bool:
        """Whether ``MAX_WAITING`` requests wait."""
        return len(self._requests) >= MAX_WAITING

    def future(self) -> Future[Any]:
        """Return a future whose callbacks run in the executor's thread."""
        assert self.executor is not None, 'the context has been started'
        return Future(executor=self.executor)

    def submit(
        self, worker: Worker, function: Callable[[], Result], subject: str = ''
    ) -> Future[Result]:
        """Run a function in the thread of a worker.

        Args:
            worker: the worker.
            function: the function.
            subject: if given, waiting functions with the same subject are dropped, and their
                futures get a SupersededError.

        Raises:
            BusyError: the queue is full; only for functions without a subject.
        """
        executor, future = self.executor, self.future()
        assert executor is not None

        def complete(result: Any, error: Exception | None) -> None:
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)
            self.resume()

        def end(result: Any, error: Exception | None) -> None:
            try:
                executor.create_task(complete, result, error)
            except Exception:
                # While the process ends, the executor may already be destroyed, and nobody waits.
                if rclpy.ok():
                    raise

        worker.put(_Job(function, end, subject))
        return future

    def resume(self) -> None:
        """Resume coroutines whose futures are done."""
        self._resume.reset()

    def run(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine as a task of the executor."""
        executor = self.executor
        assert executor is not None, 'the context has been started'
        executor.create_task(coroutine)

    async def sleep(self, seconds: float) -> None:
        """Wait for a time [s]."""
        future = self.future()

        def wake() -> None:
            future.set_result(None)
            self.resume()

        timer = steady_timer(self._node, seconds, wake)
        await future
        self._node.destroy_timer(timer)

    async def until(self, ready: Callable[[], bool], limit: float = 0.0) -> None:
        """Wait until a condition is met, for a time [s] at most; 0: ``FIRST_INPUT_TIMEOUT``.

        Raises:
            Exception: the error of the condition.
        """
        if ready():
            return
        deadline = time.monotonic() + (limit if limit > 0.0 else FIRST_INPUT_TIMEOUT)
        future = self.future()
        self._requests.append((ready, deadline, future))
        self._timer.reset()
        await future

    def _check(self) -> None:
        now, waiting = time.monotonic(), self._requests
        self._requests, resumed = [], 0
        for request in waiting:
            ready, deadline, future = request
            try:
                if resumed < MAX_RESUMED and (now >= deadline or ready()):
                    resumed += 1
                    future.set_result(None)
                else:
                    self._requests.append(request)
            except Exception as error:
                future.set_exception(error)
        if not self._requests:
            self._timer.cancel()
        self.resume()
