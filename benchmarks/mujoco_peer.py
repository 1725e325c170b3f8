# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""MuJoCo as a peer: the same robot, with only the pipeline steps that a quantity needs.

A free joint of MuJoCo has a quaternion with w first, and its linear velocity in world axes.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from benchmarks.descriptions import for_mujoco
from dynamics_ros import Robot

Array = NDArray[np.float64]


class MujocoPeer:
    """MuJoCo's results, with NumPy arrays.

    Attributes:
        q, v, a: the state in MuJoCo's coordinates.
        joints: index of our joint for each of its joints.
    """

    def __init__(
        self, urdf: str, ours: Robot, frame: str, state: tuple[Array, Array, Array]
    ) -> None:
        """Load the robot.

        Raises:
            ValueError: MuJoCo rejects it.
        """
        spec = mujoco.MjSpec.from_string(for_mujoco(urdf))
        floating = ours.model.root_joint == 'floating'
        if floating:
            spec.worldbody.first_body().add_freejoint()
        # Rigid-body dynamics excludes joint friction, damping and rotor inertia.
        for joint in spec.joints:
            joint.damping = joint.damping * 0.0
            joint.frictionloss = 0.0
            joint.armature = 0.0
        self.model: mujoco.MjModel = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.body = self.model.body(frame).id
        names = [self.model.joint(i).name for i in range(floating, self.model.njnt)]
        self.joints = [ours.joint_names.index(name) for name in names]
        q, v, a = state
        if floating:
            R = rotation_matrix(q[3:7])
            joints = np.array(self.joints)
            self.q = np.concatenate([q[:3], q[[6, 3, 4, 5]], q[7 + joints]])
            self.v = np.concatenate([R @ v[:3], v[3:6], v[6 + joints]])
            a = np.concatenate([a[:3] + np.cross(v[3:6], v[:3]), a[3:]])
            self.a = np.concatenate([R @ a[:3], a[3:6], a[6 + joints]])
        else:
            self.q, self.v, self.a = q[self.joints], v[self.joints], a[self.joints]

    def inverse_dynamics(self, q: Array, v: Array, a: Array) -> Array:
        """Inverse dynamics: torques (nv)."""
        model, data = self.model, self.data
        data.qpos = q
        data.qvel = v
        data.qacc = a
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_comVel(model, data)
        tau = np.empty(model.nv)
        mujoco.mj_rne(model, data, 1, tau)
        return tau

    def nonlinear_effects(self, q: Array, v: Array) -> Array:
        """Nonlinear effects C v + g (nv)."""
        model, data = self.model, self.data
        data.qpos = q
        data.qvel = v
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_comVel(model, data)
        tau = np.empty(model.nv)
        mujoco.mj_rne(model, data, 0, tau)
        return tau

    def mass_matrix(self, q: Array) -> Array:
        """Mass matrix (nv, nv)."""
        model, data = self.model, self.data
        data.qpos = q
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_makeM(model, data)
        M = np.empty((model.nv, model.nv))
        mujoco.mj_fullM(model, data, M)
        return M

    def forward_dynamics(self, q: Array, v: Array, tau: Array) -> Array:
        """Forward dynamics: accelerations (nv), by the factorized mass matrix."""
        model, data = self.model, self.data
        data.qpos = q
        data.qvel = v
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_makeM(model, data)
        mujoco.mj_factorM(model, data)
        mujoco.mj_comVel(model, data)
        bias = np.empty(model.nv)
        mujoco.mj_rne(model, data, 0, bias)
        a = np.empty((1, model.nv))
        mujoco.mj_solveM(model, data, a, (tau - bias)[None])
        return a[0]

    def forward_kinematics(self, q: Array) -> tuple[Array, Array]:
        """Position (3) and rotation (9) of the frame."""
        data = self.data
        data.qpos = q
        mujoco.mj_kinematics(self.model, data)
        return data.xpos[self.body].copy(), data.xmat[self.body].copy()

    def all_frames(self, q: Array) -> tuple[Array, Array]:
        """Positions (n, 3) and rotations (n, 9) of all bodies."""
        data = self.data
        data.qpos = q
        mujoco.mj_kinematics(self.model, data)
        return data.xpos.copy(), data.xmat.copy()

    def jacobian(self, q: Array) -> Array:
        """Jacobian (6, nv) of the frame."""
        model, data = self.model, self.data
        data.qpos = q
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        J = np.empty((6, model.nv))
        mujoco.mj_jacBody(model, data, J[:3], J[3:], self.body)
        return J

    def joint_torques(self) -> Array:
        """Inverse dynamics at the state: torques of the joints in our order, without the base."""
        tau = self.inverse_dynamics(self.q, self.v, self.a)
        result = np.empty(len(self.joints))
        result[self.joints] = tau[-len(self.joints) :]
        return result


def rotation_matrix(quaternion: Array) -> Array:
    """Rotation matrix (3, 3) of a unit quaternion (x, y, z, w)."""
    x, y, z, w = quaternion
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + 2.0 * w * K + 2.0 * K @ K)
