# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Compilation of kernels for requests, in threads, so that messages do not wait for it."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar

from rclpy.executors import Executor
from rclpy.task import Future

from dynamics_ros.multibody.large_robots import check_kernels
from dynamics_ros.nodes.app.worker import Worker
from dynamics_ros.requests.kernel_twin import KernelTwin
from dynamics_ros.robot import Robot

Answer = TypeVar('Answer')


class WarmUp:
    """Prepares for future requests in a thread, in short slices, while no request is processed.

    Python threads share one interpreter, so a request beside a long compilation would take several
    times as long. All methods are called in the executor's thread.
    """

    def __init__(self) -> None:
        self._worker = Worker('warm_up')
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


class RequestKernels:
    """Computes requests immediately if their kernels exist, otherwise in a thread.

    The robot has the kernels of the configured frames. Requests may name any other frame or set of
    frames. Their kernels belong to a twin of the robot, which is replaced by a new one when it has
    too many.
    """

    def __init__(self, warm_up: WarmUp, resume: Callable[[], object]) -> None:
        """Start without kernels.

        Args:
            warm_up: is paused while a request is computed.
            resume: makes the executor resume waiting coroutines.
        """
        self._warm_up = warm_up
        self._resume = resume
        self._worker = Worker('request_kernels')
        self._twin = KernelTwin()

    async def compute(
        self,
        executor: Executor,
        robot: Robot,
        kernels: Iterable[str],
        function: Callable[[Robot], Answer],
        worker: Worker | None = None,
    ) -> Answer:
        """Evaluate a function of the robot, or of its twin, which has the kernels of requests.

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
        owner = self._twin.owner(robot, needed)
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

    def adopt(self, robot: Robot) -> None:
        """Switch to another robot; kernels are kept if only payload or gravity differ."""
        self._twin.follow(robot)
