# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From a robot description to a robot that is ready to run, beside the one that is running."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rclpy.executors import Executor
from rclpy.task import Future

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError, ModelError
from dynamics_ros.kernels.process import compile_process
from dynamics_ros.model import build_model
from dynamics_ros.model.description import RobotDescription
from dynamics_ros.model.tool_frame import tool_frame
from dynamics_ros.model.urdf import read_urdf
from dynamics_ros.nodes.app.worker import SupersededError, Worker
from dynamics_ros.parameters.dynamics import NO_PAYLOAD, PayloadParameters
from dynamics_ros.parameters.robot import LockedJointParameters
from dynamics_ros.robot import Robot


@dataclass(frozen=True)
class RobotRequest:
    """All that decides what the robot is. Without a description there is none yet."""

    description: str = ''
    root_joint: str = 'fixed'
    locked_names: tuple[str, ...] = ()
    locked_positions: tuple[float, ...] = ()
    gravity: tuple[float, ...] = (0.0, 0.0, -9.81)
    backend: str = 'auto'
    payload: PayloadParameters = NO_PAYLOAD


@dataclass(frozen=True)
class Built:
    """A robot that is ready to run.

    Attributes:
        request: what it was made of.
        robot: with gravity and payload.
        root_link: the link at the root of the description.
        default_frame: the frame that is meant when none is configured.
        prepared: what the parts of the node have made ready for it.
        seconds: how long all of it took.
        doubts: what the description says that is usable but probably not meant.
    """

    request: RobotRequest
    robot: Robot
    root_link: str
    default_frame: str
    prepared: Any
    seconds: float
    doubts: tuple[str, ...] = ()


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
        self._latest: tuple[RobotRequest, Robot, RobotDescription] | None = None
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

        self._worker.submit(executor, lambda: self._build(request)).add_done_callback(finish)

    def _build(self, request: RobotRequest) -> Built | None:
        if not request.description:
            return None
        started = time.perf_counter()
        robot, description = self._robot(request)
        default_frame = tool_frame(description)
        prepared = self._prepare(robot, default_frame)
        seconds = time.perf_counter() - started
        doubts = (*description.doubts, *filter(None, [robot.model.doubt]))
        return Built(request, robot, description.root, default_frame, prepared, seconds, doubts)

    def _robot(self, request: RobotRequest) -> tuple[Robot, RobotDescription]:
        """The robot with gravity and payload; the one before where nothing of it has changed."""
        if self._latest is not None and self._latest[0] == request:
            return self._latest[1:]
        robot, description = self._similar_robot(request)
        payload = request.payload
        if tuple(robot.model.gravity) != request.gravity:
            robot = robot.with_gravity(request.gravity)
        robot = robot.with_payload(
            payload.frame if payload.mass else None,
            payload.mass,
            payload.center_of_mass,
            payload.inertia_matrix(),
        )
        self._latest = (request, robot, description)
        return robot, description

    def _similar_robot(self, request: RobotRequest) -> tuple[Robot, RobotDescription]:
        """One of the same description, read again only when what it is read from has changed.

        Robots with another gravity or payload at the tool, or at a frame that had one before, share
        their kernels: nothing is compiled for them.
        """
        if self._latest is not None and _without_load(self._latest[0]) == _without_load(request):
            return self._latest[1:]
        if self._latest is not None:
            # Messages about the robot in force do not wait for the kernels of the next one.
            compile_process.enable()
        description = read_description(request.description)
        locked = dict(zip(request.locked_names, request.locked_positions, strict=True))
        model = build_model(description, request.root_joint, request.gravity, locked)
        return Robot(model, request.backend).adjustable(tool_frame(description)), description


def _without_load(request: RobotRequest) -> RobotRequest:
    return replace(request, payload=NO_PAYLOAD, gravity=RobotRequest.gravity)


def read_description(text: str) -> RobotDescription:
    """Read a robot description from text, and never from a file that the text may name.

    Raises:
        ModelError: it is not the description of a robot.
    """
    if not text.lstrip().startswith('<'):
        shown = text.strip()[:40]
        reason = f'starts with {shown!r}' if shown else 'is empty'
        cure = 'expected URDF as XML text; of a file: "$(cat FILE)"'
        raise ModelError('robot_description', f'{reason}; {cure}')
    try:
        return read_urdf(text)
    except DynamicsRosError:
        raise
    except Exception as error:
        raise ModelError('robot_description', f'{type(error).__name__}: {error}') from error


def check_locked_joints(values: LockedJointParameters) -> None:
    """Refuse names and positions that do not belong together.

    They are set one after the other, so this is no reason to refuse either of them.

    Raises:
        InvalidArgumentError: there are more of one than of the other, or a joint is named twice.
    """
    names, positions = values.names, values.positions
    if len(names) != len(positions):
        raise InvalidArgumentError(
            'locked_joints',
            f'{len(names)} names and {len(positions)} positions',
            'as many of one as of the other',
        )
    if len(set(names)) < len(names):
        raise InvalidArgumentError('locked_joints.names', 'a joint is named twice', 'each once')
