# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Control laws written with Pinocchio and NumPy."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from dynamics_ros.algorithms.control.impedance import JOINT_GAINS
from dynamics_ros.algorithms.control.joint_limits import GUARD_SHARE, SWEEPS
from dynamics_ros.algorithms.control.sampled import (
    SHARE,
    SHARE_OF_POSTURE,
    SHARE_OF_RANGE,
    SHARE_OF_SPRING,
    TINY,
)
from dynamics_ros.algorithms.control.torque_limits import MIN_PART, NO_CHANGE
from dynamics_ros.control import ImpedanceGains, ImpedanceTarget

Array = NDArray[np.float64]

ALIGNED = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED


class PinocchioController:
    """Controllers of an arm without mimic joints, so that Pinocchio's coordinates are ours."""

    def __init__(self, urdf: str, frame: str) -> None:
        self.model = pin.buildModelFromXML(urdf)
        self.data = self.model.createData()
        self.frame = self.model.getFrameId(frame)
        self.efforts = self.model.upperEffortLimit

    def dynamics(self, q: Array, v: Array) -> tuple[Array, Array, Array, Array]:
        """M, C v + g, J and J-dot v, from one pass where possible."""
        model, data = self.model, self.data
        pin.forwardKinematics(model, data, q, v, np.zeros(model.nv))
        pin.updateFramePlacement(model, data, self.frame)
        bias = pin.getFrameClassicalAcceleration(model, data, self.frame, ALIGNED).vector
        M = pin.crba(model, data, q, pin.Convention.WORLD)
        h = pin.nonLinearEffects(model, data, q, v)
        J = pin.computeFrameJacobian(model, data, q, self.frame, ALIGNED)
        return np.triu(M) + np.triu(M, 1).T, h, J, bias

    def motion_torques(self, q: Array, v: Array, acceleration: Array) -> Array:
        """Operational-space torques J^T (Lambda w-dot + mu + p)."""
        M, h, J, bias = self.dynamics(q, v)
        solved = np.linalg.solve(M, np.column_stack([J.T, h]))
        force = np.linalg.solve(J @ solved[:, :6], acceleration - bias + J @ solved[:, 6])
        return np.asarray(J.T @ force)

    def impedance_step(
        self,
        q: Array,
        v: Array,
        target: ImpedanceTarget,
        gains: ImpedanceGains,
        memory: tuple[Array, Array],
        interval: float,
    ) -> tuple[Array, tuple[Array, Array]]:
        """The first complete step of our controller, without handling of invalid numbers.

        Args:
            q, v, target, gains, interval: as for ``ImpedanceController.step``.
            memory: torques and working torques of the previous step.

        Returns:
            Torques (nv), and the memory for the next step.
        """
        model, data = self.model, self.data
        joints = dict(zip(JOINT_GAINS, gains.joints, strict=True))
        length, largest = gains.settings
        M, h, J, bias = self.dynamics(q, v)
        g = pin.computeGeneralizedGravity(model, data, q)
        pose = data.oMf[self.frame]
        error, rate = np.empty(6), target.twist - J @ v
        error[:3] = target.pose[:3, 3] - pose.translation
        error[3:] = pin.log3(target.pose[:3, :3] @ pose.rotation.T)
        inverse = np.linalg.inv(M)
        M_inverse_Jt = inverse @ J.T
        mobility = J @ M_inverse_Jt
        factor, h_2 = np.linalg.cholesky(mobility), interval * interval
        spring = _bounded(gains.stiffness, factor, h_2 / SHARE_OF_SPRING, error)
        damper = _bounded(gains.damping, factor, interval / SHARE, rate)
        force = spring + damper - target.wrench
        scales = np.repeat([1.0, 1.0 / length], 3)
        A = mobility * scales * scales[:, None]
        smallest = np.linalg.eigvalsh(A)[0]
        A += np.eye(6) * max(1.0 / largest - smallest, 0.0)
        projected = inverse - M_inverse_Jt @ (
            scales[:, None] * np.linalg.solve(A, scales[:, None] * M_inverse_Jt.T)
        )
        k, d = joints['posture_stiffness'], joints['posture_damping']
        parts = interval * (d + interval * k) * np.maximum(projected.diagonal(), 0.0)
        own = SHARE_OF_POSTURE / len(q) / np.maximum(parts, TINY)
        share = np.minimum(np.maximum(own, SHARE_OF_POSTURE / (TINY + parts.sum())), 1.0)
        tau_0 = share * (k * (target.posture - q) - d * v)
        wanted = target.acceleration - bias - M_inverse_Jt.T @ tau_0
        force += scales * np.linalg.solve(A, scales * wanted)
        below = np.maximum(joints['lower'] + joints['margin'] - q, 0.0)
        above = np.maximum(q - joints['upper'] + joints['margin'], 0.0)
        stiffest = SHARE_OF_RANGE / h_2 / inverse.diagonal()
        limit = np.minimum(joints['limit_stiffness'], stiffest) * (below - above)
        working = J.T @ force + tau_0 + limit + h - g

        last, worked = memory
        dry = joints['coulomb'] + joints['stribeck'] * np.exp(
            -((v / joints['stribeck_velocity']) ** 2)
        )
        friction = joints['viscous'] * v + dry * np.tanh(v / joints['friction_velocity'])
        carried = g + friction
        most = np.minimum(joints['max_torque'], self.efforts)
        asked, step = working + carried, joints['max_torque_rate'] * interval
        free = working - worked
        free -= J.T @ (scales * np.linalg.solve(A, scales * (M_inverse_Jt.T @ free)))
        used = (asked - last - free) * np.where(free < 0.0, -1.0, 1.0)
        left = np.maximum(step - used, MIN_PART * step)
        part = min(1.0, float((left / np.maximum(np.abs(free), NO_CHANGE)).min()))
        feasible = np.clip(asked - (1.0 - part) * free, -most, most) - carried
        a = inverse @ feasible
        guard = np.minimum(joints['guard_rate'], GUARD_SHARE / interval)
        lowest = guard**2 * (joints['lower'] - q) - 2.0 * guard * v
        highest = guard**2 * (joints['upper'] - q) - 2.0 * guard * v
        tau = feasible + carried
        for k in [*range(len(q))] * SWEEPS:
            torque = (min(max(a[k], lowest[k]), highest[k]) - a[k]) / inverse[k, k]
            tau[k] += torque
            a = a + torque * inverse[:, k]
        tau = np.clip(tau, -most, most)
        tau = np.clip(np.clip(tau, last - step, last + step), -most, most)
        return tau, (tau, tau - carried)


def _bounded(B: Array, factor: Array, gain: float, x: Array) -> Array:
    """B x (6), reduced where B is too large for a sampled loop: ``bounded_by_samples``."""
    Y = gain * factor.T @ B @ factor
    square = Y @ Y
    acting = min(max(float(np.sqrt(np.linalg.norm(square))) - 1.0, 0.0), 1.0)
    wrench = B @ x
    solved = np.linalg.solve(np.eye(6) + acting * (Y + acting * square), factor.T @ wrench)
    return np.asarray(wrench - acting**2 * gain * (B @ (factor @ (Y @ solved))))


class PinocchioContacts:
    """A robot with constrained feet, by Pinocchio's proximal solver of constrained dynamics."""

    def __init__(self, urdf: str, feet: tuple[str, ...], kind: str) -> None:
        self.model = pin.buildModelFromXML(urdf, pin.JointModelFreeFlyer())
        self.data = self.model.createData()
        contact = pin.ContactType.CONTACT_6D if kind == 'surface' else pin.ContactType.CONTACT_3D
        self.constraints = pin.StdVec_RigidConstraintModel()
        for foot in feet:
            frame = self.model.frames[self.model.getFrameId(foot)]
            made = pin.RigidConstraintModel(
                contact, self.model, frame.parentJoint, frame.placement,
                pin.ReferenceFrame.LOCAL_WORLD_ALIGNED,
            )  # fmt: skip
            self.constraints.append(made)
        self.states = pin.StdVec_RigidConstraintData()
        for made in self.constraints:
            self.states.append(made.createData())
        self.solver = pin.ProximalSettings(1e-12, 0.0, 1)
        pin.initConstraintDynamics(self.model, self.data, self.constraints, self.states)

    def forward_dynamics(self, q: Array, v: Array, tau: Array) -> Array:
        """Forward dynamics: accelerations in Pinocchio's coordinates."""
        return np.asarray(
            pin.constraintDynamics(
                self.model, self.data, q, v, tau, self.constraints, self.states, self.solver
            )
        )
