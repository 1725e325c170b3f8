# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Bodies on a base that rests, without contacts: this package's own forward dynamics.

A step goes half the way with the old velocity, solves there for the new one, and goes the other
half with that (leapfrog):

    q' = q + dt/2 v,   (M + A) (v+ - v) / dt + h = motor(v+) - friction(v+) + stop(v+) + J^T w,
    q+ = q' + dt/2 v+

with A the rotor inertias. Without motors it is of second order at one evaluation of the dynamics a
step; a fourth-order method costs four, and its accuracy would be lost at the first stop, dry
friction or beginning of a push, which are not smooth. Controllers, friction and stops act as
springs and dampers on the state at the end of the step, linear in v+, so that no gain, however
stiff, and no link, however light, can make it explode.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import ModelError
from dynamics_ros.robot import Robot

from .actuators import Actuators
from .engine import DT, Drives
from .push import Push

Array = NDArray[np.float64]

_FASTEST = 10.0  # times the velocity limit: no push, however hard, makes a joint move faster
_UNLIMITED_SPEED = 10.0  # rad/s or m/s in place of a velocity limit that is not given


class RigidBodies:
    """An `Engine` for a fixed base and joints of one coordinate."""

    def __init__(self, robot: Robot, actuators: Actuators, q: Array) -> None:
        """Begin at rest.

        Args:
            robot: fixed base; every joint has one coordinate.
            actuators: of its joints.
            q: (nq).

        Raises:
            ModelError: a robot without joints, or with a joint of several coordinates.
        """
        require_simulable(robot)
        self.robot = robot
        self.q = np.array(q, dtype=float)
        self.v, self.a = np.zeros((2, robot.nv))
        self.touching: dict[str, Array] = {}
        self._actuators = actuators
        speed = np.where(
            np.isfinite(robot.velocity_limits), robot.velocity_limits, _UNLIMITED_SPEED
        )
        self._fastest = _FASTEST * speed
        self._diagonal = np.diag_indices(robot.nv)

    def step(self, drives: Drives, pushes: Sequence[Push]) -> None:
        """Go on by ``TIME_STEP_NS``."""
        q_half = self.q + 0.5 * DT * self.v
        # Coriolis forces at the velocity that is expected half-way: second order as well.
        v_half = self.v + 0.5 * DT * self.a
        torque = -self.robot.nonlinear_effects(q_half, v_half)
        for push in pushes:
            torque += push.torque(self.robot, q_half)
        v_next = self._next_velocity(drives, q_half, torque)
        v_next = np.minimum(np.maximum(v_next, -self._fastest), self._fastest)
        self.a = (v_next - self.v) / DT
        self.q = q_half + 0.5 * DT * v_next
        self.v = v_next

    def _next_velocity(self, drives: Drives, q_half: Array, torque: Array) -> Array:
        """v+ of the step: motors, friction and stops are each written as constant - slope * v+.

        Args:
            drives: what acts in the joints.
            q_half: (n) position in the middle of the step.
            torque: (n) of pushes, weight and Coriolis forces.
        """
        v = self.v
        motor, motor_slope = drives.motor(q_half)
        inertia = self.robot.mass_matrix(q_half)
        inertia[self._diagonal] += self._actuators.armature
        torque = torque + inertia @ v / DT
        # Friction as the secant through its present value: linear in v+, never driving.
        slope = drives.friction_slope(v)
        ahead = q_half + 0.5 * DT * v
        beyond = (ahead < self.robot.lower_limits) | (ahead > self.robot.upper_limits)
        if beyond.any():
            stop, stop_slope = self._stops(beyond, q_half, ahead)
            torque += stop
            slope += stop_slope

        v_next = self._solve(inertia, torque + motor, slope + motor_slope)
        exerted = motor - motor_slope * v_next
        saturated = np.abs(exerted) > drives.effort_limits
        if saturated.any():
            motor = motor.copy()
            motor[saturated] = np.copysign(drives.effort_limits, exerted)[saturated]
            motor_slope = np.multiply(motor_slope, ~saturated)
            v_next = self._solve(inertia, torque + motor, slope + motor_slope)
        return v_next

    def _solve(self, inertia: Array, torque: Array, slope: Array) -> Array:
        """v+ of (inertia / dt + slope) v+ = torque."""
        matrix = inertia / DT
        matrix[self._diagonal] += slope
        return np.asarray(np.linalg.solve(matrix, torque), dtype=np.float64)

    def _stops(self, beyond: NDArray[np.bool_], q_half: Array, ahead: Array) -> tuple[Array, Array]:
        """Springs with dampers that take a joint up where it would pass a limit in this step."""
        k = np.where(beyond, self._actuators.stop_stiffness, 0.0)
        d = np.where(beyond, self._actuators.stop_damping, 0.0)
        limit = np.clip(ahead, self.robot.lower_limits, self.robot.upper_limits)
        return k * (limit - q_half), d + 0.5 * DT * k


def require_simulable(robot: Robot) -> None:
    """Nothing, for a robot whose base rests and whose joints have one coordinate each.

    Raises:
        ModelError: a robot without joints, or with a joint of several coordinates.
    """
    if robot.nv == 0:
        raise ModelError(f'robot {robot.name!r}', 'has no joint that moves, nothing to simulate')
    for joint in robot.model.joints:
        if joint.kind.nv != 1:
            raise ModelError(
                f'joint {joint.name!r}',
                f'{joint.kind.name} joints are not simulated without MuJoCo, nor is a base that '
                'moves',
            )
