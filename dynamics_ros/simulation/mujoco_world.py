# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A robot in MuJoCo: its state, its accelerations and what it touches, in our conventions.

MuJoCo has quaternions w first, linear velocities of a base in resting axes, and a joint of its own
for each mimic joint. All of that is converted here and nowhere else.
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
    """One robot in MuJoCo; all arrays are in our order, units and axes.

    Attributes:
        robot: ours.
        model, data: MuJoCo's.
        time_step: s.
    """

    def __init__(
        self,
        robot: Robot,
        time_step: float,
        around: Surroundings = NOTHING_AROUND,
        armature: Array | None = None,
    ) -> None:
        """Build the model.

        Args:
            robot: any.
            time_step: s.
            around: what it can touch.
            armature: (nv) rotor inertias at the joints [kg m^2 or kg]; None: none.

        Raises:
            DynamicsRosError: MuJoCo is not installed.
            ModelError: MuJoCo refuses what was built.
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
        """Put the robot into a state: q (nq), v (nv) or at rest."""
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
        """A velocity or force (nv) of ours, linear parts of bases in the axes that they move in."""
        turned = np.array(vector, dtype=float)
        for joint in self._moving_bases:
            places = list(joint.v_indices)
            turned[places] = self._turn(joint) @ turned[places]
        return turned

    def _turn(self, joint: Joint) -> Array:
        """From velocities of ours to MuJoCo's, of a joint of several coordinates."""
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
        """Accelerations (nv) under torques (nv) in the present state, contacts and stops included.

        They are the rates of our v: the velocity of a base is in its own axes, which turn.
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
        """Go on by one time step.

        Args:
            tau: (nv) torques.
            damping: (nv) viscous friction, taken into account at the end of the step [Nms/rad].
        """
        if damping is not None:
            self.model.dof_damping[self._dofs] = damping[self._of_dofs]
        self._exert(tau)
        mujoco.mj_step(self.model, self.data)

    def _exert(self, tau: Array) -> None:
        self.data.qfrc_applied[self._dofs] = self._resting(tau)[self._of_dofs]

    def contact_wrenches(self) -> dict[str, Array]:
        """What the ground exerts on each frame that touches it, at the begin of the last step.

        Returns:
            Name of a foot or link to (6) force [N] and torque about its origin [Nm], root axes.
        """
        found: dict[str, Array] = {}
        local = np.empty(6)
        for i in range(self.data.ncon):
            contact = self.data.contact[i]
            # Rows of its frame are the contact's axes; the force is on the second geometry.
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
        """Where each of our coordinates and velocities stands in MuJoCo's."""
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
