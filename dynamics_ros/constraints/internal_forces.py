# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Generalized torques of springs, dampers and actuators between links, and of soft contacts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.constraints.jacobian import constraint_jacobian
from dynamics_ros.constraints.kinds import ORIGIN, ClosedLoop, Contact, contact_list
from dynamics_ros.constraints.of_functions import ConfigurationConstraint
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import check_not_negative, finite_together, finite_vectors
from dynamics_ros.multibody.linear_systems import Array, apply, transposed
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem


@dataclass(frozen=True, eq=False)
class ElasticElement:
    """A spring with an optional damper, for example along a tendon or between two links.

    The energy is stiffness / 2 (d(q) - rest)^2 ([RD] eq. 3.34). The damper opposes the rate of d.

    Attributes:
        deflection: function of q (nq) that returns d, a length [m] or an angle [rad]; it is traced
            like the function of a ``ConfigurationConstraint``.
        stiffness: [N/m or N m/rad].
        rest: value of d without a force [m or rad].
        damping: [N s/m or N m s/rad].
    """

    deflection: Callable[[Any], Any]
    stiffness: float
    rest: float = 0.0
    damping: float = 0.0
    _of: ConfigurationConstraint = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_not_negative('stiffness', self.stiffness)
        check_not_negative('damping', self.damping)
        object.__setattr__(self, '_of', ConfigurationConstraint(1, self.deflection))

    def energy(self, robot: RigidBodySystem, q: ArrayLike) -> Array:
        """Elastic energy (...) [J]."""
        stretch = self._of.residual(robot, q)[..., 0] - self.rest
        return np.asarray(0.5 * self.stiffness * stretch**2)

    def force(self, robot: RigidBodySystem, q: ArrayLike, v: ArrayLike | None = None) -> Array:
        """Force or torque (...) on d, towards its rest value [N or N m].

        Args:
            robot: the robot with the element.
            q: (..., nq).
            v: (..., nv) for the damper; None for zero.
        """
        pull = self.stiffness * (self.rest - self._of.residual(robot, q)[..., 0])
        if v is not None:
            rate = apply(self._of.jacobian(robot, q), finite_vectors('v', v, robot.nv))
            pull = pull - self.damping * rate[..., 0]
        return np.asarray(pull)

    def torques(self, robot: RigidBodySystem, q: ArrayLike, v: ArrayLike | None = None) -> Array:
        """Generalized torques (..., nv) of the element: -dU/dq along velocities, and its damper.

        Arguments are those of ``force``. Add the torques to those of forward dynamics, or pass them
        as ``passive_torques`` to ``constrained_inverse_dynamics``.
        """
        J = self._of.jacobian(robot, q)[..., 0, :]
        return np.asarray(self.force(robot, q, v)[..., None] * J)


def actuator_torques(
    robot: RigidBodySystem,
    q: ArrayLike,
    wrench: ArrayLike,
    frame: str,
    other: str,
    point: tuple[float, ...] = ORIGIN,
    other_point: tuple[float, ...] = ORIGIN,
) -> Array:
    """Generalized torques (..., nv) of an actuator between two links, e.g. a cylinder.

    The actuator exerts a wrench on one link and the opposite wrench on the other ([RD] eq. 3.52):
    tau = (J - J_other)^T w, with the Jacobians of the two points in axes of the root frame.

    Args:
        robot: the robot with the actuator.
        q: (..., nq).
        wrench: (..., 6) on ``frame`` about its point, in axes of the root frame: force [N], torque
            [N m].
        frame, other: frames of the two links.
        point, other_point: attachment points in these frames [m]. A force that does not act along
            the line between both points also exerts a net moment on the robot.
    """
    q, wrench = finite_together(q=(q, robot.nq), wrench=(wrench, 6))
    J = ClosedLoop(frame, other, 'pose', point, other_point).jacobian(robot, q)
    return apply(transposed(J), wrench)


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
