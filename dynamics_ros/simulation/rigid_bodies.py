# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Engine for robots on a fixed base without contacts, by the dynamics of this package.

A step moves half the way with the old velocity, solves there for the new velocity, and moves the
other half with the new one (leapfrog):

    q' = q + dt/2 v,   (M + A) (v+ - v) / dt + h = motor(v+) - friction(v+) + stop(v+) + J^T w,
    q+ = q' + dt/2 v+

with the rotor inertias A. Without motors, the method is of second order with one evaluation of the
dynamics per step. A method of fourth order needs four evaluations, and would lose its accuracy at
joint stops, dry friction and the start of pushes, which are not smooth. Controllers, friction and
stops are integrated implicitly, as springs and dampers on the state at the end of the step, linear
in v+. The integration is therefore stable for all gains and for links of any mass.
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

_FASTEST = 10.0  # largest simulated speed of a joint, as a multiple of its velocity limit
_UNLIMITED_SPEED = 10.0  # replaces a missing velocity limit [rad/s or m/s]


class RigidBodies:
    """An `Engine` for a fixed base and joints with one coordinate each."""

    def __init__(self, robot: Robot, actuators: Actuators, q: Array) -> None:
        """Start at rest.

        Args:
            robot: fixed base, joints with one coordinate each.
            actuators: of its joints.
            q: (nq) initial configuration.

        Raises:
            ModelError: the robot has no joints, or a joint has several coordinates.
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
        """Advance by ``TIME_STEP_NS``; see `Engine.step`."""
        q_half = self.q + 0.5 * DT * self.v
        # Coriolis forces at the extrapolated velocity in the middle of the step, of second order.
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
        """Velocity v+ (n) at the end of the step.

        Torques of motors, friction and stops have the form constant - slope * v+.

        Args:
            drives: motors and friction of the joints.
            q_half: (n) positions in the middle of the step.
            torque: (n) torques of pushes, gravity and Coriolis forces.
        """
        v = self.v
        motor, motor_slope = drives.motor(q_half)
        inertia = self.robot.mass_matrix(q_half)
        inertia[self._diagonal] += self._actuators.armature
        torque = torque + inertia @ v / DT
        # Friction as the secant through its current value: linear in v+ and always dissipative.
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
        """Solution v+ of (inertia / dt + slope) v+ = torque."""
        matrix = inertia / DT
        matrix[self._diagonal] += slope
        return np.asarray(np.linalg.solve(matrix, torque), dtype=np.float64)

    def _stops(self, beyond: NDArray[np.bool_], q_half: Array, ahead: Array) -> tuple[Array, Array]:
        """Constant and slope of joint stops, for joints that would pass a limit in this step."""
        k = np.where(beyond, self._actuators.stop_stiffness, 0.0)
        d = np.where(beyond, self._actuators.stop_damping, 0.0)
        limit = np.clip(ahead, self.robot.lower_limits, self.robot.upper_limits)
        return k * (limit - q_half), d + 0.5 * DT * k


def require_simulable(robot: Robot) -> None:
    """Check that a robot has a fixed base and joints with one coordinate each.

    Raises:
        ModelError: the robot has no joints, or a joint has several coordinates.
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
