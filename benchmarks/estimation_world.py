# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Simulation of arms with known pushes in MuJoCo, and the joint states that they report."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from benchmarks.descriptions import bare, for_mujoco, without_friction
from benchmarks.robots import Subject, urdf_path
from dynamics_ros import Robot

Array = NDArray[np.float64]

PERIOD = 1e-3
"""Time between two samples [s]."""

SUBSTEPS = 4
"""Fourth-order integration steps per sample: the error is far below the measured ones, and a
controller at each step is almost continuous."""

STIFFNESS, DAMPING = 400.0, 40.0
"""Gains of the controller per unit of inertia: critically damped, 20 rad/s."""

EPOCH = 1_750_000_000 * 10**9
"""Stamp of the first sample [ns]."""


@dataclass(frozen=True)
class Sample:
    """Reported and true values of a sample.

    Attributes:
        stamp: stamp [ns].
        q, v: (nv) positions and velocities.
        effort: (nv) motor torques, held since the previous sample, or at the stamp.
        external: (nv) torques of the push in this state.
        force: (3) force of the push, in root axes [N].
    """

    stamp: int
    q: Array
    v: Array
    effort: Array
    external: Array
    force: Array


@dataclass(frozen=True)
class Motion:
    """Sines around a posture, with a smooth start.

    Attributes:
        centre: (nv) posture [rad].
        amplitude: (nv) amplitudes [rad]; 0 for a joint at rest.
        frequency: (nv) frequencies [Hz].
    """

    centre: Array
    amplitude: Array
    frequency: Array

    def at(self, t: float) -> tuple[Array, Array, Array]:
        """Desired q, v, a at a time [s]; full amplitude after one second."""
        w = 2.0 * math.pi * self.frequency
        s, c = np.sin(w * t), np.cos(w * t)
        x = min(t, 1.0)
        # 6 x^5 - 15 x^4 + 10 x^3 and its derivatives.
        e = x**3 * (10.0 + x * (6.0 * x - 15.0))
        de = 30.0 * x**2 * (1.0 - x) ** 2
        dde = 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x)
        q = self.centre + self.amplitude * e * s
        v = self.amplitude * (de * s + e * w * c)
        a = self.amplitude * (dde * s + 2.0 * de * w * c - e * w * w * s)
        return q, v, a


@dataclass(frozen=True)
class Faults:
    """Differences of the simulated robot from its description.

    Attributes:
        mass: factor on masses and inertias.
        friction: Coulomb friction of a joint over its largest gravity torque in the posture.
    """

    mass: float = 1.0
    friction: float = 0.0


class PushedArm:
    """An arm of ``example-robot-data`` under computed torque control.

    Attributes:
        robot: our model, as described.
        frame: frame that is pushed.
    """

    def __init__(self, subject: Subject, faults: Faults) -> None:
        """Load the arm into MuJoCo and our library."""
        # Without friction, which could compensate any small push at rest; `Faults` may add it.
        urdf = without_friction(bare(urdf_path(subject.name), subject.locked))
        self.robot = Robot.from_urdf(urdf, subject.root)
        self.frame = subject.frame
        spec = mujoco.MjSpec.from_string(for_mujoco(urdf))
        for joint in spec.joints:
            joint.limited = False
        spec.option.timestep = PERIOD / SUBSTEPS
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_RK4
        self.model: mujoco.MjModel = spec.compile()
        self.model.body_mass *= faults.mass
        self.model.body_inertia *= faults.mass
        names = [self.model.joint(i).name for i in range(self.model.njnt)]
        if tuple(names) != self.robot.joint_names:
            raise ValueError(f'{subject.name}: joints in another order')
        self.data = mujoco.MjData(self.model)
        mujoco.mj_setConst(self.model, self.data)
        self.body = self.model.body(subject.frame).id
        self._friction = faults.friction

    def run(
        self,
        duration: float,
        motion: Motion,
        push: Callable[[float], Array],
        *,
        held: bool = True,
    ) -> Iterator[Sample]:
        """Samples of a motion from rest on.

        Args:
            duration: duration [s].
            motion: desired motion.
            push: force (3) on the frame's origin in root axes at a time [N].
            held: whether the controller runs once per sample and effort is the torque held since
                then; otherwise it runs at each step and effort is the torque at the stamp.
        """
        model, data, robot = self.model, self.data, self.robot
        q, v, _ = motion.at(0.0)
        if self._friction:
            model.dof_frictionloss[:] = self._friction * np.abs(robot.gravity(q)).max()
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:] = q, v
        step = PERIOD / SUBSTEPS
        effort = np.zeros(robot.nv)
        for k in range(round(duration / PERIOD) + 1):
            t = k * PERIOD
            force = push(t)
            q, v = data.qpos.copy(), data.qvel.copy()
            if k == 0 or not held:
                effort = self._control(t, motion)
            external = np.zeros(robot.nv)
            if force.any():
                external = robot.jacobian(q, self.frame)[:3].T @ force
            yield Sample(EPOCH + round(t * 1e9), q, v, effort, external, force)
            for i in range(SUBSTEPS):
                if i == 0 or not held:
                    effort = self._control(t + i * step, motion)
                data.qfrc_applied[:] = effort
                self._apply(force)
                mujoco.mj_step(model, data)

    def _control(self, t: float, motion: Motion) -> Array:
        q, v, a = motion.at(t)
        wanted = a + STIFFNESS * (q - self.data.qpos) + DAMPING * (v - self.data.qvel)
        return self.robot.inverse_dynamics(self.data.qpos, self.data.qvel, wanted)

    def _apply(self, force: Array) -> None:
        """Apply a force at the frame's origin; MuJoCo expects it at the centre of mass."""
        applied = self.data.xfrc_applied[self.body]
        if not force.any():
            applied[:] = 0.0
            return
        mujoco.mj_kinematics(self.model, self.data)
        lever = self.data.xpos[self.body] - self.data.xipos[self.body]
        applied[:3] = force
        mujoco.mju_cross(applied[3:], lever, force)
