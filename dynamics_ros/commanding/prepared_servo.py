# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Cartesian servo made from parameters, checked and compiled for a robot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.collision import Collisions
from dynamics_ros.control import Admittance, JointCommand, MeasuredWrench
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.inverse_kinematics.differential import (
    CartesianServo,
    ServoSettings,
    ServoStep,
)
from dynamics_ros.inverse_kinematics.differential.tasks import ROWS
from dynamics_ros.parameters.robot import DIRECTIONS, known_frames
from dynamics_ros.parameters.servo import ServoParameters
from dynamics_ros.reasons import Explanation, Reason
from dynamics_ros.robot import Robot

from .joints import (
    check_speeds_bounded,
    commanded_joints,
    nearest_equivalent_angles,
    turning_joints,
)

Array = NDArray[np.float64]

DRIFT = 0.2
"""Share of the commanded motion by which reported positions correct commanded ones: the error of a
velocity controller that counts as following. Positions that do not change correct nothing."""


class CommandedPositions:
    """Positions to which commands have sent the joints, compared with the reported ones.

    Limits apply to the commanded positions, because reported ones may be frozen. Between two
    motions the difference persists while something else moves the joints, and ends when they catch
    up, so that no sequence of short motions exceeds a limit either.

    Attributes:
        joints: names of the n commanded joints.
        q: (n) commanded positions [rad or m].
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin the next motion at the reported positions."""
        self.joints: tuple[str, ...] = ()

    def update(
        self, joints: tuple[str, ...], q: Array, last: JointCommand | None, by_position: bool
    ) -> None:
        """Compare with reported positions.

        Args:
            joints: names of the n commanded joints.
            q: (n) reported positions; those of continuous joints in the turn of the commanded ones.
            last: last command; None at rest.
            by_position: whether commands contain positions.
        """
        if self.joints != joints or (last is not None and last.joints != joints):
            self.joints, self.q, self._reported = joints, q, q
            self._offset, self._rest, self._path = np.zeros(len(q)), q, np.zeros(len(q))
        elif last is None:
            moved = q - self._rest
            caught_up = np.clip(moved, np.minimum(self._offset, 0.0), np.maximum(self._offset, 0.0))
            self.q = q + self._offset - caught_up
            self._path[:] = 0.0
        else:
            if by_position:
                self.q = last.q
            else:
                moved = np.abs(q - self._reported)
                most = np.minimum(DRIFT * self._path, moved)
                self.q = self.q + np.clip(q - self.q, -most, most)
                self._path[moved > 0.0] = 0.0
            self._offset, self._rest = self.q - q, q
        self._reported = q

    def passed(self, last: JointCommand | None, elapsed: float) -> None:
        """Add the motion of a velocity command that has applied for a time [s]."""
        if last is not None and last.joints == self.joints:
            self.q = self.q + elapsed * last.v
            self._path = self._path + elapsed * np.abs(last.v)

    def departure(self, q: Array, age: float, last: JointCommand | None, tolerance: float) -> str:
        """Return which joint is farther than a tolerance from its commanded position; '' if none.

        Args:
            q: (n) reported positions.
            age: time since their report [s], in which the joints move as commanded.
            last: last command; None at rest.
            tolerance: maximum distance [rad or m].
        """
        distances = np.abs(q - self.q)
        if last is not None:
            distances = distances - age * np.abs(last.v)
        index = int(distances.argmax())
        if distances[index] <= tolerance:
            return ''
        return Explanation(
            Reason.NOT_FOLLOWING,
            f'{self.joints[index]} is {distances[index]:.3g} from where it was sent, expected up '
            f'to following_tolerance, {tolerance:g}; if it does not catch up, call ~/pause with '
            'false to continue from the reported positions',
        )


@dataclass(frozen=True)
class PreparedServo:
    """Cartesian servo with its configuration, checked against a robot.

    Attributes:
        robot: the robot.
        servo: moves its frame.
        joints: commanded joints.
        q_places, v_places: their indices among the positions and the velocities.
        turning: as of ``turning_joints``.
        links: links that keep apart; None: not checked.
        admittance: makes twists of wrenches.
        wrench: wrench of the sensor.
        axes: frame of the axes of the admittance.
    """

    robot: Robot
    servo: CartesianServo
    joints: tuple[str, ...]
    q_places: list[int]
    v_places: list[int]
    turning: NDArray[np.bool_]
    links: Collisions | None
    admittance: Admittance
    wrench: MeasuredWrench
    axes: str

    @classmethod
    def of(
        cls,
        robot: Robot,
        values: ServoParameters,
        default_frame: str,
        links: Collisions | None = None,
    ) -> PreparedServo:
        """Check frame and joints, and compile the kernels.

        Raises:
            DynamicsRosError: the robot does not have them.
        """
        frame, joints = frame_and_joints(robot, values, default_frame)
        others = [name for name in robot.joint_v_indices if name not in joints]
        servo = CartesianServo(robot, frame, _settings(values), others, links)
        q = robot.neutral()
        servo.follow_pose(q, robot.forward_kinematics(q, frame), 1.0)
        servo.reset()
        yielding = values.admittance
        admittance, axes = _admittance(values), yielding.frame or frame
        wrench = MeasuredWrench(
            yielding.largest_wrench, yielding.sensor_timeout, yielding.frozen_time
        )
        q_places, v_places = robot.joint_q_indices, robot.joint_v_indices
        moved = joints, [q_places[x] for x in joints], [v_places[x] for x in joints]
        return cls(robot, servo, *moved, turning_joints(robot), links, admittance, wrench, axes)

    def reported(self, q: Array, commanded: CommandedPositions) -> Array:
        """Reported positions (n) of the commanded joints, nearest to the commanded positions.

        Args:
            q: (nq) reported configuration.
            commanded: commanded positions.
        """
        reported = q[self.q_places]
        if commanded.joints != self.joints:
            return reported
        return nearest_equivalent_angles(reported, commanded.q, self.turning[self.q_places])

    def begin_step(self, q: Array, commanded: Array, last: JointCommand | None) -> Array:
        """Begin a step with the velocity of the last command; return where it starts (nq).

        The step starts at the commanded positions, because the robot lags behind its commands, and
        reported positions may be frozen.

        Args:
            q: (nq) reported configuration.
            commanded: (n) commanded positions.
            last: last command; None at rest.
        """
        self.servo.reset()
        q = q.copy()
        q[self.q_places] = commanded
        if last is not None:
            self.servo.v[[self.robot.joint_v_indices[name] for name in last.joints]] = last.v
        return q

    def command(self, q: Array, step: ServoStep, dt: float) -> JointCommand:
        """Return the command of a step from q (nq) that takes a time [s]."""
        after = self.robot.integrate(q, dt * step.v)
        return JointCommand(self.joints, after[self.q_places], step.v[self.v_places])


def frame_and_joints(
    robot: Robot, values: ServoParameters, default_frame: str
) -> tuple[str, tuple[str, ...]]:
    """Frame that the servo moves and the joints that it commands.

    Raises:
        DynamicsRosError: the robot does not have them.
    """
    asked = (values.frame,) if values.frame else ()
    (frame,) = known_frames(robot, asked, default_frame, 'frame')
    axes = values.admittance.frame
    if axes not in ('', robot.root_frame):
        known_frames(robot, (axes,), frame, 'admittance.frame')
    joints = commanded_joints(robot, frame, values.command_joints, values.command_type)
    check_speeds_bounded(robot, joints, values.speed.joint)
    return frame, joints


def check_servo(values: ServoParameters) -> None:
    """Refuse parameters that contradict each other.

    Raises:
        InvalidArgumentError: naming one of them.
    """
    if not values.singularity.stop_condition > values.singularity.slow_condition:
        raise InvalidArgumentError(
            'singularity.stop_condition',
            f'{values.singularity.stop_condition:g}',
            f'above slow_condition, {values.singularity.slow_condition:g}',
        )


def limits_of(step: ServoStep) -> list[str]:
    """Return what slows or stops a step, as texts for the status."""
    notes = ['near a singularity'] if step.near_singularity else []
    stuck = sorted(name for name, kind in step.at_limit.items() if kind == 'position')
    if stuck:
        notes.append(f'at the limit of {", ".join(stuck)}')
    pairs = [f'{first} and {second}' for first, second in step.kept_apart]
    return [*notes, f'close: {", ".join(pairs)}'] if pairs else notes


def _settings(values: ServoParameters) -> ServoSettings:
    return ServoSettings(
        follow=values.follow,
        gain=values.gain,
        linear_speed=values.speed.linear,
        angular_speed=values.speed.angular,
        joint_velocity=values.speed.joint,
        joint_acceleration=values.speed.joint_acceleration,
        joint_margin=values.joint_margin,
        slow_condition=values.singularity.slow_condition,
        stop_condition=values.singularity.stop_condition,
    )


def _admittance(values: ServoParameters) -> Admittance:
    given, moved = values.admittance, DIRECTIONS[ROWS[values.follow]]
    return Admittance(
        given.mass,
        given.damping,
        given.stiffness,
        dead_zone=given.dead_zone,
        reach=given.reach,
        locked=[name in given.locked or name not in moved for name in DIRECTIONS],
    )
