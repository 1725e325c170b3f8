# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Gains of Cartesian impedance control, with checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.algorithms.control.impedance import JOINT_GAINS, RESTING_BASE, SETTINGS
from dynamics_ros.algorithms.joint_friction import FRICTION_VELOCITY, STRIBECK_VELOCITY
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import (
    check_positive,
    finite_arrays,
    finite_vector,
    per_entry,
    real_array,
)
from dynamics_ros.multibody.linear_systems import Array
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

NO_LIMIT = 1e9
"""Finite number in place of infinite limits, which exported code can process."""

TORQUE_LIMITS = [JOINT_GAINS.index(name) for name in ('max_torque', 'max_torque_rate')]
"""Rows of the joint gains that apply at once, not gradually, when gains change."""

RANGES = [JOINT_GAINS.index(name) for name in ('lower', 'upper')]
"""Rows of the joint gains with the ends of the joint ranges."""

RANGE_MARGINS, RANGE_SPRINGS = (JOINT_GAINS.index(name) for name in ('margin', 'limit_stiffness'))
"""Rows of the joint gains that belong to the joint ranges."""


class ImpedanceGains:
    """Gains of the tool and the joints; the arrays are inputs of the kernel.

    Attributes:
        stiffness, damping: (6, 6).
        joints: (15, nv), rows as in ``JOINT_GAINS``.
        settings: (2), as in ``SETTINGS``.
    """

    def __init__(
        self,
        robot: RigidBodySystem,
        stiffness: ArrayLike,
        damping: ArrayLike,
        *,
        joints: Mapping[str, ArrayLike] | None = None,
        length: float = 0.2,
        largest_inertia: float = 100.0,
    ) -> None:
        """Check and store gains.

        Args:
            robot: an arm on a fixed base; provides default joint ranges and effort limits.
            stiffness, damping: (6) along and around the axes of the root frame, or a symmetric
                (6, 6) in these axes without negative eigenvalues [N/m, Nm/rad], [Ns/m, Nms/rad].
            joints: gains per velocity, one number or (nv): 'posture_stiffness' [Nm/rad],
                'posture_damping' [Nms/rad]; 'lower', 'upper' [rad], by default those of the robot;
                'margin' [rad] inside the range in which 'limit_stiffness' [Nm/rad] pushes back;
                'guard_rate' [1/s], default 20, which limits the approach to the end of a range;
                'max_torque' [Nm], by default the effort limit of the description;
                'max_torque_rate' [Nm/s], default 1000; friction to compensate: 'viscous',
                'coulomb', 'stribeck', 'friction_velocity', 'stribeck_velocity', 'load_friction' as
                for ``algorithms.joint_friction``, default 0. Prismatic joints use m and N.
            length: radius at which arcs of a rotation count as displacements [m].
            largest_inertia: largest apparent inertia of the tool in any direction [kg]; the task
                inertia is damped above it, near a singularity.

        Raises:
            InvalidArgumentError: naming the argument; the robot, if its base moves.
        """
        n, base = robot.nv, robot.model.root_joint
        if base != 'fixed':
            raise InvalidArgumentError('robot', f'its base is {base}', RESTING_BASE)
        self.stiffness = stiffness_matrix('stiffness', stiffness)
        self.damping = stiffness_matrix('damping', damping)
        lower, upper = joint_ranges(robot)
        defaults: dict[str, ArrayLike] = {'lower': lower, 'upper': upper}
        defaults |= {'max_torque': robot.effort_limits, 'guard_rate': 20.0, 'max_torque_rate': 1e3}
        defaults |= {
            'friction_velocity': FRICTION_VELOCITY,
            'stribeck_velocity': STRIBECK_VELOCITY,
        }
        unknown = set(joints or {}) - set(JOINT_GAINS)
        if unknown:
            raise InvalidArgumentError('joints', f'{sorted(unknown)}', f'names of {JOINT_GAINS}')
        given = defaults | dict(joints or {})
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
        self.settings = np.array([length, largest_inertia])

    @property
    def arrays(self) -> tuple[Array, ...]:
        """All arrays, in the order in which the kernel takes them."""
        return self.stiffness, self.damping, self.joints, self.settings

    @property
    def largest_inertia(self) -> float:
        """Largest apparent inertia of the tool in any direction [kg]."""
        return float(self.settings[SETTINGS.index('largest_inertia')])

    def towards(self, other: ImpedanceGains, share: float) -> ImpedanceGains:
        """Interpolate between these gains and others; share runs from 0 (these) to 1 (others).

        Settings and torque limits are those of the others at once. A joint range that is
        unbounded in one of the two stays unbounded until the share is 1.
        """
        mixed = {
            name: mine + share * (its - mine)
            for name, mine, its in (
                ('stiffness', self.stiffness, other.stiffness),
                ('damping', self.damping, other.damping),
                ('joints', self.joints, other.joints),
            )
        }
        mixed['joints'][TORQUE_LIMITS] = other.joints[TORQUE_LIMITS]
        return other.replaced(**mixed)

    def with_rows(self, rows: int | Sequence[int], values: ArrayLike) -> ImpedanceGains:
        """These gains with other numbers in rows of the joints, such as ``TORQUE_LIMITS``."""
        joints = self.joints.copy()
        joints[rows] = values
        return self.replaced(joints=joints)

    def replaced(self, **arrays: Array) -> ImpedanceGains:
        """A copy with some arrays replaced, which are not checked again."""
        result = ImpedanceGains.__new__(ImpedanceGains)
        vars(result).update(vars(self), **arrays)
        return result


def joint_ranges(robot: RigidBodySystem) -> tuple[Array, Array]:
    """Lower and upper limits (nv), infinite for joints of several coordinates."""
    lower, upper = np.full(robot.nv, -np.inf), np.full(robot.nv, np.inf)
    for joint in robot.model.actuated:
        if joint.kind.nv == 1:
            k = joint.v_indices[0]
            lower[k], upper[k] = joint.limits.lower, joint.limits.upper
    return lower, upper


def stiffness_matrix(argument: str, value: ArrayLike) -> Array:
    """Check a stiffness or damping, given as a matrix (6, 6) or its diagonal (6).

    Returns:
        (6, 6).

    Raises:
        InvalidArgumentError: it is not symmetric or has a negative eigenvalue.
    """
    array = real_array(argument, value, 'shape (6, 6), or (6) of its diagonal')
    matrix = np.diag(finite_vector(argument, array, 6)) if array.ndim < 2 else array
    matrix = finite_arrays(argument, matrix, (6, 6), many=False)
    scale = max(float(np.abs(matrix).max()), 1.0)
    symmetric = np.abs(matrix - matrix.T).max() <= 1e-9 * scale
    if not symmetric or np.linalg.eigvalsh(matrix).min() < -1e-9 * scale:
        expected = 'a symmetric matrix without negative eigenvalues'
        raise InvalidArgumentError(argument, f'{matrix.tolist()}', expected)
    return np.ascontiguousarray(matrix)
