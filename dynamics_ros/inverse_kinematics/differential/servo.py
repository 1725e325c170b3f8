# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Cartesian servo: a frame follows twists or poses, within limits, and slows near singularities."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.collision import Collisions
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import check_positive, finite_vector
from dynamics_ros.multibody.end_effector import pose_error
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .bounded import damped_step
from .limits import Limits
from .motion import DifferentialInverseKinematics, DifferentialMotion, Prepared
from .tasks import ROWS, FrameTask

Array = NDArray[np.float64]

PROBE = 1e-3
"""Joint displacement for testing whether a motion approaches a singularity [rad or m]."""

STILL = 1e-9
"""Velocity below which a motion counts as zero [rad/s or m/s]."""


@dataclass(frozen=True)
class ServoSettings:
    """Limits and gains of a `CartesianServo`.

    Attributes:
        follow: components of the target that are followed: 'pose', 'position' or 'orientation'.
        gain: decay rate of the pose error [1/s].
        linear_speed: largest linear speed of the frame [m/s].
        angular_speed: largest angular speed of the frame [rad/s].
        joint_velocity: largest velocity of a joint, in addition to the limits of the description
            [rad/s or m/s].
        joint_acceleration: largest acceleration of a joint [rad/s^2 or m/s^2].
        joint_margin: distance kept from the position limits [rad or m].
        slow_condition: condition number of the Jacobian above which motion towards a singularity is
            slowed.
        stop_condition: condition number at which motion towards a singularity stops; motion away
            from it is not affected.
    """

    follow: str = 'pose'
    gain: float = 5.0
    linear_speed: float = 0.5
    angular_speed: float = 1.0
    joint_velocity: float = math.inf
    joint_acceleration: float = 10.0
    joint_margin: float = 0.05
    slow_condition: float = 30.0
    stop_condition: float = 60.0


@dataclass(frozen=True, eq=False, kw_only=True)
class ServoStep(DifferentialMotion):
    """One step of a servo: joint velocities and active limits; inf as condition at a singularity.

    Attributes:
        speed: fraction of the speed that remains after joint limits and singularities; it is
            relative to the twist after the speed limits of the frame.
        near_singularity: whether the motion is slowed or stopped by a singularity.
        scaled: fraction of the commanded twist after the speed limits of the frame.
    """

    speed: float
    near_singularity: bool
    scaled: float


class CartesianServo:
    """Computes joint velocities that move a frame by twists or poses, step by step.

    Attributes:
        robot: the robot.
        frame: name of the controlled frame.
        v: (nv) velocity of the last step. Set it if the robot has been moved in another way since.
    """

    def __init__(
        self,
        robot: RigidBodySystem,
        frame: str,
        settings: ServoSettings | None = None,
        locked_joints: Collection[str] = (),
        collisions: Collisions | None = None,
    ) -> None:
        """Check the settings, and compile the kernels.

        Args:
            robot: the robot.
            frame: name of the controlled frame.
            settings: limits and gains; None for the defaults.
            locked_joints: names of joints that do not move.
            collisions: links and obstacles that keep apart by its margin.

        Raises:
            InvalidArgumentError: the settings contradict each other, or do not fit the robot.
        """
        chosen = settings or ServoSettings()
        if chosen.follow not in ROWS:
            raise InvalidArgumentError('follow', repr(chosen.follow), f'one of {tuple(ROWS)}')
        for name in ('gain', 'linear_speed', 'angular_speed', 'slow_condition'):
            if not getattr(chosen, name) > 0.0:
                raise InvalidArgumentError(name, f'{getattr(chosen, name)}', 'a positive number')
        if not chosen.stop_condition > chosen.slow_condition:
            raise InvalidArgumentError(
                'stop_condition', f'{chosen.stop_condition}', f'above {chosen.slow_condition}'
            )
        self.robot, self.frame, self.settings = robot, frame, chosen
        self._rows = ROWS[chosen.follow]
        self._task = FrameTask(frame, follow=chosen.follow)
        limits = Limits(
            robot,
            velocity=np.minimum(robot.velocity_limits, chosen.joint_velocity),
            acceleration=chosen.joint_acceleration,
            margin=chosen.joint_margin,
        )
        self._solver = DifferentialInverseKinematics(
            robot,
            [self._task],
            limits,
            keep_direction=True,
            locked_joints=locked_joints,
            base_moves=False,
            collisions=collisions,
        )
        if not self._solver.rank:
            problem = f'no joint moves {frame!r} as follow = {chosen.follow!r} requires'
            raise InvalidArgumentError('frame', problem, 'a frame that can move')
        self.v = np.zeros(robot.nv)

    @property
    def collisions(self) -> Collisions | None:
        """Links and obstacles that keep apart; None: not checked. May be set between two steps."""
        return self._solver.collisions

    @collisions.setter
    def collisions(self, scene: Collisions | None) -> None:
        self._solver.collisions = scene

    def reset(self) -> None:
        """Set the last velocity to zero, so that the next step starts from rest."""
        self.v = np.zeros(self.robot.nv)

    def follow_twist(self, q: Array, twist: Array, dt: float) -> ServoStep:
        """Compute the next velocity for a twist of the frame.

        Args:
            q: (nq) current configuration, or the predicted one at the time of the command.
            twist: (6) desired twist at the origin of the frame, in axes of the root frame [m/s,
                rad/s].
            dt: time until the next step [s].
        """
        wanted = np.zeros(6)
        wanted[self._rows] = finite_vector('twist', twist, 6)[self._rows]
        scaled = self._speed_scale(wanted)
        wanted *= scaled
        self._task.feedforward = wanted
        prepared = self._solver.prepare(q, dt, self.v)
        fraction = self._fraction(q, prepared)
        motion = self._solver.solve(prepared, fraction)
        self.v, speed, near = motion.v, fraction * motion.scale, fraction < 1.0
        return ServoStep(**vars(motion), speed=speed, near_singularity=near, scaled=scaled)

    def follow_pose(self, q: Array, target: Array, dt: float) -> ServoStep:
        """Compute the next velocity towards a pose (4, 4) of the frame in the root frame.

        Args:
            q: (nq) current configuration, or the predicted one at the time of the command.
            target: (4, 4) desired pose.
            dt: time until the next step [s].
        """
        check_positive('dt', dt)
        error = pose_error(target, self.robot.forward_kinematics(q, self.frame))
        return self.follow_twist(q, min(self.settings.gain, 1.0 / dt) * error, dt)

    def _speed_scale(self, twist: Array) -> float:
        x, y, z, *turn = twist.tolist()
        speeds = (
            (math.hypot(x, y, z), self.settings.linear_speed),
            (math.hypot(*turn), self.settings.angular_speed),
        )
        return min([1.0, *(limit / size for size, limit in speeds if size > limit)])

    def _fraction(self, q: Array, prepared: Prepared) -> float:
        """Fraction of the speed that singularities leave a motion as demanded at q."""
        settings, condition = self.settings, prepared.condition
        if condition <= settings.slow_condition:
            return 1.0
        v = damped_step(*prepared.levels[0], prepared.damping)
        fastest = float(np.abs(v).max())
        if fastest > STILL:
            probed = self.robot.integrate(q, (PROBE / fastest) * v)
            if self._solver.condition(probed) <= condition:
                return 1.0
        margin = settings.stop_condition - condition
        return max(0.0, margin / (settings.stop_condition - settings.slow_condition))
