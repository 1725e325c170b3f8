# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A robot in MuJoCo: state, accelerations and contact wrenches in the conventions of this package.

In MuJoCo, quaternions have w first, linear velocities of a base are in fixed axes, and mimic joints
have coordinates. Only this file converts between both conventions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.model.model import Joint
from dynamics_ros.robot import Robot

from .mujoco_model import NOTHING_AROUND, Surroundings, compiled, first_part, geoms_of

try:
    import mujoco
except ImportError:
    mujoco = None

Array = NDArray[np.float64]


class MujocoWorld:
    """One robot in MuJoCo; arrays have the order, units and axes of this package.

    Attributes:
        robot: the robot.
        model, data: MuJoCo's MjModel and MjData.
        time_step: [s].
    """

    def __init__(
        self,
        robot: Robot,
        time_step: float,
        around: Surroundings = NOTHING_AROUND,
        armature: Array | None = None,
    ) -> None:
        """Create MuJoCo's model, in the neutral configuration.

        Args:
            robot: the robot.
            time_step: [s].
            around: ground and collision shapes.
            armature: (nv) rotor inertias reflected to the joints [kg m^2 or kg]; None for zero.

        Raises:
            DynamicsRosError: MuJoCo is not installed.
            ModelError: MuJoCo rejects the model.
        """
        self.robot = robot
        self.time_step = time_step
        self.model: Any = compiled(robot.model, time_step, around)
        self.data: Any = mujoco.MjData(self.model)
        rotors = np.zeros(robot.nv) if armature is None else armature
        self._map_joints()
        self.model.dof_armature[self._dof_indices] = rotors[self._v_indices]
        mujoco.mj_setConst(self.model, self.data)
        self._carriers: dict[int, tuple[str, int, Array]] = {}
        for name in (*around.feet, *around.shapes):
            frame = robot.model.frame(name)
            for geom in geoms_of(self.model, name):
                offset = frame.placement.translation.array()
                self._carriers[geom] = (name, frame.body + 1, offset)
        self.place(robot.nominal())

    # --- state ----------------------------------------------------------------------------------

    def place(self, q: Array, v: Array | None = None) -> None:
        """Set the state: configuration q (nq) and velocity v (nv); None for rest."""
        mujoco.mj_resetData(self.model, self.data)
        for joint, at, dof in self._joint_addresses:
            own = joint.own_coordinates(q.tolist())
            if joint.kind.name == 'floating':
                own = [*own[:3], own[6], *own[3:6]]
            self.data.qpos[at : at + len(own)] = own
            if v is not None and joint.leader is not None:
                self.data.qvel[dof] = joint.multiplier * v[joint.v_indices[0]]
        if v is not None:
            self.data.qvel[self._dof_indices] = self._in_mujoco_axes(v)[self._v_indices]

    @property
    def q(self) -> Array:
        """Configuration (nq)."""
        q = np.empty(self.robot.nq)
        q[self._q_indices] = self.data.qpos[self._qpos_indices]
        for joint in self._multi_dof_joints:
            if joint.kind.quaternion is not None:
                w, x, y, z = q[list(joint.q_indices[3:])]
                q[list(joint.q_indices[3:])] = x, y, z, w
        return q

    @property
    def v(self) -> Array:
        """Velocity (nv)."""
        v = np.empty(self.robot.nv)
        v[self._v_indices] = self.data.qvel[self._dof_indices]
        for joint in self._multi_dof_joints:
            indices = list(joint.v_indices)
            v[indices] = self._to_mujoco_axes(joint).T @ v[indices]
        return v

    def _in_mujoco_axes(self, vector: Array) -> Array:
        """Velocity or force (nv), with the linear parts of bases rotated to MuJoCo's axes."""
        rotated = np.array(vector, dtype=float)
        for joint in self._multi_dof_joints:
            indices = list(joint.v_indices)
            rotated[indices] = self._to_mujoco_axes(joint) @ rotated[indices]
        return rotated

    def _to_mujoco_axes(self, joint: Joint) -> Array:
        """Matrix from velocities of a joint with several coordinates to MuJoCo's velocities."""
        at = self._qpos_address[joint.name]
        rotation = np.eye(joint.kind.nv)
        if joint.kind.nv == 3:
            c, s = np.cos(self.data.qpos[at + 2]), np.sin(self.data.qpos[at + 2])
            rotation[:2, :2] = [[c, -s], [s, c]]
        else:
            R = np.empty(9)
            mujoco.mju_quat2Mat(R, self.data.qpos[at + 3 : at + 7])
            rotation[:3, :3] = R.reshape(3, 3)
        return rotation

    # --- dynamics -------------------------------------------------------------------------------

    def forward_dynamics(self, tau: Array) -> Array:
        """Accelerations (nv) for torques (nv) at the current state, with contacts and joint limits.

        They are time derivatives of ``v``, in which the velocity of a base is in rotating base
        axes.
        """
        self._apply_torques(tau)
        mujoco.mj_forward(self.model, self.data)
        a = np.empty(self.robot.nv)
        a[self._v_indices] = self.data.qacc[self._dof_indices]
        v = self.v
        for joint in self._multi_dof_joints:
            indices = list(joint.v_indices)
            linear = indices[: joint.kind.nv // 2 + joint.kind.nv % 2]
            a[indices] = self._to_mujoco_axes(joint).T @ a[indices]
            if joint.kind.nv == 3:
                a[linear] -= v[indices[2]] * np.array([-v[linear[1]], v[linear[0]]])
            else:
                a[linear] -= np.cross(v[indices[3:]], v[linear])
        return a

    def step(self, tau: Array, damping: Array | None = None) -> None:
        """Advance by one time step.

        Args:
            tau: (nv) torques [Nm or N].
            damping: (nv) viscous friction, integrated implicitly [Nms/rad]; None for no change.
        """
        if damping is not None:
            self.model.dof_damping[self._dof_indices] = damping[self._v_indices]
        self._apply_torques(tau)
        mujoco.mj_step(self.model, self.data)

    def _apply_torques(self, tau: Array) -> None:
        self.data.qfrc_applied[self._dof_indices] = self._in_mujoco_axes(tau)[self._v_indices]

    def contact_wrenches(self) -> dict[str, Array]:
        """Wrenches of the ground on each frame in contact, at the start of the last step.

        Returns:
            By name of the foot or link: (6) force [N] and torque [Nm] about the origin of its
                frame, in
            axes of the root frame.
        """
        wrenches: dict[str, Array] = {}
        local = np.empty(6)
        for i in range(self.data.ncon):
            contact = self.data.contact[i]
            # The rows of contact.frame are the axes of the contact; the force acts on geometry 2.
            first, second = (int(geom) for geom in contact.geom)
            sign, geom = (1.0, second) if second in self._carriers else (-1.0, first)
            name, body, offset = self._carriers[geom]
            mujoco.mj_contactForce(self.model, self.data, i, local)
            R = sign * contact.frame.reshape(3, 3).T
            force, torque = R @ local[:3], R @ local[3:]
            origin = self.data.xpos[body] + self.data.xmat[body].reshape(3, 3) @ offset
            wrench = np.concatenate([force, torque + np.cross(contact.pos - origin, force)])
            wrenches[name] = wrenches[name] + wrench if name in wrenches else wrench
        return wrenches

    def _map_joints(self) -> None:
        """Store the indices of coordinates and velocities in MuJoCo's arrays."""
        model = self.model
        self._qpos_address: dict[str, int] = {}
        self._joint_addresses: list[tuple[Joint, int, int]] = []
        qpos_indices: list[int] = []
        q_indices: list[int] = []
        dof_indices: list[int] = []
        v_indices: list[int] = []
        for joint in self.robot.model.joints:
            first = model.joint(first_part(joint.name)).id
            place, dof = int(model.jnt_qposadr[first]), int(model.jnt_dofadr[first])
            self._qpos_address[joint.name] = place
            self._joint_addresses.append((joint, place, dof))
            if joint.leader is not None:
                continue
            qpos_indices += range(place, place + joint.kind.nq)
            q_indices += joint.q_indices
            dof_indices += range(dof, dof + joint.kind.nv)
            v_indices += joint.v_indices
        self._qpos_indices, self._q_indices = (
            np.array(qpos_indices, np.intp),
            np.array(q_indices, np.intp),
        )
        self._dof_indices, self._v_indices = (
            np.array(dof_indices, np.intp),
            np.array(v_indices, np.intp),
        )
        self._multi_dof_joints = [j for j in self.robot.model.joints if j.kind.nv > 1]
