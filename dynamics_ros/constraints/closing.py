# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Constraints that stay satisfied during integration of the equations of motion.

If only accelerations are constrained (J a + J-dot v = 0 in [RD] eq. 3.61), rounding and integration
errors of the gap accumulate. Either the state is corrected between steps (`closed_state`), or the
constraint reduces its gap like a spring and a damper (`Stabilized`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.errors import InfeasibleError, InvalidArgumentError
from dynamics_ros.multibody.arguments import (
    check_count,
    check_positive,
    finite_together,
    refuse_overflow,
)
from dynamics_ros.multibody.linear_systems import Array, apply
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .jacobian import constraint_jacobian, solve_constrained, stacked
from .kinds import Constraint, Contact, Slopes
from .of_functions import ConfigurationConstraint, LinearConstraint


@dataclass(frozen=True)
class Stabilized:
    """Constraint with Baumgarte stabilization: J a + J-dot v = -2 k (J v + drift) - k^2 f.

    The stabilization is critically damped: an error of the residual f decays as exp(-k t). The
    integration is unstable if the rate is too high: k times the step size should be below 0.5. A
    constraint on the velocity alone has no f; J a + J-dot v = -k (J v + drift) then.

    Attributes:
        constraint: ``ClosedLoop``, ``Contact`` with an anchor, ``ConfigurationConstraint`` or
            ``LinearConstraint``.
        rate: k [1/s].
    """

    constraint: Constraint
    rate: float

    def __post_init__(self) -> None:
        if not isinstance(self.constraint, LinearConstraint):
            _closable(self.constraint)
        check_positive('rate', self.rate)

    def at(self, time: float) -> Stabilized:
        """The same at another time [s], for a constraint that depends on it.

        Raises:
            InvalidArgumentError: the constraint does not depend on time.
        """
        if not isinstance(self.constraint, (ConfigurationConstraint, LinearConstraint)):
            raise InvalidArgumentError('time', f'{time}', 'a constraint that depends on it')
        return Stabilized(self.constraint.at(time), self.rate)

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
        if not hasattr(constraint, 'residual'):
            return np.asarray(own + k * rate)
        return np.asarray(own + 2.0 * k * rate + k * k * constraint.residual(robot, q))

    def slopes(self, robot: RigidBodySystem, q: Array, v: Array, a: Array, forces: Array) -> Slopes:
        """Derivatives of J^T f and of the stabilized J a + J-dot v.

        That of the residual is taken as J, which is exact for points and functions of q; for
        rotations of loops and surfaces it is off by a share as large as their gap [rad].
        """
        constraint, k = differentiable(self.constraint), self.rate
        own, J = constraint.slopes(robot, q, v, a, forces), constraint.jacobian(robot, q)
        closes = hasattr(constraint, 'residual')
        damping = 2.0 * k if closes else k
        by_q = own.rows_dq + damping * own.rates_dq
        return own._replace(
            rows_dq=by_q + k * k * J if closes else by_q, rows_dv=own.rows_dv + damping * J
        )


def closed_state(
    robot: RigidBodySystem,
    q: ArrayLike,
    v: ArrayLike,
    constraints: Constraint | Sequence[Constraint],
    tolerance: float = 1e-10,
    max_iterations: int = 20,
) -> tuple[Array, Array]:
    """Project a state to the constraints: close gaps near q, and find the velocity nearest to v.

    Distances are measured by kinetic energy: each Newton step has the smallest norm in the metric
    of M.

    Args:
        robot: the constrained robot.
        q, v: (..., nq), (..., nv) a state with small gaps.
        constraints: loops, contacts with an anchor, constraints of functions of q; a
            ``LinearConstraint`` concerns v alone.
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
    closable = [_closable(x) for x in all_constraints if not isinstance(x, LinearConstraint)]
    check_count('max_iterations', max_iterations, 0)
    check_positive('tolerance', tolerance)
    q, v = finite_together(q=(q, robot.nq), v=(v, robot.nv))
    gap = stacked([np.zeros(0), *(x.residual(robot, q) for x in closable)], 1)
    for _ in range(max_iterations):
        if np.abs(gap).max(initial=0.0) <= tolerance:
            break
        q = robot.integrate(q, _nearest(robot, q, closable, np.zeros(robot.nv), -gap))
        gap = stacked([np.zeros(0), *(x.residual(robot, q) for x in closable)], 1)
    residual = float(np.abs(gap).max(initial=0.0))
    if not residual <= tolerance:
        raise InfeasibleError('no configuration near q closes the loops', residual)
    drift = stacked([np.zeros(0), *(_drift(x, robot, q) for x in all_constraints)], 1)
    nearest = _nearest(robot, q, all_constraints, v, -drift)
    refuse_overflow(q, nearest, q=q, v=v)
    return q, nearest


def _nearest(
    robot: RigidBodySystem, q: Array, constraints: Sequence[Constraint], v: Array, target: Array
) -> Array:
    """Velocity (..., nv) nearest to v, in the metric of M, with J v = target.

    Components that no velocity can change, such as a gap normal to a planar mechanism, are ignored.
    """
    M, J = robot.mass_matrix(q), constraint_jacobian(robot, q, list(constraints))
    return solve_constrained(M, J, apply(M, v), target)[0]


def _drift(constraint: Constraint, robot: RigidBodySystem, q: Array) -> Array:
    """Rate of the residual at rest, for a constraint that depends on time; else zeros."""
    drift = getattr(constraint, 'drift', None)
    return np.zeros(constraint.rows) if drift is None else np.asarray(drift(robot, q))


def differentiable(constraint: Any) -> Any:
    """The constraint, if its derivatives (``Slopes``) are known.

    Raises:
        InvalidArgumentError: they are not.
    """
    if not hasattr(constraint, 'slopes'):
        expected = 'a constraint of this package, whose derivatives are known'
        raise InvalidArgumentError('contacts', repr(constraint), expected)
    return constraint


def _closable(constraint: Any) -> Any:
    """The constraint, if it has a residual: a loop, a held contact, or a function of q."""
    held = not isinstance(constraint, Contact) or constraint.anchor is not None
    if not (held and hasattr(constraint, 'residual')):
        expected = 'ClosedLoop, Contact.held_at(...) or ConfigurationConstraint, which have a gap'
        raise InvalidArgumentError('constraint', repr(constraint), expected)
    return constraint
