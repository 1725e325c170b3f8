# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Where kernels are made that topics do not need: never where a message would wait for them."""

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
    """Does what will be asked for soon, slice by slice, while nobody asks for anything.

    Python threads share one interpreter: a request that is computed beside a long compilation
    would take several times as long. All methods are called in the executor's thread.
    """

    def __init__(self) -> None:
        self._worker = Worker('warm_up')
        self._slices: deque[Callable[[], object]] = deque()
        self._running = False
        self._requests = 0
        self._frozen = False

    def replace(self, executor: Executor, slices: Iterable[Callable[[], object]]) -> None:
        """Do these instead of what is left of the ones before."""
        self._slices = deque(slices)
        self._next(executor)

    def hold(self) -> None:
        """Let a request, or a new robot, go first."""
        self._requests += 1

    def release(self, executor: Executor) -> None:
        """It is done."""
        self._requests -= 1
        self._next(executor)

    def _next(self, executor: Executor) -> None:
        if not self._slices and not self._frozen:
            # A robot and its kernels are a hundred thousand objects, and looking at all of them
            # would keep messages waiting. Once only, so that of robots that are replaced at most
            # one is never collected.
            self._frozen = True
            gc.freeze()
        if self._running or self._requests or not self._slices:
            return
        self._running = True

        def finish(done: Future[Any]) -> None:
            done.exception()  # what fails here fails again, and is told, when it is asked for
            self._running = False
            self._next(executor)

        self._worker.submit(executor, self._slices.popleft()).add_done_callback(finish)


class RequestKernels:
    """Computes requests: at once when their kernels are there, else in a thread.

    A node makes the kernels of what is configured for its robot. Requests may name every other
    frame and every set of frames: their kernels belong to a twin of the robot, which is replaced by
    a fresh one when it has too many.
    """

    def __init__(self, warm_up: WarmUp, resume: Callable[[], object]) -> None:
        """Begin without kernels.

        Args:
            warm_up: waits while requests are computed.
            resume: has the executor look again at coroutines that wait.
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
        """The function of the robot or of its twin.

        Args:
            executor: in whose thread this is awaited.
            robot: the robot in force when the request came.
            kernels: those that the function uses.
            function: computes the answer; keeps nothing of the robot.
            worker: runs what takes long even when the kernels are there.

        Raises:
            DynamicsRosError: what the function raises, or too many requests wait.
        """
        needed = frozenset(kernels)
        check_kernels(robot, needed)
        home = self._twin.home(robot, needed)
        made = home.has_kernels(needed)
        if made and worker is None:
            return function(home)
        thread = worker if made and worker is not None else self._worker
        self._warm_up.hold()
        try:
            future = thread.submit(executor, partial(function, home))
            future.add_done_callback(lambda _: self._resume())
            return await future
        finally:
            self._warm_up.release(executor)

    def adopt(self, robot: Robot) -> None:
        """Take over another robot; of one with another load alone the kernels stay."""
        self._twin.follow(robot)
