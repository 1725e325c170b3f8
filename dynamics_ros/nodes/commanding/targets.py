# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Targets from other nodes: their messages, checks, frames and age."""

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
from dynamics_ros.nodes.context import RobotContext
from dynamics_ros.nodes.load import Transforms
from dynamics_ros.nodes.reporting import TransformError
from dynamics_ros.reasons import Explanation, Reason
from dynamics_ros.wire.conversions import Array, pose_matrix, twist_array, wrench_array

MAX_VALUE = 1e6
"""Largest number in a target [m/s, rad/s, m, N or Nm]; more is implausible and may overflow."""

MAX_BYTES = 1 << 16
"""Maximum size of a target message [bytes]; its only text is the name of a frame."""


class Frames:
    """Finds the poses of the frames in which targets are given, in the model or in tf."""

    def __init__(
        self, context: RobotContext, transforms: Transforms, max_age: Callable[[], float]
    ) -> None:
        """Use the model of a context, and tf for other frames.

        Args:
            context: context of the robot.
            transforms: transforms of tf.
            max_age: returns the maximum age of a transform [s].
        """
        self._context = context
        self._transforms = transforms
        self._max_age = max_age

    def pose(self, frame_id: str, q: Array, argument: str = 'header.frame_id') -> Array:
        """Return the pose (4, 4) of a frame in the root frame.

        Args:
            frame_id: frame of the robot or of tf; '' is the root frame.
            q: configuration of the robot (nq).
            argument: name of the argument, for errors.

        Raises:
            DynamicsRosError: the frame is unknown to model and tf, or its transform is too old.
        """
        robot = self._context.required_robot()
        root = self._context.root_frame_id()
        if frame_id in ('', robot.root_frame, root):
            return np.eye(4)
        frame = self._context.names.frame_of(frame_id)
        if frame in robot.frame_names:
            return robot.forward_kinematics(q, frame)
        try:
            self._transforms.subscribe()
            return self._transforms.pose(root, frame_id, max_age=self._max_age())
        except TransformError as error:
            unknown = UnknownFrameError(argument, frame_id, robot.frame_names)
            raise TransformError(f'{unknown}; {error}') from None


def check_size(argument: str, numbers: Array, largest: float = MAX_VALUE) -> None:
    """Check that no number of an array is implausibly large.

    Args:
        argument: name of the argument, for errors.
        numbers: the array.
        largest: largest allowed absolute value.

    Raises:
        InvalidArgumentError: a number is larger.
    """
    size = float(np.abs(numbers).max())
    if size > largest:
        raise InvalidArgumentError(argument, f'has {size:g}', f'numbers up to {largest:g}')


def read_command(kind: Any, data: bytes) -> Any:
    """Deserialize a message of a type.

    Raises:
        InvalidArgumentError: the bytes are too many or malformed.
    """
    if len(data) > MAX_BYTES:
        raise InvalidArgumentError('message', f'{len(data)} bytes', f'up to {MAX_BYTES}')
    try:
        return deserialize_message(data, kind)
    except Exception as error:  # rclpy documents no type of this error
        raise InvalidArgumentError('message', 'malformed bytes', kind.__name__) from error


class Target(ABC):
    """Target of one type, read from a message.

    Attributes:
        name: name of the topic, also used in messages.
        message: type of the message.
        received: time of reception by the steady clock [s].
        waited: longest time that the message may have been queued before that [s].
    """

    name: ClassVar[str]
    message: ClassVar[Any]

    def __init__(self, message: Any, frames: Frames, q: Array) -> None:
        """Read a message.

        Args:
            message: the message.
            frames: finds the frame of the message.
            q: configuration of the robot at the reception (nq).

        Raises:
            DynamicsRosError: the message is invalid, or its frame is unknown.
        """
        self.received, self.waited = time.monotonic(), 0.0
        self._parse(message, frames, q)

    @abstractmethod
    def _parse(self, message: Any, frames: Frames, q: Array) -> None:
        """Read a message; arguments and errors as of the constructor."""


class VectorTarget(Target):
    """Target that is a 6-vector, linear then angular, in a frame that may move with the robot."""

    def _parse(self, message: Any, frames: Frames, q: Array) -> None:
        self._values = self._vector(message)
        check_size(self.name, self._values)
        self._frame_id, self._frames = message.header.frame_id, frames
        frames.pose(self._frame_id, q)

    @staticmethod
    @abstractmethod
    def _vector(message: Any) -> Array:
        """Return the vector (6) of a message, expressed in the frame of the message."""

    @property
    def norms(self) -> tuple[float, float]:
        """Norms of the linear and of the angular part."""
        linear, angular = np.linalg.norm(self._values.reshape(2, 3), axis=1).tolist()
        return linear, angular

    def in_root_axes(self, q: Array) -> Array:
        """Return the vector (6) in root axes, for the pose of its frame at q (nq).

        Raises:
            TransformError: tf no longer provides the frame.
        """
        R = self._frames.pose(self._frame_id, q)[:3, :3]
        return np.concatenate([R @ self._values[:3], R @ self._values[3:]])


class TwistTarget(VectorTarget):
    """Velocity of the tool [m/s, rad/s]."""

    name = 'twist_command'
    message = TwistStamped

    @staticmethod
    def _vector(message: Any) -> Array:
        return twist_array(message.twist, 'twist_command.twist')


class WrenchTarget(VectorTarget):
    """Wrench that the environment shall exert on the tool, at its origin [N, Nm]."""

    name = 'wrench_command'
    message = WrenchStamped

    @staticmethod
    def _vector(message: Any) -> Array:
        return wrench_array(message.wrench, 'wrench_command.wrench')


class PoseTarget(Target):
    """Pose of the tool; fixed in the root frame from its reception, also for a moving frame.

    Attributes:
        pose: (4, 4) in the root frame.
    """

    name = 'pose_command'
    message = PoseStamped

    def _parse(self, message: Any, frames: Frames, q: Array) -> None:
        pose = pose_matrix(message.pose, 'pose_command.pose')
        check_size('pose_command.pose.position', pose[:3, 3])
        self.pose = np.ascontiguousarray(frames.pose(message.header.frame_id, q) @ pose)
        check_size('pose_command.pose in the root frame', self.pose[:3, 3])


Kind = TypeVar('Kind', bound=Target)


class Targets(Generic[Kind]):
    """Current target, the last one received, with checks of its age.

    Attributes:
        problem: why there is no target although one was received; '' if there is no problem.
    """

    def __init__(self, frames: Frames, standstill: Standstill) -> None:
        self._frames, self._standstill = frames, standstill
        self._target: Kind | None = None
        self.problem = ''

    def take(self, kind: type[Kind], data: bytes, q: Array) -> None:
        """Replace the target by that of a message, or by none if the message is invalid.

        Args:
            kind: type of the target.
            data: serialized message; rclpy would log an error for each malformed one.
            q: configuration of the robot (nq).
        """
        try:
            target = kind(read_command(kind.message, data), self._frames, q)
            target.waited = self._standstill.waited()
            self._target, self.problem = target, ''
        except DynamicsRosError as error:
            self.drop(Explanation(Reason.TARGET_REFUSED, f'{kind.name} refused: {error}'))

    def drop(self, problem: str) -> None:
        """Remove the target, for the reason ``problem``."""
        self._target, self.problem = None, problem

    def fresh(self, timeout: float) -> Kind | None:
        """Return the target, or None if it is older than ``timeout`` [s]; then it is removed."""
        target = self._target
        if target is not None and self.age() > timeout:
            self._target = None
            if target.waited > timeout:
                held_up = f'while this process was held up, up to {target.waited:.1f} s ago'
                text = f'{target.name} refused: it may have been sent {held_up}'
                self.problem = Explanation(Reason.TARGET_REFUSED, text)
        return self._target

    def age(self) -> float:
        """Return the largest possible time since the target was sent [s]; inf without one."""
        target = self._target
        if target is None:
            return math.inf
        return time.monotonic() - target.received + target.waited
