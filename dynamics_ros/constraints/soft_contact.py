# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Contact with a soft environment: a spring and a damper at each point ([RD] eq. 3.58)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import check_not_negative, finite_together, finite_vectors
from dynamics_ros.multibody.linear_systems import Array, apply
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .jacobian import constraint_jacobian
from .kinds import Contact, contact_list

Contacts = str | Contact | Sequence[str | Contact]


def contact_positions(robot: RigidBodySystem, q: ArrayLike, contacts: Contacts) -> Array:
    """Where the points of contacts are (..., n, 3) in the root frame [m].

    Args:
        robot: whose contacts.
        q: (..., nq).
        contacts: names or Contacts.
    """
    q = finite_vectors('q', q, robot.nq)
    points = [contact.position(robot, q) for contact in contact_list(contacts)]
    return np.stack(points, axis=-2) if points else np.zeros((*q.shape[:-1], 0, 3))


def soft_contact_forces(
    robot: RigidBodySystem,
    q: ArrayLike,
    v: ArrayLike,
    contacts: Contacts,
    anchors: ArrayLike,
    stiffness: float,
    damping: float,
) -> Array:
    """Forces of springs and dampers on points ([RD] eq. 3.58 with the sign turned).

    f = -stiffness (r - r_0) - damping r-dot, linear in all directions: it pulls as well.

    Args:
        robot: whose contacts.
        q, v: (..., nq), (..., nv).
        contacts: names or Contacts of the kind 'point'.
        anchors: (..., n, 3) where each point first touched, in the root frame [m].
        stiffness: [N/m].
        damping: [Ns/m].

    Returns:
        (..., 3 n) forces of the environment on the robot in root axes [N], stacked as in
        ``constraint_jacobian``.

    Raises:
        InvalidArgumentError: a contact of another kind, or a negative number.
    """
    points = contact_list(contacts)
    if any(contact.kind != 'point' for contact in points):
        raise InvalidArgumentError('contacts', 'a surface', 'contacts of the kind "point"')
    check_not_negative('stiffness', stiffness)
    check_not_negative('damping', damping)
    q, v, anchors = finite_together(
        q=(q, robot.nq), v=(v, robot.nv), anchors=(anchors, len(points), 3)
    )
    stretch = contact_positions(robot, q, points) - anchors
    velocity = apply(constraint_jacobian(robot, q, points), v)
    stacked = stretch.reshape(*stretch.shape[:-2], 3 * len(points))
    return np.asarray(-stiffness * stacked - damping * velocity)
