# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Impacts: velocities that jump when constraints come to hold ([RD] 3.7.3)."""

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

    J v_after = -restitution J v. All rows take part, whichever way they move before.

    Args:
        robot, q, contacts: as for ``constrained_forward_dynamics``.
        v: (..., nv) before the impact.
        restitution: 0 comes to rest, 1 bounces without loss; one number, or one a row (rows).
            Different numbers can add energy when the rows are coupled, as is known of Newton's law.

    Returns:
        v after (..., nv), impulses (..., rows) [Ns, Nms] of the environment on the robot, the
        opposite of [RD]; of least norm where constraints repeat each other.

    Raises:
        InvalidArgumentError: a restitution outside [0, 1].
        InfeasibleError: rows that depend on each other with different restitution.
    """
    q, v = finite_together(q=(q, robot.nq), v=(v, robot.nv))
    J = constraint_jacobian(robot, q, contacts)
    factor = _checked_restitution(restitution, J.shape[-2])
    M = robot.mass_matrix(q)
    after, impulses = solve_constrained(
        M,
        J,
        apply(M, v),
        -factor * apply(J, v),
        'rows that depend on each other have different restitution',
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
    """Kinetic energy (...) that an impact takes [J]: (1 - e^2)/2 r-dot^T Lambda_c r-dot.

    [RD] eq. 3.72 with its sign turned, so that a loss is positive, and with Newton's restitution.

    Args:
        robot, q, v, contacts: as for ``impact``.
        restitution: one number for all rows.

    Raises:
        InvalidArgumentError: a restitution outside [0, 1].
    """
    q, v = finite_together(q=(q, robot.nq), v=(v, robot.nv))
    J = constraint_jacobian(robot, q, contacts)
    velocity = apply(J, v)
    factor = _checked_restitution(restitution)
    _, W = whitened(robot.mass_matrix(q), J)
    # r-dot^T Lambda r-dot = |W^+T r-dot|^2, and holds for rows that depend on each other too.
    push = apply(transposed(pseudo_inverse(W)), velocity)
    lost = np.asarray(0.5 * (1.0 - factor**2) * np.square(push).sum(axis=-1))
    refuse_overflow(lost, q=q, v=v)
    return lost[()]


def _checked_restitution(restitution: ArrayLike, rows: int | None = None) -> Array:
    """One number, or one a row where there may be more."""
    expected = 'a number in [0, 1]' + ('' if rows is None else f', or {rows} of them')
    factor = real_array('restitution', restitution, expected)
    if factor.shape not in ((), (rows,)) or not ((factor >= 0.0) & (factor <= 1.0)).all():
        raise InvalidArgumentError('restitution', f'{factor.tolist()}', expected)
    return factor
