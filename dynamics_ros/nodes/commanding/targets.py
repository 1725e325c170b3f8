# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Commands from outside: their messages, their numbers, and the frames that they are given in."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from rclpy.serialization import deserialize_message

from dynamics_ros.commanding.standstill import Standstill
from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError, UnknownFrameError
from dynamics_ros.nodes.reporting.results import TransformError
from dynamics_ros.nodes.robot.context import RobotContext
from dynamics_ros.nodes.robot.transforms import Transforms
from dynamics_ros.wire.conversions import Array, pose_matrix, twist_array, wrench_array

LARGEST = 1e6
"""m/s, rad/s or m in a command: no robot means more, and arithmetic overflows somewhere above."""

MAX_BYTES = 1 << 16
"""Size of a command, whose only text is the name of a frame."""


class Frames:
    """Where the frame of a command is."""

    def __init__(
        self, context: RobotContext, transforms: Transforms, max_age: Callable[[], float]
    ) -> None:
        """Ask a context and tf.

        Args:
            context, transforms: who know frames.
            max_age: s that a transform may be old.
        """
        self._context = context
        self._transforms = transforms
        self._max_age = max_age

    def pose(self, frame_id: str, q: Array, argument: str = 'header.frame_id') -> Array:
        """(4, 4) in the root frame.

        Args:
            frame_id: of the robot or of tf; '' is the root frame.
            q: (nq) where the robot is.
            argument: what an error names.

        Raises:
            DynamicsRosError: neither the model nor tf knows, or tf no longer does.
        """
        robot = self._context.required_robot()
        root = self._context.root_frame_id()
        if frame_id in ('', robot.root_frame, root):
            return np.eye(4)
        frame = self._context.names.inside(frame_id)
        if frame in robot.frame_names:
            return robot.forward_kinematics(q, frame)
        try:
            self._transforms.listen()
            return self._transforms.pose(root, frame_id, max_age=self._max_age())
        except TransformError as error:
            unknown = UnknownFrameError(argument, frame_id, robot.frame_names)
            raise TransformError(f'{unknown}; {error}') from None


def check_size(argument: str, numbers: Array, largest: float = LARGEST) -> None:
    """Refuse numbers that nobody can mean.

    Args:
        argument: what an error names.
        numbers: as they came.
        largest: that somebody can mean.

    Raises:
        InvalidArgumentError: naming the argument.
    """
    found = float(np.abs(numbers).max())
    if found > largest:
        raise InvalidArgumentError(argument, f'has {found:g}', f'numbers up to {largest:g}')


def read_command(kind: Any, data: bytes) -> Any:
    """The message of some bytes.

    Raises:
        InvalidArgumentError: they are none.
    """
    if len(data) > MAX_BYTES:
        raise InvalidArgumentError('message', f'{len(data)} bytes', f'up to {MAX_BYTES}')
    try:
        return deserialize_message(data, kind)
    except Exception as error:  # of no type that rclpy promises
        raise InvalidArgumentError('message', 'malformed bytes', kind.__name__) from error


class Target(ABC):
    """What a command of some kind asks for.

    Attributes:
        name: of the topic and in words.
        message: its type.
        received: by the steady clock [s].
        waited: s for which it may have waited until then.
    """

    name: ClassVar[str]
    message: ClassVar[Any]

    def __init__(self, message: Any, frames: Frames, q: Array) -> None:
        """Check a message that comes while the robot is at q (nq).

        Raises:
            DynamicsRosError: it says nothing that could be done.
        """
        self.received, self.waited = time.monotonic(), 0.0
        self._take(message, frames, q)

    @abstractmethod
    def _take(self, message: Any, frames: Frames, q: Array) -> None:
        """Keep what a message says; arguments and errors are those of the class."""


class VectorTarget(Target):
    """Six numbers, linear and angular, in axes that may turn with the robot."""

    def _take(self, message: Any, frames: Frames, q: Array) -> None:
        self._values = self._read(message)
        check_size(self.name, self._values)
        self._frame_id, self._frames = message.header.frame_id, frames
        frames.pose(self._frame_id, q)

    @staticmethod
    @abstractmethod
    def _read(message: Any) -> Array:
        """(6) that the message says, in its own axes."""

    @property
    def lengths(self) -> tuple[float, float]:
        """Of the linear and of the angular part."""
        linear, angular = np.linalg.norm(self._values.reshape(2, 3), axis=1).tolist()
        return linear, angular

    def in_root_axes(self, q: Array) -> Array:
        """(6) as the frame lies at q (nq).

        Raises:
            TransformError: tf no longer knows the frame.
        """
        R = self._frames.pose(self._frame_id, q)[:3, :3]
        return np.concatenate([R @ self._values[:3], R @ self._values[3:]])


class TwistTarget(VectorTarget):
    """A velocity."""

    name = 'twist_command'
    message = TwistStamped

    @staticmethod
    def _read(message: Any) -> Array:
        return twist_array(message.twist, 'twist_command.twist')


class WrenchTarget(VectorTarget):
    """What the environment shall exert on the tool, at its origin."""

    name = 'wrench_command'
    message = WrenchStamped

    @staticmethod
    def _read(message: Any) -> Array:
        return wrench_array(message.wrench, 'wrench_command.wrench')


class PoseTarget(Target):
    """A pose; one that is given in a frame of the robot stays where that was when it came.

    Attributes:
        pose: (4, 4) in the root frame.
    """

    name = 'pose_command'
    message = PoseStamped

    def _take(self, message: Any, frames: Frames, q: Array) -> None:
        pose = pose_matrix(message.pose, 'pose_command.pose')
        check_size('pose_command.pose.position', pose[:3, 3])
        self.pose = np.ascontiguousarray(frames.pose(message.header.frame_id, q) @ pose)
        check_size('pose_command.pose in the root frame', self.pose[:3, 3])


Kind = TypeVar('Kind', bound=Target)


class Targets(Generic[Kind]):
    """The target in force: the newest that made sense.

    Attributes:
        problem: why the last command was not taken, and the one before it ended; '' when it was.
    """

    def __init__(self, frames: Frames, standstill: Standstill) -> None:
        self._frames, self._standstill = frames, standstill
        self._target: Kind | None = None
        self.problem = ''

    def take(self, kind: type[Kind], data: bytes, q: Array) -> None:
        """Follow a command from now on, or nothing if it makes no sense.

        Args:
            kind: of the command.
            data: its message in bytes: rclpy's own reading fills the log with what is none.
            q: (nq) where the robot is.
        """
        try:
            target = kind(read_command(kind.message, data), self._frames, q)
            target.waited = self._standstill.waited()
            self._target, self.problem = target, ''
        except DynamicsRosError as error:
            self.drop(f'{kind.name} refused: {error}')

    def drop(self, problem: str) -> None:
        """Follow nothing until the next command."""
        self._target, self.problem = None, problem

    def fresh(self, timeout: float) -> Kind | None:
        """The target, unless it is older than a time [s]."""
        target = self._target
        if target is not None and self.age() > timeout:
            self._target = None
            if target.waited > timeout:
                held_up = f'while this process was held up, up to {target.waited:.1f} s ago'
                self.problem = f'{target.name} refused: it may have been sent {held_up}'
        return self._target

    def age(self) -> float:
        """Seconds since the target was sent, at most; inf without one."""
        target = self._target
        if target is None:
            return math.inf
        return time.monotonic() - target.received + target.waited
