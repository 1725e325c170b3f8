# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Simulation of a quadruped that stands or trots in MuJoCo, with true foot forces."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from benchmarks.descriptions import bare, for_mujoco
from benchmarks.mujoco_peer import rotation_matrix
from benchmarks.robots import urdf_path
from dynamics_ros import Robot

Array = NDArray[np.float64]

FEET = ('LF_FOOT', 'RF_FOOT', 'LH_FOOT', 'RH_FOOT')
PAIRS = (0, 1, 1, 0)
"""Index of the diagonal to which each foot belongs."""

FOOT_RADIUS = 0.031
STANCE = (0.0, 0.6, -1.2)
"""Joint angles of a leg [rad]; hind legs bend the other way."""

PERIOD = 1e-3
STEP_TIME = 0.5
"""Duration of a cycle, in which each diagonal swings once [s]."""

SWING, LIFT = 0.4, 0.07
"""Share of the cycle in the air, and height of a step [m]."""

STIFFNESS, DAMPING = 150.0, 5.0
"""Gains of the joints [Nm/rad, Nms/rad]."""

SUBSTEPS = 4


@dataclass(frozen=True)
class Step:
    """Reported and true values of a sample.

    Attributes:
        stamp: stamp [ns].
        q, v: positions and velocities, including the base.
        effort: (nv) torques held since the previous sample; zero for the base.
        forces: (4, 3) forces of the ground on the feet, in root axes [N].
        specific_force: (3) at the base origin, mean since the last sample, in its axes [m/s^2].
    """

    stamp: int
    q: Array
    v: Array
    effort: Array
    forces: Array
    specific_force: Array


class Quadruped:
    """ANYmal with spherical feet on flat ground, under joint control with force feed-forward.

    Attributes:
        robot: our model.
    """

    def __init__(self, walks: bool = False) -> None:
        """Describe it; one that walks has hard ground, and puts its feet down softly."""
        self._softly = 2 if walks else 1
        urdf = bare(urdf_path('anymal'))
        self.robot = Robot.from_urdf(urdf, 'floating')
        spec = mujoco.MjSpec.from_string(for_mujoco(urdf))
        spec.worldbody.first_body().add_freejoint()
        for joint in spec.joints:
            joint.damping = joint.damping * 0.0
            joint.frictionloss = 0.0
            joint.armature = 0.0
        # On ground of the default softness feet sink by 2 cm, and creep.
        hard = {'solref': [0.004, 1.0], 'solimp': [0.99, 0.999, 1e-3, 0.5, 2.0]} if walks else {}
        if walks:
            spec.option.cone, spec.option.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, 100.0
        spec.worldbody.add_geom(
            name='ground', type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5.0, 5.0, 0.1], **hard
        )
        for foot in FEET:
            spec.body(foot).add_geom(
                name=foot,
                type=mujoco.mjtGeom.mjGEOM_SPHERE,
                size=[FOOT_RADIUS, 0.0, 0.0],
                mass=0.0,
                friction=[0.8, 0.005, 0.0001],
                **hard,
            )
        spec.option.timestep = PERIOD / SUBSTEPS
        self.model: mujoco.MjModel = spec.compile()
        self.data = mujoco.MjData(self.model)
        names = [self.model.joint(i).name for i in range(1, self.model.njnt)]
        self._order = np.array([self.robot.joint_names.index(name) for name in names])
        self._geoms = [self.model.geom(foot).id for foot in FEET]

    def run(self, duration: float, *, trot: bool, speed: float = 0.0) -> Iterator[Step]:
        """Samples of a duration [s], after one second in which the robot comes to rest.

        Args:
            duration: s.
            trot: whether it trots.
            speed: forward speed of the trot [m/s].
        """
        self._speed = speed
        self._place()
        lead = 1.0
        effort, before = np.zeros(self.robot.nv), np.zeros(3)
        for k in range(round((lead + duration) / PERIOD)):
            mujoco.mj_forward(self.model, self.data)
            t = k * PERIOD - lead
            q, v = self._state()
            R = rotation_matrix(q[3:7])
            if t >= 0.0:
                felt = R.T @ ((R @ v[:3] - before) / PERIOD - self.model.opt.gravity)
                stamp = 10**9 + round(t * 1e9)
                yield Step(stamp, q, v, effort.copy(), self._foot_forces(), felt)
            before = R @ v[:3]
            effort = self._control(q, v, t if trot else -1.0)
            self.data.qfrc_applied[6 + np.arange(12)] = effort[6 + self._order]
            for _ in range(SUBSTEPS):
                mujoco.mj_step(self.model, self.data)

    def _place(self) -> None:
        mujoco.mj_resetData(self.model, self.data)
        q = self.robot.neutral()
        q[7:] = self._joints(np.zeros(4))
        lowest = min(self.robot.forward_kinematics(q, foot)[2, 3] for foot in FEET)
        q[2] = FOOT_RADIUS - lowest
        self._height = q[2]
        self._home = [self.robot.forward_kinematics(q, foot)[:2, 3] for foot in FEET]
        self.data.qpos[:3], self.data.qpos[3:7] = q[:3], q[[6, 3, 4, 5]]
        self.data.qpos[7:] = q[7:][self._order]

    def _joints(self, lifts: Array, sways: Array | None = None) -> Array:
        """Joint angles (12) for feet lifted by heights (4) [m], with symmetrically folded legs.

        Legs swing forward about their hips by ``sways`` (4) [m].
        """
        q = np.empty(12)
        names = self.robot.joint_names
        angles = np.zeros(4) if sways is None else -sways / (self._height - FOOT_RADIUS)
        for foot, lift, angle in zip(FEET, lifts, angles, strict=True):
            leg, sign = foot[:2], 1.0 if foot[1] == 'F' else -1.0
            fold = 2.5 * lift
            values = (0.0, sign * (STANCE[1] + fold) + angle, sign * (STANCE[2] - 2.0 * fold))
            for joint, value in zip(('HAA', 'HFE', 'KFE'), values, strict=True):
                q[names.index(f'{leg}_{joint}')] = value
        return q

    def _state(self) -> tuple[Array, Array]:
        q, v = self.robot.neutral(), np.zeros(self.robot.nv)
        qpos, qvel = self.data.qpos, self.data.qvel
        q[:3], q[3:7] = qpos[:3], qpos[[4, 5, 6, 3]]
        q[7 + self._order] = qpos[7:]
        v[:3] = rotation_matrix(q[3:7]).T @ qvel[:3]
        v[3:6] = qvel[3:6]
        v[6 + self._order] = qvel[6:]
        return q, v

    def _control(self, q: Array, v: Array, t: float) -> Array:
        """Torques (nv) of joint PD control and of the foot forces that carry and level the base."""
        phase = [(max(t, 0.0) / STEP_TIME + 0.5 * pair) % 1.0 for pair in PAIRS]
        swing = np.array([t > 0.0 and p < SWING for p in phase])
        lifts = np.array(
            [
                LIFT * math.sin(math.pi * p / SWING) ** self._softly if up else 0.0
                for p, up in zip(phase, swing, strict=True)
            ]
        )
        stride = self._speed * STEP_TIME * (1.0 - SWING)
        sways = stride * np.array(
            [p / SWING - 0.5 if p < SWING else 0.5 - (p - SWING) / (1.0 - SWING) for p in phase]
        )
        if t <= 0.0:
            sways[:] = 0.0
        robot = self.robot
        R = rotation_matrix(q[3:7])
        tilt = np.array([R[2, 1], -R[2, 0], math.atan2(R[1, 0], R[0, 0])])
        mass = robot.total_mass
        linear, angular = R @ v[:3], R @ v[3:6]
        velocity = np.array([self._speed if t > 0.0 else 0.0, 0.0, 0.0])
        way = self._speed * max(t, 0.0)
        wanted = np.concatenate(
            [
                mass * np.array([0.0, 0.0, 9.81])
                - mass * (20.0 * (q[:3] - [way, 0.0, self._height]) + 6.0 * (linear - velocity)),
                -150.0 * tilt - 20.0 * angular,
            ]
        )
        standing = [foot for foot, up in zip(FEET, swing, strict=True) if not up]
        com = robot.center_of_mass(q)
        map_ = []
        for foot in standing:
            x, y, z = robot.forward_kinematics(q, foot)[:3, 3] - com
            lever = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
            map_.append(np.vstack([np.eye(3), lever]))
        forces = np.linalg.lstsq(np.hstack(map_), wanted, rcond=0.05)[0].reshape(-1, 3)
        forces[:, 2] = np.maximum(forces[:, 2], 0.0)
        tau = robot.gravity(q)
        for foot, force in zip(standing, forces, strict=True):
            tau = tau - robot.jacobian(q, foot)[:3].T @ force
        tau[:6] = 0.0
        error = self._joints(lifts, sways) - q[7:]
        tau[6:] += STIFFNESS * error - DAMPING * v[6:]
        return tau

    def _foot_forces(self) -> Array:
        forces = np.zeros((4, 3))
        wrench = np.zeros(6)
        for i in range(self.data.ncon):
            contact = self.data.contact[i]
            for foot, geom in enumerate(self._geoms):
                if geom in contact.geom:
                    mujoco.mj_contactForce(self.model, self.data, i, wrench)
                    # Rows of the frame are the contact axes; the force acts on the second geom.
                    sign = 1.0 if contact.geom[1] == geom else -1.0
                    forces[foot] += sign * contact.frame.reshape(3, 3).T @ wrench[:3]
        return forces
