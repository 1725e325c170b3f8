# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Impacts: jumps of the velocity when constraints become active ([RD] 3.7.3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import finite_together, real_array, refuse_overflow
from dynamics_ros.multibody.linear_systems import Array, apply, pseudo_inverse, transposed
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .jacobian import constraint_jacobian
from .kinds import Constraints
from .solve import solve_constrained, whitened


def impact(
    robot: RigidBodySystem,
    q: ArrayLike,
    v: ArrayLike,
    contacts: Constraints,
    restitution: ArrayLike = 0.0,
) -> tuple[Array, Array]:
    """Velocities after an impact, and its impulses ([RD] eq. 3.66 to 3.70, Newton's law).

    J v_after = -restitution J v. The law applies to all rows, independent of the sign of J v.

    Args:
        robot, q, contacts: as for ``constrained_forward_dynamics``.
        v: (..., nv) velocity before the impact.
        restitution: coefficient of restitution, 0 for a perfectly inelastic and 1 for an elastic
            impact; one number, or one per row (rows). With Newton's law, different coefficients of
            coupled rows can increase the energy.

    Returns:
        Velocity after the impact (..., nv), and impulses (..., rows) [Ns, Nms] of the environment
        on the robot, with the opposite sign of [RD]; of least norm for redundant constraints.

    Raises:
        InvalidArgumentError: a coefficient of restitution is outside [0, 1].
        InfeasibleError: dependent rows have different coefficients of restitution.
    """
    q, v = finite_together(q=(q, robot.nq), v=(v, robot.nv))
    J = constraint_jacobian(robot, q, contacts)
    coefficients = _checked_restitution(restitution, J.shape[-2])
    M = robot.mass_matrix(q)
    after, impulses = solve_constrained(
        M,
        J,
        apply(M, v),
        -coefficients * apply(J, v),
        'dependent rows have different restitution',
    )
    refuse_overflow(after, impulses, q=q, v=v)
    return after, impulses


def impact_energy_loss(
    robot: RigidBodySystem,
    q: ArrayLike,
    v: ArrayLike,
    contacts: Constraints,
    restitution: float = 0.0,
) -> Array:
    """Kinetic energy (...) lost in an impact [J]: (1 - e^2)/2 r-dot^T Lambda_c r-dot.

    This is [RD] eq. 3.72 with the opposite sign, so that a loss is positive, extended by Newton's
    law of restitution.

    Args:
        robot, q, v, contacts: as for ``impact``.
        restitution: coefficient of restitution e of all rows.

    Raises:
        InvalidArgumentError: the coefficient of restitution is outside [0, 1].
    """
    q, v = finite_together(q=(q, robot.nq), v=(v, robot.nv))
    J = constraint_jacobian(robot, q, contacts)
    velocity = apply(J, v)
    coefficient = _checked_restitution(restitution)
    _, W = whitened(robot.mass_matrix(q), J)
    # r-dot^T Lambda r-dot = |W^+T r-dot|^2, also for dependent rows.
    impulse = apply(transposed(pseudo_inverse(W)), velocity)
    lost = np.asarray(0.5 * (1.0 - coefficient**2) * np.square(impulse).sum(axis=-1))
    refuse_overflow(lost, q=q, v=v)
    return lost[()]


def _checked_restitution(restitution: ArrayLike, rows: int | None = None) -> Array:
    """Check coefficients of restitution: one number, or (rows) numbers if ``rows`` is given."""
    expected = 'a number in [0, 1]' + ('' if rows is None else f', or {rows} of them')
    coefficients = real_array('restitution', restitution, expected)
    if (
        coefficients.shape not in ((), (rows,))
        or not ((coefficients >= 0.0) & (coefficients <= 1.0)).all()
    ):
        raise InvalidArgumentError('restitution', f'{coefficients.tolist()}', expected)
    return coefficients
