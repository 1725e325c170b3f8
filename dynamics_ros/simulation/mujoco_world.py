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
        self.model.dof_armature[self._dofs] = rotors[self._of_dofs]
        mujoco.mj_setConst(self.model, self.data)
        self._carriers: dict[int, tuple[str, int, Array]] = {}
        for name in (*around.feet, *around.shapes):
            frame = robot.model.frame(name)
            for geom in geoms_of(self.model, name):
                placed = frame.placement.translation.array()
                self._carriers[geom] = (name, frame.body + 1, placed)
        self.place(robot.neutral())

    # --- state ----------------------------------------------------------------------------------

    def place(self, q: Array, v: Array | None = None) -> None:
        """Set the state: configuration q (nq) and velocity v (nv); None for rest."""
        mujoco.mj_resetData(self.model, self.data)
        for joint, at, dof in self._places:
            own = joint.own_coordinates(q.tolist())
            if joint.kind.name == 'floating':
                own = [*own[:3], own[6], *own[3:6]]
            self.data.qpos[at : at + len(own)] = own
            if v is not None and joint.leader is not None:
                self.data.qvel[dof] = joint.multiplier * v[joint.v_indices[0]]
        if v is not None:
            self.data.qvel[self._dofs] = self._resting(v)[self._of_dofs]

    @property
    def q(self) -> Array:
        """Configuration (nq)."""
        q = np.empty(self.robot.nq)
        q[self._of_places] = self.data.qpos[self._at]
        for joint in self._moving_bases:
            if joint.kind.quaternion is not None:
                w, x, y, z = q[list(joint.q_indices[3:])]
                q[list(joint.q_indices[3:])] = x, y, z, w
        return q

    @property
    def v(self) -> Array:
        """Velocity (nv)."""
        v = np.empty(self.robot.nv)
        v[self._of_dofs] = self.data.qvel[self._dofs]
        for joint in self._moving_bases:
            places = list(joint.v_indices)
            v[places] = self._turn(joint).T @ v[places]
        return v

    def _resting(self, vector: Array) -> Array:
        """Velocity or force (nv), with the linear parts of bases rotated to MuJoCo's axes."""
        turned = np.array(vector, dtype=float)
        for joint in self._moving_bases:
            places = list(joint.v_indices)
            turned[places] = self._turn(joint) @ turned[places]
        return turned

    def _turn(self, joint: Joint) -> Array:
        """Matrix from velocities of a joint with several coordinates to MuJoCo's velocities."""
        at = self._address[joint.name]
        turn = np.eye(joint.kind.nv)
        if joint.kind.nv == 3:
            c, s = np.cos(self.data.qpos[at + 2]), np.sin(self.data.qpos[at + 2])
            turn[:2, :2] = [[c, -s], [s, c]]
        else:
            R = np.empty(9)
            mujoco.mju_quat2Mat(R, self.data.qpos[at + 3 : at + 7])
            turn[:3, :3] = R.reshape(3, 3)
        return turn

    # --- dynamics -------------------------------------------------------------------------------

    def forward_dynamics(self, tau: Array) -> Array:
        """Accelerations (nv) for torques (nv) at the current state, with contacts and joint limits.

        They are time derivatives of ``v``, in which the velocity of a base is in rotating base
        axes.
        """
        self._exert(tau)
        mujoco.mj_forward(self.model, self.data)
        a = np.empty(self.robot.nv)
        a[self._of_dofs] = self.data.qacc[self._dofs]
        v = self.v
        for joint in self._moving_bases:
            places = list(joint.v_indices)
            linear = places[: joint.kind.nv // 2 + joint.kind.nv % 2]
            a[places] = self._turn(joint).T @ a[places]
            if joint.kind.nv == 3:
                a[linear] -= v[places[2]] * np.array([-v[linear[1]], v[linear[0]]])
            else:
                a[linear] -= np.cross(v[places[3:]], v[linear])
        return a

    def step(self, tau: Array, damping: Array | None = None) -> None:
        """Advance by one time step.

        Args:
            tau: (nv) torques [Nm or N].
            damping: (nv) viscous friction, integrated implicitly [Nms/rad]; None for no change.
        """
        if damping is not None:
            self.model.dof_damping[self._dofs] = damping[self._of_dofs]
        self._exert(tau)
        mujoco.mj_step(self.model, self.data)

    def _exert(self, tau: Array) -> None:
        self.data.qfrc_applied[self._dofs] = self._resting(tau)[self._of_dofs]

    def contact_wrenches(self) -> dict[str, Array]:
        """Wrenches of the ground on each frame in contact, at the start of the last step.

        Returns:
            By name of the foot or link: (6) force [N] and torque [Nm] about the origin of its
                frame, in
            axes of the root frame.
        """
        found: dict[str, Array] = {}
        local = np.empty(6)
        for i in range(self.data.ncon):
            contact = self.data.contact[i]
            # The rows of contact.frame are the axes of the contact; the force acts on geometry 2.
            first, second = (int(geom) for geom in contact.geom)
            sign, geom = (1.0, second) if second in self._carriers else (-1.0, first)
            name, body, placed = self._carriers[geom]
            mujoco.mj_contactForce(self.model, self.data, i, local)
            R = sign * contact.frame.reshape(3, 3).T
            force, torque = R @ local[:3], R @ local[3:]
            origin = self.data.xpos[body] + self.data.xmat[body].reshape(3, 3) @ placed
            wrench = np.concatenate([force, torque + np.cross(contact.pos - origin, force)])
            found[name] = found[name] + wrench if name in found else wrench
        return found

    def _map_joints(self) -> None:
        """Store the indices of coordinates and velocities in MuJoCo's arrays."""
        own = self.model
        self._address: dict[str, int] = {}
        self._places: list[tuple[Joint, int, int]] = []
        at: list[int] = []
        of_places: list[int] = []
        dofs: list[int] = []
        of_dofs: list[int] = []
        for joint in self.robot.model.joints:
            first = own.joint(first_part(joint.name)).id
            place, dof = int(own.jnt_qposadr[first]), int(own.jnt_dofadr[first])
            self._address[joint.name] = place
            self._places.append((joint, place, dof))
            if joint.leader is not None:
                continue
            at += range(place, place + joint.kind.nq)
            of_places += joint.q_indices
            dofs += range(dof, dof + joint.kind.nv)
            of_dofs += joint.v_indices
        self._at, self._of_places = np.array(at, np.intp), np.array(of_places, np.intp)
        self._dofs, self._of_dofs = np.array(dofs, np.intp), np.array(of_dofs, np.intp)
        self._moving_bases = [j for j in self.robot.model.joints if j.kind.nv > 1]
