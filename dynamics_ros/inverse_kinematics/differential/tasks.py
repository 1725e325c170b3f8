# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tasks of differential inverse kinematics: linear equations A v = b for the joint velocity."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.algorithms.quantity import Reference
from dynamics_ros.errors import InvalidArgumentError, UnknownFrameError
from dynamics_ros.multibody.arguments import (
    check_count,
    check_positive,
    finite_vector,
    per_entry,
    rigid_pose,
)
from dynamics_ros.multibody.end_effector import pose_error
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

Array = NDArray[np.float64]

DEFAULT_GAIN = 10.0
"""Default gain [1/s]; an error decays to a third in a tenth of a second."""

ROWS = {'pose': slice(0, 6), 'position': slice(0, 3), 'orientation': slice(3, 6)}


class CheckedVector:
    """Descriptor of an attribute that is checked to be a finite vector whenever it is set.

    An unchecked NaN would become a command.
    """

    def __init__(self, size: int, *, optional: bool = False) -> None:
        """Describe a vector.

        Args:
            size: number of components.
            optional: whether None is allowed.
        """
        self._size = size
        self._optional = optional

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, task: VelocityTask | None, owner: type | None = None) -> Any:
        return self if task is None else task.__dict__[self._name]

    def __set__(self, task: VelocityTask, value: ArrayLike | None) -> None:
        if value is not None or not self._optional:
            value = finite_vector(self._name, cast('ArrayLike', value), self._size)
        task.__dict__[self._name] = value


class VelocityTask(ABC):
    """A task A v = b for the velocity v of a robot.

    Attributes:
        name: name in messages and results.
        priority: 0 is the highest. A task does not affect tasks of higher priority; tasks of the
            same priority are balanced by their weights.
        weight: (m) weight of the squared error of each row ([RD] eq. 2.215).
    """

    def __init__(self, name: str, weight: ArrayLike, priority: int, rows: int) -> None:
        check_count('priority', priority, 0)
        self.name = name
        self.priority = priority
        self.weight = per_entry('weight', weight, rows, least=0.0)

    @abstractmethod
    def check(self, robot: RigidBodySystem) -> None:
        """Check that the task fits the robot.

        Raises:
            InvalidArgumentError: the task does not fit; the error states the reason.
        """

    @abstractmethod
    def demand(self, robot: RigidBodySystem, q: Array, dt: float) -> tuple[Array, Array]:
        """Compute A (m, nv) and b (m) at a configuration.

        Args:
            robot: the robot.
            q: configuration (nq).
            dt: duration of the step [s]; gains are limited to 1 / dt.
        """


class FrameTask(VelocityTask):
    """Task of a frame that follows a target pose, position or orientation.

    The equation is J v = w* + k error ([RD] eq. 2.257). ``target`` and ``feedforward`` may be set
    between two steps.

    Attributes:
        target: (4, 4) desired pose of the frame in ``relative_to``; None for its current pose.
        feedforward: (6) twist of the target relative to ``relative_to``, linear then angular, in
            axes of the root frame [m/s, rad/s].
    """

    feedforward = CheckedVector(6)

    def __init__(
        self,
        frame: str,
        target: ArrayLike | None = None,
        *,
        follow: str = 'pose',
        relative_to: str = '',
        gain: float = DEFAULT_GAIN,
        weight: ArrayLike = 1.0,
        priority: int = 0,
    ) -> None:
        """Set up a task for a frame.

        Args:
            frame: name of the controlled frame.
            target: (4, 4) desired pose in ``relative_to``; None for the current pose.
            follow: 'pose', 'position' or 'orientation'.
            relative_to: frame of the target, which may move; '' for the root frame.
            gain: decay rate of an error [1/s].
            weight: one number or (6), whatever is followed.
            priority: 0 is the highest.
        """
        if follow not in ROWS:
            raise InvalidArgumentError('follow', repr(follow), f'one of {tuple(ROWS)}')
        check_positive('gain', gain)
        super().__init__(frame, weight, priority, 6)
        self.frame, self.relative_to, self.gain = frame, relative_to, float(gain)
        self._rows = ROWS[follow]
        self.weight = self.weight[self._rows]
        self.feedforward = np.zeros(6)
        self._target: Array | None = None
        self.target = target

    @property
    def target(self) -> Array | None:
        """Desired pose (4, 4) in ``relative_to``; None for the current pose."""
        return self._target

    @target.setter
    def target(self, value: ArrayLike | None) -> None:
        self._target = None if value is None else np.ascontiguousarray(rigid_pose('target', value))

    def check(self, robot: RigidBodySystem) -> None:
        """Check that the robot has the frames."""
        for argument in ('frame', 'relative_to'):
            name = getattr(self, argument)
            if name not in robot.frame_names and (argument == 'frame' or name):
                raise UnknownFrameError(argument, name, robot.frame_names)

    def demand(self, robot: RigidBodySystem, q: Array, dt: float) -> tuple[Array, Array]:
        """Jacobian of the frame relative to ``relative_to``, and the desired twist."""
        gain = min(self.gain, 1.0 / dt)
        jacobian = robot.jacobian(q, self.frame)
        wanted, twist = self._target, self.feedforward
        if self.relative_to:
            pose = robot.forward_kinematics(q, self.frame)
            base = robot.forward_kinematics(q, self.relative_to)
            jacobian = jacobian - _shifted_jacobian(
                robot.jacobian(q, self.relative_to), pose[:3, 3] - base[:3, 3]
            )
            if wanted is not None:
                twist = twist + gain * pose_error(base @ wanted, pose)
        elif wanted is not None:
            twist = twist + gain * pose_error(wanted, robot.forward_kinematics(q, self.frame))
        return jacobian[self._rows], twist[self._rows]


class TwistTask(VelocityTask):
    """Task of a frame that moves with a twist, which may be set between two steps.

    Attributes:
        twist: (6) desired twist, linear then angular [m/s, rad/s].
    """

    twist = CheckedVector(6)

    def __init__(
        self,
        frame: str,
        twist: ArrayLike = (0.0,) * 6,
        *,
        reference: Reference = 'local_world_aligned',
        weight: ArrayLike = 1.0,
        priority: int = 0,
    ) -> None:
        """Set up a task for a frame.

        Args:
            frame: name of the controlled frame.
            twist: (6) desired twist, linear then angular [m/s, rad/s].
            reference: reference of the twist, as for ``RigidBodySystem.jacobian``.
            weight: one number or (6); a weight of 0 leaves a direction free.
            priority: 0 is the highest.
        """
        super().__init__(frame, weight, priority, 6)
        self.frame, self.reference = frame, reference
        self.twist = twist

    def check(self, robot: RigidBodySystem) -> None:
        """Check that the robot has the frame."""
        robot.jacobian(robot.neutral(), self.frame, self.reference)

    def demand(self, robot: RigidBodySystem, q: Array, dt: float) -> tuple[Array, Array]:
        """Jacobian of the frame, and the desired twist."""
        return robot.jacobian(q, self.frame, self.reference), self.twist


class CenterOfMassTask(VelocityTask):
    """Task of the centre of mass, which follows a point.

    ``target`` and ``feedforward`` may be set between two steps.

    Attributes:
        target: (3) desired position in the root frame [m]; None for the current position.
        feedforward: (3) velocity of the target [m/s].
    """

    target = CheckedVector(3, optional=True)
    feedforward = CheckedVector(3)

    def __init__(
        self,
        target: ArrayLike | None = None,
        *,
        gain: float = DEFAULT_GAIN,
        weight: ArrayLike = 1.0,
        priority: int = 0,
    ) -> None:
        """Set up a task for the centre of mass.

        Args:
            target: (3) desired position in the root frame [m]; None for the current position.
            gain: decay rate of an error [1/s].
            weight: one number or (3).
            priority: 0 is the highest.
        """
        check_positive('gain', gain)
        super().__init__('centre of mass', weight, priority, 3)
        self.gain = float(gain)
        self.target = target
        self.feedforward = np.zeros(3)

    def check(self, robot: RigidBodySystem) -> None:
        """Check that the robot has mass."""
        if not robot.total_mass > 0.0:
            raise InvalidArgumentError('robot', 'no moving body has mass', 'a robot with inertias')

    def demand(self, robot: RigidBodySystem, q: Array, dt: float) -> tuple[Array, Array]:
        """Jacobian of the centre of mass, and its desired velocity."""
        velocity = self.feedforward
        if self.target is not None:
            error = self.target - robot.center_of_mass(q)
            velocity = velocity + min(self.gain, 1.0 / dt) * error
        return robot.com_jacobian(q), velocity


class PostureTask(VelocityTask):
    """Task of all joints: they move to a configuration, or are damped. Usually of low priority.

    Attributes:
        target: (nq) desired configuration; None for zero velocity.
    """

    def __init__(
        self,
        target: ArrayLike | None = None,
        *,
        gain: float = 1.0,
        weight: float = 1.0,
        joint_weights: dict[str, float] | None = None,
        priority: int = 1,
    ) -> None:
        """Set up a task for all joints, without a floating or planar base.

        Args:
            target: (nq) desired configuration; None for zero velocity.
            gain: decay rate of an error [1/s].
            weight: weight of all joints.
            joint_weights: weights by name of the joint, instead of ``weight``; 0 omits a joint.
            priority: 0 is the highest.
        """
        check_positive('gain', gain)
        super().__init__('posture', weight, priority, 1)
        self.gain = float(gain)
        self.target = target
        self._default_weight = float(self.weight[0])
        self._joint_weights = dict(joint_weights or {})

    def check(self, robot: RigidBodySystem) -> None:
        """Check weights and target, and arrange the weights in the order of the velocities."""
        weights = np.full(robot.nv, self._default_weight)
        weights[: robot.model.root_joint_nv] = 0.0
        for name, value in self._joint_weights.items():
            if name not in robot.joint_v_indices:
                known = ', '.join(robot.joint_v_indices)
                raise InvalidArgumentError('joint_weights', f'unknown joint {name!r}', known)
            if not (math.isfinite(value) and value >= 0.0):
                raise InvalidArgumentError('joint_weights', f'{value}', '0 or a positive number')
            weights[robot.joint_v_indices[name]] = value
        if self.target is not None:
            self.target = finite_vector('target', self.target, robot.nq)
        self.weight = weights

    def demand(self, robot: RigidBodySystem, q: Array, dt: float) -> tuple[Array, Array]:
        """Identity matrix, and the desired velocity."""
        if self.target is None:
            return np.eye(robot.nv), np.zeros(robot.nv)
        gain = min(self.gain, 1.0 / dt)
        return np.eye(robot.nv), gain * robot.difference(q, self.target)


def _shifted_jacobian(jacobian: Array, offset: Array) -> Array:
    """Jacobian (6, nv) of a point fixed to a frame, at an offset (3) from the frame's origin."""
    x, y, z = offset
    linear, angular = jacobian[:3], jacobian[3:]
    minus_skew = np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])
    return np.vstack([linear + minus_skew @ angular, angular])
