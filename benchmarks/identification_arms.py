# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Simulated arms that differ from their descriptions, and recordings of them.

Friction is implemented here, independently of the package.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.records import Goal, Record
from benchmarks.robots import urdf_path
from benchmarks.unmodelled_arms import LOCKED
from dynamics_ros import Robot
from dynamics_ros.identification import JointSamples
from dynamics_ros.identification.bodies.pseudo_inertia import (
    described,
    parameters_of,
    pseudo_inertia,
)
from dynamics_ros.spatial import Inertia

Array = NDArray[np.float64]

NAMES = ('panda', 'ur5', 'xarm7')
SUITE = 'identification'

FREE_RANGE, SPEED, PERIOD = 1.2, 1.0, 10.0
"""Range about the middle of the limits [rad]; largest speed [rad/s]; base period [s]."""

RATE = 200.0
ENCODER = 1e-5
"""Standard deviation of positions [rad]."""


@dataclass(frozen=True, eq=False)
class Arm:
    """A simulated arm and its description.

    Attributes:
        described: robot of the description.
        real: robot with the true masses.
        bodies: (bodies, 10) true inertial parameters.
        viscous, coulomb, offset, rotor: (nv) [Nms/rad, Nm, Nm, kg m^2].
        smooth: speed at which Coulomb friction reaches 76 % [rad/s].
        noise: (nv) standard deviation of reported efforts [Nm].
    """

    described: Robot
    real: Robot
    bodies: Array
    viscous: Array
    coulomb: Array
    offset: Array
    rotor: Array
    smooth: float
    noise: Array

    def motion(self, t: Array, rng: np.random.Generator, joints: Array, tempo: float) -> Array:
        """q, v, a (3, n, nv): sums of three sines about a random posture, for selected joints."""
        low, high = self.described.lower_limits, self.described.upper_limits
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        half, middle = np.minimum(half, FREE_RANGE), np.where(half > np.pi, 0.0, middle)
        moved = np.zeros((3, len(t), len(low)))
        moved[0] += middle + 0.3 * half * rng.uniform(-1.0, 1.0, len(low))
        speed = tempo * np.minimum(SPEED, self.described.velocity_limits)
        for joint in joints:
            for k in rng.choice(np.arange(1, 6), 3, replace=False):
                w = 2.0 * np.pi * k * tempo / PERIOD
                size = min(speed[joint] / w, 0.5 * half[joint]) * rng.uniform(0.2, 0.4)
                phase = w * t + rng.uniform(0.0, 2.0 * np.pi)
                moved[0, :, joint] += size * np.sin(phase)
                moved[1, :, joint] += size * w * np.cos(phase)
                moved[2, :, joint] -= size * w**2 * np.sin(phase)
        return moved

    def efforts(self, q: Array, v: Array, a: Array) -> Array:
        """Motor torques without noise (n, nv) [Nm]."""
        found: Array = (
            self.real.inverse_dynamics(q, v, a)
            + self.rotor * a
            + self.viscous * v
            + self.coulomb * np.tanh(v / self.smooth)
            + self.offset
        )
        return found

    def recorded(self, t: Array, motion: Array, rng: np.random.Generator) -> JointSamples:
        """Recording of a motion (3, n, nv) at times (n)."""
        efforts = self.efforts(*motion) + self.noise * rng.normal(size=motion[0].shape)
        q = motion[0] + ENCODER * rng.normal(size=motion[0].shape)
        return JointSamples('simulated', self.described.joint_names, t, q, None, efforts)

    def loaded(self, frame: str, mass: float, center: Array, inertia: Array) -> Arm:
        """The arm with a payload."""
        return replace(self, real=self.real.with_payload(frame, mass, center, inertia))


def figure(case: str, robot: str, value: float, unit: str, most: float | None = None) -> Record:
    """A record without a peer, and with an upper bound as its goal."""
    goal = None if most is None else Goal(most, of='value')
    return Record(SUITE, case, robot, value, unit, goal=goal)


def described_arm(name: str) -> Robot:
    """The robot of a named description, with locked fingers."""
    return Robot.from_urdf(urdf_path(name), locked_joints=dict.fromkeys(LOCKED.get(name, ()), 0.0))


def simulated(name: str, seed: int, off: float = 0.2, noise: float = 0.05) -> Arm:
    """A random arm from a seed.

    Args:
        name: name of its description.
        seed: random seed.
        off: largest relative error of masses; centres and inertias have similar errors.
        noise: standard deviation of efforts, over their RMS in motion of all joints.
    """
    robot, rng = described_arm(name), np.random.default_rng(seed)
    lower = np.linalg.cholesky(pseudo_inertia(described(robot)))
    shape = lower @ (np.eye(4) + 0.3 * off * np.tril(rng.normal(size=lower.shape)))
    P = shape @ shape.transpose(0, 2, 1)
    masses = described(robot)[:, 0] * rng.uniform(1.0 - off, 1.0 + off, len(P))
    bodies = parameters_of(P * (masses / P[:, 3, 3])[:, np.newaxis, np.newaxis])
    inertias = tuple(Inertia.from_array(body) for body in bodies)
    # Friction and rotors of a joint are proportional to the torques and inertias that it carries.
    postures = np.array([robot.random_configuration(rng) for _ in range(50)])
    size = np.sqrt((robot.gravity(postures) ** 2).mean(axis=0))
    size = np.maximum(size, 0.1 * size.max())
    carried = robot.mass_matrix(postures).diagonal(axis1=1, axis2=2).mean(axis=0)
    n = robot.nv
    arm = Arm(
        robot,
        Robot(replace(robot.model, inertias=inertias)),
        bodies,
        size * rng.uniform(0.02, 0.1, n),
        size * rng.uniform(0.02, 0.1, n),
        size * rng.uniform(-0.01, 0.01, n),
        np.maximum(carried, 0.1 * carried.max()) * rng.uniform(0.05, 0.2, n),
        float(rng.uniform(0.005, 0.03)),
        np.zeros(n),
    )
    usual = arm.efforts(*arm.motion(np.arange(0.0, 30.0, 0.05), rng, np.arange(n), 1.0))
    return replace(arm, noise=noise * np.sqrt((usual**2).mean(axis=0)))
