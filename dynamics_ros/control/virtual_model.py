# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Virtual model control: torques equivalent to virtual forces on the robot ([RD] 3.11)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.constraints import Constraints, constraint_jacobian
from dynamics_ros.constraints.jacobian import check_feasible
from dynamics_ros.multibody.arguments import finite_vectors
from dynamics_ros.multibody.linear_systems import (
    Array,
    apply,
    largest_singular_value,
    pseudo_inverse,
    transposed,
)
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem


def virtual_model_torques(
    robot: RigidBodySystem,
    q: ArrayLike,
    contacts: Constraints,
    virtual_wrenches: Mapping[str, ArrayLike],
    *,
    approximate: bool = False,
) -> tuple[Array, Array]:
    """Torques and contact forces equivalent to virtual wrenches, for slow motion.

    The contacts carry the load of gravity and virtual wrenches on the base, with forces of least
    norm ([RD] eq. 3.120); the joints provide the rest ([RD] eq. 3.121).

    Args:
        robot: with a moving base, or a fixed one: then the contacts carry nothing.
        q: (..., nq).
        contacts: as for ``constrained_forward_dynamics``.
        virtual_wrenches: frame name to the virtual wrench (..., 6) on it, in root axes at the
            origin of the frame [N, Nm].
        approximate: use the nearest load that the contacts can carry, e.g. two point feet, about
            the line between them.

    Returns:
        tau (..., nv), zero in the rows of the base; forces (..., rows) of the environment on the
        robot, the opposite of F_c in [RD].

    Raises:
        InfeasibleError: the contacts cannot carry the load, and ``approximate`` is False.
    """
    wanted = robot.gravity(q)
    for frame, wrench in virtual_wrenches.items():
        J_v = robot.jacobian(q, frame)
        wanted = wanted + apply(transposed(J_v), finite_vectors('virtual_wrenches', wrench, 6))
    J = constraint_jacobian(robot, q, contacts)
    n = robot.model.root_joint_nv
    carrying = transposed(J[..., :n])
    forces = apply(pseudo_inverse(carrying, largest_singular_value(J)), wanted[..., :n])
    if not approximate:
        check_feasible(
            wanted[..., :n] - apply(carrying, forces),
            np.linalg.norm(wanted, axis=-1),
            'the contacts cannot carry the weight and the virtual wrenches',
        )
    tau = wanted - apply(transposed(J), forces)
    tau[..., :n] = 0.0
    return tau, forces
