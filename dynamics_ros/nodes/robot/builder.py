# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Builds a new robot in a thread while the current one stays in use."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from rclpy.executors import Executor
from rclpy.task import Future

from dynamics_ros.nodes.app.worker import SupersededError, Worker
from dynamics_ros.requests.robot_request import Built, RobotMaker, RobotRequest
from dynamics_ros.robot import Robot


class RobotBuilder:
    """Applies changes to the robot in order; builds the changed robot in a thread.

    A failed change leaves the current robot unchanged. Of several waiting changes with the same
    subject, only the newest is applied.
    """

    def __init__(
        self,
        request: RobotRequest,
        prepare: Callable[[Robot, str], Any],
        adopt: Callable[[Built], None],
    ) -> None:
        """Start without a robot.

        Args:
            request: request for a robot without its description.
            prepare: prepares the components for a robot and its default frame; called in the
                thread.
            adopt: makes a robot the current one; called in the executor's thread.
        """
        self._accepted = request
        self._prepare = prepare
        self._adopt = adopt
        self._worker = Worker('robot_builder')
        self._waiting: OrderedDict[str, tuple[Mapping[str, Any], Future[None], bool]] = (
            OrderedDict()
        )
        self._maker = RobotMaker()
        self._running = False

    @property
    def busy(self) -> bool:
        """Whether a change is waiting or being applied."""
        return self._running or bool(self._waiting)

    def change(
        self,
        executor: Executor,
        subject: str,
        values: Mapping[str, Any],
        *,
        always: bool = False,
    ) -> Future[None]:
        """Change the robot.

        Args:
            executor: its thread calls this method and completes the future.
            subject: key of the change; it replaces a waiting change with the same key.
            values: changed values of the request, by name.
            always: prepare the components even if the request does not change.

        Returns:
            Future that completes when the change takes effect, with an error if it is refused.
        """
        future: Future[None] = Future(executor=executor)
        dropped = self._waiting.pop(subject, None)
        self._waiting[subject] = (values, future, always)
        if dropped:
            dropped[1].set_exception(SupersededError(f'a newer request for {subject} came in'))
        self._next(executor)
        return future

    def _next(self, executor: Executor) -> None:
        if self._running or not self._waiting:
            return
        _, (values, future, always) = self._waiting.popitem(last=False)
        request = replace(self._accepted, **values)
        if request == self._accepted and not always:
            future.set_result(None)
            self._next(executor)
            return
        self._running = True

        def finish(done: Future[Built | None]) -> None:
            self._running = False
            error = done.exception()
            if error is None:
                self._accepted = request
                built = done.result()
                if built is not None:
                    self._adopt(built)
                future.set_result(None)
            else:
                future.set_exception(error)
            self._next(executor)

        def build() -> Built | None:
            # Without a description, only the request is updated.
            return self._maker.make(request, self._prepare) if request.description else None

        self._worker.submit(executor, build).add_done_callback(finish)
