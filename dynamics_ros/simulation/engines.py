# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Simulation engines, which move the bodies of a robot step by step, and pushes on them.

An engine has the state of one robot: its configuration ``q`` (nq), velocity ``v`` (nv),
acceleration ``a`` (nv) in the last step, and ``touching``, the wrench (6) of the ground on each
frame in contact in the last step, about the origin of the frame, in axes of the root frame.

`RigidBodies` computes with the dynamics of this package.
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

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import ModelError
from dynamics_ros.robot import Robot

from .actuators import Actuators
from .mujoco_world import MujocoWorld, Surroundings

Array = NDArray[np.float64]

TIME_STEP_NS = 1_000_000
"""Duration of a step in simulated time [ns]."""

DT = TIME_STEP_NS * 1e-9
"""Duration of a step in simulated time [s]."""

SUBSTEPS = 2
"""Number of MuJoCo's steps per step, because contacts are stiff."""

_MAX_SPEED_RATIO = 10.0  # largest simulated speed of a joint, as a multiple of its velocity limit
_UNLIMITED_SPEED = 10.0  # replaces a missing velocity limit [rad/s or m/s]


@dataclass(frozen=True)
class Push:
    """A temporary wrench of the environment on the robot.

    Attributes:
        frame: frame on which the wrench acts.
        wrench: (6) force [N] and torque [Nm], constant in the axes of ``expressed_in``.
        expressed_in: a frame of the robot; empty for the root frame.
        point: (3) point of application of the force, in ``frame`` [m].
        end: simulated time of its end [ns].
    """

    frame: str
    wrench: Array
    expressed_in: str
    point: Array
    end: int

    def at_origin(self, robot: Robot, q: Array) -> Array:
        """Wrench (6) about the origin of ``frame``, in axes of the root frame."""
        force, torque = self.wrench[:3], self.wrench[3:]
        if self.expressed_in:
            R = robot.forward_kinematics(q, self.expressed_in)[:3, :3]
            force, torque = R @ force, R @ torque
        if self.point.any():
            lever = robot.forward_kinematics(q, self.frame)[:3, :3] @ self.point
            torque = torque + np.cross(lever, force)
        return np.concatenate([force, torque])

    def torque(self, robot: Robot, q: Array) -> Array:
        """Generalized torques J^T w (nv)."""
        J: Array = robot.jacobian(q, self.frame)
        return J.T @ self.at_origin(robot, q)


def wrench_about(pose: Array, pushes: Iterable[Push], robot: Robot, q: Array) -> Array:
    """Sum (6) of the wrenches of pushes about the origin of a pose (4, 4), in its axes."""
    total = np.zeros(6)
    for push in pushes:
        wrench = push.at_origin(robot, q)
        at = robot.forward_kinematics(q, push.frame)[:3, 3]
        total[:3] += wrench[:3]
        total[3:] += wrench[3:] + np.cross(at - pose[:3, 3], wrench[:3])
    R = pose[:3, :3]
    return np.concatenate([R.T @ total[:3], R.T @ total[3:]])


Motor = Callable[[Array], tuple[Array, Array]]
"""Function of the configuration (nq) in the middle of a step that returns c and s (n) of the motor
torques c - s v, with v at the end of the step."""

FrictionSlope = Callable[[Array], Array]
"""Function of the current velocity v (n) that returns friction divided by v."""


class RigidBodies:
    """An engine for a fixed base without contacts, and joints with one coordinate each."""

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
        self._largest_speed = _MAX_SPEED_RATIO * speed
        self._diagonal = np.diag_indices(robot.nv)

    def step(self, motor: Motor, friction: FrictionSlope, pushes: Sequence[Push]) -> None:
        """Advance by ``TIME_STEP_NS`` with active pushes."""
        q_half = self.q + 0.5 * DT * self.v
        # Coriolis forces at the extrapolated velocity in the middle of the step, of second order.
        v_half = self.v + 0.5 * DT * self.a
        torque = -self.robot.nonlinear_effects(q_half, v_half)
        for push in pushes:
            torque += push.torque(self.robot, q_half)
        v_next = self._next_velocity(motor, friction, q_half, torque)
        v_next = np.minimum(np.maximum(v_next, -self._largest_speed), self._largest_speed)
        self.a = (v_next - self.v) / DT
        self.q = q_half + 0.5 * DT * v_next
        self.v = v_next

    def _next_velocity(
        self, motors: Motor, friction: FrictionSlope, q_half: Array, torque: Array
    ) -> Array:
        """Velocity v+ (n) at the end of the step.

        Torques of motors, friction and stops have the form constant - slope * v+.

        Args:
            motors, friction: of the joints.
            q_half: (n) positions in the middle of the step.
            torque: (n) torques of pushes, gravity and Coriolis forces.
        """
        v, limits = self.v, self._actuators.effort_limits
        motor, motor_slope = motors(q_half)
        inertia = self.robot.mass_matrix(q_half)
        inertia[self._diagonal] += self._actuators.armature
        torque = torque + inertia @ v / DT
        # Friction as the secant through its current value: linear in v+ and always dissipative.
        slope = friction(v)
        ahead = q_half + 0.5 * DT * v
        beyond = (ahead < self.robot.lower_limits) | (ahead > self.robot.upper_limits)
        if beyond.any():
            stop, stop_slope = self._stops(beyond, q_half, ahead)
            torque += stop
            slope += stop_slope

        v_next = self._solve(inertia, torque + motor, slope + motor_slope)
        exerted = motor - motor_slope * v_next
        saturated = np.abs(exerted) > limits
        if saturated.any():
            motor = np.where(saturated, np.copysign(limits, exerted), motor)
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
    """Check that a robot has a fixed base, joints with one coordinate each, and no closed loops.

    Raises:
        ModelError: the robot has no joints, loops, or a joint has several coordinates.
    """
    if robot.model.loops:
        raise ModelError(f'robot {robot.name!r}', 'has closed loops, which are not simulated')
    if robot.nv == 0:
        raise ModelError(
            f'robot {robot.name!r}', 'has no joint that moves, so it cannot be simulated'
        )
    for joint in robot.model.joints:
        if joint.kind.nv != 1:
            raise ModelError(
                f'joint {joint.name!r}',
                f'{joint.kind.name} joints and moving bases are not simulated without MuJoCo',
            )


class GroundedRobot:
    """An engine by MuJoCo for robots on the ground, with joints of one coordinate.

    The base is fixed or floats.

    Motors and friction are integrated implicitly, as dampers on the velocity at the end of MuJoCo's
    step, like in `RigidBodies`. Torques at a limit of the motors are constant during the step.
    """

    def __init__(
        self, robot: Robot, actuators: Actuators, q: Array, surroundings: Surroundings
    ) -> None:
        """Start at rest.

        Args:
            robot: the robot.
            actuators: of its joints.
            q: (nq) initial configuration.
            surroundings: ground and collision shapes.

        Raises:
            DynamicsRosError: MuJoCo is not installed.
            ModelError: a joint has several coordinates, or MuJoCo rejects the robot.
        """
        self._base_nv = robot.model.root_joint_nv
        if robot.nq - robot.model.root_joint_nq != robot.nv - self._base_nv or not robot.nv:
            raise ModelError(f'robot {robot.name!r}', 'a joint has several coordinates, or none')
        self.robot, self._effort_limits = robot, actuators.effort_limits
        rotors = np.concatenate([np.zeros(self._base_nv), actuators.armature])
        self.world = MujocoWorld(robot, DT / SUBSTEPS, surroundings, rotors)
        self.world.place(q)
        self.q, self.v, self.a = self.world.q, np.zeros(robot.nv), np.zeros(robot.nv)
        self.touching: dict[str, Array] = {}

    def step(self, motor: Motor, friction: FrictionSlope, pushes: Sequence[Push]) -> None:
        """Advance by ``TIME_STEP_NS`` with active pushes."""
        robot, v, joints = self.robot, self.v, slice(self._base_nv, None)
        torque, slope = motor(np.asarray(robot.integrate(self.q, 0.5 * DT * v)))
        exerted = torque - slope * v[joints]
        saturated = np.abs(exerted) > self._effort_limits
        tau, damping = np.zeros(robot.nv), np.zeros(robot.nv)
        tau[joints] = np.where(saturated, np.copysign(self._effort_limits, exerted), torque)
        damping[joints] = np.where(saturated, 0.0, slope) + friction(v[joints])
        for push in pushes:
            tau += push.torque(robot, self.q)
        touching: dict[str, Array] = {}
        for _ in range(SUBSTEPS):
            self.world.step(tau, damping)
            for frame, wrench in self.world.contact_wrenches().items():
                touching[frame] = touching.get(frame, 0.0) + wrench / SUBSTEPS
        self.q, self.v = self.world.q, self.world.v
        self.a = (self.v - v) / DT
        self.touching = touching
