# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tasks of differential inverse kinematics: linear equations A v = b for the joint velocity."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

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


class VelocityTask(ABC):
    """A task A v = b for the velocity v of a robot.

    Targets may be set between two steps; each is checked then, because an unchecked NaN would
    become a command.

    Attributes:
        priority: 0 is the highest. A task does not affect tasks of higher priority; tasks of the
            same priority are balanced by their weights.
        weight: (m) weight of the squared error of each row ([RD] eq. 2.215).
    """

    priority: int
    weight: Any

    rows: ClassVar[int]
    """Number of rows of A."""

    vectors: ClassVar[Mapping[str, int]] = {}
    """Size of each attribute that is a vector of finite numbers; a target may be None."""

    def __post_init__(self) -> None:
        check_count('priority', self.priority, 0)
        self.weight = per_entry('weight', self.weight, self.rows, least=0.0)
        if hasattr(self, 'gain'):
            check_positive('gain', self.gain)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.vectors and not (value is None and name == 'target'):
            value = finite_vector(name, value, self.vectors[name])
        object.__setattr__(self, name, value)

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


@dataclass(eq=False)
class FrameTask(VelocityTask):
    """Task of a frame that follows a target pose, position or orientation, or moves with a twist.

    The equation is J v = w* + k error ([RD] eq. 2.257).

    Attributes:
        frame: name of the controlled frame.
        target: (4, 4) desired pose of the frame in the root frame; None for its current pose.
        follow: 'pose', 'position' or 'orientation'.
        gain: decay rate of an error [1/s].
        weight: one number or (6), whatever is followed; a weight of 0 leaves a direction free.
        priority: 0 is the highest.
        feedforward: (6) twist w* of the target, linear then angular, in axes of the root frame
            [m/s, rad/s]; without a target the twist with which the frame moves.
    """

    frame: str
    target: Any = None
    _: KW_ONLY
    follow: str = 'pose'
    gain: float = DEFAULT_GAIN
    weight: Any = 1.0
    priority: int = 0
    feedforward: Any = (0.0,) * 6

    rows = 6
    vectors: ClassVar[Mapping[str, int]] = {'feedforward': 6}

    def __post_init__(self) -> None:
        if self.follow not in ROWS:
            raise InvalidArgumentError('follow', repr(self.follow), f'one of {tuple(ROWS)}')
        super().__post_init__()
        self.weight = self.weight[ROWS[self.follow]]

    def __setattr__(self, name: str, value: Any) -> None:
        if name == 'target' and value is not None:
            value = np.ascontiguousarray(rigid_pose('target', value))
        super().__setattr__(name, value)

    def check(self, robot: RigidBodySystem) -> None:
        """Check that the robot has the frame."""
        if self.frame not in robot.frame_names:
            raise UnknownFrameError('frame', self.frame, robot.frame_names)

    def demand(self, robot: RigidBodySystem, q: Array, dt: float) -> tuple[Array, Array]:
        """Jacobian of the frame, and the desired twist."""
        twist, rows = self.feedforward, ROWS[self.follow]
        if self.target is not None:
            pose = robot.forward_kinematics(q, self.frame)
            twist = twist + min(self.gain, 1.0 / dt) * pose_error(self.target, pose)
        return robot.jacobian(q, self.frame)[rows], twist[rows]


@dataclass(eq=False)
class CenterOfMassTask(VelocityTask):
    """Task of the centre of mass, which follows a point.

    Attributes:
        target: (3) desired position in the root frame [m]; None for the current position.
        gain: decay rate of an error [1/s].
        weight: one number or (3).
        priority: 0 is the highest.
        feedforward: (3) velocity of the target [m/s].
    """

    target: Any = None
    _: KW_ONLY
    gain: float = DEFAULT_GAIN
    weight: Any = 1.0
    priority: int = 0
    feedforward: Any = (0.0,) * 3

    rows = 3
    vectors: ClassVar[Mapping[str, int]] = {'target': 3, 'feedforward': 3}

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


@dataclass(eq=False)
class PostureTask(VelocityTask):
    """Task of all joints but the base: they move to a configuration, or are damped.

    Attributes:
        target: (nq) desired configuration; None for zero velocity.
        gain: decay rate of an error [1/s].
        weight: weight of all joints.
        joint_weights: weights by name of the joint, instead of ``weight``; 0 omits a joint.
        priority: 0 is the highest; usually low.
    """

    target: Any = None
    _: KW_ONLY
    gain: float = 1.0
    weight: Any = 1.0
    joint_weights: Mapping[str, float] | None = None
    priority: int = 1

    rows = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self._default_weight = float(self.weight[0])

    def check(self, robot: RigidBodySystem) -> None:
        """Check weights and target, and arrange the weights in the order of the velocities."""
        weights = np.full(robot.nv, self._default_weight)
        weights[: robot.model.root_joint_nv] = 0.0
        for name, value in (self.joint_weights or {}).items():
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
