# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A simulated robot: an engine with motors, friction, controllers, commands and pushes.

Joint torque sensors measure the torque on the link side of the gears,

    effort = M a + h - J^T w + f(v),

with the wrenches w of pushes and of the ground, and the friction f of the description
(``<dynamics>``). These efforts are consistent with the rigid-body dynamics of the description.
Rotor inertia and gear friction are on the motor side of the sensor, as in arms with joint torque
sensors. If there are several steps between two samples, a sample contains the mean effort of the
steps, because each of them changes the momentum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.errors import InvalidArgumentError, UnknownJointError
from dynamics_ros.estimation import EffortModel
from dynamics_ros.robot import Robot

from .actuators import Actuators
from .engines import DT, TIME_STEP_NS, GroundedRobot, Push, RigidBodies
from .motion import CommandedMotion, SmoothMotion

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Sample:
    """State and sensor values of the robot at one time; joints in the order of ``joint_names``.

    Attributes:
        time: simulated time since the start [ns].
        q, v, a: configuration (nq), velocity, acceleration (nv) [rad, m; per s; per s^2].
        effort: (n) mean of the measured joint torques since the previous sample [Nm, N if
            prismatic].
        external_torque: (n) torques J^T w of all pushes and of the ground [Nm, N if prismatic].
        pushes: active pushes.
        touching: for each frame in contact, the wrench (6) of the ground about the origin of the
            frame, in axes of the root frame.
    """

    time: int
    q: Array
    v: Array
    a: Array
    effort: Array
    external_torque: Array
    pushes: tuple[Push, ...]
    touching: dict[str, Array]


class SimulatedRobot:
    """A simulated robot with motors, controllers and pushes; only ``step`` advances the time.

    n is the number of joints after the root joint, with one coordinate each.

    Args:
        robot: the robot.
        actuators: of its joints.
        motion: reference motion of the controllers; None for no controllers and no gravity
            compensation.
        q: (n) initial joint positions; None for the start of the motion.
        engine: engine with the state of the robot; None for `RigidBodies`.

    Raises:
        ModelError: there is no engine, and `RigidBodies` cannot simulate the robot.
    """

    def __init__(
        self,
        robot: Robot,
        actuators: Actuators,
        motion: SmoothMotion | CommandedMotion | None = None,
        q: ArrayLike | None = None,
        engine: RigidBodies | GroundedRobot | None = None,
    ) -> None:
        self.robot = robot
        self.actuators = actuators
        self.motion = motion
        if engine is None:
            start = q if q is not None else robot.nominal() if motion is None else motion.at(0.0)[0]
            engine = RigidBodies(robot, actuators, np.asarray(start, dtype=float))
        self._engine = engine
        self._active_pushes: tuple[Push, ...] = ()
        self._time = 0
        self._pushes: dict[str, Push] = {}
        self._base_nv, self._n = robot.model.root_joint_nv, len(robot.joint_names)
        self._friction = EffortModel.from_robot(robot)
        # tanh is linear near zero, so f(v) / v at this small speed is the slope at rest.
        self._small_speed = 1e-4 * self._friction.friction_velocity
        self._column = {name: i for i, name in enumerate(robot.joint_names)}
        self._efforts, self._steps = np.zeros(self._n), 0
        self._measured_effort = self._effort(self._external_torque())
        self._command, self._controlled = np.zeros(self._n), True

    @property
    def time(self) -> int:
        """Simulated time [ns]."""
        return self._time

    @property
    def joints(self) -> Array:
        """Joint positions (n) [rad or m]."""
        return np.array(self._engine.q[self.robot.model.root_joint_nq :])

    @property
    def pushes(self) -> tuple[Push, ...]:
        """Active pushes, and pushes that start with the next step."""
        return tuple(self._pushes.values())

    def push(
        self,
        frame: str,
        wrench: ArrayLike,
        duration: float,
        expressed_in: str = '',
        point: ArrayLike = (0.0, 0.0, 0.0),
    ) -> None:
        """Start a push on a frame; it replaces an active push on the same frame.

        Args:
            frame: a frame of the robot.
            wrench: (6) force [N] and torque [Nm] of the environment on the robot.
            duration: simulated duration [s].
            expressed_in: frame in whose axes the wrench is given; empty for the root frame.
            point: (3) point of application of the force, in ``frame`` [m].

        Raises:
            UnknownFrameError: the robot does not have a frame.
            InvalidArgumentError: a number is not finite, or the duration is not positive.
        """
        self.robot.model.frame(frame)
        if expressed_in:
            self.robot.model.frame(expressed_in)
        if not (math.isfinite(duration) and duration > 0.0):
            raise InvalidArgumentError('duration', f'{duration} s', 'more than 0 s')
        self._pushes[frame] = Push(
            frame,
            _finite('wrench', wrench, 6),
            expressed_in,
            _finite('point', point, 3),
            self._time + round(duration * 1e9),
        )

    def follow_efforts(self, efforts: Array | None) -> None:
        """Command motor torques (n) instead of the controllers, until the next command.

        Args:
            efforts: (n) torques [Nm, N if prismatic]; None to hold the positions by the
                controllers.

        Raises:
            InvalidArgumentError: there is not a finite torque for each joint.
        """
        if efforts is not None:
            self._command, self._controlled = _finite('efforts', efforts, self._n), False
            return
        self._command, self._controlled = np.zeros(self._n), True
        self._commanded().reach(self.joints, self._time * 1e-9, TIME_STEP_NS * 1e-9)

    def follow_velocities(self, v: Array, duration: float) -> None:
        """Follow velocities v (n) by the controllers for a duration [s], then hold the positions.

        Raises:
            InvalidArgumentError: there is not a finite velocity for each joint.
        """
        velocities = _finite('velocities', v, self._n)
        self._commanded().move(velocities, self._time * 1e-9, duration)

    def follow_positions(self, q: dict[str, float], duration: float) -> None:
        """Move joints to positions by the controllers within a duration, then hold them.

        Args:
            q: positions by name of the joint [rad or m]; other joints hold their positions.
            duration: simulated duration [s].

        Raises:
            UnknownJointError: the robot does not have a joint, or it is a mimic joint.
            InvalidArgumentError: a position is not finite.
        """
        motion = self._commanded()
        positions = motion.at(self._time * 1e-9)[0].copy()
        for name, position in q.items():
            if name not in self._column:
                raise UnknownJointError('positions', name, self._column)
            positions[self._column[name]] = position
        duration = max(duration, TIME_STEP_NS * 1e-9)
        motion.reach(_finite('positions', positions, len(positions)), self._time * 1e-9, duration)

    def follow_trajectory(self, names: Sequence[str], time: Array, q: Array, v: Array) -> None:
        """Follow a trajectory by the controllers, then hold its last positions.

        Args:
            names: names of all joints, in the order of the columns.
            time: (points) times from now on [s].
            q, v: (points, n) positions and velocities.
        """
        columns = [list(names).index(name) for name in self.robot.joint_names]
        self._commanded().follow(time, q[:, columns], v[:, columns], self._time * 1e-9)

    def _commanded(self) -> CommandedMotion:
        """Reference motion for commands; the first command replaces the slow motion by it."""
        if not isinstance(self.motion, CommandedMotion):
            limits = self.robot.lower_limits, self.robot.upper_limits
            self.motion = CommandedMotion(self.joints, *limits)
        return self.motion

    def step(self) -> None:
        """Advance by ``TIME_STEP_NS``."""
        self._active_pushes = tuple(push for push in self._pushes.values() if push.end > self._time)
        if len(self._active_pushes) < len(self._pushes):
            self._pushes = {push.frame: push for push in self._active_pushes}

        self._engine.step(self._motor, self._friction_slope, self._active_pushes)
        self._time += TIME_STEP_NS
        self._efforts += self._effort(self._external_torque())
        self._steps += 1

    def sample(self) -> Sample:
        """State and sensor values now; acceleration and pushes are those of the last step."""
        engine = self._engine
        if self._steps:
            self._measured_effort = self._efforts / self._steps
            self._efforts, self._steps = np.zeros(self._n), 0
        torques = self._measured_effort, self._external_torque()[self._base_nv :]
        state = engine.q, engine.v, engine.a
        return Sample(self._time, *state, *torques, self._active_pushes, engine.touching)

    def _external_torque(self) -> Array:
        """Generalized torques (nv) of all pushes and of the ground in the last step."""
        q = self._engine.q
        external = np.zeros(self.robot.nv)
        for push in self._active_pushes:
            external += push.torque(self.robot, q)
        for frame, wrench in self._engine.touching.items():
            external += self.robot.jacobian(q, frame).T @ wrench
        return external

    def _effort(self, external: Array) -> Array:
        """Measured joint torques (n) of the last step, for external torques (nv)."""
        q, v, a = self._engine.q, self._engine.v, self._engine.a
        rigid = self.robot.inverse_dynamics(q, v, a)
        transmitted = (rigid - external)[self._base_nv :]
        return np.asarray(transmitted + self._friction_torque(v[self._base_nv :]))

    def _friction_torque(self, v: Array) -> Array:
        """Friction (n) of the description, at joint velocities (n)."""
        padded = np.concatenate([np.zeros(self._base_nv), v])
        return self._friction.friction_torque(padded)[self._base_nv :]

    def _friction_slope(self, v: Array) -> Array:
        """Friction divided by v (n)."""
        moving = np.where(v == 0.0, self._small_speed, v)
        described = self._friction_torque(moving) / moving
        return self.actuators.gear_friction_slope(v) + described

    def _motor(self, q_half: Array) -> tuple[Array, Array]:
        """Constant and slope of motor torques: PD control with gravity and friction compensation.

        The reference is the motion at the end of the step.
        """
        if self.motion is None or not self._controlled:
            return self._command, np.zeros(self._n)
        position, velocity = self.motion.at((self._time + TIME_STEP_NS) * 1e-9)
        kp, kd = self.actuators.stiffness, self.actuators.damping
        weight = self.robot.gravity(q_half)[self._base_nv :]
        compensation = weight + self._friction_torque(velocity)
        joints = q_half[self.robot.model.root_joint_nq :]
        motor = compensation + kp * (position - joints) + kd * velocity
        return motor, kd + 0.5 * DT * kp


def _finite(argument: str, values: ArrayLike, size: int) -> Array:
    array = np.array(values, dtype=float)
    if array.shape != (size,) or not np.isfinite(array).all():
        raise InvalidArgumentError(argument, f'{array.tolist()}', f'{size} finite numbers')
    return array
