# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Cartesian impedance control: targets, gains, and the step from a state to torques."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.algorithms.control.impedance import (
    FLAGS,
    FORCE_GAINS,
    JOINT_GAINS,
    SETTINGS,
)
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import (
    ORTHOGONALITY,
    check_not_negative,
    check_positive,
    finite_matrix,
    finite_vector,
    per_entry,
    real_array,
    rigid_pose,
)
from dynamics_ros.multibody.linear_systems import Array
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

NO_LIMIT = 1e9
"""In place of a limit that there is not: a number, which exported code can take."""

TORQUE_LIMITS = [JOINT_GAINS.index(name) for name in ('max_torque', 'max_torque_rate')]
"""Rows of the gains of joints that count at once when others are taken over."""

NOT_A_NUMBER = 1e300
"""In place of NaN and infinity for a kernel, which refuses those: beyond all that it believes."""

REST = np.zeros(6)
REST.setflags(write=False)


class ImpedanceState(NamedTuple):
    """What is measured.

    Attributes:
        q, v: (nq), (nv).
        interval: since the state before [s].
        wrench: (6) of the environment on the tool, at its origin in root axes [N, Nm].
    """

    q: Array
    v: Array
    interval: float
    wrench: Array = REST


@dataclass(frozen=True, eq=False)
class ImpedanceTarget:
    """What is wanted of the tool.

    Attributes:
        pose: (4, 4) in the root frame.
        posture: (nq) for the freedom that the tool leaves.
        twist: (6) of the pose, in root axes [m/s, rad/s].
        acceleration: (6) likewise [m/s^2, rad/s^2].
        wrench: (6) that the environment shall exert on the tool, at its origin in root axes: fed
            forward, and in the selected directions of the gains followed [N, Nm].
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
        """A target of arrays that are left to the kernel to check, in each of a thousand steps."""
        target = cls.__new__(cls)
        target.__dict__.update(pose=pose, posture=posture, twist=twist, wrench=wrench)
        target.__dict__['acceleration'] = acceleration
        return target


class ImpedanceGains:
    """How the tool and the joints behave; its arrays are inputs of the kernel.

    Attributes:
        stiffness, damping: (6, 6).
        axes: (3, 3).
        force: (4, 6), rows as in ``FORCE_GAINS``.
        joints: (15, nv), rows as in ``JOINT_GAINS``.
        settings: (5), as in ``SETTINGS``.
        arrays: all of these, in the order in which the kernel takes them.
    """

    def __init__(
        self,
        robot: RigidBodySystem,
        stiffness: ArrayLike,
        damping: ArrayLike,
        *,
        axes: ArrayLike | None = None,
        axes_of_tool: bool = False,
        force: Mapping[str, ArrayLike] | None = None,
        joints: Mapping[str, ArrayLike] | None = None,
        length: float = 0.2,
        largest_inertia: float = 100.0,
        energy_capacity: float = math.inf,
        energy_horizon: float = 0.02,
    ) -> None:
        """Check and keep gains.

        Args:
            robot: whose ranges and efforts are the defaults.
            stiffness, damping: (6) along and around the axes, or a symmetric (6, 6) without
                negative eigenvalues [N/m, Nm/rad], [Ns/m, Nms/rad].
            axes: (3, 3) rotation of the axes in which they are given; None is no rotation.
            axes_of_tool: whether the axes turn with the tool; else they rest in the root frame.
            force: closed-loop force: 'selected' 1 or 0, 'proportional' [1], 'integral' [1/s] and
                'integral_limit' [N, Nm], each one number or (6) in the axes; 0 where not given.
            joints: of each velocity, one number or (nv): 'posture_stiffness' [Nm/rad],
                'posture_damping' [Nms/rad]; 'lower', 'upper' [rad], those of the description, with
                the followers of a joint, where not given; 'margin' [rad] before them in which
                'limit_stiffness' [Nm/rad] pushes back; 'guard_rate' [1/s], 20, at which a joint
                may approach an end; 'max_torque' [Nm], the effort of the description;
                'max_torque_rate' [Nm/s], 1000; friction that is compensated: 'viscous', 'coulomb',
                'stribeck', 'friction_velocity', 'stribeck_velocity', 'load_friction' as for
                ``algorithms.joint_friction``, 0 where not given. m and N of prismatic joints.
            length: at which arcs of a turn count as displacements [m].
            largest_inertia: that any direction of the tool may seem to have [kg]; beyond it, near
                a singularity, the task inertia is damped.
            energy_capacity: what the tank may hold [J], inf for no bound; all work of the torques,
                but that of gravity and friction, is taken from it.
            energy_horizon: within which torques may not empty the tank [s].

        Raises:
            InvalidArgumentError: naming the argument.
        """
        n = robot.nv
        self.stiffness = stiffness_matrix('stiffness', stiffness)
        self.damping = stiffness_matrix('damping', damping)
        self.axes = _rotation('axes', np.eye(3) if axes is None else axes)
        self.force = np.zeros((len(FORCE_GAINS), 6))
        for name, value in _known('force', force or {}, FORCE_GAINS):
            self.force[FORCE_GAINS.index(name)] = per_entry(name, value, 6, least=0.0)
        if self.force[0].max() > 1.0:
            raise InvalidArgumentError('selected', f'{self.force[0].tolist()}', 'from 0 to 1')
        lower, upper = joint_ranges(robot)
        efforts = np.full(n, np.inf)
        efforts[n - len(robot.effort_limits) :] = robot.effort_limits
        defaults: dict[str, ArrayLike] = {'lower': lower, 'upper': upper, 'max_torque': efforts}
        defaults |= {'guard_rate': 20.0, 'max_torque_rate': 1000.0}
        defaults |= {'friction_velocity': 0.01, 'stribeck_velocity': 0.1}
        given = defaults | dict(_known('joints', joints or {}, JOINT_GAINS))
        rows = []
        for name in JOINT_GAINS:
            least = -np.inf if name in ('lower', 'upper', 'stribeck') else 0.0
            row = per_entry(name, given.get(name, 0.0), n, least=least, infinite=True)
            rows.append(np.clip(row, -NO_LIMIT, NO_LIMIT))
        self.joints = np.array(rows)
        if (self.joints[2] > self.joints[3]).any():
            raise InvalidArgumentError('lower', 'above upper', 'ranges with lower <= upper')
        if not self.joints[JOINT_GAINS.index('guard_rate')].all():
            raise InvalidArgumentError('guard_rate', '0', 'positive numbers')
        check_positive('length', length)
        check_positive('largest_inertia', largest_inertia)
        if not energy_capacity >= 0.0:
            raise InvalidArgumentError('energy_capacity', f'{energy_capacity}', '0 or more')
        check_positive('energy_horizon', energy_horizon)
        numbers = {
            'axes_of_tool': float(axes_of_tool),
            'length': length,
            'largest_inertia': largest_inertia,
            'energy_capacity': min(energy_capacity, NO_LIMIT),
            'energy_horizon': energy_horizon,
        }
        self.settings = np.array([numbers[name] for name in SETTINGS])
        self.arrays = (
            *(self.stiffness, self.damping, self.axes),
            *(self.force, self.joints, self.settings),
        )

    def towards(self, other: ImpedanceGains, share: float) -> ImpedanceGains:
        """Gains between these and others, by a share from 0 to 1.

        Axes, settings and limits of torques are those of the others at once. A range that has no
        end in one of them has none until the share is 1.
        """
        mixed = copy.copy(other)
        for name in ('stiffness', 'damping', 'force', 'joints'):
            mine, its = getattr(self, name), getattr(other, name)
            setattr(mixed, name, mine + share * (its - mine))
        return mixed.limited_as(other)

    def limited_as(self, other: ImpedanceGains) -> ImpedanceGains:
        """These gains with the limits of torques and their rates that others have."""
        limited = copy.copy(self)
        limited.joints = self.joints.copy()
        limited.joints[TORQUE_LIMITS] = other.joints[TORQUE_LIMITS]
        limited.arrays = (
            *(limited.stiffness, limited.damping, limited.axes),
            *(limited.force, limited.joints, limited.settings),
        )
        return limited


class ImpedanceStep(NamedTuple):
    """What a step answers.

    Attributes:
        tau: torques (nv), within their limits and rates whatever the state and the target are.
        memory: for the next step.
        flags: of ``FLAGS`` 1.0 for each that acts, else 0.0.
    """

    tau: Array
    memory: Array
    flags: Array

    @property
    def acting(self) -> tuple[str, ...]:
        """The names of the flags that are set."""
        return tuple(name for name, flag in zip(FLAGS, self.flags, strict=True) if flag)


class ImpedanceController:
    """A Cartesian impedance controller of an arm: one kernel, whose state is the caller's.

    docs/control.md has the equations.

    Attributes:
        robot, frame: what is controlled, its payload included.
    """

    def __init__(self, robot: RigidBodySystem, frame: str) -> None:
        """Make the kernel.

        Raises:
            InvalidArgumentError: the base of the robot moves.
            UnknownFrameError: no such frame.
        """
        self.robot = robot
        self.frame = frame
        self.kernel = robot.kernel('impedance_step', frame)
        nothing = np.full((4, 4), NOT_A_NUMBER)
        self._no_target = ImpedanceTarget.unchecked(nothing, np.zeros(robot.nq), REST, REST)

    def target_at(self, q: ArrayLike) -> ImpedanceTarget:
        """To stay at a configuration (nq)."""
        at = finite_vector('q', q, self.robot.nq).copy()
        return ImpedanceTarget(self.robot.forward_kinematics(at, self.frame), at)

    def start(self, q: ArrayLike, tau: ArrayLike | None = None, energy: float = math.inf) -> Array:
        """The memory before the first step.

        Args:
            q: (nq) configuration now.
            tau: (nv) torques that act now, from which they go on; None is gravity's.
            energy: in the tank [J], inf for no bound.
        """
        robot = self.robot
        q = finite_vector('q', q, robot.nq)
        gravity = robot.gravity(q)
        before = gravity if tau is None else finite_vector('tau', tau, robot.nv)
        if not energy >= 0.0:
            raise InvalidArgumentError('energy', f'{energy}', '0 or more')
        parts = (q, before, np.zeros(robot.nv), gravity, [min(energy, NO_LIMIT)], REST)
        return np.concatenate(parts)

    def step(
        self,
        state: ImpedanceState,
        target: ImpedanceTarget,
        gains: ImpedanceGains,
        memory: Array,
    ) -> ImpedanceStep:
        """Torques for a state; numbers in it that are none are answered as the flags tell.

        Args:
            state: measured.
            target, gains: wanted.
            memory: of `start` or of the step before.

        Raises:
            InvalidArgumentError: an array of another shape.
        """
        arrays = (
            *(state.q, state.v, state.wrench, target.pose, target.twist, target.acceleration),
            *(target.wrench, target.posture, *gains.arrays, memory, state.interval),
        )
        try:
            return ImpedanceStep(*self.kernel.call(*arrays))
        except InvalidArgumentError:
            told = [np.asarray(x, dtype=np.float64) for x in arrays]
            if all(np.isfinite(x).all() for x in told):
                raise
            told = [np.where(np.isfinite(x), x, NOT_A_NUMBER) for x in told]
            return ImpedanceStep(*self.kernel.call(*told))

    def brake(self, state: ImpedanceState, gains: ImpedanceGains, memory: Array) -> ImpedanceStep:
        """Torques that carry the weight and let all motion decay with 10 1/s.

        Those of a step without a valid target: the flag ``input`` is set.

        Args:
            state, gains, memory: as for `step`.
        """
        return self.step(state, self._no_target, gains, memory)

    def energy(self, memory: Array) -> float:
        """What is in the tank [J]."""
        return float(memory[-7])


def bounded_task_inertia(
    robot: RigidBodySystem, q: ArrayLike, frame: str, largest: float, length: float = 0.2
) -> Array:
    """Inertia (6, 6) of a frame in root axes, at most about ``largest`` in each direction.

    Unlike ``Robot.operational_space`` it is regular wherever the robot is.

    Args:
        robot: whose.
        q: (nq) configuration.
        frame: its frame.
        largest: [kg]; of turns, at the length.
        length: at which arcs of a turn count as displacements [m].
    """
    J = robot.jacobian(q, frame)
    least = np.repeat([1.0 / largest, 1.0 / (largest * length**2)], 3)
    mobility = J @ np.linalg.solve(robot.mass_matrix(q), J.T) + np.diag(least)
    inertia = np.linalg.inv(mobility)
    return np.asarray(0.5 * (inertia + inertia.T))


def damping_of_ratio(inertia: ArrayLike, stiffness: ArrayLike, ratio: float = 1.0) -> Array:
    """The damping (6, 6) with which every direction of a tool decays alike ([AlbuSchaeffer2003]).

    With Lambda = Q Q^T and K = Q diag(k) Q^T it is D = 2 ratio Q diag(sqrt(k)) Q^T.

    Args:
        inertia: Lambda (6, 6) of the tool, as of ``Robot.operational_space``, in the axes of K.
        stiffness: K (6, 6), or its diagonal (6).
        ratio: 1 is critical.

    Raises:
        InvalidArgumentError: no symmetric matrices, a negative ratio, or a Lambda that is singular.
    """
    check_not_negative('ratio', ratio)
    K, Lambda = stiffness_matrix('stiffness', stiffness), stiffness_matrix('inertia', inertia)
    try:
        L = np.linalg.cholesky(Lambda)
    except np.linalg.LinAlgError:
        raise InvalidArgumentError('inertia', 'a singular matrix', 'a regular one') from None
    inverse = np.linalg.inv(L)
    values, vectors = np.linalg.eigh(inverse @ K @ inverse.T)
    Q = L @ vectors
    return np.asarray(2.0 * ratio * (Q * np.sqrt(np.maximum(values, 0.0))) @ Q.T)


def joint_ranges(robot: RigidBodySystem) -> tuple[Array, Array]:
    """Lower and upper ends (nv) of each joint's range, within which its followers have theirs.

    Infinite for joints without range, and for those of several coordinates.
    """
    lower, upper = np.full(robot.nv, -np.inf), np.full(robot.nv, np.inf)
    for joint in robot.model.joints:
        if joint.kind.nv != 1 or not joint.kind.has_range:
            continue
        k = joint.v_indices[0]
        ends = np.array([joint.limits.lower, joint.limits.upper])
        if joint.leader is not None and joint.multiplier:
            ends = np.sort((ends - joint.offset) / joint.multiplier)
        lower[k], upper[k] = max(lower[k], ends[0]), min(upper[k], ends[1])
    return lower, upper


def stiffness_matrix(argument: str, value: ArrayLike) -> Array:
    """(6, 6) of a stiffness or damping, or of its diagonal (6).

    Raises:
        InvalidArgumentError: not symmetric, or with a negative eigenvalue.
    """
    array = real_array(argument, value, 'shape (6, 6), or (6) of its diagonal')
    matrix = np.diag(finite_vector(argument, array, 6)) if array.ndim < 2 else array
    matrix = finite_matrix(argument, matrix, 6)
    scale = max(float(np.abs(matrix).max()), 1.0)
    symmetric = np.abs(matrix - matrix.T).max() <= 1e-9 * scale
    if not symmetric or np.linalg.eigvalsh(matrix).min() < -1e-9 * scale:
        expected = 'a symmetric matrix without negative eigenvalues'
        raise InvalidArgumentError(argument, f'{matrix.tolist()}', expected)
    return np.ascontiguousarray(matrix)


def _rotation(argument: str, value: ArrayLike) -> Array:
    R = finite_matrix(argument, value, 3)
    if np.abs(R @ R.T - np.eye(3)).max() > ORTHOGONALITY or np.linalg.det(R) < 0.0:
        raise InvalidArgumentError(argument, f'{R.tolist()}', 'a rotation matrix')
    return np.ascontiguousarray(R)


def _known(
    argument: str, given: Mapping[str, ArrayLike], names: tuple[str, ...]
) -> list[tuple[str, ArrayLike]]:
    unknown = set(given) - set(names)
    if unknown:
        raise InvalidArgumentError(argument, f'{sorted(unknown)}', f'names of {names}')
    return list(given.items())
