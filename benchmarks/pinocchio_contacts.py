# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Pinocchio's rigid contacts: forward dynamics, derivatives and impacts in contact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from benchmarks.pinocchio_peer import PinocchioPeer
from dynamics_ros.constraints import Contact

Array = NDArray[np.float64]

KINDS = {'point': pin.ContactType.CONTACT_3D, 'surface': pin.ContactType.CONTACT_6D}


class PinocchioContacts:
    """Pinocchio's results for a robot in contact, with forces in root axes.

    Attributes:
        peer: the robot.
        models, data: its constraint models and data.
    """

    def __init__(self, peer: PinocchioPeer, contacts: Sequence[Contact]) -> None:
        """Create the constraints of point and surface contacts."""
        self.peer = peer
        self.models = pin.StdVec_RigidConstraintModel()
        self.data = pin.StdVec_RigidConstraintData()
        for contact in contacts:
            frame = peer.model.frames[peer.frame_id(contact.frame)]
            placement = frame.placement * pin.SE3(np.eye(3), np.array(contact.point))
            joint, axes = frame.parentJoint, pin.LOCAL_WORLD_ALIGNED
            kind = KINDS[contact.kind]
            model = pin.RigidConstraintModel(kind, peer.model, joint, placement, axes)
            self.models.append(model)
            self.data.append(model.createData())
        pin.initConstraintDynamics(peer.model, peer.data, self.models, self.data)

    def forward_dynamics(self, q: Array, v: Array, tau: Array) -> tuple[Array, Array]:
        """Accelerations (nv) and contact forces (rows)."""
        a = self._dynamics(q, v, tau)
        parts = [
            data.contact_force.linear if model.type == KINDS['point'] else data.contact_force.vector
            for model, data in zip(self.models, self.data, strict=True)
        ]
        return self.peer.G.T @ a, np.concatenate(parts)

    def derivatives(self, q: Array, v: Array, tau: Array) -> list[Array]:
        """Derivatives of accelerations, then of forces, each by q, v and tau."""
        peer = self.peer
        self._dynamics(q, v, tau)
        pin.computeConstraintDynamicsDerivatives(peer.model, peer.data, self.models, self.data)
        of_a = (peer.data.ddq_dq, peer.data.ddq_dv, peer.data.ddq_dtau)
        of_forces = (peer.data.dlambda_dq, peer.data.dlambda_dv, peer.data.dlambda_dtau)
        return [*(peer.G.T @ x @ peer.G for x in of_a), *(x @ peer.G for x in of_forces)]

    def impact(self, q: Array, v: Array, restitution: float) -> Array:
        """Velocity (nv) after an impact."""
        after = pin.impulseDynamics(
            self.peer.model,
            self.peer.data,
            self.peer.configuration(q),
            self.peer.velocity(v),
            self.models,
            self.data,
            restitution,
        )
        return np.asarray(self.peer.G.T @ after)

    def _dynamics(self, q: Array, v: Array, tau: Array) -> Any:
        peer = self.peer
        state = peer.configuration(q), peer.velocity(v), peer.G @ tau
        return pin.constraintDynamics(peer.model, peer.data, *state, self.models, self.data)
