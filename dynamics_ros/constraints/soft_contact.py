# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Soft contact: a spring and a damper at each contact point ([RD] eq. 3.58)."""

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
    """Positions (..., n, 3) of contact points in the root frame [m].

    Args:
        robot: the robot in contact.
        q: (..., nq).
        contacts: n names of frames or Contacts.
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
    """Forces of springs and dampers at contact points ([RD] eq. 3.58 with the opposite sign).

    f = -stiffness (r - r_0) - damping r-dot. The law is linear in all directions, so forces may
    pull.

    Args:
        robot: the robot in contact.
        q, v: (..., nq), (..., nv).
        contacts: n names of frames, or Contacts of the kind 'point'.
        anchors: (..., n, 3) positions r_0 at first contact, in the root frame [m].
        stiffness: [N/m].
        damping: [Ns/m].

    Returns:
        Forces (..., 3 n) of the environment on the robot, in axes of the root frame [N], stacked as
        in ``constraint_jacobian``.

    Raises:
        InvalidArgumentError: a contact is of another kind, or stiffness or damping is negative.
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
