# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From a robot description to a robot that is ready to run, beside the one that is running."""

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
    """Applies changes to the robot one after another, each in a thread and as a whole.

    A change that cannot be made leaves the robot before it in force. Of several that wait and
    concern the same thing, only the newest is made.
    """

    def __init__(
        self,
        request: RobotRequest,
        prepare: Callable[[Robot, str], Any],
        adopt: Callable[[Built], None],
    ) -> None:
        """Begin without a robot.

        Args:
            request: what is known before there is a description.
            prepare: makes the parts ready for a robot and its default frame; in the thread.
            adopt: puts a robot in force; in the executor's thread.
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
        """Whether a change is being made."""
        return self._running or bool(self._waiting)

    def change(
        self,
        executor: Executor,
        subject: str,
        values: Mapping[str, Any],
        *,
        always: bool = False,
    ) -> Future[None]:
        """Change what the robot is made of; the future is done when it is in force or refused.

        Args:
            executor: in whose thread this is called and the future completes.
            subject: what the change is about; a newer one about the same replaces it.
            values: of the request that change, by name.
            always: make the parts ready even for a request like the one in force.
        """
        future: Future[None] = Future(executor=executor)
        superseded = self._waiting.pop(subject, None)
        self._waiting[subject] = (values, future, always)
        if superseded:
            superseded[1].set_exception(SupersededError(f'a newer request for {subject} came in'))
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

        def finish(work: Future[Built | None]) -> None:
            self._running = False
            error = work.exception()
            if error is None:
                self._accepted = request
                built = work.result()
                if built is not None:
                    self._adopt(built)
                future.set_result(None)
            else:
                future.set_exception(error)
            self._next(executor)

        def build() -> Built | None:
            # Until there is a description, changes are only kept in mind.
            return self._maker.make(request, self._prepare) if request.description else None

        self._worker.submit(executor, build).add_done_callback(finish)
