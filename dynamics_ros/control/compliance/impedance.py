# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Cartesian impedance controller: state, target, and the step that computes torques."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.algorithms.control.compliance.holding_back import LENGTH
from dynamics_ros.algorithms.control.impedance import FLAGS
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import Kernel
from dynamics_ros.multibody.arguments import check_not_negative, finite_vector, rigid_pose
from dynamics_ros.multibody.linear_systems import Array
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .gains import ImpedanceGains, stiffness_matrix

NOT_A_NUMBER = 1e300
"""Finite number in place of NaN and infinity, which a kernel refuses; the law rejects it."""

REST = np.zeros(6)
REST.setflags(write=False)


class ImpedanceState(NamedTuple):
    """Measured state.

    Attributes:
        q, v: (nq), (nv).
        interval: time since the previous state [s].
        hold: time for which torques may be held, where it is longer than the interval [s]; springs
            and dampers are bounded for it.
    """

    q: Array
    v: Array
    interval: float
    hold: float = 0.0


@dataclass(frozen=True, eq=False)
class ImpedanceTarget:
    """Target of the tool.

    Attributes:
        pose: (4, 4) in the root frame.
        posture: (nq) configuration for the null space of the tool task.
        twist: (6) of the pose, in root axes [m/s, rad/s].
        acceleration: (6) of the pose, in root axes [m/s^2, rad/s^2].
        wrench: (6) that the environment shall exert on the tool, at its origin in root axes [N,
            Nm]; fed forward.
    """

    pose: Array
    posture: Array
    twist: Array = field(default_factory=lambda: REST)
    acceleration: Array = field(default_factory=lambda: REST)
    wrench: Array = field(default_factory=lambda: REST)

    def __post_init__(self) -> None:
        object.__setattr__(self, 'pose', np.ascontiguousarray(rigid_pose('pose', self.pose)))
        posture = np.asarray(self.posture, dtype=np.float64)
        object.__setattr__(self, 'posture', finite_vector('posture', posture, posture.size))
        for name in ('twist', 'acceleration', 'wrench'):
            object.__setattr__(self, name, finite_vector(name, getattr(self, name), 6))

    @classmethod
    def unchecked(
        cls, pose: Array, posture: Array, twist: Array, wrench: Array, acceleration: Array = REST
    ) -> ImpedanceTarget:
        """Make a target without checks, which the kernel does later: saves time in a 1 kHz loop."""
        target = cls.__new__(cls)
        target.__dict__.update(pose=pose, posture=posture, twist=twist, wrench=wrench)
        target.__dict__['acceleration'] = acceleration
        return target


class ImpedanceStep(NamedTuple):
    """Result of a step.

    Attributes:
        tau: torques (nv), within their limits and rate limits for any state and target.
        memory: state of the controller for the next step.
        flags: 1.0 for each of ``FLAGS`` that is active, else 0.0.
    """

    tau: Array
    memory: Array
    flags: Array

    @property
    def acting(self) -> tuple[str, ...]:
        """The names of the flags that are set."""
        return tuple(name for name, flag in zip(FLAGS, self.flags, strict=True) if flag)


class ImpedanceController:
    """Cartesian impedance controller of an arm: one kernel, whose state the caller keeps.

    docs/control.md has the equations.

    Attributes:
        robot, frame: the robot with its payload, and the controlled frame.
        kernel: computes a step of the impedance.
    """

    def __init__(self, robot: RigidBodySystem, frame: str) -> None:
        """Make the kernel.

        Raises:
            InvalidArgumentError: the base of the robot moves.
            UnknownFrameError: the robot has no such frame.
        """
        self.robot = robot
        self.frame = frame
        self.kernel = robot.kernel('impedance_step', frame)
        self._torque_kernel = robot.kernel('torque_step')

    def target_at(self, q: ArrayLike) -> ImpedanceTarget:
        """Target that holds the tool and the posture at a configuration (nq)."""
        at = finite_vector('q', q, self.robot.nq).copy()
        return ImpedanceTarget(self.robot.forward_kinematics(at, self.frame), at)

    def start(self, q: ArrayLike, tau: ArrayLike | None = None) -> Array:
        """Return the initial memory of the controller.

        Args:
            q: (nq) current configuration.
            tau: (nv) torques that act now, from which the rate limit starts; None means those that
                compensate gravity.
        """
        robot = self.robot
        q = finite_vector('q', q, robot.nq)
        gravity = robot.gravity(q)
        before = gravity if tau is None else finite_vector('tau', tau, robot.nv)
        return np.concatenate((q, before, np.zeros(robot.nv), gravity, [0.0]))

    def step(
        self,
        state: ImpedanceState,
        target: ImpedanceTarget,
        gains: ImpedanceGains,
        memory: Array,
        torque: Array | None = None,
    ) -> ImpedanceStep:
        """Compute torques for a state; NaN or infinite inputs set a flag and do not raise.

        Args:
            state: measured state.
            target, gains: desired motion and behaviour.
            memory: result of `start` or of the previous step.
            torque: (nv) in addition to those of springs and dampers, as of
                ``dynamics_ros.collision.Repulsion``; None for none.

        Raises:
            InvalidArgumentError: an array has the wrong shape.
        """
        added = np.zeros(self.robot.nv) if torque is None else torque
        arrays = (
            *(state.q, state.v, target.pose, target.twist, target.acceleration),
            *(target.wrench, target.posture, *gains.arrays, added),
            *(_held(memory, state.hold), state.interval),
        )
        return _called(self.kernel, arrays)

    def exert(
        self, state: ImpedanceState, torque: Array, gains: ImpedanceGains, memory: Array
    ) -> ImpedanceStep:
        """Compute torques that exert given joint torques instead of springs.

        Args:
            state, gains, memory: as for `step`; of the gains, the limits and friction.
            torque: (nv) in addition to those of gravity, Coriolis forces and friction.
        """
        held = _held(memory, state.hold)
        arrays = (state.q, state.v, torque, gains.joints, held, state.interval)
        return _called(self._torque_kernel, arrays)

    def wait(self) -> None:
        """Wait until the kernels are compiled."""
        self.kernel.wait()
        self._torque_kernel.wait()


def _held(memory: Array, hold: float) -> Array:
    """Memory in which torques are held for at least a time [s]."""
    if not hold > memory[-1]:
        return memory
    longer = memory.copy()
    longer[-1] = hold
    return longer


def _called(kernel: Kernel, arrays: tuple[Any, ...]) -> ImpedanceStep:
    """Step of a kernel, with numbers in place of NaN and infinity, which a kernel refuses."""
    try:
        return ImpedanceStep(*kernel.call(*arrays))
    except InvalidArgumentError:
        inputs = [np.asarray(x, dtype=np.float64) for x in arrays]
        if all(np.isfinite(x).all() for x in inputs):
            raise
        inputs = [np.where(np.isfinite(x), x, NOT_A_NUMBER) for x in inputs]
        return ImpedanceStep(*kernel.call(*inputs))


def damping_of_ratio(inertia: ArrayLike, stiffness: ArrayLike, ratio: float = 1.0) -> Array:
    """Damping (6, 6) with one damping ratio for all directions of a tool ([AlbuSchaeffer2003]).

    With Lambda = Q Q^T and K = Q diag(k) Q^T it is D = 2 ratio Q diag(sqrt(k)) Q^T.

    Args:
        inertia: Lambda (6, 6) of the tool, as of ``Robot.operational_space``, in the axes of K.
        stiffness: K (6, 6), or its diagonal (6).
        ratio: damping ratio; 1 is critical.

    Raises:
        InvalidArgumentError: a matrix is not symmetric, the ratio is negative, or Lambda is
            singular.
    """
    check_not_negative('ratio', ratio)
    K, Lambda = stiffness_matrix('stiffness', stiffness), stiffness_matrix('inertia', inertia)
    try:
        return _damping(np.linalg.cholesky(Lambda), K, ratio)
    except np.linalg.LinAlgError:
        raise InvalidArgumentError('inertia', 'a singular matrix', 'a regular one') from None


def tool_damping(
    robot: RigidBodySystem,
    frame: str,
    q: Array,
    stiffness: Array,
    ratio: float,
    largest_inertia: float,
) -> Array:
    """Damping of `damping_of_ratio` (6, 6) for the inertia of a tool at a configuration.

    Args:
        robot, frame, q: an arm on a fixed base, its tool frame, its configuration (nq).
        stiffness: (6, 6) in root axes.
        ratio: damping ratio; 1 is critical.
        largest_inertia: of the tool in any direction [kg].
    """
    J = robot.jacobian(q, frame)
    # At least this mobility, in rotations times the square of a length.
    least = np.repeat([1.0 / largest_inertia, 1.0 / (largest_inertia * LENGTH**2)], 3)
    mobility = J @ robot.mass_matrix_inverse(q) @ J.T + np.diag(least)
    return _damping(np.linalg.cholesky(np.linalg.inv(mobility)), stiffness, ratio)


def _damping(L: NDArray[Any], K: Array, ratio: float) -> Array:
    inverse = np.linalg.inv(L)
    values, vectors = np.linalg.eigh(inverse @ K @ inverse.T)
    Q = L @ vectors
    return np.asarray(2.0 * ratio * (Q * np.sqrt(np.maximum(values, 0.0))) @ Q.T)
