"""A robot that moves: forward dynamics with motors, friction, stops, controllers and pushes.

A step goes half the way with the old velocity, solves there for the new one, and goes the other
half with that (leapfrog):

    q' = q + dt/2 v,   (M + A) (v+ - v) / dt + h = motor(v+) - friction(v+) + stop(v+) + J^T w,
    q+ = q' + dt/2 v+

with A the rotor inertias. Without motors it is of second order at one evaluation of the dynamics a
step; a fourth-order method costs four, and its accuracy would be lost at the first stop, dry
friction or beginning of a push, which are not smooth. Controllers, friction and stops act as
springs and dampers on the state at the end of the step, linear in v+, so that no gain, however
stiff, and no link, however light, can make it explode.

What the joint torque sensors show is the torque on the link side of the gears,

    effort = M a + h - J^T w + f(v),

f the friction that the description declares (``<dynamics>``): all that rigid-body dynamics of the
description need, and nothing that it does not know. Rotor inertia and gear friction lie on the
motor's side of the sensor, as on an arm with joint torque sensors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.errors import InvalidArgumentError, ModelError, UnknownJointError
from dynamics_ros.estimation import EffortModel
from dynamics_ros.robot import Robot

from .actuators import Actuators
from .commanded_motion import CommandedMotion
from .motion import SmoothMotion

Array = NDArray[np.float64]

TIME_STEP_NS = 1_000_000
"""Of simulated time per step: 1 ms."""

_DT = TIME_STEP_NS * 1e-9
_FASTEST = 10.0  # times the velocity limit: no push, however hard, makes a joint move faster
_UNLIMITED_SPEED = 10.0  # rad/s or m/s in place of a velocity limit that is not given


@dataclass(frozen=True)
class Push:
    """A wrench of the environment on the robot.

    Attributes:
        frame: frame of the robot that is pushed.
        wrench: (6) force [N] and torque [Nm], constant in the axes of ``expressed_in``.
        expressed_in: a frame of the robot; empty for the root frame.
        point: (3) where the force acts, in ``frame`` [m].
        end: simulated time when it ends [ns].
    """

    frame: str
    wrench: Array
    expressed_in: str
    point: Array
    end: int

    def at_origin(self, robot: Robot, q: Array) -> Array:
        """(6) the wrench about the origin of ``frame``, in axes of the root frame."""
        force, torque = self.wrench[:3], self.wrench[3:]
        if self.expressed_in:
            R = robot.forward_kinematics(q, self.expressed_in)[:3, :3]
            force, torque = R @ force, R @ torque
        if self.point.any():
            lever = robot.forward_kinematics(q, self.frame)[:3, :3] @ self.point
            torque = torque + np.cross(lever, force)
        return np.concatenate([force, torque])

    def torque(self, robot: Robot, q: Array) -> Array:
        """(n) J^T w."""
        J: Array = robot.jacobian(q, self.frame)
        return J.T @ self.at_origin(robot, q)


@dataclass(frozen=True)
class Sample:
    """The robot at one instant; arrays (n) in the order of ``robot.joint_names``.

    Attributes:
        time: simulated time since the start [ns].
        q, v, a: position, velocity, acceleration [rad, m; per s; per s^2].
        effort: what the joint torque sensors show [Nm, N if prismatic].
        external_torque: of all pushes, J^T w [Nm, N if prismatic].
        pushes: that act.
    """

    time: int
    q: Array
    v: Array
    a: Array
    effort: Array
    external_torque: Array
    pushes: tuple[Push, ...]


class SimulatedRobot:
    """A fixed-base robot under motor, gravity and pushes; time advances by ``step`` alone.

    Args:
        robot: fixed base; every joint has one coordinate.
        actuators: of its joints.
        motion: what the controllers follow; None: no controllers, no gravity compensation.
        q: (nq) position at the start; the beginning of the motion when None.

    Raises:
        ModelError: a robot without joints, or with a joint of several coordinates.
    """

    def __init__(
        self,
        robot: Robot,
        actuators: Actuators,
        motion: SmoothMotion | CommandedMotion | None = None,
        q: ArrayLike | None = None,
    ) -> None:
        require_simulable(robot)
        self.robot = robot
        self.actuators = actuators
        self.motion = motion
        start = q if q is not None else robot.neutral() if motion is None else motion.at(0.0)[0]
        self._q = np.array(start, dtype=float)
        self._v = np.zeros(robot.nv)
        self._a = np.zeros(robot.nv)
        self._acting: tuple[Push, ...] = ()
        self._time = 0
        self._pushes: dict[str, Push] = {}
        self._declared_friction = EffortModel.from_robot(robot)
        speed = np.where(
            np.isfinite(robot.velocity_limits), robot.velocity_limits, _UNLIMITED_SPEED
        )
        self._fastest = _FASTEST * speed
        # Near rest tanh is linear: f(v) / v at a speed far below where dry friction is developed.
        slow = np.full(robot.nv, 1e-4 * self._declared_friction.friction_velocity)
        self._declared_slope_at_rest = self._declared_friction.friction_torque(slow) / slow
        self._diagonal = np.diag_indices(robot.nv)
        self._column = {name: i for i, name in enumerate(robot.joint_names)}
        self._stop_commands()

    @property
    def time(self) -> int:
        """Simulated time [ns]."""
        return self._time

    @property
    def pushes(self) -> tuple[Push, ...]:
        """Pushes in force or about to begin."""
        return tuple(self._pushes.values())

    def push(
        self,
        frame: str,
        wrench: ArrayLike,
        duration: float,
        expressed_in: str = '',
        point: ArrayLike = (0.0, 0.0, 0.0),
    ) -> None:
        """Push a frame from now on; a push of the same frame that still acts is replaced.

        Args:
            frame: a frame of the robot.
            wrench: (6) force [N] and torque [Nm] of the environment on the robot.
            duration: how long [s of simulated time].
            expressed_in: frame whose axes the wrench is given in; empty: the root frame.
            point: (3) where the force acts, in ``frame`` [m].

        Raises:
            UnknownFrameError: a frame that the robot does not have.
            InvalidArgumentError: a number that is not finite, a duration that is not positive.
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

    def command(self, efforts: dict[str, float], replace: bool, duration: float) -> None:
        """Motor torques by joint name, in force until the next command or the end of duration.

        Args:
            efforts: joint name to torque [Nm, N if prismatic].
            replace: whether they take the place of the controllers of these joints, gravity
                compensation included, or come on top of them.
            duration: how long [s of simulated time].

        Raises:
            UnknownJointError: a joint that the robot does not have, or one that follows another.
            InvalidArgumentError: a torque that is not finite.
        """
        torque, mask = np.zeros(self.robot.nv), np.zeros(self.robot.nv, dtype=bool)
        for name, effort in efforts.items():
            if name not in self._column:
                raise UnknownJointError('efforts', name, self._column)
            if not math.isfinite(effort):
                raise InvalidArgumentError('efforts', f'{name!r}: {effort}', 'a finite torque')
            torque[self._column[name]], mask[self._column[name]] = effort, True
        steps = max(1, round(duration * 1e9 / TIME_STEP_NS))
        self._command, self._command_end = torque, self._time + steps * TIME_STEP_NS
        self._controlled = np.where(mask & replace, 0.0, 1.0)

    def follow_efforts(self, efforts: Array | None) -> None:
        """Exert motor torques (n) in place of the controllers, as they are until others come.

        Args:
            efforts: [Nm, N if prismatic]; None: the controllers hold the joints where they are.

        Raises:
            InvalidArgumentError: not a finite torque for each joint.
        """
        if efforts is None:
            self._stop_commands()
            self._commanded().reach(self._q, self._time * 1e-9, TIME_STEP_NS * 1e-9)
            return
        self._command = _finite('efforts', efforts, self.robot.nv)
        self._command_end, self._controlled = -1, np.zeros(self.robot.nv)

    def follow_velocities(self, v: Array, duration: float) -> None:
        """Have the controllers follow velocities (n) in place of the motion, then stand.

        Raises:
            InvalidArgumentError: not a finite velocity for each joint.
        """
        wanted = _finite('velocities', v, self.robot.nv)
        self._commanded().move(wanted, self._time * 1e-9, duration)

    def follow_positions(self, q: dict[str, float], duration: float) -> None:
        """Have the controllers take joints to positions in so many seconds, in place of the motion.

        Args:
            q: joint name to position; the other joints stay where they are.
            duration: s.

        Raises:
            UnknownJointError: a joint that the robot does not have, or one that follows another.
            InvalidArgumentError: a position that is not finite.
        """
        motion = self._commanded()
        wanted = motion.at(self._time * 1e-9)[0].copy()
        for name, position in q.items():
            if name not in self._column:
                raise UnknownJointError('positions', name, self._column)
            wanted[self._column[name]] = position
        duration = max(duration, TIME_STEP_NS * 1e-9)
        motion.reach(_finite('positions', wanted, len(wanted)), self._time * 1e-9, duration)

    def follow_trajectory(self, names: Sequence[str], time: Array, q: Array, v: Array) -> Array:
        """Have the controllers follow positions over time, in place of the motion, then stand.

        Args:
            names: of all joints, in any order; of the columns.
            time: (points) s from now on.
            q, v: (points, n) positions and velocities.

        Returns:
            (n) where it ends, in the order of the robot's joints.
        """
        columns = [list(names).index(name) for name in self.robot.joint_names]
        self._commanded().follow(time, q[:, columns], v[:, columns], self._time * 1e-9)
        return np.asarray(q[-1, columns])

    def stand(self) -> None:
        """Have the controllers hold the joints where they are."""
        self.motion = None
        self._commanded()

    def _commanded(self) -> CommandedMotion:
        """What is followed from the first such command on."""
        if not isinstance(self.motion, CommandedMotion):
            limits = self.robot.lower_limits, self.robot.upper_limits
            self.motion = CommandedMotion(self._q, *limits)
        return self.motion

    def step(self) -> None:
        """Go on by ``TIME_STEP_NS``."""
        if self._time == self._command_end:
            self._stop_commands()
        self._acting = tuple(push for push in self._pushes.values() if push.end > self._time)
        if len(self._acting) < len(self._pushes):
            self._pushes = {push.frame: push for push in self._acting}

        q_half = self._q + 0.5 * _DT * self._v
        # Coriolis forces at the velocity that is expected half-way: second order as well.
        v_half = self._v + 0.5 * _DT * self._a
        torque = -self.robot.nonlinear_effects(q_half, v_half)
        for push in self._acting:
            torque += push.torque(self.robot, q_half)
        v_next = self._next_velocity(q_half, torque)
        v_next = np.minimum(np.maximum(v_next, -self._fastest), self._fastest)
        self._a = (v_next - self._v) / _DT
        self._q = q_half + 0.5 * _DT * v_next
        self._v = v_next
        self._time += TIME_STEP_NS

    def sample(self) -> Sample:
        """What the sensors show now, and the truth; acceleration and pushes are the last step's."""
        q, v, a = self._q, self._v, self._a
        external = np.zeros(self.robot.nv)
        for push in self._acting:
            external += push.torque(self.robot, q)
        rigid = self.robot.inverse_dynamics(q, v, a)
        effort = rigid - external + self._declared_friction.friction_torque(v)
        return Sample(self._time, q, v, a, effort, external, self._acting)

    def energy(self) -> float:
        """Kinetic energy of links and rotors and potential energy, now [J]."""
        rotors = 0.5 * float(self.actuators.armature @ self._v**2)
        links = self.robot.kinetic_energy(self._q, self._v) + self.robot.potential_energy(self._q)
        return float(links) + rotors

    def _next_velocity(self, q_half: Array, torque: Array) -> Array:
        """v+ of the step: motors, friction and stops are each written as constant - slope * v+.

        Args:
            q_half: (n) position in the middle of the step.
            torque: (n) of pushes, weight and Coriolis forces.
        """
        v, actuators = self._v, self.actuators
        motor, motor_slope = self._motor(q_half)
        inertia = self.robot.mass_matrix(q_half)
        inertia[self._diagonal] += actuators.armature
        torque = torque + inertia @ v / _DT
        # Friction as the secant through its present value: linear in v+, never driving.
        slope = actuators.gear_friction_slope(v)
        declared = self._declared_friction.friction_torque(v)
        slope += np.where(v == 0.0, self._declared_slope_at_rest, declared / np.where(v == 0, 1, v))
        ahead = q_half + 0.5 * _DT * v
        beyond = (ahead < self.robot.lower_limits) | (ahead > self.robot.upper_limits)
        if beyond.any():
            stop, stop_slope = self._stops(beyond, q_half, ahead)
            torque += stop
            slope += stop_slope

        v_next = self._solve(inertia, torque + motor, slope + motor_slope)
        exerted = motor - motor_slope * v_next
        saturated = np.abs(exerted) > actuators.effort_limits
        if saturated.any():
            motor = motor.copy()
            motor[saturated] = np.copysign(actuators.effort_limits, exerted)[saturated]
            motor_slope = np.multiply(motor_slope, ~saturated)
            v_next = self._solve(inertia, torque + motor, slope + motor_slope)
        return v_next

    def _solve(self, inertia: Array, torque: Array, slope: Array) -> Array:
        """v+ of (inertia / dt + slope) v+ = torque."""
        matrix = inertia / _DT
        matrix[self._diagonal] += slope
        return np.asarray(np.linalg.solve(matrix, torque), dtype=np.float64)

    def _motor(self, q_half: Array) -> tuple[Array, Array]:
        """PD with weight and friction compensated, towards the motion at the end of the step."""
        if self.motion is None:
            return self._command, np.zeros(self.robot.nv)
        position, velocity = self.motion.at((self._time + TIME_STEP_NS) * 1e-9)
        kp, kd = self.actuators.stiffness, self.actuators.damping
        carried = self.robot.gravity(q_half) + self._declared_friction.friction_torque(velocity)
        motor = carried + kp * (position - q_half) + kd * velocity
        slope = kd + 0.5 * _DT * kp
        return motor * self._controlled + self._command, slope * self._controlled

    def _stops(self, beyond: NDArray[np.bool_], q_half: Array, ahead: Array) -> tuple[Array, Array]:
        """Springs with dampers that take a joint up where it would pass a limit in this step."""
        k = np.where(beyond, self.actuators.stop_stiffness, 0.0)
        d = np.where(beyond, self.actuators.stop_damping, 0.0)
        limit = np.clip(ahead, self.robot.lower_limits, self.robot.upper_limits)
        return k * (limit - q_half), d + 0.5 * _DT * k

    def _stop_commands(self) -> None:
        self._command = np.zeros(self.robot.nv)
        self._command_end = -1
        self._controlled = np.ones(self.robot.nv)


def _finite(argument: str, values: ArrayLike, size: int) -> Array:
    array = np.array(values, dtype=float)
    if array.shape != (size,) or not np.isfinite(array).all():
        raise InvalidArgumentError(argument, f'{array.tolist()}', f'{size} finite numbers')
    return array


def require_simulable(robot: Robot) -> None:
    """Nothing, for a robot that can be simulated.

    Raises:
        ModelError: a robot without joints, or with a joint of several coordinates.
    """
    if robot.nv == 0:
        raise ModelError(f'robot {robot.name!r}', 'has no joint that moves, nothing to simulate')
    for joint in robot.model.joints:
        if joint.kind.nv != 1:
            raise ModelError(
                f'joint {joint.name!r}',
                f'{joint.kind.name} joints are not simulated, nor is a base that moves',
            )
