# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What joint velocities are for: linear demands A v = b on the velocity of a robot."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.algorithms.jacobian import Reference
from dynamics_ros.errors import InvalidArgumentError, UnknownFrameError
from dynamics_ros.multibody.arguments import (
    check_count,
    check_positive,
    finite_vector,
    per_entry,
    rigid_pose,
)
from dynamics_ros.multibody.end_effector.pose_error import pose_error
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

Array = NDArray[np.float64]

DEFAULT_GAIN = 10.0
"""1/s: an error falls to a third in a tenth of a second."""

ROWS = {'pose': slice(0, 6), 'position': slice(0, 3), 'orientation': slice(3, 6)}


class CheckedVector:
    """An attribute of finite numbers, checked whenever it is set: NaN would become a command."""

    def __init__(self, size: int, *, optional: bool = False) -> None:
        """Of so many numbers; None is one of its values where it is optional."""
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
    """A demand A v = b on the velocity of a robot.

    Attributes:
        name: for messages and results.
        priority: 0 is first. What a task can have no later one may take; tasks of one priority
            share what there is by their weights.
        weight: (m) or one number, of each row: the square of what it misses counts that much
            ([RD] eq. 2.215).
    """

    def __init__(self, name: str, weight: ArrayLike, priority: int, rows: int) -> None:
        check_count('priority', priority, 0)
        self.name = name
        self.priority = priority
        self.weight = per_entry('weight', weight, rows, least=0.0)

    @abstractmethod
    def check(self, robot: RigidBodySystem) -> None:
        """Refuse a robot that the task does not fit.

        Raises:
            InvalidArgumentError: says why.
        """

    @abstractmethod
    def demand(self, robot: RigidBodySystem, q: Array, dt: float) -> tuple[Array, Array]:
        """A (m, nv) and b (m) at a configuration.

        Args:
            robot: what moves.
            q: (nq).
            dt: s; no error is answered faster than would remove it within one step.
        """


class FrameTask(VelocityTask):
    """A frame follows a pose, a position or an orientation: J v = w* + k error ([RD] eq. 2.257).

    ``target`` and ``feedforward`` may be set between two steps.

    Attributes:
        target: (4, 4) where the frame shall be, in ``relative_to``; None: where it is.
        feedforward: (6) velocity of the target, linear then angular, in the axes of the root
            frame and as seen from ``relative_to``.
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
        """A task for a frame.

        Args:
            frame: what moves.
            target: as above.
            follow: 'pose', 'position' or 'orientation'.
            relative_to: frame that the target is given in, and that may move; '' is the root frame.
            gain: how quickly an error decays [1/s].
            weight, priority: as for every task; six weights whatever is followed.
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
        """(4, 4)."""
        return self._target

    @target.setter
    def target(self, value: ArrayLike | None) -> None:
        self._target = None if value is None else np.ascontiguousarray(rigid_pose('target', value))

    def check(self, robot: RigidBodySystem) -> None:
        """Refuse frames that the robot does not have."""
        for argument in ('frame', 'relative_to'):
            name = getattr(self, argument)
            if name not in robot.frame_names and (argument == 'frame' or name):
                raise UnknownFrameError(argument, name, robot.frame_names)

    def demand(self, robot: RigidBodySystem, q: Array, dt: float) -> tuple[Array, Array]:
        """Relative Jacobian, and the twist that follows the target."""
        gain = min(self.gain, 1.0 / dt)
        jacobian = robot.jacobian(q, self.frame)
        wanted, twist = self._target, self.feedforward
        if self.relative_to:
            pose = robot.forward_kinematics(q, self.frame)
            base = robot.forward_kinematics(q, self.relative_to)
            jacobian = jacobian - _carried(
                robot.jacobian(q, self.relative_to), pose[:3, 3] - base[:3, 3]
            )
            if wanted is not None:
                twist = twist + gain * pose_error(base @ wanted, pose)
        elif wanted is not None:
            twist = twist + gain * pose_error(wanted, robot.forward_kinematics(q, self.frame))
        return jacobian[self._rows], twist[self._rows]


class TwistTask(VelocityTask):
    """A frame moves with a twist; ``twist`` may be set between two steps.

    Attributes:
        twist: (6) linear then angular [m/s, rad/s].
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
        """A task for a frame.

        Args:
            frame: what moves.
            twist: as above.
            reference: of the twist, as for ``RigidBodySystem.jacobian``.
            weight, priority: as for every task; a weight of 0 leaves a direction free.
        """
        super().__init__(frame, weight, priority, 6)
        self.frame, self.reference = frame, reference
        self.twist = twist

    def check(self, robot: RigidBodySystem) -> None:
        """Refuse a frame that the robot does not have."""
        robot.jacobian(robot.neutral(), self.frame, self.reference)

    def demand(self, robot: RigidBodySystem, q: Array, dt: float) -> tuple[Array, Array]:
        """Jacobian and twist."""
        return robot.jacobian(q, self.frame, self.reference), self.twist


class CenterOfMassTask(VelocityTask):
    """The centre of mass follows a point; ``target`` and ``feedforward`` may be set.

    Attributes:
        target: (3) in the root frame [m]; None: where it is.
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
        """A task for the whole robot.

        Args:
            target: as above.
            gain: how quickly an error decays [1/s].
            weight, priority: as for every task; three weights.
        """
        check_positive('gain', gain)
        super().__init__('centre of mass', weight, priority, 3)
        self.gain = float(gain)
        self.target = target
        self.feedforward = np.zeros(3)

    def check(self, robot: RigidBodySystem) -> None:
        """Refuse a robot without mass."""
        if not robot.total_mass > 0.0:
            raise InvalidArgumentError('robot', 'nothing that moves has mass', 'inertias')

    def demand(self, robot: RigidBodySystem, q: Array, dt: float) -> tuple[Array, Array]:
        """Jacobian of the centre of mass, and the velocity that follows the target."""
        velocity = self.feedforward
        if self.target is not None:
            error = self.target - robot.center_of_mass(q)
            velocity = velocity + min(self.gain, 1.0 / dt) * error
        return robot.com_jacobian(q), velocity


class PostureTask(VelocityTask):
    """Joints come near to a configuration, or stay slow; for what other tasks leave free.

    Attributes:
        target: (nq); None: no motion, which damps.
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
        """A task for all joints; a floating or planar base has no part in it.

        Args:
            target: as above.
            gain: how quickly an error decays [1/s].
            weight, priority: as for every task.
            joint_weights: by joint name, in place of ``weight``; 0 leaves a joint out.
        """
        check_positive('gain', gain)
        super().__init__('posture', weight, priority, 1)
        self.gain = float(gain)
        self.target = target
        self._one = float(self.weight[0])
        self._joint_weights = dict(joint_weights or {})

    def check(self, robot: RigidBodySystem) -> None:
        """Take the weights in the order of the robot's joints."""
        weights = np.full(robot.nv, self._one)
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
        """Identity, and the velocity towards the target."""
        if self.target is None:
            return np.eye(robot.nv), np.zeros(robot.nv)
        gain = min(self.gain, 1.0 / dt)
        return np.eye(robot.nv), gain * robot.difference(q, self.target)


def _carried(jacobian: Array, offset: Array) -> Array:
    """Jacobian (6, nv) of a point that moves with a frame, at an offset (3) from its origin."""
    x, y, z = offset
    linear, angular = jacobian[:3], jacobian[3:]
    across = np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])
    return np.vstack([linear + across @ angular, angular])
