# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A seven-joint arm whose masses and friction are other than described, and recordings of it.

The friction is written down here, not taken from the package.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dynamics_ros import Robot
from dynamics_ros.identification import JointSamples
from dynamics_ros.identification.bodies.pseudo_inertia import described
from dynamics_ros.spatial import Inertia

FILE = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'
ROBOT = Robot.from_urdf(FILE)
TEXT = FILE.read_text()
VISCOUS = np.array([3.0, 2.5, 2.0, 2.0, 1.0, 0.8, 0.5])
COULOMB = np.array([2.0, 3.0, 1.5, 1.5, 0.8, 0.6, 0.4])
OFFSET = np.array([0.2, -0.3, 0.1, 0.0, 0.05, -0.1, 0.02])
ROTOR = np.array([0.3, 0.3, 0.2, 0.2, 0.1, 0.05, 0.05])
SMOOTH = 0.02


@dataclass(frozen=True, eq=False)
class Truth:
    """What the simulated arm is.

    Attributes:
        robot: with other masses than described.
        bodies: (bodies, 10) its inertial parameters.
        scale: reported effort over torque, per joint.
    """

    robot: Robot
    bodies: np.ndarray
    scale: np.ndarray


def truth(seed: int = 0, off: float = 0.2, scale=1.0) -> Truth:
    """An arm whose masses are off by up to a share of the described ones."""
    rng = np.random.default_rng(seed)
    bodies = described(ROBOT) * rng.uniform(1.0 - off, 1.0 + off, (len(ROBOT.body_names), 1))
    inertias = tuple(Inertia.from_array(body) for body in bodies)
    return Truth(Robot(replace(ROBOT.model, inertias=inertias)), bodies, np.full(7, scale))


def motion(t, seed=0, joints=range(7), speed=1.0):
    """Positions, velocities and accelerations (n, 7) of sums of sines."""
    rng = np.random.default_rng(seed)
    q, v, a = np.zeros((3, len(t), 7))
    q += np.array([0.0, 0.4, 0.0, 1.2, 0.0, 0.6, 0.0])
    for j in joints:
        for k in range(1, 6):
            w = 2.0 * np.pi * 0.1 * k * speed
            size, phase = 0.9 / w * rng.uniform(0.2, 0.5), rng.uniform(0.0, 2.0 * np.pi)
            q[:, j] += size * np.sin(w * t + phase)
            v[:, j] += size * w * np.cos(w * t + phase)
            a[:, j] -= size * w**2 * np.sin(w * t + phase)
    return q, v, a


def efforts(arm: Truth, q, v, a):
    """What the arm reports without noise."""
    torque = arm.robot.inverse_dynamics(q, v, a) + ROTOR * a
    return arm.scale * (torque + VISCOUS * v + COULOMB * np.tanh(v / SMOOTH) + OFFSET)


def recording(
    arm: Truth, duration=30.0, rate=200.0, seed=0, noise=0.1, source='recording', **options
) -> JointSamples:
    """A recording with white noise of efforts [Nm] and of positions."""
    t = np.arange(0.0, duration, 1.0 / rate)
    q, v, a = motion(t, seed, **options)
    rng = np.random.default_rng(seed + 1000)
    effort = efforts(arm, q, v, a) + arm.scale * noise * rng.normal(size=q.shape)
    q = q + 2e-5 * rng.normal(size=q.shape)
    return JointSamples(source, ROBOT.joint_names, t, q, v, effort)


def as_csv(samples, path):
    """Write samples as a table and return its path."""
    columns = {'time': samples.time}
    for kind in ('position', 'velocity', 'effort'):
        values = getattr(samples, kind)
        columns |= {f'{n}.{kind}': c for n, c in zip(samples.joint_names, values.T, strict=True)}
    np.savetxt(
        path,
        np.column_stack(list(columns.values())),
        '%.9g',
        ',',
        header=','.join(columns),
        comments='',
    )
    return path
