# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Closed loops that stay closed during integration of the equations of motion.

If only accelerations are constrained (J a + J-dot v = 0 in [RD] eq. 3.61), rounding and integration
errors of the gap accumulate. Either the state is corrected between steps (`closed_state`), or the
constraint reduces its gap like a spring and a damper (`Stabilized`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.errors import InfeasibleError, InvalidArgumentError
from dynamics_ros.multibody.arguments import (
    check_count,
    check_positive,
    finite_together,
    refuse_overflow,
)
from dynamics_ros.multibody.linear_systems import Array, apply, pseudo_inverse, transposed
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .jacobian import constraint_jacobian
from .kinds import Constraint
from .solve import whitened


class Closable(Constraint, Protocol):
    """A constraint with a residual: a closed loop, or a constraint of a function of q."""

    def residual(self, robot: RigidBodySystem, q: Array) -> Array:
        """Residual f (..., rows); its rate is J v, plus ``drift`` if it depends on time."""


@dataclass(frozen=True)
class Stabilized:
    """Constraint with Baumgarte stabilization: J a + J-dot v = -2 k (J v + drift) - k^2 f.

    The stabilization is critically damped: an error of the residual f decays as exp(-k t). The
    integration is unstable if the rate is too high: k times the step size should be below 0.5.

    Attributes:
        constraint: ``ClosedLoop`` or ``ConfigurationConstraint``.
        rate: k [1/s].
    """

    constraint: Closable
    rate: float

    def __post_init__(self) -> None:
        _check_closable(self.constraint)
        check_positive('rate', self.rate)

    @property
    def rows(self) -> int:
        """Number of rows of the constraint."""
        return self.constraint.rows

    def jacobian(self, robot: RigidBodySystem, q: Array) -> Array:
        """Jacobian J (..., rows, nv) of the constraint."""
        return self.constraint.jacobian(robot, q)

    def bias(self, robot: RigidBodySystem, q: Array, v: Array) -> Array:
        """Stabilized bias J-dot v + 2 k (J v + drift) + k^2 f (..., rows)."""
        constraint, k = self.constraint, self.rate
        rate = apply(constraint.jacobian(robot, q), v) + _drift(constraint, robot, q)
        own = constraint.bias(robot, q, v)
        return np.asarray(own + 2.0 * k * rate + k * k * constraint.residual(robot, q))


def closed_state(
    robot: RigidBodySystem,
    q: ArrayLike,
    v: ArrayLike,
    constraints: Closable | Sequence[Closable],
    tolerance: float = 1e-10,
    max_iterations: int = 20,
) -> tuple[Array, Array]:
    """Project a state to the constraints: close gaps near q, and find the velocity nearest to v.

    Distances are measured by kinetic energy: each Newton step has the smallest norm in the metric
    of M.

    Args:
        robot: the constrained robot.
        q, v: (..., nq), (..., nv) a state with small gaps.
        constraints: loops, or constraints of functions of q.
        tolerance: largest gap that counts as closed [m or rad].
        max_iterations: largest number of Newton steps.

    Returns:
        q (..., nq) and v (..., nv).

    Raises:
        InfeasibleError: gaps remain after the last step.
        SingularError: a joint moves nothing that has mass or inertia.
    """
    all_constraints = list(constraints) if isinstance(constraints, Sequence) else [constraints]
    if not all_constraints:
        raise InvalidArgumentError('constraints', 'none', 'one or more')
    for constraint in all_constraints:
        _check_closable(constraint)
    check_count('max_iterations', max_iterations, 0)
    check_positive('tolerance', tolerance)
    q, v = finite_together(q=(q, robot.nq), v=(v, robot.nv))
    gap = _stacked([x.residual(robot, q) for x in all_constraints])
    for _ in range(max_iterations):
        if np.abs(gap).max(initial=0.0) <= tolerance:
            break
        q = robot.integrate(q, _nearest(robot, q, all_constraints, np.zeros(robot.nv), -gap))
        gap = _stacked([x.residual(robot, q) for x in all_constraints])
    residual = float(np.abs(gap).max(initial=0.0))
    if not residual <= tolerance:
        raise InfeasibleError('no configuration near q closes the loops', residual)
    drift = _stacked([_drift(x, robot, q) for x in all_constraints])
    nearest = _nearest(robot, q, all_constraints, v, -drift)
    refuse_overflow(q, nearest, q=q, v=v)
    return q, nearest


def _nearest(
    robot: RigidBodySystem, q: Array, constraints: Sequence[Closable], v: Array, target: Array
) -> Array:
    """Velocity (..., nv) nearest to v, in the metric of M, with J v = target.

    Components that no velocity can change, such as a gap normal to a planar mechanism, are ignored.
    """
    M = robot.mass_matrix(q)
    J = constraint_jacobian(robot, q, list(constraints))
    L, W = whitened(M, J)
    required = target - apply(J, v)
    step = apply(transposed(pseudo_inverse(W)), required)
    return np.asarray(v + np.linalg.solve(transposed(L), step[..., None])[..., 0])


def _stacked(parts: Sequence[Array]) -> Array:
    leading = np.broadcast_shapes(*(part.shape[:-1] for part in parts))
    return np.concatenate(
        [np.broadcast_to(part, leading + part.shape[-1:]) for part in parts], axis=-1
    )


def _drift(constraint: Closable, robot: RigidBodySystem, q: Array) -> Array:
    """Rate of the residual at rest, for a constraint that depends on time; else zeros."""
    drift = getattr(constraint, 'drift', None)
    return np.zeros(constraint.rows) if drift is None else np.asarray(drift(robot, q))


def _check_closable(constraint: object) -> None:
    if not hasattr(constraint, 'residual'):
        expected = 'ClosedLoop or ConfigurationConstraint, which have a gap'
        raise InvalidArgumentError('constraint', repr(constraint), expected)
