# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of constrained forward dynamics ([Lie] 4, with [RD] 3.7)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.errors import InvalidArgumentError, RankDeficientError
from dynamics_ros.multibody.external_wrenches import Wrenches
from dynamics_ros.multibody.linear_systems import Array, rank
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .forward_dynamics import constrained_forward_dynamics, independent
from .jacobian import constraint_jacobian
from .kinds import Constraints
from .prepared import prepared


class ConstrainedDerivatives(NamedTuple):
    """Derivatives of accelerations (..., nv, nv) and of forces (..., rows, nv) by q, v and tau.

    Derivatives by q are along velocities, so a floating base has six columns.
    """

    a_dq: Array
    a_dv: Array
    a_dtau: Array
    forces_dq: Array
    forces_dv: Array
    forces_dtau: Array


def constrained_forward_dynamics_derivatives(
    robot: RigidBodySystem,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    contacts: Constraints,
    external_wrenches: Wrenches | None = None,
) -> ConstrainedDerivatives:
    """Derivatives of ``constrained_forward_dynamics`` by q, v and tau.

    Points of contacts are constant in their frames; normals are constant in axes of the root frame.
    If v violates the constraints, the derivatives are those of the same equations.

    Args:
        robot, q, v, tau, contacts: as for ``constrained_forward_dynamics``; contacts and loops
            only.
        external_wrenches: as for ``RigidBodySystem.inverse_dynamics_derivatives``.

    Raises:
        InvalidArgumentError: a constraint is neither ``Contact`` nor ``ClosedLoop``.
        RankDeficientError: rows depend on each other, so the forces are not unique.
    """
    known = prepared(contacts)
    if known is None:
        expected = 'Contact or ClosedLoop, whose derivatives are known'
        raise InvalidArgumentError('contacts', repr(contacts), expected)
    a, forces = constrained_forward_dynamics(robot, q, v, tau, contacts, external_wrenches)
    kernel = robot.kernel('constrained_dynamics_derivatives', *known.names)
    *matrices, pivots = kernel.call(q, v, a, forces, *known.places)
    if not independent(pivots):
        J = constraint_jacobian(robot, q, contacts)
        advice = 'leave out the rows that repeat others'
        raise RankDeficientError('J M^-1 J^T', int(np.min(rank(J))), J.shape[-2], advice)
    found = ConstrainedDerivatives(*matrices)
    if external_wrenches is None:
        return found
    # External wrenches act like torques that depend on q.
    turned = robot.wrench_torques_derivative(q, external_wrenches)
    return found._replace(
        a_dq=found.a_dq + found.a_dtau @ turned,
        forces_dq=found.forces_dq + found.forces_dtau @ turned,
    )
