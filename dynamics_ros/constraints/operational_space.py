# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Dynamics at an end effector ([RD] 3.9.2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.errors import InvalidArgumentError, RankDeficientError, SingularError
from dynamics_ros.multibody.arguments import refuse_overflow
from dynamics_ros.multibody.linear_systems import RANK_TOLERANCE, Array
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .jacobian import are_independent

ALL_ROWS = (0, 1, 2, 3, 4, 5)
EVERY_ROW = '012345'


def operational_space(
    robot: RigidBodySystem, q: ArrayLike, v: ArrayLike, frame: str, rows: Sequence[int] = ALL_ROWS
) -> tuple[Array, Array, Array]:
    """Lambda, mu and p of Lambda w-dot + mu + p = F at a frame ([RD] eq. 3.86 to 3.89).

    Args:
        robot: the robot.
        q, v: (..., nq), (..., nv).
        frame: the end effector; its twist is at its origin, in axes of the root frame.
        rows: m of the six components x y z, rx ry rz; fewer than six if the robot cannot move in
            all directions.

    Returns:
        Task inertia Lambda (..., m, m), Coriolis and centrifugal force mu (..., m), gravity force p
        (..., m).

    Raises:
        RankDeficientError: the joints cannot move the frame in all rows, so Lambda does not exist.
        SingularError: a joint moves nothing that has mass or inertia.
    """
    kernel = robot.kernel('operational_space', frame, row_digits(rows))
    Lambda, mu, p, pivots = kernel.call(q, v)
    check_rank(frame, pivots)
    refuse_overflow(mu, q=q, v=v)
    return Lambda, mu, p


def row_digits(rows: Sequence[int]) -> str:
    """Rows of a Jacobian as a string of digits, the option of a kernel.

    Raises:
        InvalidArgumentError: there is no row, a row does not exist, or a row is repeated.
    """
    if rows is ALL_ROWS:
        return EVERY_ROW
    chosen = list(rows) if isinstance(rows, Iterable) else []
    digits = [str(row) for row in chosen if isinstance(row, (int, np.integer))]
    if not {*digits} <= {*EVERY_ROW} or not 0 < len(chosen) == len(digits) == len({*digits}):
        raise InvalidArgumentError('rows', repr(rows), f'different numbers of {ALL_ROWS}')
    return ''.join(digits)


def check_rank(frame: str, pivots: Array) -> None:
    """Check that the rows of a Jacobian are independent.

    Args:
        frame: name of the frame, for the error.
        pivots: (..., m) lengths of the orthogonalized rows in the metric of M^-1.

    Raises:
        RankDeficientError: a row depends on the rows before it.
        SingularError: a length is not finite.
    """
    if are_independent(pivots, RANK_TOLERANCE):
        return
    if not np.isfinite(pivots).all():
        raise SingularError('mass matrix', 'a joint moves nothing that has mass or inertia')
    needed = pivots.shape[-1]
    independent = pivots > RANK_TOLERANCE * pivots.max(axis=-1, keepdims=True)
    smallest_rank = int(independent.sum(axis=-1).min(initial=needed))
    advice = 'move away from the singularity or choose fewer rows'
    raise RankDeficientError(f'Jacobian of {frame!r}', smallest_rank, needed, advice)
