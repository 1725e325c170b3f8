# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Threads of a node: computations that would delay messages, and kernels that requests need."""

from __future__ import annotations

import copy
import gc
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Set
from functools import partial
from typing import Any, NamedTuple, TypeVar

import rclpy
from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.task import Future

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.multibody.large_robots import check_kernels
from dynamics_ros.nodes.reporting import steady_timer
from dynamics_ros.robot import Robot

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


MAX_KERNELS = 128
"""Maximum number of kernels of a copy, about 0.2 MB each."""


def kernel(name: str, *options: str) -> str:
    """Return the key of a kernel in ``Robot.kernels``."""
    return f'{name}({", ".join(options)})'


class RobotCopy:
    """Copy of the current robot, whose additional kernels are freed together with it.

    A robot with another gravity or payload shares the kernels of the previous one; so does its
    copy.
    """

    def __init__(self) -> None:
        self._robot: Robot | None = None
        self._copy: Robot | None = None

    def of(self, robot: Robot) -> Robot:
        """Return the copy of a robot; a new one if it shares no kernels with the previous robot."""
        self.follow(robot)
        if self._copy is None:
            self._copy = copy.copy(robot)
        return self._copy

    def follow(self, robot: Robot) -> None:
        """Switch to another robot; keep the copy's kernels if both robots share theirs."""
        before, self._robot = self._robot, robot
        if robot is before or self._copy is None:
            return
        shared = before is not None and robot.shares_kernels_with(before)
        self._copy = self._copy.with_load_of(robot) if shared else None

    def forget(self) -> None:
        """Discard the copy with its kernels."""
        self._copy = None

    def owner(self, robot: Robot, needed: Set[str]) -> Robot:
        """Return the robot or its copy, whichever has or is to compile the needed kernels.

        A copy that would exceed ``MAX_KERNELS`` is replaced by a new one.
        """
        if robot.has_kernels(needed):
            return robot
        # Kernels without options are few, and the warm-up compiles most of them anyway.
        if all(name.endswith('()') or robot.has_kernels((name,)) for name in needed):
            return robot
        copied = self.of(robot)
        if not copied.has_kernels(needed) and len(needed | copied.kernels.keys()) > MAX_KERNELS:
            self.forget()
        return self.of(robot)


Answer = TypeVar('Answer')

FIRST_INPUT_TIMEOUT = 5.0
"""Time that a request without a time limit waits for the first robot and state [s]."""

CHECK_PERIOD = 0.01
"""Period of the checks of what requests wait for [s]."""

MAX_RESUMED = 5
"""Maximum number of requests that continue after one check: a client keeps ten responses."""

MAX_WAITING = 200
"""Maximum number of requests that wait for the first robot or state; more are answered at once."""


class WarmUp:
    """Prepares for future requests in a thread, in short slices, while no request is processed.

    Python threads share one interpreter, so a request beside a long compilation would take several
    times as long. All methods are called in the executor's thread.
    """

    def __init__(self, worker: Worker) -> None:
        """Start without slices, which run in the thread of a worker."""
        self._worker = worker
        self._slices: deque[Callable[[], object]] = deque()
        self._running = False
        self._requests = 0
        self._frozen = False

    def replace(self, executor: Executor, slices: Iterable[Callable[[], object]]) -> None:
        """Replace the remaining slices."""
        self._slices = deque(slices)
        self._next(executor)

    def hold(self) -> None:
        """Start no slice until ``release``, while a request or a new robot is processed."""
        self._requests += 1

    def release(self, executor: Executor) -> None:
        """Undo one ``hold``, and continue if no other is left."""
        self._requests -= 1
        self._next(executor)

    def _next(self, executor: Executor) -> None:
        if not self._slices and not self._frozen:
            # A robot and its kernels are a hundred thousand objects; a collection that scans them
            # would delay messages. Done once, so that at most one replaced robot is not collected.
            self._frozen = True
            gc.freeze()
        if self._running or self._requests or not self._slices:
            return
        self._running = True

        def finish(done: Future[Any]) -> None:
            done.exception()  # a failure is reported when a request repeats the computation
            self._running = False
            self._next(executor)

        self._worker.submit(executor, self._slices.popleft()).add_done_callback(finish)


class Waiting:
    """Requests that wait for a condition, which a timer checks while there are any."""

    def __init__(self, node: Node, resume: Callable[[], object]) -> None:
        """Start without requests; ``resume`` makes the executor resume waiting coroutines."""
        self._resume = resume
        self._requests: list[tuple[Callable[[], bool], float, Future[None]]] = []
        self._timer = steady_timer(node, CHECK_PERIOD, self._check)
        self._timer.cancel()

    async def until(self, executor: Executor, ready: Callable[[], bool], deadline: float) -> None:
        """Wait until a condition is met, at most until a time of the steady clock [s]."""
        if ready() or len(self._requests) >= MAX_WAITING:
            return
        future: Future[None] = Future(executor=executor)
        self._requests.append((ready, deadline, future))
        self._timer.reset()
        await future

    def _check(self) -> None:
        now, waiting = time.monotonic(), self._requests
        self._requests, resumed = [], 0
        for request in waiting:
            ready, deadline, future = request
            if resumed < MAX_RESUMED and (now >= deadline or ready()):
                resumed += 1
                future.set_result(None)
            else:
                self._requests.append(request)
        if not self._requests:
            self._timer.cancel()
        self._resume()


class RequestKernels:
    """Computes requests immediately if their kernels exist, otherwise in a thread.

    The robot has the kernels of the configured frames. Requests may name any other frame or set of
    frames. Their kernels belong to a copy of the robot, which is replaced by a new one when it has
    too many.
    """

    def __init__(self, worker: Worker, warm_up: WarmUp, resume: Callable[[], object]) -> None:
        """Start without kernels.

        Args:
            worker: thread in which kernels are compiled.
            warm_up: is paused while a request is computed.
            resume: makes the executor resume waiting coroutines.
        """
        self._warm_up = warm_up
        self._resume = resume
        self._worker = worker
        self._copy = RobotCopy()

    async def compute(
        self,
        executor: Executor,
        robot: Robot,
        kernels: Iterable[str],
        function: Callable[[Robot], Answer],
        worker: Worker | None = None,
    ) -> Answer:
        """Evaluate a function of the robot, or of its copy, which has the kernels of requests.

        Args:
            executor: executor in whose thread the caller awaits the result.
            robot: the current robot when the request arrived.
            kernels: names of the kernels that the function uses.
            function: computes the result; must not keep references to the robot.
            worker: thread for functions that take long even with existing kernels.

        Returns:
            The result of the function.

        Raises:
            DynamicsRosError: the error of the function, or too many requests are waiting.
        """
        needed = frozenset(kernels)
        check_kernels(robot, needed)
        owner = self._copy.owner(robot, needed)
        ready = owner.has_kernels(needed)
        if ready and worker is None:
            return function(owner)
        thread = worker if ready and worker is not None else self._worker
        self._warm_up.hold()
        try:
            future = thread.submit(executor, partial(function, owner))
            future.add_done_callback(lambda _: self._resume())
            return await future
        finally:
            self._warm_up.release(executor)

    def owner(self, robot: Robot, kernels: Iterable[str]) -> Robot:
        """Return the robot or its copy, whichever has or is to compile the kernels."""
        return self._copy.owner(robot, frozenset(kernels))

    def adopt(self, robot: Robot) -> None:
        """Switch to another robot; kernels are kept if only payload or gravity differ."""
        self._copy.follow(robot)
