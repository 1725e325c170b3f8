# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Pinocchio as a peer: the same robot, with results in our coordinates.

In Pinocchio a continuous joint has two coordinates (cos, sin), a mimic follower has its own
coordinate, and joints have another order. With q_p = G q + offset and v_p = G v per joint, our
torque is G^T tau_p and our matrix G^T M_p G.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from dynamics_ros import Robot
from dynamics_ros.model.joints import Planar

Array = NDArray[np.float64]

REFERENCE_FRAMES = {
    'world': pin.ReferenceFrame.WORLD,
    'local': pin.ReferenceFrame.LOCAL,
    'local_world_aligned': pin.ReferenceFrame.LOCAL_WORLD_ALIGNED,
}

ROOT_JOINTS: dict[str, Callable[[], Any]] = {
    'floating': pin.JointModelFreeFlyer,
    'planar': pin.JointModelPlanar,
}


class PinocchioPeer:
    """Pinocchio's results for one of our robots."""

    def __init__(self, urdf: str, robot: Robot, model: Any = None) -> None:
        """Build Pinocchio's model of the same description and match its joints by name.

        Args:
            urdf: the description.
            robot: our robot.
            model: Pinocchio's model, if it does not follow from the description alone.
        """
        self.robot = robot
        root_joint = robot.model.root_joint
        if model is not None:
            self.model = model
        elif root_joint == 'fixed':
            self.model = pin.buildModelFromXML(urdf)
        else:
            self.model = pin.buildModelFromXML(urdf, ROOT_JOINTS[root_joint]())
        self.model.gravity.linear = np.array([*robot.model.gravity])
        self.data = self.model.createData()
        self.G = np.zeros((self.model.nv, robot.nv))
        for joint in robot.model.joints:
            theirs = self.model.joints[self.model.getJointId(joint.name)]
            for row, column in enumerate(joint.v_indices):
                self.G[theirs.idx_v + row, column] = joint.multiplier
        names = robot.frame_names
        self.frames = [name for name in names if self.model.existBodyName(self._body(name))]

    def configuration(self, q: Array) -> Array:
        """Pinocchio's configuration for our q."""
        result = np.zeros(self.model.nq)
        for joint in self.robot.model.joints:
            theirs = self.model.joints[self.model.getJointId(joint.name)]
            own = q[list(joint.q_indices)]
            if joint.kind.nq == 1:
                own = joint.multiplier * own + joint.offset
                if theirs.nq == 2:
                    own = np.array([np.cos(own[0]), np.sin(own[0])])
            elif isinstance(joint.kind, Planar):
                own = np.array([own[0], own[1], np.cos(own[2]), np.sin(own[2])])
            result[theirs.idx_q : theirs.idx_q + theirs.nq] = own
        return result

    def velocity(self, v: Array) -> Array:
        """Pinocchio's velocity for our v, or acceleration for our a."""
        return np.asarray(self.G @ v)

    def frame_id(self, frame: str) -> int:
        """Pinocchio's index of the frame of a link."""
        return int(self.model.getBodyId(self._body(frame)))

    def _body(self, frame: str) -> str:
        """Pinocchio's name of a link; ours of a link 'world' on a moving base is 'world_link'."""
        renamed = frame == 'world_link' and not self.model.existBodyName(frame)
        return 'world' if renamed else frame

    def forward_kinematics(self, q: Array, frame: str) -> Array:
        """Pose (4, 4) of a link."""
        pin.framesForwardKinematics(self.model, self.data, self.configuration(q))
        return np.array(self.data.oMf[self.frame_id(frame)].homogeneous)

    def jacobian(self, q: Array, frame: str, reference: str) -> Array:
        """Jacobian (6, nv) of a link in a reference."""
        J = pin.computeFrameJacobian(
            self.model,
            self.data,
            self.configuration(q),
            self.frame_id(frame),
            REFERENCE_FRAMES[reference],
        )
        return np.asarray(J @ self.G)

    def jacobian_derivative(self, q: Array, v: Array, frame: str, reference: str) -> Array:
        """Time derivative (6, nv) of the Jacobian of a link in a reference."""
        pin.computeJointJacobiansTimeVariation(
            self.model, self.data, self.configuration(q), self.velocity(v)
        )
        pin.updateFramePlacements(self.model, self.data)
        J_dot = pin.getFrameJacobianTimeVariation(
            self.model, self.data, self.frame_id(frame), REFERENCE_FRAMES[reference]
        )
        return np.asarray(J_dot @ self.G)

    def inverse_dynamics(
        self, q: Array, v: Array, a: Array, external_wrenches: Mapping[str, Array] | None = None
    ) -> Array:
        """Inverse dynamics: torques (nv)."""
        forces = pin.StdVec_Force()
        forces.extend([pin.Force.Zero() for _ in range(self.model.njoints)])
        for frame, wrench in (external_wrenches or {}).items():
            entry = self.model.frames[self.frame_id(frame)]
            forces[entry.parentJoint] += entry.placement.act(pin.Force(np.asarray(wrench)))
        tau = pin.rnea(
            self.model,
            self.data,
            self.configuration(q),
            self.velocity(v),
            self.velocity(a),
            forces,
        )
        return np.asarray(self.G.T @ tau)

    def gravity(self, q: Array) -> Array:
        """Gravity torques (nv)."""
        tau = pin.computeGeneralizedGravity(self.model, self.data, self.configuration(q))
        return np.asarray(self.G.T @ tau)

    def nonlinear_effects(self, q: Array, v: Array) -> Array:
        """Nonlinear effects C v + g (nv)."""
        tau = pin.nonLinearEffects(self.model, self.data, self.configuration(q), self.velocity(v))
        return np.asarray(self.G.T @ tau)

    def coriolis(self, q: Array, v: Array) -> Array:
        """Coriolis matrix (nv, nv)."""
        C = pin.computeCoriolisMatrix(
            self.model, self.data, self.configuration(q), self.velocity(v)
        )
        return np.asarray(self.G.T @ C @ self.G)

    def mass_matrix(self, q: Array) -> Array:
        """Mass matrix (nv, nv)."""
        upper = np.triu(pin.crba(self.model, self.data, self.configuration(q)))
        M = upper + np.triu(upper, 1).T
        return np.asarray(self.G.T @ M @ self.G)

    def mass_matrix_inverse(self, q: Array) -> Array:
        """Inverse (nv, nv) of Pinocchio's mass matrix, by NumPy.

        Pinocchio's own recursion, computeMinverse, loses digits if the matrix is badly conditioned:
        its relative error is 1.4e-9 on iCub, that of NumPy's inverse of the same matrix 4e-12
        (compared with a computation in 40 digits).
        """
        return np.asarray(np.linalg.inv(self.mass_matrix(q)), np.float64)

    def forward_dynamics(
        self, q: Array, v: Array, tau: Array, external_wrenches: Mapping[str, Array] | None = None
    ) -> Array:
        """Forward dynamics: accelerations (nv), by the mass matrix for a coupled mechanism."""
        if self.robot.model.has_mimic_joints or external_wrenches:
            bias = self.inverse_dynamics(q, v, np.zeros_like(v), external_wrenches)
            return np.asarray(np.linalg.solve(self.mass_matrix(q), tau - bias), np.float64)
        a = pin.aba(self.model, self.data, self.configuration(q), self.velocity(v), self.G @ tau)
        return np.asarray(self.G.T @ a)

    def kinetic_energy(self, q: Array, v: Array) -> Array:
        """Kinetic energy [J]."""
        energy = pin.computeKineticEnergy(
            self.model, self.data, self.configuration(q), self.velocity(v)
        )
        return np.array(energy)

    def potential_energy(self, q: Array) -> Array:
        """Potential energy [J]."""
        return np.array(pin.computePotentialEnergy(self.model, self.data, self.configuration(q)))

    def center_of_mass(self, q: Array) -> Array:
        """Centre of mass (3)."""
        return np.array(pin.centerOfMass(self.model, self.data, self.configuration(q)))

    def inverse_dynamics_derivatives(self, q: Array, v: Array, a: Array) -> tuple[Array, ...]:
        """dtau/dq, dtau/dv, dtau/da (nv, nv each)."""
        dq, dv, _ = pin.computeRNEADerivatives(
            self.model, self.data, self.configuration(q), self.velocity(v), self.velocity(a)
        )
        return self._projected(dq), self._projected(dv), self.mass_matrix(q)

    def forward_dynamics_derivatives(self, q: Array, v: Array, tau: Array) -> tuple[Array, ...]:
        """da/dq, da/dv, da/dtau (nv, nv each)."""
        if self.robot.model.has_mimic_joints:
            a = self.forward_dynamics(q, v, tau)
            dq, dv, M = self.inverse_dynamics_derivatives(q, v, a)
            solved = (-np.linalg.solve(M, dq), -np.linalg.solve(M, dv), np.linalg.inv(M))
            return tuple(np.asarray(x, np.float64) for x in solved)
        dq, dv, _ = pin.computeABADerivatives(
            self.model, self.data, self.configuration(q), self.velocity(v), self.G @ tau
        )
        return self._projected(dq), self._projected(dv), self.mass_matrix_inverse(q)

    def regressor(self, q: Array, v: Array, a: Array) -> Array:
        """Regressor (nv, 10 bodies), with bodies in our order."""
        Y = pin.computeJointTorqueRegressor(
            self.model, self.data, self.configuration(q), self.velocity(v), self.velocity(a)
        )
        order = [self.model.getJointId(joint.name) - 1 for joint in self.robot.model.joints]
        columns = np.concatenate([np.arange(10 * i, 10 * i + 10) for i in order])
        return np.asarray(self.G.T @ Y[:, columns])

    def centroidal_map(self, q: Array) -> Array:
        """Centroidal map (6, nv)."""
        v = np.zeros(self.model.nv)
        pin.ccrba(self.model, self.data, self.configuration(q), v)
        return np.asarray(self.data.Ag @ self.G)

    def centroidal_momentum(self, q: Array, v: Array) -> Array:
        """Centroidal momentum (6)."""
        pin.ccrba(self.model, self.data, self.configuration(q), self.velocity(v))
        return np.array(self.data.hg)

    def com_jacobian(self, q: Array) -> Array:
        """Jacobian (3, nv) of the centre of mass."""
        J = pin.jacobianCenterOfMass(self.model, self.data, self.configuration(q))
        return np.asarray(J @ self.G)

    def _projected(self, matrix: Array) -> Array:
        return np.asarray(self.G.T @ matrix @ self.G)
