# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Simulated arms with friction, noise and encoders that the estimators do not model.

Joints follow a motion exactly; efforts are the motor torques for it. The friction law was chosen
independently of the package's: bristles that bend before a joint slides [Dahl], an exponential
Stribeck effect, less than proportional viscous friction, different sizes in both directions, a
load-dependent part, and a ripple over the position, as from gear teeth.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.robots import robots_folder, urdf_path
from dynamics_ros import Robot
from dynamics_ros.identification import JointSamples
from dynamics_ros.identification.bodies.pseudo_inertia import described
from dynamics_ros.spatial import Inertia

Array = NDArray[np.float64]

RATE = 500.0
"""Rate of the joint states [Hz]."""

URDFS = {
    'panda': (urdf_path('panda'), 'panda_link8'),
    'xarm7': (urdf_path('xarm7'), 'link_eef'),
    'ur3': (robots_folder() / 'ur_description/urdf/ur3_robot.urdf', 'tool0'),
}
"""Description, and frame that is pushed."""

OTHERS = {
    'ur10': (urdf_path('ur10'), 'tool0'),
    'ur5': (urdf_path('ur5'), 'tool0'),
    'kinova': (urdf_path('kinova'), 'j2s6s200_end_effector'),
    'z1': (urdf_path('z1'), 'gripperStator'),
}
"""Arms that were not used during development; they are measured only if they are named."""

LOCKED = {'panda': ('panda_finger_joint1',), 'z1': ('jointGripper',)}


def named(part: str, usual: Iterable[str] = URDFS) -> list[str]:
    """Names that contain a text: of the usual arms, otherwise of `OTHERS`."""
    return [name for name in usual if part in name] or [name for name in OTHERS if part in name]


@dataclass(frozen=True)
class Faults:
    """Differences of an arm from its description.

    Attributes:
        friction: smallest and largest dry friction of a joint [Nm].
        mass: factor on masses and inertias.
        effort_noise: standard deviation of white noise of efforts [Nm].
        encoder: resolution of the positions [rad].
        velocity_filter: cutoff of the driver's velocity filter [Hz]; 0: velocities are position
            differences.
    """

    friction: tuple[float, float] = (0.0, 0.0)
    mass: float = 1.0
    effort_noise: float = 0.05
    encoder: float = 1e-5
    velocity_filter: float = 60.0


STICKING = Faults(friction=(1.0, 3.0))


@dataclass(frozen=True, eq=False)
class Motion:
    """Motion of an arm over time.

    Attributes:
        t: (n) times [s].
        q, v, a: (n, nv) positions, velocities, accelerations.
    """

    t: Array
    q: Array
    v: Array
    a: Array


@dataclass(frozen=True, eq=False)
class UnmodelledArm:
    """An arm that differs from its description.

    Attributes:
        described: robot of the description.
        real: robot with the true masses.
        frame: frame that is pushed.
        faults: differences between both.
        dry, static, asymmetry, viscous, load, ripple, teeth, phase: (nv) friction parameters.
    """

    described: Robot
    real: Robot
    frame: str
    faults: Faults
    dry: Array
    static: Array
    asymmetry: Array
    viscous: Array
    load: Array
    ripple: Array
    teeth: Array
    phase: Array

    @classmethod
    def made(cls, name: str, faults: Faults, seed: int = 0) -> UnmodelledArm:
        """An arm with random friction parameters from a seed."""
        path, frame = (URDFS | OTHERS)[name]
        robot = Robot.from_urdf(path, locked_joints=dict.fromkeys(LOCKED.get(name, ()), 0.0))
        rng, n = np.random.default_rng([7, seed]), robot.nv
        bodies = described(robot) * faults.mass
        inertias = tuple(Inertia.from_array(body) for body in bodies)
        real = Robot(replace(robot.model, inertias=inertias))
        least, most = faults.friction
        # Joints near the root are larger.
        dry = least + (most - least) * np.linspace(1.0, 0.0, n) * rng.uniform(0.8, 1.0, n)
        return cls(
            *(robot, real, frame, faults, dry),
            static=dry * rng.uniform(1.1, 1.4, n),
            asymmetry=rng.uniform(-0.1, 0.1, n),
            viscous=dry * rng.uniform(0.4, 0.8, n),
            load=rng.uniform(0.01, 0.03, n) * bool(most),
            ripple=dry * rng.uniform(0.03, 0.06, n),
            teeth=rng.integers(10, 40, n).astype(float),
            phase=rng.uniform(0.0, 2.0 * np.pi, n),
        )

    def swinging(self, duration: float, rng: np.random.Generator, tempo: float = 1.0) -> Motion:
        """Motion of all joints without stops: sums of three sines that start within a second."""
        t, middle, half = self.span(duration)
        q, v, a = np.zeros((3, len(t), len(middle)))
        x = np.minimum(t, 1.0)[:, np.newaxis]
        e = x**3 * (10.0 + x * (6.0 * x - 15.0))
        de, dde = 30.0 * x**2 * (1.0 - x) ** 2, 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x)
        for _ in range(3):
            w = tempo * rng.uniform(0.6, 3.0, len(middle))
            size = np.minimum(0.8 * tempo / w, 0.8 * half) * rng.uniform(0.25, 0.5, len(middle))
            phase = w * t[:, np.newaxis] + rng.uniform(0.0, 2.0 * np.pi, len(middle))
            s, c = size * np.sin(phase), size * w * np.cos(phase)
            q += e * s
            v += de * s + e * c
            a += dde * s + 2.0 * de * c - e * w**2 * s
        return Motion(t, q + middle + 0.2 * half * rng.uniform(-1.0, 1.0, len(middle)), v, a)

    def span(self, duration: float) -> tuple[Array, Array, Array]:
        """Times, and middle and half of the position range of the motion."""
        low, high = self.described.lower_limits, self.described.upper_limits
        middle, half = 0.5 * (low + high), np.minimum(0.5 * (high - low), 1.2)
        middle = np.where(0.5 * (high - low) > np.pi, 0.0, middle)
        return np.arange(0.0, duration, 1.0 / RATE), middle, half

    def going(self, duration: float, rng: np.random.Generator, tempo: float = 1.0) -> Motion:
        """Motion between postures with stops, in which some joints stay at rest."""
        t, middle, half = self.span(duration)
        n = len(middle)
        q, v, a = np.zeros((3, len(t), n))
        here, begin = middle + 0.5 * half * rng.uniform(-1.0, 1.0, n), 0.0
        while begin < duration:
            there = middle + half * rng.uniform(-1.0, 1.0, n)
            # Some joints stay at rest.
            there = np.where(rng.random(n) < 0.25, here, there)
            length = float(np.abs(there - here).max())
            time = max(1.0, 1.875 * length / (tempo * rng.uniform(0.3, 1.0)))
            rest = rng.uniform(0.2, 1.0) if rng.random() < 0.4 else 0.0
            inside = (t >= begin) & (t < begin + time + rest)
            x = np.minimum((t[inside] - begin) / time, 1.0)[:, np.newaxis]
            q[inside] = here + (there - here) * x**3 * (10.0 + x * (6.0 * x - 15.0))
            v[inside] = (there - here) * 30.0 * x**2 * (1.0 - x) ** 2 / time
            a[inside] = (there - here) * 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) / time**2
            here, begin = there, begin + time + rest
        return Motion(t, q, v, a)

    def friction(self, motion: Motion, torque: Array) -> Array:
        """(n, nv) friction torques, for torques (n, nv) that the gears transmit [Nm]."""
        v, period = motion.v, 1.0 / RATE
        speed = np.abs(v)
        level = self.dry + (self.static - self.dry) * np.exp(-speed / 0.08)
        level = level * (1.0 + self.asymmetry * np.sign(v)) + self.load * np.abs(torque)
        bent = np.zeros_like(v)
        share = np.exp(-speed * period / BRISTLES)
        for k in range(1, len(v)):
            toward = np.sign(v[k])
            bent[k] = toward + share[k] * (bent[k - 1] - toward)
        slip = np.sign(v) * self.viscous * speed**0.8
        teeth = self.ripple * np.sin(self.teeth * motion.q + self.phase) * np.abs(bent)
        found: Array = level * bent + slip + teeth
        return found

    def samples(
        self, motion: Motion, rng: np.random.Generator, external: Array | float = 0.0
    ) -> JointSamples:
        """Joint states that the driver reports while external torques (n, nv) act."""
        faults = self.faults
        torque = self.real.inverse_dynamics(motion.q, motion.v, motion.a) - external
        effort = torque + self.friction(motion, torque)
        effort = effort + faults.effort_noise * rng.normal(size=effort.shape)
        q = faults.encoder * np.round(motion.q / faults.encoder)
        v = np.diff(q, axis=0, prepend=q[:1]) * RATE
        if faults.velocity_filter:
            share = np.exp(-2.0 * np.pi * faults.velocity_filter / RATE)
            for k in range(1, len(v)):
                v[k] += share * (v[k - 1] - v[k])
        return JointSamples('simulated', self.described.joint_names, motion.t, q, v, effort)


BRISTLES = 5e-4
"""Deflection of the bristles [rad]."""
