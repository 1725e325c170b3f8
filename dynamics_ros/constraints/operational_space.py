"""Dynamics as an end effector feels it ([RD] 3.9.2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.errors import InvalidArgumentError, RankDeficientError
from dynamics_ros.multibody.arguments import finite_together
from dynamics_ros.multibody.linear_systems import Array, apply, rank, transposed
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .solve import whitened

ALL_ROWS = (0, 1, 2, 3, 4, 5)


def operational_space(
    robot: RigidBodySystem, q: ArrayLike, v: ArrayLike, frame: str, rows: Sequence[int] = ALL_ROWS
) -> tuple[Array, Array, Array]:
    """Lambda, mu and p of Lambda w-dot + mu + p = F at a frame ([RD] eq. 3.86 to 3.89).

    Args:
        robot: whose dynamics.
        q, v: (..., nq), (..., nv).
        frame: the end effector; its twist is taken at its origin in root axes.
        rows: which of x y z, rx ry rz count: fewer than six for a robot that cannot move in all.

    Returns:
        Lambda (..., m, m): inertia of the frame; mu (..., m): Coriolis and centrifugal force;
        p (..., m): force of gravity.

    Raises:
        RankDeficientError: the joints cannot move the frame in all rows; there is no Lambda.
        SingularError: a joint moves nothing that has mass or inertia.
    """
    chosen = list(rows)
    if not chosen or len(set(chosen)) < len(chosen) or not set(chosen) <= set(ALL_ROWS):
        raise InvalidArgumentError('rows', repr(rows), f'different numbers of {ALL_ROWS}')
    q, v = finite_together(q=(q, robot.nq), v=(v, robot.nv))
    J = robot.jacobian(q, frame)[..., chosen, :]
    bias = robot.frame_acceleration(q, v, np.zeros(robot.nv), frame)[..., chosen]
    g = robot.gravity(q)
    b = robot.nonlinear_effects(q, v) - g
    L, W = whitened(robot.mass_matrix(q), J)
    found = int(np.min(rank(W), initial=len(chosen)))
    if found < len(chosen):
        advice = 'move away from the singularity or choose fewer rows'
        raise RankDeficientError(f'Jacobian of {frame!r}', found, len(chosen), advice)
    # (W^T W)^-1 by the triangle of W: the product has the square of its condition.
    triangle = np.linalg.inv(np.linalg.qr(W, mode='r'))
    Lambda = np.asarray(triangle @ transposed(triangle), dtype=np.float64)
    # Lambda J M^-1 = Lambda W^T L^-1, the transposed dynamically consistent inverse of J.
    M_inverse_Jt = np.asarray(np.linalg.solve(transposed(L), W), dtype=np.float64)
    J_bar = Lambda @ transposed(M_inverse_Jt)
    mu = apply(J_bar, b) - apply(Lambda, bias)
    return Lambda, mu, apply(J_bar, g)
